"""The ladder: every rung in order, up to the first that fails."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rheostat.errors import DataError
from rheostat.measurement.code import rungs_measure, rungs_races, rungs_run, rungs_static
from rheostat.measurement.code.case import Case, RungOptions, RungUnavailable
from rheostat.measurement.code.kept_results import KeptResults
from rheostat.measurement.code.own_builds.compiler_calls import NotReplayed
from rheostat.measurement.code.own_builds.replayed import check_flags, replayed
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInputs
from rheostat.measurement.code.reference import INPUTS, Reference
from rheostat.measurement.code.sandboxed.sandbox import Sandbox, sandbox, workspace
from rheostat.measurement.code.verdict import (
    FAILED,
    NOT_AVAILABLE,
    PASSED,
    RUNGS,
    SKIPPED,
    Evidence,
    Verdict,
)
from rheostat.measurement.code.workbench import Workbench

Rung = Callable[[Case], Evidence]
LADDER: dict[str, Rung] = {
    "parse": rungs_static.parse,
    "compile": rungs_static.compile_,
    "calls": rungs_static.calls,
    "sanitizers": rungs_run.sanitizers,
    "output": rungs_run.output,
    "races": rungs_races.races,
    "threads": rungs_run.threads,
    "mapping": rungs_run.mapping,
    "work": rungs_measure.work,
    "time": rungs_measure.time,
    "energy": rungs_measure.energy,
}
CHEAP = ("parse", "compile", "calls", "sanitizers")
"""Rungs that are climbed before a gain is looked for: most of what is wrong ends there."""
OF_THE_TEXT = ("parse", "calls", "sanitizers", "races", "mapping", "work")
"""Rungs that look at what is written, or build it without what a compiler makes of loops."""
BY_COMPILER = (
    "the text is the original's; what the compiler makes of it shows in output and threads"
)
Progress = Callable[[str, Evidence | None], None]
KEPT_BUILD = (
    "its own build command is run for each check, without marks of decisions, mutants, other data"
)
NO_INPUT = (
    "the original takes no input: an output that was written into the candidate cannot be told "
    "from a computed one, only its work can"
)


@dataclass(frozen=True)
class Gain:
    """What a candidate has to gain before the dearer rungs are climbed.

    Parameters
    ----------
    measured_by : tuple of str
        The rungs that tell; they are climbed after `CHEAP`.
    why_none : callable
        Given the evidence so far, why the candidate would not be taken; empty if it might be.
    """

    measured_by: tuple[str, ...]
    why_none: Callable[[Sequence[Evidence]], str]


@dataclass
class Verifier:
    """Verifies candidates for one original; its builds and outputs are made once.

    Made by `verifier`, which also takes care of the folder.
    """

    reference: Reference
    options: RungOptions = field(default_factory=RungOptions)
    required: tuple[str, ...] = ("output",)
    gain: Gain | None = None
    as_given: Program | None = None
    """The original with its build command, where that is replayed."""

    def verify(
        self,
        candidate: Program,
        *,
        rungs: Sequence[str] = RUNGS,
        all_rungs: bool = False,
        progress: Progress | None = None,
    ) -> Verdict:
        """The evidence for one candidate, up to the first rung that fails.

        Parameters
        ----------
        candidate : Program
            What somebody proposes instead of the original.
        rungs : sequence of str
            Those that are run; others are skipped.
        all_rungs : bool
            Go on after a rung has failed.
        progress : callable, optional
            Called with each rung's name, before with None and after with its evidence.

        Returns
        -------
        Verdict
            With evidence of every rung.
        """
        reference = self.reference
        candidate, not_replayed = self._replayed(replace(candidate, is_kept=False, is_ours=False))
        if set(rungs) - {"parse"}:
            reference.expected  # noqa: B018 - the original's mistakes are told first
            reference.agreed  # noqa: B018
        evidence: list[Evidence] = []
        case = Case(candidate, reference, self.options, reference.seed, evidence,
                    not_replayed=not_replayed)  # fmt: skip
        no_gain = ""
        for name in self._order:
            failed = not all_rungs and any(e.state == FAILED for e in evidence)
            why = (
                "not asked for" if name not in rungs else "a rung below failed" if failed
                else no_gain or (BY_COMPILER if case.shared_by_compiler and name in OF_THE_TEXT
                                 else "")
            )  # fmt: skip
            before = next((e for e in evidence if e.rung == name), None)
            if before is not None and (why or before.state != PASSED):
                continue
            made = Evidence(name, SKIPPED, why) if why else _timed(
                name, LADDER[name], case, progress)  # fmt: skip
            if before is not None:
                evidence.remove(before)
            evidence.append(made)
            if self.gain and name == self.gain.measured_by[-1]:
                no_gain = self.gain.why_none(evidence)
        native = vars(reference).get("natively") or reference
        reference.bench.discard((reference.original.text, native.original.text))
        return Verdict(
            tuple(sorted(evidence, key=lambda e: RUNGS.index(e.rung))), reference.seed,
            self.reference.bench.sandbox.name,
            reference.original.name, candidate.name, self._notes(),
            self.required if "output" in rungs else tuple(rungs), no_gain,
        )  # fmt: skip

    def _replayed(self, candidate: Program) -> tuple[Program, str]:
        """The candidate without its own build command, where the original is; why not."""
        if not (self.as_given and candidate.build):
            return candidate, ""
        try:
            made = replayed(self.reference.bench, candidate)
            check_flags(candidate, self.as_given, made, self.reference.original)
        except NotReplayed as reason:
            return candidate, str(reason)
        return made, ""

    @property
    def _order(self) -> list[str]:
        """The rungs as they are climbed: what tells a gain before what is dear, and once more.

        A candidate that was chosen because it seemed faster has luck in its first figure.
        """
        if self.gain is None:
            return list(LADDER)
        measured = self.gain.measured_by
        right = [r for r in LADDER if r not in (*CHEAP, "time", "energy")]
        rest = [r for r in ("time", "energy") if r not in measured]
        return [*CHEAP, *measured, *right, *measured, *rest]

    def _notes(self) -> tuple[str, ...]:
        notes = [*self.reference.notes]
        if said := self.reference.bench.kept.words:
            notes.append(said)
        inputs = self.reference.original.inputs
        if not inputs.ranges:
            notes.append(NO_INPUT)
        elif inputs.guessed:
            said = ", ".join(f"{k} {r.words}" for k, r in inputs.ranges.items())
            notes.append(f"inputs are guessed from the original: {said}; a manifest names others")
        if self.reference.bench.sandbox.name.startswith("none"):
            notes.append("run without a sandbox: nothing kept the candidate from the host")
        return tuple(notes)


def _timed(name: str, rung: Rung, case: Case, progress: Progress | None) -> Evidence:
    if progress:
        progress(name, None)
    began = time.perf_counter()
    try:
        evidence = rung(case)
    except RungUnavailable as reason:
        evidence = Evidence(name, NOT_AVAILABLE, str(reason))
    evidence = replace(evidence, seconds=time.perf_counter() - began)
    if progress:
        progress(name, evidence)
    return evidence


@contextmanager
def verifier(
    original: Program,
    *,
    tolerance: Tolerance | None = None,
    inputs: ProgramInputs | None = None,
    confined_by: Sandbox | None = None,
    seed: int | None = None,
    count: int = INPUTS,
    options: RungOptions | None = None,
) -> Iterator[Verifier]:
    """A `Verifier` for an original, as a context: its builds are gone at the end.

    Parameters
    ----------
    original : Program
        What candidates are compared with.
    tolerance : Tolerance, optional
        Of outputs.
    inputs : ProgramInputs, optional
        Ranges in place of the original's own.
    confined_by : Sandbox, optional
        The first that works here where none is given.
    seed : int, optional
        Draws the hidden inputs; a secret one where none is given.
    count : int
        Inputs of full size.
    options : RungOptions, optional
        What a person may set of the rungs.

    Yields
    ------
    Verifier
        For any number of candidates.
    """
    if inputs is not None:
        original = replace(original, inputs=inputs)
    original = replace(original, is_kept=True)
    drawn = secrets.randbelow(2**31) if seed is None else seed
    with workspace() as folder:
        walls = confined_by or sandbox()
        kept, ours = KeptResults.of(original, walls.name), KeptResults.ours(walls.name)
        bench = Workbench(walls, folder, kept=kept, ours=ours)
        made, said = original, ""
        try:
            made = replayed(bench, original)
        except NotReplayed as reason:
            said = f"{KEPT_BUILD}: {reason}"
        reference = Reference(made, bench, drawn, tolerance or Tolerance(), count,
                              notes=[said] if said else [])  # fmt: skip
        given = original if original.build and not said else None
        yield Verifier(reference, options or RungOptions(), as_given=given)


def verify(
    original: Program,
    candidate: Program,
    *,
    inputs: ProgramInputs | None = None,
    tolerance: Tolerance | None = None,
    confined_by: Sandbox | None = None,
    seed: int | None = None,
    rungs: Sequence[str] = RUNGS,
    all_rungs: bool = False,
) -> Verdict:
    """Whether a candidate does what the original does, with the evidence of each rung.

    Parameters
    ----------
    original, candidate : Program
        The candidate is built by its own build command and flags.
    inputs : ProgramInputs, optional
        Ranges of hidden inputs in place of the original's own.
    tolerance : Tolerance, optional
        Of outputs.
    confined_by : Sandbox, optional
        The first that works here where none is given.
    seed : int, optional
        Draws the hidden inputs; a secret one where none is given.
    rungs : sequence of str
        Those that are run.
    all_rungs : bool
        Go on after a rung has failed.

    Returns
    -------
    Verdict
        Accepted, rejected or undecided.

    Raises
    ------
    DataError
        The original does not build, or fails on every input that was drawn.
    """
    unknown = [r for r in rungs if r not in RUNGS]
    if unknown:
        raise DataError("rungs", [f"expected {', '.join(RUNGS)}, got {r!r}" for r in unknown])
    with verifier(original, tolerance=tolerance, inputs=inputs, confined_by=confined_by,
                  seed=seed) as one:  # fmt: skip
        return one.verify(candidate, rungs=rungs, all_rungs=all_rungs)
