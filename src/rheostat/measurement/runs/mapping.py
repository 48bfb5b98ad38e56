"""A column mapping: our names on the left, theirs on the right, in TOML or as flags.

As flags (``--column``): ``runtime_s=wall_s``, ``power_w=power_cpu_W+power_dram_W``,
``runtime_s=1/speed``, ``energy_j=kWh*3.6e6`` or ``t/1000``; ``randomized==1`` is of all rows.

[columns]
runtime_s = "wall_s"
power_w = ["power_cpu_W", "power_dram_W"]      # a sum
energy_j = { from = "energy", scale = 3.6e6 }  # kWh
runtime_s = { from = "speed", inverse = true }  # a rate: 1 / speed, in units of its best
[known]
size = "submit"
[drop]
columns = ["file"]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.storage.files import read_toml
from rheostat.core.vocabulary import VOCABULARY, column
from rheostat.errors import DataError
from rheostat.measurement.counters.rates import COUNTERS
from rheostat.measurement.runs.factors import in_factors, name_of, value_of
from rheostat.measurement.runs.header_units import either_prefix, split_unit

SPELLED = re.compile(
    r"\s*(?P<over>1\s*/)?\s*(?P<rest>.+?)\s*((?P<by>[*/])\s*(?P<scale>\d+\.?\d*(e[-+]?\d+)?)\s*)?"
)
RATE = re.compile(
    r"(_|\b)per_?(s|sec(ond)?s?|min(ute)?s?|h|hours?)\b|/ ?(s|sec|min|h|d(ay)?)\b|throughput"
    r"|flops?\b|flop/s|(\b|_)(fps|ips|tps|qps|rps|iops|mlups)\b",
    re.IGNORECASE,
)
"""Headings of what is done in a time: where it is larger, less time was taken."""
YIELD = re.compile(
    r"(_|\b)per_?(w(att)?s?|([kM]?j|joules?)|k?wh)\b|/ ?((?P<unit>[kM]?J|k?Wh|W)|watt|joule)s?\b",
    re.IGNORECASE,
)
"""Headings of what is done with an energy: where it is larger, less was taken."""


@dataclass(frozen=True)
class ColumnSource:
    """Where one of our columns comes from: their columns, summed, times ``scale``.

    ``inverse`` takes one over that: a table may have rates where we have times.  ``times`` and
    ``over`` are columns with which another was multiplied and by which it was divided, whose name
    is then ``A*B/C``: a step's time, by its samples.
    """

    columns: tuple[str, ...]
    scale: float = 1.0
    inverse: bool = False
    over: str = ""
    times: str = ""

    @classmethod
    def of(cls, ours: str, theirs: Any) -> ColumnSource:
        """From a name, a list of names to sum, or a table ``{from=, scale=}``.

        Without a scale, a unit of their name decides: ``wall_min`` is 60 s a piece, and one over
        ``steps/h`` is in hours.
        """
        given = theirs if isinstance(theirs, Mapping) else {"from": theirs}
        names, scale = given.get("from"), given.get("scale")
        inverse, over = bool(given.get("inverse", False)), str(given.get("over", ""))
        times = str(given.get("times", ""))
        names = (names,) if isinstance(names, str) else tuple(names or ())
        if not names or not all(isinstance(n, str) for n in names):
            raise DataError("mapping", [f"{ours}: expected a column name, got {theirs!r}"])
        if scale is None and not inverse:
            _refuse_rate(ours, names)
        if scale is None:
            of_rate = _joules_of_yield if ours == "energy_j" else _seconds_of_rate
            scale = of_rate(names[0]) if inverse else _scale(ours, names)
        names = (name_of(names[0], times, over),) if times or over else names
        return cls(names, float(scale), inverse, over, times)

    @property
    def theirs(self) -> tuple[str, ...]:
        """The columns of the file.

        >>> ColumnSource.of("runtime_s", {"from": "step_ms", "over": "batch"}).theirs
        ('step_ms', 'batch')
        """
        return tuple(n for n in self.factors if n) if self.made else self.columns

    @property
    def made(self) -> bool:
        """Whether it is a product or a quotient of columns."""
        return bool(self.over or self.times)

    @property
    def factors(self) -> tuple[str, str, str]:
        """The column, that with which it is multiplied and that by which it is divided."""
        ending = name_of("", self.times, self.over)
        return self.columns[0].removesuffix(ending), self.times, self.over

    def values(self) -> pl.Expr:
        """One column as it stands, else the numbers that it spells; a sum without a part is none.

        >>> source = ColumnSource(("speed",), inverse=True)
        >>> pl.DataFrame({"speed": [4.0]}).select(source.values()).item()
        0.25
        """
        if len(self.columns) == 1 and self.scale == 1.0 and not self.inverse:
            return pl.col(self.columns[0])
        numbers = (pl.col(c).cast(pl.Float64, strict=False) for c in self.columns)
        total = pl.sum_horizontal(numbers, ignore_nulls=False)
        return self.scale / total if self.inverse else self.scale * total


@dataclass(frozen=True)
class Mapped:
    """A whole mapping; empty means: guess everything."""

    columns: Mapping[str, ColumnSource] = field(default_factory=dict)
    known: Mapping[str, Moment] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    name: str = ""

    @property
    def theirs(self) -> set[str]:
        """Every column of the file that is named."""
        return {c for source in self.columns.values() for c in source.theirs}

    @classmethod
    def of(cls, spec: Mapping[str, Any], name: str = "") -> Mapped:
        """From the tables of a TOML file."""
        unknown = sorted(set(spec) - {"columns", "known", "drop"})
        moments = {m.name.lower(): m for m in Moment}
        bad = [f"[{k}] is not a table of a mapping" for k in unknown]
        bad += [
            f"known.{k}: expected submit, start or end, got {v!r}"
            for k, v in spec.get("known", {}).items()
            if str(v).lower() not in moments
        ]
        if bad:
            raise DataError(name or "mapping", bad)
        return cls(
            {k: ColumnSource.of(k, v) for k, v in spec.get("columns", {}).items()},
            {k: moments[str(v).lower()] for k, v in spec.get("known", {}).items()},
            tuple(spec.get("drop", {}).get("columns", ())),
            name,
        )

    def keeping(self, names: Sequence[str], turned: Sequence[str]) -> Mapped:
        """This mapping, but with these columns of theirs under their own name, as they stand.

        What is ``turned`` is known before a run.
        """
        rest = {k: s for k, s in self.columns.items() if not set(s.columns) & set(names)}
        kept = {n: ColumnSource((n,)) for n in names}
        known = {**self.known, **dict.fromkeys(turned, Moment.SUBMIT)}
        return replace(self, columns={**rest, **kept}, known=known)

    def over(self, other: Mapped) -> Mapped:
        """This mapping, and ``other`` where this one says nothing."""
        return Mapped(
            {**other.columns, **self.columns},
            {**other.known, **self.known},
            (*self.drop, *other.drop),
            self.name or other.name,
        )


def described(ours: str, source: ColumnSource, chosen: Mapped) -> Column:
    """Our column, with when it is known and what it is taken from."""
    if ours in VOCABULARY:
        return of_theirs(ours, source.columns)
    if ours in COUNTERS:
        return COUNTERS[ours]
    moment = chosen.known.get(ours, Moment.SUBMIT)
    if source == ColumnSource((ours,)):  # as it stands: what its name says of a unit is not SI
        return Column(ours, "", moment)
    return Column(ours, split_unit(ours)[2], moment, f"from {source.columns[0]}")


def of_theirs(ours: str, theirs: tuple[str, ...]) -> Column:
    """A column of the vocabulary that says which of their columns it is, where the names differ."""
    said = VOCABULARY[ours]
    return said if theirs == (ours,) else replace(said, meaning=f"from {' + '.join(theirs)}")


_PER = re.compile(
    r"(?P<one>[^\W_]*)\s*(/|_?per_?)\s*(?P<time>s|sec|min|h|d|(second|minute|hour|day)s?)(?![^\W_])",
    re.IGNORECASE,
)
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds_of_rate(name: str) -> float:
    """Seconds of the time in which a rate counts.

    >>> [_seconds_of_rate(n) for n in ("Performance (ns/day)", "steps_per_h", "GFlop/s", "speed")]
    [86400.0, 3600.0, 1.0, 1.0]
    """
    per = _PER.search(name)
    return _SECONDS.get(per["time"][0].lower(), 1.0) if per else 1.0


def _joules_of_yield(name: str) -> float:
    """Joules of the energy with which a yield counts; those of a watt for a second.

    >>> [_joules_of_yield(n) for n in ("img/kWh", "GFlops/W", "tokens_per_joule")]
    [3600000.0, 1.0, 1.0]
    """
    per = YIELD.search(name)
    return split_unit(f"energy [{per['unit']}]")[3] if per and per["unit"] else 1.0


def one_over(mapped: Mapped) -> list[Note]:
    """What a run time that is one over a rate is the time of, and so are its joules.

    >>> rate = {"runtime_s": {"from": "ns/day", "inverse": True}}
    >>> one_over(Mapped.of({"columns": rate}))[0].message
    'runtime_s is 1/(ns/day), the time of one ns; energy is that of one ns'
    """
    source = mapped.columns.get("runtime_s")
    if source is not None and source.made:
        one = f", the time of one of {source.over}" * (not source.times)
        of = "of that time" if source.times else "that of one"
        return [Note(f"runtime_s is {source.columns[0]}{one}; energy from watts is {of}")]
    if source is None or not source.inverse:
        return []
    rate = source.columns[0]
    per = _PER.search(rate)
    counted = re.sub(r"(?<=[a-z]{3})s$", "", per["one"]) if per else ""
    one = f"one {counted or f'unit of {rate}'}"
    return [Note(f"runtime_s is 1/({rate}), the time of {one}; energy is that of {one}")]


def stated(text: str) -> pl.Expr:
    """What follows the ``=`` of a value of all rows: a number, if it reads as one."""
    text = text.removeprefix("=")
    for number in (int, float):
        try:
            return pl.lit(number(text))
        except ValueError:
            pass
    return pl.lit(text)


def with_stated(frame: pl.DataFrame, mapped: Mapped) -> pl.DataFrame:
    """The table with a column for every value of all rows, and every quotient, under its text.

    >>> runs = Mapped.of({"columns": {"randomized": "=1", "nodes": "n"}})
    >>> with_stated(pl.DataFrame({"n": [2, 4]}), runs).rows()
    [(2, 1), (4, 1)]
    """
    names = {c for s in mapped.columns.values() for c in s.columns if c.startswith("=")}
    frame = frame.with_columns(stated(n).alias(n) for n in sorted(names - set(frame.columns)))
    made = [s for s in mapped.columns.values() if s.made and {*s.theirs} <= {*frame.columns}]
    return frame.with_columns(value_of(*s.factors).alias(s.columns[0]) for s in made)


def states_alone(columns: Mapping[str, Any]) -> bool:
    """Whether all that is mapped are values of all rows, which any table can have beside its own.

    >>> states_alone({"randomized": "=1"}), states_alone({"app": "JobName"})
    (True, False)
    """
    return all(isinstance(t, str) and t.startswith("=") for t in columns.values())


def with_values(jobs: JobTable, columns: Mapping[str, str]) -> JobTable:
    """A table with values of all rows, known at submission.

    >>> from rheostat.core.vocabulary import table
    >>> with_values(table({"nodes": [2, 4]}), {"randomized": "=1"}).frame["randomized"].to_list()
    [1, 1]
    """
    described = [column(n, meaning=f"{n}={text}, as stated") for n, text in columns.items()]
    return jobs.with_columns(described, **{n: stated(text) for n, text in columns.items()})


def spelled(named: Mapping[str, Any], headings: Collection[str]) -> dict[str, Any]:
    """Texts as ``1/speed``, ``A+B``, ``A/B`` and ``(A+B)*1e-3`` as in TOML, where no heading is so.

    >>> spelled({"runtime_s": "1/speed", "power_w": "(A+B)*1e-3"}, ["speed", "A", "B"])["power_w"]
    {'from': ['A', 'B'], 'inverse': False, 'scale': 0.001}
    >>> spelled({"runtime_s": "time"}, ["Time [min]"])
    {'runtime_s': 'Time [min]'}
    """
    return {ours: _spelled(theirs, headings) for ours, theirs in named.items()}


def headings_meant(names: Sequence[str], headings: Collection[str]) -> dict[str, str]:
    """Headings that differ from a name in capitals, spaces, marks or a unit alone, with that name.

    >>> headings_meant(["clock_mhz", "mode"], ["Clock [MHz]", "mode", "Mode"])
    {'Clock [MHz]': 'clock_mhz'}
    >>> headings_meant(["power_limit"], ["Power limit [W]", "time [s]"])
    {'Power limit [W]': 'power_limit'}
    """
    wanted = {_letters(n): n for n in names if n not in headings}
    plain = {h: re.sub(r"\s*[\[(][^\[(]*[\])]\s*$", "", h) for h in headings}
    spelt = {h: {_letters(h), _letters(plain[h])} & set(wanted) for h in headings}
    meant = {h: wanted[letters.pop()] for h, letters in spelt.items() if len(letters) == 1}
    return {h: n for h, n in meant.items() if list(meant.values()).count(n) == 1}


def _letters(name: str) -> str:
    return re.sub(r"[\s_()\[\]-]+", " ", name).strip().casefold()


def present(named: Mapping[str, Any], headings: Collection[str]) -> dict[str, Any]:
    """Those that a table with these headings can have.

    >>> present({"runtime_s": "1/speed", "power_w": "A+B"}, ["speed", "A"])
    {'runtime_s': '1/speed'}
    """
    sources = {k: ColumnSource.of(k, v) for k, v in spelled(named, headings).items()}
    return {k: v for k, v in named.items() if set(sources[k].theirs) <= set(headings)}


def _spelled(theirs: Any, headings: Collection[str]) -> Any:
    if not isinstance(theirs, str) or theirs in headings or theirs.startswith("="):
        return theirs
    if (meant := _heading(theirs, headings)) in headings:
        return meant
    of = SPELLED.fullmatch(theirs)
    if of is None:
        return theirs
    scale, one = of["scale"], of["rest"]
    inner = one[1:-1] if one.startswith("(") and one.endswith(")") else one
    names = [one] if one in headings else [part.strip() for part in inner.split("+")]
    names = [_heading(name, headings) for name in names]
    whole = len(names) == 1 or inner != one or not (scale or of["over"])  # of a sum, not of its end
    if not whole or not set(names) <= set(headings):
        return in_factors(theirs, headings, lambda name: _heading(name, headings))
    how = {"from": names, "inverse": bool(of["over"])}
    return how | ({"scale": float(scale) ** (-1 if of["by"] == "/" else 1)} if scale else {})


def _heading(name: str, headings: Collection[str]) -> str:
    """The heading that a name is, or that alone differs from it in capitals, marks or a unit."""
    return name if name in headings else next(iter(headings_meant([name], headings)), name)


def _refuse_rate(ours: str, theirs: tuple[str, ...]) -> None:
    """Refuse a rate as a run time, which would turn every answer round.

    >>> _refuse_rate("runtime_s", ("samples_per_s",))
    Traceback (most recent call last):
    rheostat.errors.DataError: mapping: runtime_s: expected a time, got samples_per_s, a rate: \
