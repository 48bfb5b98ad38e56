"""`code.verify`: whether a changed program does what the original does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Grid, Report
from rheostat.core.storage.files import replace_file
from rheostat.explanation.formats.junit import junit
from rheostat.explanation.formats.sarif import sarif
from rheostat.explanation.programs.code_report import rung_grid, sentence, verdict_report
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.ladder import verifier
from rheostat.measurement.code.programs.manifest import load_pair
from rheostat.measurement.code.sandboxed.sandbox import sandbox
from rheostat.measurement.code.verdict import RUNGS, Verdict
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.code.programs import (
    Ranges,
    asked_rungs,
    input_ranges,
    reviewed_lines,
)
from rheostat.questions.listener import question
from rheostat.questions.parse import Names


@dataclass(frozen=True, kw_only=True, repr=False)
class VerifyAnswer(Answer):
    """The evidence for a candidate.

    Parameters
    ----------
    verdict : Verdict
        Rung by rung; ``verdict.accepted`` says whether the candidate may be used.
    original, candidate : mapping of str to str
        The two programs' files.
    """

    schema: ClassVar[str] = "rheostat.code-verify/1"
    verdict: Verdict
    original: Mapping[str, str]
    candidate: Mapping[str, str]

    @property
    def accepted(self) -> bool:
        """Whether the candidate may be used in place of the original."""
        return self.verdict.accepted

    def report(self) -> Report:
        """The verdict, the rungs, and what differs."""
        return verdict_report(self.verdict, self.original, self.candidate)

    def facts(self) -> Mapping[str, Any]:
        """The verdict and the evidence of every rung."""
        return self.verdict.facts()

    def grids(self) -> tuple[Grid, ...]:
        """A row a rung."""
        return (rung_grid(self.verdict),)

    def beside(self) -> tuple[str, ...]:
        """What was found."""
        return tuple(f"{f.rung}: {f.level}: {f.words}" for f in self.verdict.findings)

    def sentence(self) -> str:
        """The verdict in words."""
        return sentence(self.verdict)

    @property
    def refusal(self) -> str:
        """The verdict in words, where the candidate may not be used."""
        return "" if self.accepted else self.sentence()


@question
def verify(
    original: Path | str,
    candidate: Path | str,
    *,
    manifest: Path | str | None = None,
    inputs: Ranges = (),
    rtol: float | None = None,
    atol: float | None = None,
    rungs: Names = (),
    require: Names = "output",
    all_rungs: bool = False,
    least_work: float = 0.1,
    own_build: bool = False,
    reviewed: Names = (),
    confined_by: str = "",
    image: str = "/",
    unsafe_no_sandbox: bool = False,
    seed: int | None = None,
    sarif: Path | None = None,
    junit: Path | None = None,
) -> VerifyAnswer:
    """Verify that a candidate does what the original does, rung by rung, cheapest first.

    Everything is compiled and run in a sandbox, on inputs that are drawn anew each time.

    Parameters
    ----------
    original, candidate : path
        A source file (C, C++, CUDA), a manifest (TOML, JSON), or with ``manifest`` a folder of its
        files.
    manifest : path, optional
        Says how both are built, run and given inputs.
    inputs : sequence of str
        Arguments of both programs and what they are drawn from, as ``n=64..512``.
    rtol, atol : float, optional
        Tolerances of numbers.
    rungs : str or sequence of str
        Only these, as ``"parse,compile,output"``; all by default.
    require : str or sequence of str
        Rungs that must have run for a candidate to be accepted, or all.
    all_rungs : bool
        Go on after a rung has failed.
    least_work : float
        Least share of the original's instructions; 0 allows any.
    own_build : bool
        The candidate is built in a way of its own, which you have read.
    reviewed : str or sequence of str
        Lines of the candidate that you have read, as ``"sum.c:36"``: what no run reaches or shows
        there leaves nothing undecided. The evidence names them.
    confined_by, image : str
        bubblewrap or apptainer, and its container image; what works here by default.
    unsafe_no_sandbox : bool
        Run code without a sandbox, if you trust it; the answer says so.
    seed : int, optional
        Of the hidden inputs; a secret one by default, told after.
    sarif, junit : Path, optional
        Where findings go as SARIF, and rungs as JUnit.

    Returns
    -------
    VerifyAnswer
        With ``accepted`` and ``verdict``.

    Raises
    ------
    DataError
        A file is no program, or nothing says what its inputs are.

    Examples
    --------
    >>> import pathlib, tempfile, rheostat as rh
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> text = "int main(void) { return 0; }"
    >>> _ = (place / "a.c").write_text(text), (place / "b.c").write_text(text)
    >>> answer = rh.code.verify(place / "a.c", place / "b.c", rungs="parse", require="parse",
    ...                         unsafe_no_sandbox=True)
    >>> answer.accepted
    True
    """
    chosen, required = asked_rungs(rungs, "--rungs"), asked_rungs(require, "--require")
    files = Path(original), Path(candidate), None if manifest is None else Path(manifest)
    one, other, tolerance = load_pair(*files, own_build=own_build)
    if inputs:
        one = replace(one, inputs=input_ranges(inputs))
    tolerance = replace(
        tolerance,
        relative=tolerance.relative if rtol is None else rtol,
        absolute=tolerance.absolute if atol is None else atol,
    )
    walls = sandbox("none" if unsafe_no_sandbox else confined_by, image=image)
    options = RungOptions(least_work=least_work, reviewed=reviewed_lines(reviewed, other.files))
    with (
        listener.stages() as progress,
        verifier(one, tolerance=tolerance, confined_by=walls, seed=seed, options=options) as check,
    ):
        check.required = required
        verdict = check.verify(
            other, rungs=chosen or RUNGS, all_rungs=all_rungs,
            progress=lambda rung, done: progress(rung, float(done is not None), 1.0),
        )  # fmt: skip
    _write(verdict, sarif, junit)
    return VerifyAnswer(verdict=verdict, original=one.files, candidate=other.files)


def _write(verdict: Verdict, sarif_file: Path | None, junit_file: Path | None) -> None:
    for path, text in ((sarif_file, json.dumps(sarif(verdict), indent=1) + "\n"),
                       (junit_file, junit(verdict))):  # fmt: skip
        if path is not None:
            replace_file(path, text)
            listener.line(f"wrote {path}")
