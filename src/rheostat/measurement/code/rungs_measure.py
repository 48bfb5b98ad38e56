"""Rungs that compare costs: work, time, energy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.costs.modelled_energy import EnergyModel
from rheostat.measurement.code.costs.paired_times import (
    FASTER,
    LEAST_PAIRS,
    LEAST_TOLD,
    SAME,
    UNTOLD,
    PairedTimes,
    in_turns,
    net_times,
    paired_times,
    without_start,
)
from rheostat.measurement.code.costs.work_counts import WorkCounts, own_instructions
from rheostat.measurement.code.device_kernels.kernel_work import kernel_work
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.rungs_static import EMPTY
from rheostat.measurement.code.sandboxed.peak_memory import peak_memory_b
from rheostat.measurement.code.toolchain import COUNTED, COUNTED_LINES, absent
from rheostat.measurement.code.verdict import Evidence, Finding
from rheostat.measurement.code.workbench import Built
from rheostat.measurement.meters import Session, meters

Walls = tuple[NDArray[np.float64], NDArray[np.float64]]
SPARE_S = 0.05
"""A start in the sandbox takes about this long and differs by as much."""

LEAST_INSTRUCTIONS = 20_000
LEFT_OUT = "work is left out, or done in another way, which --least-work 0 allows"
EMULATED = "most instructions of the original are those of the GPU's threads on a CPU"
QUICK_S = 0.05
"""CPU seconds of a run that is counted: fifty times as long under the tool."""
METERED_S = 2.0
"""Meters need a window; runs are repeated for at least so long."""
MOST_RUNS = 50
MOST_TIMED_S = 20.0
"""CPU seconds of timed runs after which no more pairs are begun, as far as may be told or not."""


def work(case: Case) -> Evidence:
    """Instructions of the candidate as a share of the original's, both without optimisation tricks.

    A program that does a tenth of the work has left something out, or another method does with
    less, which deserves a person's look.
    """
    if {case.candidate.language, case.original.language} == {"opencl"}:
        return kernel_work(case)
    case.need(absent("valgrind"))
    device = case.candidate.language == "cuda" and not case.on_host
    case.need(case.cannot_run or ("valgrind counts no work of a GPU" if device else ""))
    expected = _counted_input(case)
    built = case.build(COUNTED), _original(case)
    theirs, ours = (_counts(case, b, expected) for b in built)
    net = [_net(case, b, c) for b, c in zip(built, (theirs, ours), strict=True)]
    short = net[1] < LEAST_INSTRUCTIONS
    case.need(f"{net[1]:.0f} instructions are too few to compare" if short else "")
    share = max(net[0], 0.0) / net[1]
    numbers = {
        "instructions": theirs.instructions, "original_instructions": ours.instructions,
        "instruction_ratio": share,
        "data_reference_ratio": theirs.data_references / max(ours.data_references, 1.0),
    }  # fmt: skip
    least = case.options.least_work
    if share < least and _own_share(case, expected) < least:
        case.need(EMULATED if case.original_on_host and not case.on_host else "")
        message = (f"executes {share:.2g} times the original's instructions with "
                   f"{expected.given.words}")  # fmt: skip
        return replace(case.not_shown("work", [case.finding("work", message)], LEFT_OUT),
                       numbers=numbers)  # fmt: skip
    return case.passed("work", f"{share:.3g} times the original's instructions", **numbers)


def _own_share(case: Case, expected: Expected) -> float:
    """The same of both programs' own files: a sine that is no longer called is no work left out."""
    built = [case.build(COUNTED_LINES, program) for program in (case.candidate, case.original)]
    own = [own_instructions(case.bench, b, expected.given, expected.limits()) for b in built]
    return own[0] / own[1] if own[1] >= LEAST_INSTRUCTIONS else 0.0


def _counted_input(case: Case) -> Expected:
    """The input with the most work that is still quick under a tool that counts."""
    quick = [e for e in case.reference.expected if e.cpu_s < QUICK_S]
    return max(quick or case.reference.small, key=lambda e: e.cpu_s)


def _net(case: Case, built: Built, counts: WorkCounts) -> float:
    """Instructions without those of a program that does nothing, built the same way."""
    program = built.program
    empty = Program(
        {"empty.cc" if program.is_cxx else "empty.c": EMPTY},
        program.language, flags=program.flags, is_ours=True,
    )  # fmt: skip
    made = case.bench.build(empty, built.kind)
    nothing = _counts(case, made, Expected(ProgramInput(), "", 0.0, 0.0))
    return counts.instructions - nothing.instructions


