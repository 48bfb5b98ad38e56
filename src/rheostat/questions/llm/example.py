"""`llm.demo`: generated runs and requests, for trying the other questions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Report, Section
from rheostat.core.storage.files import replacing
from rheostat.measurement.synthetic.served_models import request_log, serving_runs
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question

NEXT = """\
rheostat llm plan {0}/runs.csv --app m32 --itl 12ms  # which configuration takes the least energy
rheostat llm fit {0}/runs.csv                        # the law behind it
rheostat llm simulate {0}/requests.jsonl --rate 8    # whether another order of requests helps
rheostat llm rank {0}/requests.jsonl                 # whose answer will be short
"""


@dataclass(frozen=True, kw_only=True, repr=False)
class ExampleAnswer(Answer):
    """Where generated runs and requests were written.

    Parameters
    ----------
    folder : Path
        Holds ``runs.csv`` and ``requests.jsonl``.
    configurations, requests : int
        Rows of the two.
    """

    schema: ClassVar[str] = "rheostat.llm-demo/1"
    folder: Path
    configurations: int
    requests: int

    def report(self) -> Report:
        """What was written, and what to ask of it."""
        return Report("", [Section("demo", self.beside(), listing=self.text())], self.facts())

    def facts(self) -> dict[str, Any]:
        """The two files, and commands to ask of them."""
        return {
            "runs": str(self.folder / "runs.csv"), "configurations": self.configurations,
            "log": str(self.folder / "requests.jsonl"), "requests": self.requests,
            "commands": [line.split("#")[0].strip() for line in self.text().splitlines()],
        }  # fmt: skip

    def text(self) -> str:
        """Commands to ask."""
        return NEXT.format(self.folder)

    def beside(self) -> tuple[str, ...]:
        """What was written."""
        rows = f"{self.configurations} generated configurations and {self.requests} requests"
        return (f"wrote {self.folder}: {rows}",)


@question
def demo(folder: Path | str = "llm-demo", *, requests: int = 1500, seed: int = 0) -> ExampleAnswer:
    """Write generated runs and a log of requests, and say what to ask of them.

    The runs are of five made-up models on three types of GPU; their true law is in
    `rheostat.measurement.synthetic.served_models`.

    Parameters
    ----------
    folder : path
        Where the two files go.
    requests : int
        Requests of the log.
    seed : int
        Of what is drawn.

    Returns
    -------
    ExampleAnswer

    Examples
    --------
    >>> import tempfile, rheostat as rh
    >>> rh.llm.demo(tempfile.mkdtemp(), requests=20).configurations
    229
    """
    place = Path(folder)
    runs, log = serving_runs(seed=seed), request_log(requests, seed=seed)
    with replacing(place / "runs.csv") as draft:
        runs.write_csv(draft)
    with replacing(place / "requests.jsonl") as draft:
        draft.write_text("".join(json.dumps(row) + "\n" for row in log))
    return ExampleAnswer(folder=place, configurations=len(runs), requests=len(log))
