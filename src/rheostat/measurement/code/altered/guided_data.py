"""Other data by a guided search, as fuzzers do: what shows something new is kept and changed again.

The stream of what a program draws is what is changed (``runtimes/guided_data.h``).  One search goes
by what the candidate compares, indexes and writes, one by what the original does, as either may
be what comes near to where they differ.  The other program then runs on the same streams.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rheostat.measurement.code.altered.guided_rows import watched
from rheostat.measurement.code.altered.guided_streams import GROUPS, RUNS, draws_of, only
from rheostat.measurement.code.altered.other_data import (
    DREW,
    GUIDED,
    HELPERS,
    NOT_FINITE,
    RUN_CPU_S,
    SharedDraws,
    Texts,
    borne,
    replaced,
    shared_draws,
    with_other_data,
)
from rheostat.measurement.code.case import FOR_DEVICES, Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.marked_builds import LINKED, linked
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

SEARCH_S, AGAIN_S = 1.2, 2.4
"""CPU seconds of a search and of the other program on its streams, as forks would take them: runs
that share memory take half."""
MOST_SUSPECT, SMALL_SHARE, MOST_TOLD = 6, 5, 24
"""Streams that are tried again; one in so many inputs is small; draws that are named."""
SMALL = GROUPS * 5 // 8


@dataclass(frozen=True)
class Apart:
    """A run of a search on which the programs print different things: its number and input."""

    run: int
    given: ProgramInput
    output: str
    got: str


def guided_data(case: Case) -> list[Finding]:
    """Where the candidate prints something else on data that a guided search makes.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where nothing can be searched: other draws, kernels, one text but for pragmas.
    """
    inputs = _inputs(case)
    draws = shared_draws(case) if inputs and _can_be_searched(case) else SharedDraws()
    if draws.more or not draws.lines:
        return []
    original, candidate = (_plain(case, draws, ours=ours) for ours in (True, False))
    for ours in (False, True):
        guide = _guide(case, draws, ours=ours)
        if not (original.ok and candidate.ok and guide.ok):
            return []
        with case.bench.run_folder("guided") as place:
            pair = (guide, candidate) if ours else (original, guide)
            apart = _searched(case, pair, inputs, place, guide)
            if apart and (shown := _shown(case, draws, (original, candidate), apart, place)):
                return shown
    return []


def _can_be_searched(case: Case) -> bool:
    programs = (case.original, case.candidate)
    kernels = any(p.language in FOR_DEVICES or p.holds_kernels for p in programs)
    return not (kernels or case.only_pragmas or case.reference.starts_dearly)


def _inputs(case: Case) -> list[ProgramInput]:
    """Few inputs in turn, more of them small: a stream is changed for the input that it was of."""
    many = [given for given, _ in case.many] or [e.given for e in case.reference.small]
    small = many[: len(many) // SMALL_SHARE] or many
    rng = random.Random(
        case.reference.seed
    )  # they come in turn of this part of the ranges and that
    few = [one for some, count in ((small, SMALL), (many, GROUPS - SMALL))
           for one in rng.sample(some, min(count, len(some)))]  # fmt: skip
    return [few[i % len(few)] for i in range(RUNS)] if few else []


def _plain(case: Case, draws: SharedDraws, *, ours: bool) -> Built:
    """A program with what draws its data replaced; it belongs to no original's kept results."""
    program, texts = (case.original, draws.ours) if ours else (case.candidate, draws.theirs)
    return _not_kept(case.bench.build(with_other_data(program, texts, draws.lines), LINKED))


def _guide(case: Case, draws: SharedDraws, *, ours: bool) -> Built:
    """The same with calls that tell what it compares, indexes and writes."""
    program, texts = (case.original, draws.ours) if ours else (case.candidate, draws.theirs)
    made = {f"guide{i}.ll": t for i, t in enumerate(_watched(program, texts, draws))}
    return _not_kept(case.bench.build(linked(replace(program, objects=(HELPERS,)), made), LINKED))


