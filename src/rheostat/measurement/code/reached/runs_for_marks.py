"""Which inputs a marked program is run on, with how many threads and in which order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rheostat.measurement.code.case import PARALLEL, Case
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reference import QUICK_S
from rheostat.measurement.code.surroundings.another_library import GROUPS, SMALL_GROUP, asks_group

SOME_THREADS = (4, 64, 7, 2, 17)
FEW, SOME, MOST = 6, 64, 512
"""Inputs that are run with many threads; of many inputs, how many are run at first, and at all."""
OTHER_ORDERS = (
    {"CUDA_ORDER": "1", "RHEOSTAT_BACKWARD": "1"}, {"CUDA_ORDER": "2", "RHEOSTAT_TURNS": "1"},
)  # fmt: skip
"""Threads and work-items backward, and shuffled with turns before atomics.

First to last they leave lists in order, and no exchange fails.
"""


@dataclass(frozen=True)
class MarkedRuns:
    """Inputs that are run from one start, on so many ``threads``, in that ``environment``."""

    inputs: Sequence[ProgramInput]
    threads: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)


def runs_for_marks(
    case: Case, program: Program, own_edges: Sequence[Expected]
) -> Iterator[MarkedRuns]:
    """Runs, those that tell most first.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    program : Program
        It, or the original.
    own_edges : sequence of Expected
        Inputs at numbers of the candidate's own.
    """
    reference = case.reference
    every = [*case.inputs(), *own_edges]
    yield MarkedRuns([e.given for e in every])
    if alone := [e.given for e in reference.without_arguments]:
        yield MarkedRuns(alone)  # from a start of its own: each has as many arguments as the first
    rng = np.random.default_rng([reference.seed, 9])
    beside = [given for given, _ in case.beside_multiples][:SOME]
    corners = reference.original.inputs.corners(rng, 2)
    ends = corners if reference.expected[0].cpu_s < QUICK_S else ()
    if beside or ends:
        yield MarkedRuns([*beside, *ends])  # what the ends of ranges bound is the same twice
    quick = [e.given for e in every if e.cpu_s < QUICK_S][:FEW]
    if quick and (program.language in PARALLEL or case.starts_threads):
        yield from (MarkedRuns(quick, count) for count in SOME_THREADS)
    if quick and asks_group(program):
        yield from (MarkedRuns(quick, 1, {SMALL_GROUP: str(most)}) for most in GROUPS)
    many = [given for given, _ in case.many]
    random.Random(reference.seed).shuffle(many)  # parts of ranges take turns in it
    yield from (MarkedRuns(some, 1, order) for some, order in _ordered(program, many) if some)


def _ordered(
    program: Program, many: Sequence[ProgramInput]
) -> Iterator[tuple[Sequence[ProgramInput], Mapping[str, str]]]:
    """Many inputs in parts; of kernels some in other orders.  Each run of CUDA is a fork."""
    yield many[:SOME], {}
    runs_kernels = program.language == "cuda" or program.holds_kernels
    for number, order in enumerate(OTHER_ORDERS * runs_kernels, 1):
        yield many[number * SOME :][:SOME] or many[:SOME], order
    if program.language != "cuda":
        yield many[SOME:MOST], {}