def _original(case: Case) -> Built:
    made = case.bench.build(case.original, COUNTED)
    case.need("" if made.ok else f"the original has no such build: {made.said.stderr[:200]}")
    return made


def _counts(case: Case, built: Built, expected: Expected) -> WorkCounts:
    counts = case.reference.counts(built, expected)
    case.need(counts if isinstance(counts, str) else "")
    assert isinstance(counts, WorkCounts)
    return counts


class _WrongRun(Exception):
    """A timed run that printed something else: more of them tell nothing."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(findings)
        self.findings = tuple(findings)


def time(case: Case) -> Evidence:
    """Wall time on the largest input in pairs of runs, the sandbox's own time taken off."""
    case.need(case.cannot_time)
    expected, threads = case.reference.expected[0], case.options.timing_threads
    start_s = _start_s(case)

    def peak_b(built: Built) -> float:
        limits = expected.limits(threads)
        return peak_memory_b(case.bench, built, expected.given, threads=threads, limits=limits)

    taken: list[float] = []

    def seconds(built: Built) -> float:
        limits = expected.limits(threads)
        run = case.bench.run(built, expected.given, threads=threads, limits=limits, anew=True)
        taken.append(run.cpu_s)
        if built is case.built and run.ok:
            wrong = case.wrong("time", run, expected, f" and {threads} threads, timed")
            if wrong:
                raise _WrongRun(wrong)
        return run.wall_s if run.ok else math.nan

    original, candidate = partial(seconds, case.reference.built), partial(seconds, case.built)
    try:
        walls = in_turns(original, candidate, case.options.pairs)
        times = _compared(case, walls, start_s)
        while times is not None and sum(taken) < MOST_TIMED_S and _untold(case, times):
            more = in_turns(original, candidate, case.options.pairs)
            walls = np.append(walls[0], more[0]), np.append(walls[1], more[1])
            times = _compared(case, walls, start_s)
    except _WrongRun as wrong:
        return case.failed("time", wrong.findings)
    if times is None:
        return case.failed("time", [case.finding("time", "a timed run did not end well: with "
                                    f"{expected.given.words} and {threads} threads")])  # fmt: skip
    ours, theirs = (without_start(w, _middle(start_s)) for w in walls)
    numbers = {"runtime_s": float(_middle(theirs)), "original_runtime_s": float(_middle(ours)),
               "runtime_ratio": times.ratio, "low": times.low, "high": times.high,
               "change": times.change, "pairs": times.pairs, "threads": threads,
               "memory_byte": peak_b(case.built),
               "original_memory_byte": peak_b(case.reference.built)}  # fmt: skip
    slowest = case.options.most_slowdown
    if times.low > slowest and float(_middle(theirs) - _middle(ours)) > SPARE_S:
        message = f"takes {times.words}, more than {slowest:g} times as long"
        return case.failed("time", [case.finding("time", message)], **numbers)
    short = f"; {_middle(ours):.3g} s is short to time" if _middle(ours) < SPARE_S else ""
    evidence = case.passed("time", f"{times.words}{short}", **numbers)
    if times.change == FASTER and times.high < 1 / case.options.suspicious_speedup:
        message = f"more than {case.options.suspicious_speedup:g} times faster: look at it"
        return case.flagged(evidence, [Finding("time", case.file, 0, message, "warning")])
    return evidence


def _compared(case: Case, walls: Walls, start_s: NDArray[np.float64]) -> PairedTimes | None:
    """The ratio of times taken in turns; None where a run did not end well."""
    if not (walls[0].size and math.isfinite(float(walls[0].sum() + walls[1].sum()))):
        return None
    return net_times(*walls, start_s, minimum_effect=case.options.minimum_effect, seed=case.seed)


def _untold(case: Case, times: PairedTimes) -> bool:
    """Whether more pairs may tell what these do not, and it would be of use."""
    of_use = times.low < (1 - LEAST_TOLD) * case.options.to_beat
    more = LEAST_PAIRS <= times.pairs < case.options.most_pairs
    return times.change == UNTOLD and of_use and more


def _middle(values: object) -> float:
    return float(np.median(np.asarray(values)))


def _start_s(case: Case) -> NDArray[np.float64]:
    """Seconds that the sandbox takes to run nothing, five times."""
    folder = case.reference.built.folder
    return np.array([case.bench.sandbox.run(["true"], folder).wall_s for _ in range(5)])


def energy(case: Case) -> Evidence:
    """Joules by the meters where there are any, else modelled from counts; it never rejects."""
    case.need(case.cannot_time)
    here = [m for m in meters() if not m.why()]
    if here:
        evidence = _metered(case)
        if evidence is not None:
            return evidence
    return _modelled(case)


