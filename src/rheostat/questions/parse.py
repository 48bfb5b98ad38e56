"""Texts that people type - knobs, objectives, rules, limits - turned into values, once for all.

Every function takes the value itself as well, so that a question takes either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from rheostat.core.front import Constraint, Rule
from rheostat.core.space import Forbidden, Knob, Space, TooManySettings, few_enough, powers_of_two
from rheostat.core.storage.files import read_toml
from rheostat.core.units import parse_duration, parse_quantity
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError, QuestionError
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.mapping import RATE, YIELD
from rheostat.tradeoff.limits import Limit, MaxSlowdown
from rheostat.tradeoff.parse_rule import parse_rule
from rheostat.tradeoff.rules import Weighted

Knobs = Space | Knob | Sequence[Knob | str] | str | None
Names = str | Sequence[str]
HourPrices = float | str | Sequence[str] | Mapping[str, float]
Request = Mapping[str, Any] | Literal["requested"] | None
NODES = "nodes=1..256"
LONGEST_S = 1e10
EVERY = "*"
"""Any type of GPU that no price names."""
UNITS = ("s", "W", "J", "Hz", "B")


def parse_space(knobs: Knobs) -> Space:
    """Knobs from texts such as ``nodes=1,2,4`` or ``cap_w=100..300/50``; all mistakes at once.

    Parameters
    ----------
    knobs : Space, Knob, several Knobs, text or several texts
        None is 1 to 256 nodes in powers of two.

    Examples
    --------
    >>> [k.values for k in parse_space(["nodes=1..8", "cap_w=100..200/50", "mode=a,b"]).knobs]
    [(1, 2, 4, 8), (100, 150, 200), ('a', 'b')]
    >>> parse_space("frequency_hz=900MHz..1.3GHz/200MHz").knobs[0].values
    (900000000, 1100000000, 1300000000)
    """
    if isinstance(knobs, (Space, Knob)):
        return Space.of(knobs)
    given: list[Knob | str] = [knobs] if isinstance(knobs, str) else list(knobs or [NODES])
    made, problems = [], []
    for one in given:
        try:
            made.append(one if isinstance(one, Knob) else _knob(one))
        except TooManySettings as error:
            problems.append(str(error))
        except (ValueError, DataError):
            problems.append(f"expected NAME=1,2,4 or NAME=1..256 or NAME=100..300/50, got {one!r}")
    if problems:
        raise DataError("--knob", problems)
    return Space(tuple(made))


def knob_names(knobs: Knobs) -> tuple[str, ...]:
    """Names of knobs, of which a text may be a name alone: its values stand in a table.

    >>> knob_names(["cap_w", "nodes=1..8"])
    ('cap_w', 'nodes')
    """
    if knobs is None or isinstance(knobs, (Space, Knob)):
        return parse_space(knobs).names
    given = [knobs] if isinstance(knobs, str) else list(knobs)
    alone = [k.strip() for k in given if isinstance(k, str) and "=" not in k]
    others = [k for k in given if not isinstance(k, str) or "=" in k]
    return (*alone, *(parse_space(others).names if others or not given else ()))


def _knob(text: str) -> Knob:
    name, _, values = (part.strip() for part in text.partition("="))
    return Knob(name, _values(values, unit_of(name)))


def space_file(path: Path) -> Space:
    """Knobs and what is forbidden of them from a TOML file.

    A table ``[knobs]`` has lists, texts as of ``--knob``, or ``{low = 1, high = 9}``.  Each table
    ``[[forbidden]]`` names knobs with the value, or a list of values, that they do not have
    together.
    """
    given = read_toml(path)
    listed = given.get("knobs")
    if not listed or not isinstance(listed, dict):
        raise DataError(str(path), ["expected a [knobs] table with lines like nodes = [1, 2, 4]"])
    knobs: list[Knob] = []
    problems = [
        f"{name}: expected [knobs] and [[forbidden]] alone" for name in given
        if name not in ("knobs", "forbidden")
    ]  # fmt: skip
    for name, values in listed.items():
        if isinstance(values, list) and values:
            knobs.append(Knob(name, values))
        elif isinstance(values, str):
            knobs.append(Knob(name, _values(values, unit_of(name))))
        elif isinstance(values, dict) and set(values) == {"low", "high"}:
            knobs.append(Knob(name, **values))
        else:
            problems.append(f"{name}: expected a list or {{low = 1, high = 9}}, got {values!r}")
    forbidden = () if problems else _forbidden(given.get("forbidden", []), knobs, problems)
    if problems:
        raise DataError(str(path), problems)
    return Space(tuple(knobs), forbidden)


def _forbidden(tables: Any, knobs: Sequence[Knob], problems: list[str]) -> tuple[Forbidden, ...]:
    """Constraints of ``[[forbidden]]`` tables; what is wrong with them is added to ``problems``."""
    allowed = {k.name: k.values for k in knobs}
    made = []
    for table in tables if isinstance(tables, list) else [tables]:
        if not isinstance(table, dict) or not table:
            problems.append(f"[[forbidden]]: expected lines like solver = 'cg', got {table!r}")
            continue
        pairs = [(k, tuple(v) if isinstance(v, list) else (v,)) for k, v in table.items()]
        for name, values in pairs:
            strange = [v for v in values if v not in allowed.get(name, ())]
            if name not in allowed:
                problems.append(f"[[forbidden]] {name}: expected a knob, {', '.join(allowed)}")
            elif strange:
                problems.append(
                    f"[[forbidden]] {name}: expected some of {list(allowed[name])}, got {strange}"
                )
        made.append(Forbidden(tuple(pairs)))
    return tuple(made)


def _values(text: str, unit: str) -> list[Any]:
    ends, _, step = text.partition("/")
    low, dots, high = ends.partition("..")
    if not dots:
        values = [parse_value(v, unit) for v in text.split(",") if v.strip()]
    elif step:
        values = _stepped(*(float(parse_value(v, unit)) for v in (low, high, step)))
    else:
        values = list(powers_of_two(int(low), int(high)))
    if not values:
        raise ValueError(text)
    return values


def _stepped(low: float, high: float, step: float) -> list[Any]:
    if not step > 0:
        raise ValueError(step)
    few_enough(f"{low:g}..{high:g}/{step:g}", (high - low) / step)
    every = [_rounded(low + i * step) for i in range(int((high - low) / step + 1e-9) + 1)]
    if len(set(every)) < len(every):
        problem = f"a step of {step:g} is lost in numbers as large as {high:g}: take a larger one"
        raise TooManySettings(f"{low:g}..{high:g}/{step:g}", [problem])
    return [int(v) if v.is_integer() else v for v in every]


def _rounded(value: float) -> float:
    """Without the error of adding up steps: a table has 2.6 and not 2.6000000000000005."""
    return float(f"{value:.14g}")


def unit_of(name: str) -> str:
    """The base unit of a column, by the vocabulary or the end of its name; "" where it has none."""
    _, _, unit, factor = split_unit(name)
    return VOCABULARY[name].unit if name in VOCABULARY else unit if factor == 1.0 else ""


def parse_value(text: str, unit: str = "") -> Any:
    """A number if it reads as one, with or without the unit that is expected, else the text.

    >>> parse_value("8"), parse_value("2.5"), parse_value("gcc"), parse_value("1.2GHz", "Hz")
    (8, 2.5, 'gcc', 1200000000.0)
    """
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return parse_quantity(text, unit) if unit in UNITS else text.strip()


def parse_seconds(text: str, flag: str, least: float = 0.0) -> float:
    """A duration, as 90s, 1h or 30d, of at most three hundred years.

    >>> parse_seconds("1h", "--overlap")
    3600.0
    >>> parse_seconds("soon", "--overlap")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: --overlap: expected a duration as 1h or 30d, got 'soon'
    """
    try:
        value = parse_duration(text)
    except (DataError, ValueError):
        value = -1.0
    if not least <= value <= LONGEST_S:
        raise DataError(flag, [f"expected a duration as 1h or 30d, got {text!r}"])
    return value


def parse_names(text: Names) -> tuple[str, ...]:
    """Comma-separated names.

    >>> parse_names("runtime_s, energy_j")
    ('runtime_s', 'energy_j')
    """
    given = text.split(",") if isinstance(text, str) else text
    return tuple(n.strip() for n in given if n.strip())


def parse_objectives(text: Names) -> tuple[str, ...]:
    """Quantities to minimise, at least one.

    >>> parse_objectives(" , ")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: --objectives: expected like runtime_s,energy_j, got ' , '
    """
    wanted = parse_names(text)
    if not wanted:
        raise DataError("--objectives", [f"expected like runtime_s,energy_j, got {text!r}"])
    for name in wanted:
        ours = "energy_j" if YIELD.search(name) else "runtime_s" if RATE.search(name) else ""
        if ours:
            said = f"more {name} is better, and objectives are minimised"
            asked = f"--objectives {ours} --column {quote(f'{ours}=1/{name}')}"
            raise DataError("--objectives", [f"{said}; of a table ask for its inverse: {asked}"])
    return wanted


def parse_pairs(given: Iterable[str] | Mapping[str, str] | None, flag: str) -> dict[str, str]:
    """``a=b`` texts as a mapping.

    >>> parse_pairs(["runtime_s=wall_s"], "--column")
    {'runtime_s': 'wall_s'}
    """
    if isinstance(given, Mapping):
        return dict(given)
    values, problems = {}, []
    for text in given or ():
        ours, equals, theirs = text.partition("=")
        if not equals or not ours or not theirs:
            problems.append(f"expected NAME=VALUE, got {text!r}")
        values[ours.strip()] = theirs.strip()
    if problems:
        raise QuestionError(flag, problems)
    return values


def parse_rules(
    rule: str | Rule, limits: Iterable[str | Constraint] | None, request: Request = None
) -> tuple[Any, tuple[Any, ...]]:
    """The rule and the limits, slowdowns among them with the setting that they refer to.

    >>> rule, limits = parse_rules("knee", ["slowdown=1.2"], {"nodes": 4})
    >>> str(rule), str(limits[0])
    ('knee of the front', 'at most 1.2 times the runtime at nodes=4')
    """
    return _rule(rule, request), tuple(_rule(limit, request) for limit in limits or ())


def _rule(given: Any, request: Request) -> Any:
    rule = parse_rule(given, request) if isinstance(given, str) else given
    if isinstance(rule, Weighted) and rule.counted is not None:
        return replace(rule, counted=_rule(rule.counted, request))
    if isinstance(rule, MaxSlowdown) and rule.against == "requested":
        return replace(rule, against=request)
    return rule


def parse_limit(quantity: str, given: str | Limit) -> Limit:
    """A limit from a text with a confidence, as ``50ms@0.9``; half without.

    >>> parse_limit("itl_s", "50ms@0.9")
    Limit(quantity='itl_s', most=0.05, unit='s', confidence=0.9)
    """
    if isinstance(given, Limit):
        return given
    value, _, confidence = given.partition("@")
    unit = "W" if quantity == "power_w" else "s"
    try:
        return Limit(quantity, parse_quantity(value, unit), unit, float(confidence or 0.5))
    except ValueError as error:
        raise DataError(quantity, [f"expected a confidence as @0.9, got {given!r}"]) from error


def parse_hour_prices(given: HourPrices) -> dict[str, float]:
    """Prices of a GPU-hour by type of GPU, ``*`` for all others.

    >>> parse_hour_prices(["2", "H100=2.5"]), parse_hour_prices(3.0)
    ({'*': 2.0, 'H100': 2.5}, {'*': 3.0})
    """
    if isinstance(given, Mapping):
        return dict(given)
    prices = {}
    for text in [str(given)] if isinstance(given, (str, float, int)) else given or ():
        name, _, value = text.rpartition("=")
        try:
            prices[name or EVERY] = float(value)
        except ValueError as error:
            raise DataError("--gpu-price", [f"expected 2.5 or H100=2.5, got {text!r}"]) from error
    return prices


def parse_reader_options(
    renamed: Iterable[str] | Mapping[str, str] = (),
    units: Iterable[str] | Mapping[str, str] = (),
    known: Iterable[str] | Mapping[str, str] = (),
    columns: Path | None = None,
    zone: str = "",
    options: Iterable[str] | Mapping[str, str] = (),
) -> dict[str, Any]:
    """What is said of a file, as options of its reader.

    >>> parse_reader_options(["runtime_s=wall_s"], options=["merge=a,b", "factor=0.5"])
    {'columns': {'runtime_s': 'wall_s'}, 'merge': ['a', 'b'], 'factor': 0.5}
    """
    made: dict[str, Any] = {"columns": parse_pairs(renamed, "--column")} if renamed else {}
    made |= {"units": parse_pairs(units, "--unit")} if units else {}
    made |= {"known": parse_pairs(known, "--known")} if known else {}
    made |= {"map": columns} if columns else {}
    made |= {"zone": zone} if zone else {}
    return made | {k: _listed(v) for k, v in parse_pairs(options, "--option").items()}


def _listed(text: str) -> Any:
    """A number, a list at commas, or the text."""
    return text.split(",") if "," in text else parse_value(text)
