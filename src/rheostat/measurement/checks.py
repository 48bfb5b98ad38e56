"""What every reader promises: impossible rows are left out and counted, nothing is repaired.

Rows in = rows out + rows noted as dropped.  A row that is dropped for one reason is not counted
for a second one, so the sum holds.  Null is "not known", and so is NaN; only a value that cannot be
true (an end before its start, a negative count, 1e308 watts) costs a row its place.  A clock that
cannot be is not known: what the job took stays as true as it was.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import polars.selectors as cs

from rheostat.core.jobs import Column, JobTable, Note
from rheostat.core.vocabulary import VOCABULARY, table

LISTED = 20
MANY, NAMED = 6, 3
"""Columns with nulls of which more are counted, and of those without any value."""
FIRST = (
    "runtime_s",
    "energy_j",
    "power_w",
    "nodes",
    "submit_s",
    "start_s",
    "end_s",
    "cores",
    "gpus",
)
ROW = "__row"

AMOUNTS = ("nodes", "nodes_alloc", "cores", "cores_alloc", "gpus", "gpus_alloc", "tasks",
           "memory_b", "time_limit_s", "power_w", "power_max_w", "energy_j")  # fmt: skip
MOST = {"s": 1e11, "W": 1e12, "J": 1e21, "Hz": 1e12, "B": 1e21, "B/s": 1e21, "1/s": 1e24}
"""No machine is beyond: three thousand years, the power and the yearly energy of the world."""
MOST_INSTANT, MOST_COUNT = 1e15, 1e12
INSTANTS = ("submit_s", "eligible_s", "start_s", "end_s", "t_s")
NEVER_NEGATIVE = ("W", "J", "Hz", "B", "B/s", "1/s")


def note_rows(message: str, rows: Iterable[int], *, dropped: bool = False) -> Note:
    """A note that counts all ``rows`` and lists the first 20.

    >>> note_rows("odd", range(100)).count, len(note_rows("odd", range(100)).rows)
    (100, 20)
    """
    rows = tuple(int(r) for r in rows)
    return Note(message, rows[:LISTED], len(rows), dropped)


def rows_where(
    frame: pl.DataFrame, good: pl.Expr, otherwise: str
) -> tuple[pl.DataFrame, list[Note]]:
    """Rows of which ``good`` is true, and what is noted of the others; null is not true.

    They are numbered by `ROW` where the frame has it.
    """
    held = frame.select(held=good)["held"].fill_null(False)
    gone = frame[ROW].filter(~held) if ROW in frame.columns else (~held).arg_true()
    return frame.filter(held), [note_rows(otherwise, gone, dropped=True)] if len(gone) else []


def impossible(frame: pl.DataFrame, columns: Iterable[Column] = ()) -> list[tuple[str, pl.Expr]]:
    """(reason, expression that is true where a row cannot be) for the columns there are.

    ``columns`` describe those that the vocabulary lacks.
    """
    have, col = set(frame.columns), pl.col
    rules = [("runtime_s is negative", col("runtime_s") < 0, {"runtime_s"}),
             ("start before submission", col("start_s") < col("submit_s"), {"start_s", "submit_s"}),
             ("end before start", col("end_s") < col("start_s"), {"end_s", "start_s"})]  # fmt: skip
    rules += [(f"{a} is negative", col(a) < 0, {a}) for a in AMOUNTS]
    rules = [rule for rule in rules if rule[2] <= have]
    units = _units(frame, columns)
    rules += [
        (f"{n} is negative", col(n) < 0, {n})
        for n, unit in units.items()
        if n not in AMOUNTS and n not in INSTANTS and (unit in NEVER_NEGATIVE or _counted(n))
    ]
    for n, unit in units.items():
        most = MOST_INSTANT if n in INSTANTS else MOST.get(unit, MOST_COUNT)
        rules.append((f"{n} is beyond {most:g} {unit}".rstrip(), col(n).abs() > most, {n}))
    return [(reason, expr) for reason, expr, _ in rules]


def _units(frame: pl.DataFrame, columns: Iterable[Column]) -> dict[str, str]:
    """Units of the columns of numbers whose meaning is known."""
    own = {c.name: c.unit for c in columns if c.unit or _counted(c.name)}
    known = {n: VOCABULARY[n].unit for n in VOCABULARY if VOCABULARY[n].unit or n in AMOUNTS}
    units = known | own
    return {n: units[n] for n, t in frame.schema.items() if n in units and t.is_numeric()}


def _counted(name: str) -> bool:
    """Whether hardware counts it: there is no less than none of it."""
    from rheostat.measurement.counters.rates import COUNTERS  # the readers there come back to here

    return name in COUNTERS


def drop_impossible(
    frame: pl.DataFrame, columns: Iterable[Column] = ()
) -> tuple[pl.DataFrame, list[Note]]:
    """Rows that can be, and one note per reason for those that cannot.

    ``frame`` has the source's row number in `ROW`; it is removed here.
    """
    rules = impossible(frame, columns)
    if not rules:
        return frame.drop(ROW), []
    reason = pl.coalesce(pl.when(bad).then(pl.lit(i)) for i, (_, bad) in enumerate(rules))
    marked = frame.with_columns(__why=reason)
    gone = marked.filter(pl.col("__why").is_not_null())
    notes = []
    for i, (text, _) in enumerate(rules):
        rows = gone.filter(pl.col("__why") == i)[ROW]
        if rows.len():
            notes.append(note_rows(text, rows.to_list(), dropped=True))
    return marked.filter(pl.col("__why").is_null()).drop("__why", ROW), notes


def as_jobs(
    frame: pl.DataFrame, columns: Iterable[Column] = (), notes: Iterable[Note] = ()
) -> JobTable:
    """A table without impossible rows, with notes on what was dropped and what is null."""
    columns = tuple(columns)
    frame, clocks = _possible_clocks(frame.with_columns(cs.float().fill_nan(None)), columns)
    kept, dropped = drop_impossible(frame, columns)
    kept, endless = _without_infinities(kept)
    return table(kept, columns, (*notes, *clocks, *dropped, *endless, *null_notes(kept)))


def _possible_clocks(
    frame: pl.DataFrame, columns: Iterable[Column]
) -> tuple[pl.DataFrame, list[Note]]:
    """Frequencies that cannot be become null, with a note: they spoil no measurement."""
    notes = []
    for name in (n for n, unit in _units(frame, columns).items() if unit == "Hz"):
        bad = ~frame[name].is_between(0, MOST["Hz"]).fill_null(value=True)
        if bad.any():
            frame = frame.with_columns(pl.when(~bad).then(pl.col(name)).alias(name))
            said = f"{name} is negative or beyond {MOST['Hz']:g} Hz: taken as not known"
            rows = frame[ROW].filter(bad) if ROW in frame.columns else bad.arg_true()
            notes.append(note_rows(said, rows))
    return frame, notes


def _without_infinities(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Infinite cells of columns that nobody knows become null, with a note."""
    counts = {n: int(frame[n].is_infinite().sum()) for n, t in frame.schema.items() if t.is_float()}
    odd = [f"{n} {k}" for n, k in counts.items() if k]
    if not odd:
        return frame, []
    finite = frame.with_columns(
        pl.when(pl.col(n).is_finite()).then(pl.col(n)) for n, k in counts.items() if k
    )
    return finite, [Note(f"infinite, taken as not known: {', '.join(odd)}")]


