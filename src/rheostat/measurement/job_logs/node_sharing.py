"""Which jobs had company on a node: the energy of a node is then not that of one job."""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Column, Moment
from rheostat.errors import DataError

SHARED = Column("shared", "", Moment.END, "another job ran on one of its nodes meanwhile")
MOST_NODES, MOST_NAMES = 200_000, 20_000_000
"""Names that one list of nodes may stand for, and those of all jobs together."""
_PART = re.compile(r"([^,\[\]]*)(?:\[([\d,-]+)\])?([^,\[\]]*)(?:,|$)")


def nodes_of(text: str) -> list[str]:
    """The nodes that Slurm folds into one list.

    >>> nodes_of("n[08-10,12],login1"), nodes_of("gpu[1-2]-ib")
    (['n08', 'n09', 'n10', 'n12', 'login1'], ['gpu1-ib', 'gpu2-ib'])
    """
    names: list[str] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or match.end() == at:
            raise DataError("node_list", [f"expected names like n[1-4],m7, got {text[:60]!r}"])
        at = match.end()
        before, ranges, after = match.groups()
        names += [f"{before}{number}{after}" for number in _numbers(ranges)]
        if len(names) > MOST_NODES:
            raise DataError(
                "node_list", [f"{text[:60]!r} stands for more than {MOST_NODES:,} nodes"]
            )
    return names


def _numbers(ranges: str | None) -> list[str]:
    if ranges is None:
        return [""]
    numbers: list[str] = []
    for piece in ranges.split(","):
        low, dash, high = piece.partition("-")
        last = int(high) if dash else int(low)
        if last - int(low) >= MOST_NODES:
            raise DataError("node_list", [f"[{piece[:60]}] is more than {MOST_NODES:,} nodes"])
        numbers += [f"{k:0{len(low)}d}" for k in range(int(low), last + 1)]
    return numbers


def node_runs(frame: pl.DataFrame) -> pl.DataFrame:
    """A row for each node of each job that has started: row of the job, node, start and end."""
    jobs = frame["node_list"].drop_nulls().value_counts()
    expanded, count = [], 0
    for text, times in jobs.rows():
        expanded.append(nodes_of(text))
        count += times * len(expanded[-1])
        if count > MOST_NAMES:
            raise DataError("node_list", [f"all jobs together name over {MOST_NAMES:,} nodes"])
    names = pl.DataFrame(
        {"node_list": jobs["node_list"], "node": expanded},
        schema={"node_list": pl.String, "node": pl.List(pl.String)},
    )
    end = pl.col("end_s") if "end_s" in frame.columns else pl.lit(None, pl.Float64)
    ran = frame.select(
        pl.int_range(pl.len()).alias("row"),
        "node_list",
        "start_s",
        end_s=end.fill_null(float("inf")),
    )
    ran = ran.filter(pl.col("start_s").is_not_null() & (pl.col("end_s") > pl.col("start_s")))
    return ran.join(names, on="node_list").explode("node").drop("node_list")


def shared_nodes(frame: pl.DataFrame) -> pl.Series:
    """Of each job whether another ran on one of its nodes meanwhile; null without nodes or times.

    >>> shared_nodes(pl.DataFrame({"node_list": ["n[1-2]", "n2", "n1", None], "start_s": [0.0, 5.0,
    ...     10.0, 1.0], "end_s": [10.0, 20.0, 12.0, 2.0]})).to_list()
    [True, True, False, None]
    """
    if not {"node_list", "start_s"} <= set(frame.columns):
        return pl.Series("shared", [None] * frame.height, dtype=pl.Boolean)
    runs = node_runs(frame).sort("node", "start_s", "end_s")
    before = pl.col("end_s").cum_max().shift(1).over("node") > pl.col("start_s")
    after = pl.col("start_s").shift(-1).over("node") < pl.col("end_s")
    company = runs.select("row", shared=(before | after).fill_null(value=False))
    each = company.group_by("row").agg(pl.col("shared").any())
    rows = pl.DataFrame({"row": pl.int_range(frame.height, eager=True)})
    return rows.join(each, on="row", how="left", maintain_order="left")["shared"]


def node_hours_in_use(frame: pl.DataFrame) -> float:
    """Node-hours during which a listed node had at least one job: an hour of two jobs counts once.

    >>> node_hours_in_use(pl.DataFrame({"node_list": ["n[1-2]", "n2"], "start_s": [0.0, 1800.0],
    ...     "end_s": [3600.0, 7200.0]}))
    3.0
    """
    runs = node_runs(frame).filter(pl.col("end_s").is_finite()).sort("node", "start_s", "end_s")
    before = pl.col("end_s").cum_max().shift(1).over("node").fill_null(float("-inf"))
    new = pl.col("end_s") - pl.max_horizontal("start_s", before)
    return float(runs.select(new.clip(lower_bound=0.0).sum()).item()) / 3600.0
