"""Weak scaling whose size is stated per rank: cells of a rank stay, and the work grows with ranks.

The work of a setting is what falls to one part of the machine times how many parts it has; of
strong scaling that product is the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.errors import QuestionError
from rheostat.measurement.runs.mapping import RATE
from rheostat.measurement.serving.energy_names import plain
from rheostat.questions.settings.lacking import columns_over, their_name
from rheostat.questions.settings.problem_size import SAME, is_result

PARTS = {
    "node": "nodes?|hosts?|servers?",
    "gpu": "gpus?|devices?|accelerators?|gcds?",
    "rank": "ranks?|proc|procs|process|processes|tasks?|mpi|pes?",
    "core": "cores?|cpus?",
    "thread": "threads?",
}
"""Parts of a machine, each by the words that headings have for it."""
WORK_OF_ONE = re.compile(
    r"((n|num|number|no|of|local|mean|avg|average|million|grid|mesh|lattice|problem|domain|matrix"
    r"|data)_)*[kmg]?(cells?|elements?|particles?|points?|atoms?|dofs?|size|problem|grid|mesh|rows?"
    r"|unknowns|molecules|bodies|sites|zones)_per_(?P<part>[a-z]+)"
)
"""Headings of how much work falls to one part; batches, messages and memory are no size of it."""
GROWTH = 1.5
"""Shares that follow from dividing one problem are rounded, by less than this factor."""
NUMBER = "((n|num|number|no|of|mpi|total)_?)*"


def refuse_weak_scaling(runs: JobTable, knobs: Sequence[str]) -> None:
    """Refuse settings whose parts do as much each, of which the larger did more work in all."""
    if not {"runtime_s", *knobs} <= set(runs.columns):
        return
    took = their_name(runs, "runtime_s")
    for size in (c for c in runs.columns if c not in knobs and not is_result(runs, c)):
        named = WORK_OF_ONE.fullmatch(plain(their_name(runs, size)))
        counts = _counts(runs, named["part"]) if named else []
        of_one = any(took.endswith(f"/{their_name(runs, c)}") for c in counts)
        if not counts or of_one or RATE.search(took):
            continue
        if _grows(runs.frame.filter(~runs.cut_off), size, counts, knobs):
            raise QuestionError(_how_to_compare(runs, size, counts))


def _counts(runs: JobTable, part: str) -> list[str]:
    """Columns whose product counts parts of the machine; nodes, where no smaller part is counted.

    >>> from rheostat import table
    >>> runs = table({"MPI ranks": [1], "nodes": [1], "gpus_per_node": [4]})
    >>> _counts(runs, "rank"), _counts(runs, "gpu"), _counts(runs, "core"), _counts(runs, "thread")
    (['MPI ranks'], ['nodes', 'gpus_per_node'], ['nodes'], [])
    """
    kind = next((k for k, words in PARTS.items() if re.fullmatch(words, part)), None)
    if kind is None:
        return []
    there = [c for c in runs.columns if runs.frame[c].dtype.is_numeric()]
    numbers = {plain(n): c for c in there for n in (c, their_name(runs, c))}
    count, nodes = (
        next((c for h, c in numbers.items() if re.fullmatch(f"{NUMBER}({PARTS[k]})", h)), None)
        for k in (kind, "node")
    )
    if count is not None:
        return [count]
    if nodes is None or kind == "thread":
        return []
    each = f"{NUMBER}({PARTS[kind]})_per_({PARTS['node']})"
    return [nodes, *(c for h, c in numbers.items() if re.fullmatch(each, h))]


def _grows(ended: pl.DataFrame, size: str, counts: list[str], knobs: Sequence[str]) -> bool:
    """Whether the work of all parts differs between settings, each by the mean of its runs.

    >>> runs = pl.DataFrame({"ranks": [1, 2, 4], "cells_per_rank": [400, 200, 100]})
    >>> _grows(runs, "cells_per_rank", ["ranks"], ["ranks"])  # strong scaling
    False
    """
    known = ended.drop_nulls([size, *counts, *knobs])
    alike = known[size].n_unique() == 1
    if not (alike or known[size].dtype.is_numeric()):
        return False
    parts = pl.reduce(lambda a, b: a * b, [pl.col(c).cast(pl.Float64) for c in counts])
    each = pl.lit(1.0) if alike else pl.col(size).cast(pl.Float64)
    work = known.group_by(list(knobs)).agg(work=(each * parts).mean())["work"]
    low, high = float(work.min() or 0.0), float(work.max() or 0.0)  # type: ignore[arg-type]
    return low > 0 and high > (SAME if alike else GROWTH) * low


def _how_to_compare(runs: JobTable, size: str, counts: list[str]) -> str:
    """That the work grows with the parts of the machine, and what to type."""
    name, parts = their_name(runs, size), " x ".join(their_name(runs, c) for c in counts)
    values = runs.frame[size].drop_nulls()
    over = parts if values.n_unique() == 1 and len(counts) == 1 else "WORK"
    typed = columns_over(runs, over)
    how = f"write a column WORK of {name} x {parts}, and {typed}" if over == "WORK" else typed
    same = f" is {values[0]} in all runs" if values.n_unique() == 1 else ""
    return (
        f"{name}{same}: in all, {name} x {parts}, the work differs between the settings (weak "
        f"scaling), and they do not compare; {how} compares times of equal work; if {name} is "
        f"a result and no task, front --known {quote(f'{name}=end')} says so"
    )