--column runtime_s=1/samples_per_s; if the name is wrong, --column 'runtime_s=samples_per_s*1'
    """
    if ours in ("energy_j", "power_w") and (spent := next(filter(YIELD.search, theirs), None)):
        said = f"{ours}: {spent} is what is done with an energy, and less where more is taken"
        raise DataError("mapping", [f"{said}: --column {quote(f'energy_j=1/{spent}')}"])
    rate = next((t for t in theirs if ours == "runtime_s" and RATE.search(t)), None)
    if rate is not None:
        asked = quote(f"{ours}=1/{rate}")
        said = f"{ours}: expected a time, got {rate}, a rate: --column {asked}"
        other = quote(f"{ours}={rate}*1")
        raise DataError("mapping", [f"{said}; if the name is wrong, --column {other}"])


def load_mapping(path: str | Path) -> Mapped:
    """A mapping from a TOML file."""
    return Mapped.of(read_toml(path), str(path))


def _scale(ours: str, theirs: tuple[str, ...]) -> float:
    """The scale that the units in both names ask for, 1 where theirs say none."""
    _, ours_suffix, _, own = split_unit(ours)
    units = [split_unit(t, timed=ours_suffix == "_s") for t in theirs]
    for t in (t for t in theirs if ours_suffix in ("_w", "_j") and either_prefix(t)):
        said = f"{ours}: {either_prefix(t)} of {t} may be milli or mega: state a scale"
        raise DataError("mapping", [f"{said}, --column {quote(f'{ours}={t}*1e-3')}"])
    other = [t for t, (_, suffix, _, _) in zip(theirs, units, strict=True)
             if suffix and ours_suffix and suffix != ours_suffix]  # fmt: skip
    if ours in ("runtime_s", "power_w", "energy_j") and other:
        expected = f"{ours}: expected a unit of {ours_suffix[1:].upper()}, got {', '.join(other)}"
        said = quote(f"{ours}={other[0]}*1")
        said = f"{expected}; if a name is wrong, say so by a scale: --column {said}"
        raise DataError("mapping", [said])
    scales = {scale for _, suffix, _, scale in units if suffix == ours_suffix and ours_suffix}
    if len(scales) > 1:
        said = f"{ours}: expected columns of one unit in a sum, got {', '.join(theirs)}"
        raise DataError("mapping", [f"{said}: convert one of them, or state a scale"])
    return scales.pop() / own if scales else 1.0
