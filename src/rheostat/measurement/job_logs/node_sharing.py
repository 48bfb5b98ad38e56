"""Which jobs had company on a node: the energy of a node is then not that of one job."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, Moment
from rheostat.errors import DataError

SHARED = Column("shared", "", Moment.END, "another job ran on one of its nodes meanwhile")
MOST_NODES, MOST_NAMES = 200_000, 20_000_000
"""Names that one list of nodes may stand for, and those of all jobs that run together."""
NAMES_AT_ONCE = 5_000_000
_PART = re.compile(r"([^,\[\]]*)(?:\[([\d,-]+)\])?([^,\[\]]*)(?:,|$)")


def nodes_of(text: str) -> list[str]:
    """The nodes that Slurm folds into one list.

    >>> nodes_of("n[08-10,12],login1"), nodes_of("gpu[1-2]-ib")
    (['n08', 'n09', 'n10', 'n12', 'login1'], ['gpu1-ib', 'gpu2-ib'])
    """
    return [
        f"{before}{k:0{width}d}{after}" if width else before + after
        for before, after, low, high, width in _ranges(text)
        for k in range(low, high + 1)
    ]


def count_nodes(text: str) -> int:
    """How many nodes a list stands for.

    >>> count_nodes("n[08-10,12],login1")
    5
    """
    return sum(high - low + 1 for _, _, low, high, _ in _ranges(text))


def _ranges(text: str) -> list[tuple[str, str, int, int, int]]:
    """What stands before and after a number, the first and last one, its digits; 0: no number."""
    ranges: list[tuple[str, str, int, int, int]] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or match.end() == at:
            raise DataError("node_list", [f"expected names like n[1-4],m7, got {text[:60]!r}"])
        at = match.end()
        before, numbers, after = match.groups()
        for piece in (numbers or "0").split(","):
            low, high = _ends(piece)
            width = 0 if numbers is None else len(piece.partition("-")[0])
            ranges.append((before, after, low, high, width))
    if sum(high - low + 1 for _, _, low, high, _ in ranges) > MOST_NODES:
        problem = f"{text[:60]!r} stands for more than {MOST_NODES:,} nodes"
        raise DataError("node_list", [problem])
    return ranges


def _ends(piece: str) -> tuple[int, int]:
    """First and last number of a range as 08-10."""
    low, dash, last = piece.partition("-")
    if not low.isdigit() or not (last if dash else low).isdigit() or int(last or low) < int(low):
        raise DataError("node_list", [f"expected a range like 08-10, got [{piece[:60]}]"])
    return int(low), int(last or low)


def node_runs(
    frame: pl.DataFrame, names_at_once: int = NAMES_AT_ONCE
) -> Iterator[tuple[pl.DataFrame, float, float]]:
    """Runs on single nodes by stretches of time: row of the job, node, start and end.

    A stretch has all runs that reach into it, so two runs that meet do so within one.

    Parameters
    ----------
    frame : DataFrame
        Jobs with ``node_list``, ``start_s`` and, where it is known, ``end_s``.
    names_at_once : int
        Names of nodes in a stretch, beside those of jobs that began before it.

    Yields
    ------
    tuple of DataFrame, float, float
        The runs of a stretch by node and start, and the moments at which it begins and ends.
    """
    end = pl.col("end_s") if "end_s" in frame.columns else pl.lit(None, pl.Float64)
    ran = frame.select(
        pl.int_range(pl.len()).alias("row"),
        "node_list",
        "start_s",
        end_s=end.fill_null(float("inf")),
    )
    ran = ran.filter(pl.col("node_list").is_not_null() & (pl.col("end_s") > pl.col("start_s")))
    lists = ran.select(pl.col("node_list").unique(maintain_order=True))
    counts = pl.Series([count_nodes(text) for text in lists["node_list"]], dtype=pl.Int64)
    counted = lists.with_columns(names=counts)
    ran = ran.join(counted, on="node_list").sort("start_s")
    stretch = ran["names"].cum_sum() // names_at_once
    begins = ran["start_s"].filter(stretch != stretch.shift(1, fill_value=-1)).unique().sort()
    for begin, stop in itertools.pairwise([*begins, float("inf")]):
        part = ran.filter((pl.col("start_s") < stop) & (pl.col("end_s") > begin))
        if part["names"].sum() > MOST_NAMES:
            raise DataError("node_list", [f"jobs at one time name over {MOST_NAMES:,} nodes"])
        yield _on_nodes(part), begin, stop


def _on_nodes(jobs: pl.DataFrame) -> pl.DataFrame:
    """A row for each node of each job, by node and start; nodes are numbers here."""
    lists = jobs["node_list"].unique()
    nodes = pl.Series([nodes_of(text) for text in lists], dtype=pl.List(pl.String))
    named = pl.DataFrame({"node_list": lists, "node": nodes}).explode("node")
    named = named.with_columns(pl.col("node").rank("dense"))
    runs = jobs.select("row", "node_list", "start_s", "end_s").join(named, on="node_list")
    return runs.drop("node_list").sort("node", "start_s", "end_s")


def shared_nodes(frame: pl.DataFrame, names_at_once: int = NAMES_AT_ONCE) -> pl.Series:
    """Of each job whether another ran on one of its nodes meanwhile; null without nodes or times.

    >>> shared_nodes(pl.DataFrame({"node_list": ["n[1-2]", "n2", "n1", None], "start_s": [0.0, 5.0,
    ...     10.0, 1.0], "end_s": [10.0, 20.0, 12.0, 2.0]})).to_list()
    [True, True, False, None]
    """
    shared = np.full(frame.height, -1, np.int8)
    if not {"node_list", "start_s"} <= set(frame.columns):
        return pl.Series("shared", shared).replace(-1, None).cast(pl.Boolean)
    before = pl.col("end_s").cum_max().shift(1).over("node") > pl.col("start_s")
    after = pl.col("start_s").shift(-1).over("node") < pl.col("end_s")
    company = (before | after).fill_null(value=False)
    for runs, _, _ in node_runs(frame, names_at_once):
        each = runs.select("row", shared=company).group_by("row").agg(pl.col("shared").any())
        rows = each["row"].to_numpy()
        shared[rows] = np.maximum(shared[rows], each["shared"].to_numpy())
    return pl.Series("shared", shared).replace(-1, None).cast(pl.Boolean)


def node_hours_in_use(frame: pl.DataFrame, names_at_once: int = NAMES_AT_ONCE) -> float:
    """Node-hours during which a listed node had at least one job: an hour of two jobs counts once.

    >>> node_hours_in_use(pl.DataFrame({"node_list": ["n[1-2]", "n2"], "start_s": [0.0, 1800.0],
    ...     "end_s": [3600.0, 7200.0]}))
    3.0
    """
    ended, total_s = frame.filter(pl.col("end_s").is_finite()), 0.0
    for runs, begin, stop in node_runs(ended, names_at_once):
        within = runs.with_columns(pl.col("start_s", "end_s").clip(begin, stop))
        before = pl.col("end_s").cum_max().shift(1).over("node").fill_null(float("-inf"))
        new = pl.col("end_s") - pl.max_horizontal("start_s", before)
        total_s += float(within.select(new.clip(lower_bound=0.0).sum()).item())
    return total_s / 3600.0