def _not_kept(built: Built) -> Built:
    return replace(built, program=replace(built.program, is_kept=False))


def _watched(program: Program, texts: Texts, draws: SharedDraws) -> Iterator[str]:
    count = 0
    for text in replaced(texts, draws.lines):
        made, count = watched(text, program.files, count)
        yield made


def _searched(
    case: Case, pair: tuple[Built, Built], inputs: Sequence[ProgramInput], place: Path, guide: Built
) -> list[Apart]:  # fmt: skip
    """Runs of a search by one of a pair on which the other prints something else."""
    printed = {id(guide): _printed(case, guide, inputs, place, SEARCH_S)}
    other = next(b for b in pair if b is not guide)
    tried = inputs[: len(printed[id(guide)])]
    printed[id(other)] = _printed(case, other, tried, place, AGAIN_S)
    both = zip(tried, *(printed[id(b)] for b in pair), strict=False)
    return _apart(case, enumerate(both))


def _apart(
    case: Case, runs: Iterator[tuple[int, tuple[ProgramInput, str | None, str | None]]]
) -> list[Apart]:
    """Where both end and have drawn alike, and print different things."""
    agreed = case.reference.agreed
    return [
        Apart(run, given, output, got) for run, (given, output, got) in runs
        if output != got and output is not None and got is not None
        and output.partition(DREW)[2] == got.partition(DREW)[2]
        and not NOT_FINITE.search(output) and differences(got, output, agreed)
    ][:MOST_SUSPECT]  # fmt: skip


def _printed(
    case: Case, built: Built, inputs: Sequence[ProgramInput], place: Path, most_cpu_s: float,
    *, noise: int = 0, shares: bool = True,
) -> list[str | None]:  # fmt: skip
    """What a program prints on the streams in a folder, or on those that it makes there."""
    limits = case.limits(case.reference.small[0])
    limits = replace(limits, cpu_s=min(limits.cpu_s, RUN_CPU_S))
    environment = {"RHEOSTAT_DATA": str(GUIDED), "RHEOSTAT_NOISE": str(noise),
                   "RHEOSTAT_SEED": str(case.reference.seed)}  # fmt: skip
    if shares:
        return case.bench.run_many(built, inputs, limits, most_cpu_s, environment, kept=place)
    return case.bench.run_each(built, inputs, limits, environment=environment,
                               most_cpu_s=most_cpu_s, kept=place)  # fmt: skip


def _shown(
    case: Case, draws: SharedDraws, programs: tuple[Built, Built], apart: Sequence[Apart],
    place: Path,
) -> list[Finding]:  # fmt: skip
    """What differs in runs that share no memory, too, and on what the original bears."""
    only(place, [a.run for a in apart])
    inputs = [a.given for a in apart]
    outputs = [_printed(case, b, inputs, place, AGAIN_S, shares=False) for b in programs]
    known = _apart(case, enumerate(zip(inputs, *outputs, strict=False)))
    only(place, [a.run for a in known])
    bears = borne(case, draws.lines, [(a.given, a.output) for a in known],
                  lambda built, given, noise: _printed(case, built, given, place, AGAIN_S,
                                                       noise=noise))  # fmt: skip
    for at, (one, is_borne) in enumerate(zip(known, bears, strict=True)):
        if is_borne:
            only(place, [at])
            _printed(case, programs[0], [one.given], place, AGAIN_S, shares=False)
            return [_said(case, one, draws_of(place))]
    return []


def _said(case: Case, one: Apart, drawn: Sequence[int]) -> Finding:
    d = differences(one.got, one.output, case.reference.agreed)[0]
    first = " ".join(map(str, drawn[:MOST_TOLD])) + " ..." * (len(drawn) > MOST_TOLD)
    message = (f"with {one.given.words}, where what it draws is {first}, output line {d.line}: "
               f"expected {d.expected!r:.120}, got {d.got!r:.120}")  # fmt: skip
    return case.finding("output", message)