def _modelled(case: Case) -> Evidence:
    """Energy by counts of one thread and the measured time, or by what of both is known."""
    expected, timed = _counted_input(case), _time_ratio(case)
    built = case.reference.built, case.built
    cores = [case.cores(b) if timed else 1 for b in built]
    counts = [_operations(case, b, expected) for b in built]
    if lacking := [c for c in counts if isinstance(c, str)]:
        case.need("" if timed else lacking[0])
        return _energy(case, "time", f"as time by power: {lacking[0]}", _by_time(case, cores))
    before, after = (c for c in counts if isinstance(c, WorkCounts))
    joules = _by_counts(before, after, timed, cores)
    how = "and the measured time" if timed else "of one thread: no change of time is told"
    basis = "counts and time" if timed else "counts"
    return _energy(case, basis, f"from counts at {expected.given.words} {how}", joules)


def _by_time(case: Case, cores: Sequence[int]) -> list[float]:
    """Joules of the original and of the candidate, then those at both ends of its interval."""
    power_w = [EnergyModel().power_w(c) for c in cores]
    seconds = case.known("time")["original_runtime_s"]
    return [power_w[0] * seconds, *(power_w[1] * seconds * r for r in _time_ratio(case))]


def _by_counts(
    before: WorkCounts, after: WorkCounts, timed: Sequence[float], cores: Sequence[int]
) -> list[float]:
    """The same on the input that is counted; a time that is not told is that of the counts."""
    model = EnergyModel()
    first_s = model.runtime_s(before)
    seconds = [first_s * r for r in timed] or [model.runtime_s(after)]
    return [model.energy_j(before, first_s, cores[0]),
            *(model.energy_j(after, s, cores[1]) for s in seconds)]  # fmt: skip


def _energy(case: Case, basis: str, how: str, joules: Sequence[float]) -> Evidence:
    """Evidence of modelled energy over the original's, with an interval if there is one."""
    ratio, *rest = (j / joules[0] for j in joules[1:])
    ends = dict(zip(("low", "high"), rest, strict=False))
    interval = " [{low:.3g}, {high:.3g}]".format(**ends) if ends else ""
    return case.passed(
        "energy", f"modelled {how}: {ratio:.3g} times the original's energy{interval}",
        kind="modelled", basis=basis, energy_ratio=ratio, **ends, energy_j=joules[1],
        original_energy_j=joules[0],
    )  # fmt: skip


def _time_ratio(case: Case) -> tuple[float, ...]:
    """Measured time over the original's with its interval; nothing where no change is told.

    What is no significant change is none.
    """
    known = case.known("time")
    change = known.get("change", UNTOLD)
    if change == UNTOLD:
        return ()
    ratio = 1.0 if change == SAME else known["runtime_ratio"]
    return ratio, min(ratio, known["low"]), max(ratio, known["high"])


def _operations(case: Case, built: Built, expected: Expected) -> WorkCounts | str:
    """Counts of a build with its floating-point operations; text says why there are none."""
    return absent("valgrind") or case.reference.counts(built, expected, flops=True)


def _metered(case: Case) -> Evidence | None:
    """What the meters say of runs in turns; None where they could not tell."""
    expected = case.reference.expected[0]
    count = min(MOST_RUNS, max(1, math.ceil(METERED_S / max(expected.wall_s, 1e-3))))
    threads = case.options.timing_threads

    def joules(built: Built) -> tuple[float, str]:
        with Session(meters()) as session:
            for _ in range(count):
                limits = expected.limits(threads)
                case.bench.run(built, expected.given, threads=threads, limits=limits, anew=True)
        return session.measured.energy_j / count, session.measured.state

    states: list[str] = []

    def one(built: Built) -> float:
        value, state = joules(built)
        states.append(state)
        return value

    ours, theirs = in_turns(partial(one, case.reference.built), partial(one, case.built), 3)
    total = float(ours.sum() + theirs.sum())
    if not (math.isfinite(total) and (ours > 0).all() and (theirs > 0).all()):
        return None
    times = paired_times(ours, theirs, minimum_effect=case.options.minimum_effect, seed=case.seed)
    kind = max(states, key=("measured", "derived", "estimated", "unavailable").index)
    said = (f"{kind} by meters: {times.ratio:.3g} times the original's energy [{times.low:.3g}, "
            f"{times.high:.3g}]")  # fmt: skip
    numbers = {"kind": kind, "energy_ratio": times.ratio, "low": times.low, "high": times.high,
               "energy_j": _middle(theirs), "original_energy_j": _middle(ours)}  # fmt: skip
    return case.passed("energy", said, **numbers)
