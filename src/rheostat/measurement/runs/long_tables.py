"""Tables as people lay them out: a row for each quantity of a run, a name for a block of rows."""

from __future__ import annotations

import re
from collections.abc import Collection

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW
from rheostat.measurement.runs.cases_across import cases_down
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.name_settings import settings_in_names

NAME = re.compile(
    r"metric([ _]?name)?|quantity|variable|measure(ment|d)?|counter|field|observable|event"
    r"|messgr[oö](ß|ss)e|gr[oö](ß|ss)e|grandeur|m[eé]trique|magnitud|grandeza", re.IGNORECASE
)  # fmt: skip
VALUE = re.compile(r"(metric[ _]?)?values?|wert|valeur|valor|valore|reading", re.IGNORECASE)
UNIT = re.compile(r"(metric[ _]?)?units?|einheit|unit[eé]|unidad|unidade", re.IGNORECASE)
SETTING = re.compile(
    r"(?P<before>[A-Za-z]*)[ _=-]*(?P<number>\d+(\.\d+)?)[ _-]*(?P<behind>[A-Za-z]*)"
)
"""A heading that is a setting: ``4 nodes``, ``n=4``, ``128``, ``250 W``."""
MOST = 100
"""Quantities of a run; more of them are no headings."""
MOST_UNITS = 8
"""Of one result."""
ONE_NAME = 2
"""Values of a column with one name and empty cells, which may be a run of nothing."""
QUANTITIES = ("runtime_s", "energy_j", "power_w")


def rows_of_runs(
    frame: pl.DataFrame, mapped: Collection[str] = ()
) -> tuple[pl.DataFrame, list[Note]]:
    """A table as people lay it out with a row per run, each with its name.

    Columns that texts of ``mapped`` name stay where they are.
    """
    frame = results_in_units(frame)
    frame, filled = names_filled(frame)
    frame, across = quantities_across(frame)
    frame, turned = settings_down(frame)
    frame, beside = cases_down(frame, mapped)
    frame, named = settings_in_names(frame)
    return frame, [*filled, *across, *turned, *beside, *named]


