"""A table with a row for each rank of a parallel run, as one with a row for each run.

A run lasts as long as its slowest rank.  Energy and power may be of each rank alone, or of the node
that ranks share: they are summed only where their heading says per rank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from shlex import quote

import polars as pl

from rheostat.core.jobs import Moment, Note
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.runs.guess import guess_known
from rheostat.measurement.runs.languages import UNFINISHED

RANK = re.compile(r"((mpi|global|world)[ _]?)?(rank|pe)([ _]?(id|no))?|proc(ess)?[ _]?id", re.I)
PLACE = re.compile(
    r"(host|node|server)(_?name|_?id)?|compute_?node|pid|local_?rank"
    r"|(core|cpu|gpu|device|socket)(_?id)?", re.IGNORECASE
)  # fmt: skip
"""Where a rank ran: ranks of a run differ in it, and it is no setting."""
EACH = {"energy_per_rank_j": "energy_j", "power_per_rank_w": "power_w"}
SIZES = {"nodes", "gpus", "cores", "tasks"}
SPREAD = 1e-6
"""By what share readings of one amount may differ."""
UNCLEAR = (
    "{0} differs between the ranks of a run: it may be of each rank alone, or of the node that "
    "they share. Where of each rank, --column {1}, and its ranks are summed; else write a row for "
    "each run"
)


def ranks_together(
    table: pl.DataFrame, headings: Mapping[str, str] | None = None
) -> tuple[pl.DataFrame, list[Note]]:
    """A row for each run, with the time of its slowest rank; other tables as they are.

    ``headings`` are those of the file, by our names.

    >>> runs = {ROW: [0, 1, 2, 3], "nodes": [1, 1, 2, 2], "rank": [0, 1, 0, 1]}
    >>> whole, notes = ranks_together(pl.DataFrame({**runs, "runtime_s": [9.0, 8.0, 4.0, 5.0]}))
    >>> whole.rows(), notes[0].message
    ([(0, 1, 9.0), (2, 2, 5.0)], 'another rank of a run: 2 runs, each as long as its slowest rank')
    """
    named = [c for c in table.columns if RANK.fullmatch(c) and table[c].dtype.is_integer()]
    if len(named) != 1 or "runtime_s" not in table.columns:
        return table, []
    rest = [c for c in table.columns if c not in (named[0], ROW)]
    run = _run_of_row(table, named[0], [c for c in rest if _is_setting(c, table[c])])
    if run is None:
        return table, []
    rows = table.drop(named[0]).with_columns(run)
    _refuse_unclear(rows, headings or {})
    counts = run.value_counts()["count"].n_unique() > 1 and not SIZES & {*rest}
    more = [pl.len().cast(pl.Int64).alias("cores")] if counts else []
    whole = rows.group_by("_run", maintain_order=True).agg(
        pl.col(ROW).first(), *(_of_run(c, rows[c]) for c in rest), *more
    )
    summed = {c: ours for c, ours in EACH.items() if c in rest and ours not in rest}
    whole = whole.drop("_run").rename(summed)
    said = f"another rank of a run: {len(whole):,} runs, each as long as its slowest rank"
    said += "".join(f"; {ours} is the sum of its ranks" for ours in summed.values())
    gone = rows.filter(~pl.col("_run").is_first_distinct())[ROW].to_list()
    return whole, [note_rows(said + "; cores counts its ranks" * counts, gone, dropped=True)]


def _is_setting(column: str, values: pl.Series) -> bool:
    return not PLACE.fullmatch(column) and guess_known(column, values) is Moment.SUBMIT


def _run_of_row(table: pl.DataFrame, rank: str, settings: Sequence[str]) -> pl.Series | None:
    """Which run each row is of, as ``_run``; None where ranks are not 0, 1, ... in each.

    A run ends where ranks begin anew; where rows are in another order, a rank that comes again is
    of another run of its settings.
    """
    anew = (pl.col(rank).diff() <= 0).fill_null(value=False).cum_sum()
    again = pl.int_range(pl.len()).over(*settings, rank)
    for keys in (table.select(_again=anew), table.select(*settings, _again=again)):
        run = keys.select(pl.struct(pl.all()).rank("dense").alias("_run")).to_series()
        if _are_whole(table.with_columns(run), rank, settings):
            return run
    return None


def _are_whole(rows: pl.DataFrame, rank: str, settings: Sequence[str]) -> bool:
    """Whether each run has ranks 0, 1, ..., one row each, of one setting; and some several."""
    number = pl.col(rank)
    runs = rows.group_by("_run").agg(
        pl.len(), ((number.min() == 0) & (number.max() == pl.len() - 1) & ~number.has_nulls()
                   & number.is_unique().all()).alias("whole"),
        *(pl.col(c).n_unique() for c in settings),
    )  # fmt: skip
    alike = all((runs[c] == 1).all() for c in settings)
    return alike and bool(runs["whole"].all()) and bool((runs["len"] > 1).any())


def _refuse_unclear(rows: pl.DataFrame, headings: Mapping[str, str]) -> None:
    """Refuse energy and power that nothing says to be of a rank or of its node."""
    problems = []
    for each, ours in EACH.items():
        if ours not in rows.columns or not rows[ours].dtype.is_numeric():
            continue
        value = pl.col(ours)
        apart = (value.max() - value.min()) / value.max() > SPREAD
        if rows.group_by("_run").agg(apart=apart)["apart"].any():
            problems.append(UNCLEAR.format(ours, quote(f"{each}={headings.get(ours, ours)}")))
    if problems:
        raise DataError("rank", problems)


def _of_run(column: str, values: pl.Series) -> pl.Expr:
    """What a column is of a run: its longest time, its sum, the same of all, the mean."""
    name = pl.col(column)
    if column == "runtime_s" or column in EACH:
        known = name.is_not_null().all()  # a rank without a time may have been the slowest
        return (
            pl.when(known).then(name.max() if column == "runtime_s" else name.sum()).alias(column)
        )
    if column == "state":
        ended = name.filter(name.cast(pl.String).str.to_uppercase().is_in(list(UNFINISHED)))
        return pl.coalesce(ended.first(), name.first()).alias(column)
    same = name.n_unique() == 1
    if values.dtype.is_float():
        return pl.when(same).then(name.first()).otherwise(name.mean()).alias(column)
    return pl.when(same).then(name.first()).alias(column)
