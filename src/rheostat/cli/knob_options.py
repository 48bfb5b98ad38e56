"""Knobs as they are typed: lists, powers of two and steps, with or without units."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.space import Space


def space(flags: list[str] | None) -> Space:
    """Knobs from ``--knob`` flags; all mistakes are reported at once.

    >>> [k.values for k in space(["nodes=1..8", "cap_w=100..200/50", "mode=a,b"]).knobs]
    [(1, 2, 4, 8), (100, 150, 200), ('a', 'b')]
    >>> space(["frequency_hz=900MHz..1.3GHz/200MHz"]).knobs[0].values
    (900000000, 1100000000, 1300000000)
    """
    from rheostat.core.space import Knob, Space, TooManySettings
    from rheostat.errors import DataError

    knobs, problems = [], []
    for flag in flags or ["nodes=1..256"]:
        name, _, text = (part.strip() for part in flag.partition("="))
        try:
            knobs.append(Knob(name, _values(text, unit_of(name))))
        except TooManySettings as error:
            problems.append(str(error))
        except (ValueError, DataError):
            problems.append(f"expected NAME=1,2,4 or NAME=1..256 or NAME=100..300/50, got {flag!r}")
    if problems:
        raise DataError("--knob", problems)
    return Space(tuple(knobs))


def turnable(jobs: JobTable, space: Space) -> None:
    """A knob that is no column of ``jobs`` is a `DataError`, which names what was turned there.

    >>> from rheostat.core.vocabulary import table
    >>> turnable(table({"app": ["a", "a"], "cap_w": [200, 300]}), space(None))
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: --knob: column nodes is missing; turned here: --knob cap_w=200,300
    """
    from rheostat.core.jobs import Moment
    from rheostat.errors import DataError

    missing = [n for n in space.names if n not in jobs.columns]
    if not missing:
        return
    ids = ("job_id", "run_id", "row", "submit_s", "start_s")
    turned = [
        f"--knob {n}={','.join(f'{v:g}' for v in values)}"
        for n in jobs.columns
        if jobs.schema[n].known is Moment.SUBMIT and n not in ids
        and jobs.frame[n].dtype.is_numeric()
        and 2 <= len(values := jobs.frame[n].drop_nulls().unique().sort().to_list()) <= 40
    ]  # fmt: skip
    hint = [f"turned here: {' '.join(turned)}"] if turned else []
    raise DataError("--knob", [*(f"column {n} is missing" for n in missing), *hint])


def space_file(path: Path) -> Space:
    """Knobs from a TOML file with a ``[knobs]`` table: lists, or ``{low = 1, high = 9}``."""
    from rheostat.core.files import read_toml
    from rheostat.core.space import Knob, Space
    from rheostat.errors import DataError

    given = read_toml(path).get("knobs")
    if not given or not isinstance(given, dict):
        raise DataError(str(path), ["expected a [knobs] table with lines like nodes = [1, 2, 4]"])
    knobs, problems = [], []
    for name, values in given.items():
        if isinstance(values, list) and values:
            knobs.append(Knob(name, values))
        elif isinstance(values, str):
            knobs.append(Knob(name, _values(values, unit_of(name))))
        elif isinstance(values, dict) and {"low", "high"} <= set(values):
            knobs.append(Knob(name, **values))
        else:
            problems.append(f"{name}: expected a list or {{low = 1, high = 9}}, got {values!r}")
    if problems:
        raise DataError(str(path), problems)
    return Space(tuple(knobs))


def _values(text: str, unit: str) -> list[Any]:
    ends, _, step = text.partition("/")
    low, dots, high = ends.partition("..")
    if not dots:
        values = [value(v, unit) for v in text.split(",") if v.strip()]
    elif step:
        values = _stepped(*(float(value(v, unit)) for v in (low, high, step)))
    else:
        from rheostat.core.space import powers_of_two

        values = list(powers_of_two(int(low), int(high)))
    if not values:
        raise ValueError(text)
    return values


def _stepped(low: float, high: float, step: float) -> list[Any]:
    from rheostat.core.space import TooManySettings, few_enough

    if not step > 0:
        raise ValueError(step)
    few_enough(f"{low:g}..{high:g}/{step:g}", (high - low) / step)
    every = [low + i * step for i in range(int((high - low) / step + 1e-9) + 1)]
    if len(set(every)) < len(every):
        problem = f"a step of {step:g} is lost in numbers as large as {high:g}: take a larger one"
        raise TooManySettings(f"{low:g}..{high:g}/{step:g}", [problem])
    return [int(v) if v.is_integer() else v for v in every]


def unit_of(name: str) -> str:
    """The base unit of a column, by the vocabulary or the end of its name; "" where it has none."""
    from rheostat.core.vocabulary import VOCABULARY
    from rheostat.measurement.runs.guess import split_unit

    _, _, unit, factor = split_unit(name)
    return VOCABULARY[name].unit if name in VOCABULARY else unit if factor == 1.0 else ""


def value(text: str, unit: str = "") -> Any:
    """A number if it reads as one, with or without the unit that is expected, else the text.

    >>> value("8"), value("2.5"), value("gcc"), value("1.2GHz", "Hz")
    (8, 2.5, 'gcc', 1200000000.0)
    """
    from rheostat.core.units import parse_quantity

    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return parse_quantity(text, unit) if unit in ("s", "W", "J", "Hz", "B") else text.strip()