def null_notes(frame: pl.DataFrame) -> list[Note]:
    """One note that names columns with nulls and how many they have, the first of many.

    >>> odd = {"a": [1, None], **{f"c{i}": [None, None] for i in range(9)}, "energy_j": [None, 7]}
    >>> null_notes(pl.DataFrame(odd))[0].message
    'not known (null): energy_j 1, a 1; and in every row 9 columns (c0, c1, c2, ...)'
    """
    counts = dict(zip(frame.columns, frame.null_count().row(0), strict=True))
    holes = {c: n for c, n in counts.items() if n}
    if len(holes) <= MANY:
        every = ", ".join(f"{c} {n}" for c, n in holes.items())
        return [Note(f"not known (null): {every}")] if holes else []
    order = sorted(holes, key=lambda c: FIRST.index(c) if c in FIRST else len(FIRST))
    some = [f"{c} {holes[c]}" for c in order if holes[c] < len(frame)]
    never = [c for c in order if holes[c] == len(frame)]
    more = f" and {len(some) - MANY} other columns" if len(some) > MANY else ""
    said = [", ".join(some[:MANY]) + more] if some else []
    if never:
        dots = ", ..." if len(never) > NAMED else ""
        names = f"in every row {len(never)} columns ({', '.join(never[:NAMED])}{dots})"
        said.append(f"and {names}" if some else names)
    return [Note(f"not known (null): {'; '.join(said)}")]