def names_filled(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Names that stand in the first row of a block alone are those of all its rows.

    >>> merged = pl.DataFrame({"Code": ["wrf", None, "lbm", None], "n": [1, 2, 1, 2]})
    >>> frame, notes = names_filled(merged)
    >>> frame["Code"].to_list(), notes[0].message
    (['wrf', 'wrf', 'lbm', 'lbm'], 'Code: empty cells below a name are filled with it')
    """
    named = [c for c in frame.columns if guess_name(c) == "app" and frame[c].dtype == pl.String]
    merged = [
        c for c in named
        if frame[c].null_count() and frame[c][0] is not None and frame[c].n_unique() > ONE_NAME
        and not frame[c].drop_nulls().is_duplicated().any()
    ]  # fmt: skip
    said = "empty cells below a name are filled with it"
    return frame.with_columns(pl.col(c).forward_fill() for c in merged), [
        Note(f"{c}: {said}") for c in merged
    ]


def quantities_across(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """A long table with a row per run and a column per quantity; others as they are.

    >>> long = pl.DataFrame({ROW: [0, 1], "threads": [4, 4], "metric": ["runtime", "energy"],
    ...                      "value": [9.0, 2.0], "unit": ["s", "kJ"]})
    >>> quantities_across(long)[0].to_dicts()
    [{'__row': 0, 'threads': 4, 'runtime [s]': 9.0, 'energy [kJ]': 2.0}]

    Runs of which nothing else differs are told apart by their order.
    """
    name, value, unit = (_only(frame, words) for words in (NAME, VALUE, UNIT))
    if not name or not value or frame[name].dtype != pl.String:
        return frame, []
    unit = unit if unit and frame[unit].dtype == pl.String else ""
    frame = _in_one_unit(frame, name, value, unit) if unit else frame
    named = _headings(frame, name, unit)
    if named is None or not any(guess_name(h) in QUANTITIES for h in named.unique()):
        return frame, []
    others = [c for c in frame.columns if c not in (ROW, name, value, unit)]
    if set(others) & set(named):  # a quantity that stands beside itself
        return frame, []
    long = frame.with_columns(named.alias(name)).drop(unit or [])
    long = long.with_columns(_turn=pl.int_range(pl.len()).over(*others, name))
    rows = long.group_by(*others, "_turn", maintain_order=True).agg(pl.col(ROW).min())
    wide = long.pivot(name, index=[*others, "_turn"], values=value, aggregate_function="first")
    made = rows.join(wide, on=[*others, "_turn"], nulls_equal=True, maintain_order="left")
    headings = [c for c in wide.columns if c not in (*others, "_turn")]
    made = made.select(ROW, *others, *(_as_numbers(made[h]) for h in headings))
    said = f"a row for each {name} of a run: read as {len(made)} runs with {', '.join(headings)}"
    return made, [Note(said)]


def results_in_units(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of results with their unit in a column beside, as of MLPerf, with it in the heading.

    Results in several units are as many columns, and the units stay a column.

    >>> runs = {"Result": [9.0, 8.0], "Units": ["Tokens/s"] * 2, "Power Result": [7.0, 6.0],
    ...         "Power Units": ["Watts"] * 2}
    >>> results_in_units(pl.DataFrame(runs)).columns
    ['Result [Tokens/s]', 'Power [Watts]']
    """
    for column in frame.columns:
        stem = re.sub(r"[ _]?results?$", "", column, flags=re.IGNORECASE)
        unit = re.compile(rf"{re.escape(stem)}[ _]?units?", re.IGNORECASE)
        beside = [c for c in frame.columns if unit.fullmatch(c)]
        if stem == column or len(beside) != 1 or frame[beside[0]].dtype != pl.String:
            continue
        units = frame[beside[0]].drop_nulls().unique(maintain_order=True).to_list()
        own = {f"{stem or column} [{u}]": pl.col(beside[0]) == u for u in units}
        if own.keys() & {*frame.columns} or not 0 < len(units) <= MOST_UNITS:
            continue
        frame = frame.with_columns(pl.when(of).then(column).alias(h) for h, of in own.items())
        frame = frame.drop(column, *beside[: len(units) == 1])
    return frame


def settings_down(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """A row per run where settings stand in the headings and a quantity in each row.

    >>> wide = pl.DataFrame({ROW: [0, 1], "nodes": ["time [s]", "energy [kJ]"], "1": [9.0, 2.0],
    ...                      "2": [5.0, 3.0]})
    >>> settings_down(wide)[0].rows(named=True)[1]
    {'__row': 1, 'nodes': 2.0, 'time [s]': 5.0, 'energy [kJ]': 3.0}
    """
    across = {c: m for c in frame.columns if (m := SETTING.fullmatch(c.strip()))}
    rest = [c for c in frame.columns if c not in across and c != ROW]
    if len(across) < 2 or len(rest) != 1 or frame[rest[0]].dtype != pl.String:
        return frame, []
    quantities = frame[rest[0]].to_list()
    known = [q is not None and guess_name(q) in QUANTITIES for q in quantities]
    knob = _knob({m["before"] or m["behind"] for m in across.values()}, rest[0])
    if not any(known) or not knob or len({*quantities, knob}) <= len(quantities):
        return frame, []
    runs = frame.select(*across).transpose(column_names=[str(q) for q in quantities])
    runs = runs.with_columns(_as_numbers(runs[c]) for c in runs.columns)
    values = pl.Series(knob, [float(m["number"]) for m in across.values()])
    made = runs.select(pl.int_range(pl.len()).cast(frame[ROW].dtype).alias(ROW), values, pl.all())
    return made, [Note(f"headings are values of {knob}: read as {len(made)} runs")]


def _knob(words: set[str], heading: str) -> str:
    """What the numbers in headings are of: their word, or what stands above the quantities."""
    stems = {w.lower().rstrip("s") for w in words}
    if len(stems) != 1:
        return ""
    word, above = max(words, key=len), re.split(r"[\\/|]", heading)[-1].strip()
    if word and not split_unit(f"time [{word}]")[2]:
        return word
    named = "" if NAME.fullmatch(above) else above
    return f"{named or 'setting'} [{word}]" if word else named


def _only(frame: pl.DataFrame, words: re.Pattern[str]) -> str:
    """The one column that is called so, "" where none or several are."""
    own = [c for c in frame.columns if words.fullmatch(c.strip())]
    return own[0] if len(own) == 1 else ""


def _in_one_unit(frame: pl.DataFrame, name: str, value: str, unit: str) -> pl.DataFrame:
    """Values of a quantity with several units of one kind in the base unit of these."""
    if not frame[value].dtype.is_numeric():
        return frame
    kinds = {
        u: split_unit(f"time [{u}]") for u in frame[unit].drop_nulls().cast(pl.String).unique()
    }
    mixed = frame.group_by(name).agg(pl.col(unit).cast(pl.String).unique())
    several = [n for n, own in mixed.rows() if len(own) > 1 and None not in own
               and len({kinds[u][2] for u in own}) == 1 and kinds[own[0]][2]]  # fmt: skip
    row = pl.col(name).is_in(several)
    factor = pl.col(unit).replace_strict({u: k[3] for u, k in kinds.items()}, default=1.0)
    base = pl.col(unit).replace({u: k[2] for u, k in kinds.items() if k[2]})
    return frame.with_columns(
        pl.when(row).then(pl.col(value) * factor).otherwise(pl.col(value)).alias(value),
        pl.when(row).then(base).otherwise(pl.col(unit)).alias(unit),
    )


def _headings(frame: pl.DataFrame, name: str, unit: str) -> pl.Series | None:
    """The quantity of each row with its unit; None where one has two units, or is not named."""
    names = frame[name].str.strip_chars()
    if names.null_count() or not 1 < names.n_unique() <= MOST:
        return None
    if not unit:
        return names
    units = frame[unit].cast(pl.String).fill_null("").str.strip_chars()
    pairs = pl.DataFrame({"name": names, "unit": units}).unique(maintain_order=True)
    if len(pairs) > names.n_unique():
        return None
    known = {n: f"{n} [{u}]" for n, u in pairs.rows() if u and split_unit(f"time [{u}]")[2]}
    return names.replace(known)


def _as_numbers(values: pl.Series) -> pl.Series:
    """Texts as numbers where all are, since numbers and words stood in one column."""
    if values.dtype != pl.String:
        return values
    numbers = values.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == values.null_count() else values
