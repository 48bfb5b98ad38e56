"""``rheostat llm demo``: generated runs and requests, for trying the other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o

NEXT = """\
rheostat llm plan {0}/runs.csv --app m32 --itl 12ms  # which configuration takes the least energy
rheostat llm fit {0}/runs.csv                        # the law behind it
rheostat llm simulate {0}/requests.jsonl --rate 8    # whether another order of requests helps
rheostat llm rank {0}/requests.jsonl                 # whose answer will be short"""


def demo(
    folder: Annotated[
        Path, typer.Argument(help="Folder to write to.", writable=True, file_okay=False)
    ] = Path("llm-demo"),
    requests: Annotated[
        int, typer.Option(min=10, max=1_000_000, help="Requests of the log.")
    ] = 1500,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Write generated runs and a log of requests, and print what to ask of them.

    The runs are of five made-up models on three types of GPU; their true law is in
    rheostat.measurement.synthetic.served_models.
    """
    import json as codec

    from rheostat.cli.output import put_json, tell
    from rheostat.core.storage.files import replacing
    from rheostat.measurement.synthetic.served_models import request_log, serving_runs

    runs, log = serving_runs(seed=seed), request_log(requests, seed=seed)
    with replacing(folder / "runs.csv") as draft:
        runs.write_csv(draft)
    with replacing(folder / "requests.jsonl") as draft:
        draft.write_text("".join(codec.dumps(row) + "\n" for row in log))
    commands = NEXT.format(folder)
    if json:
        put_json("rheostat.llm-demo/1", {
            "runs": str(folder / "runs.csv"), "configurations": len(runs),
            "log": str(folder / "requests.jsonl"), "requests": len(log),
            "commands": [line.split("#")[0].strip() for line in commands.splitlines()],
        })  # fmt: skip
        return
    tell(f"wrote {folder}: {len(runs)} generated configurations and {len(log)} requests")
    print(commands)
