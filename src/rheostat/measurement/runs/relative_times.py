"""Run times and energies as changes or shares of another run's: to choose by, in no s and no J."""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

SHARE = re.compile(r"%|pct|percent", re.IGNORECASE)
_PERCENT = r"[ _]*[(\[]?(%|pct|percent)[)\]]?"
_RELATIVE = r"(rel(ative)?|norm(ali[sz]ed)?)[ _.]*"
_MORE, _LESS = "(loss|overhead|increase|change)", "(savings?|saved|reduction|decrease)"
_TIME = "(run[ _]?|execution[ _]?)?time"


def _heading(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


LOSS = _heading(rf"(slow[ _-]?down|((performance|perf|{_TIME})[ _]{_MORE})|overhead){_PERCENT}")
"""What is 0 where nothing is lost, in percent."""
RELATIVE = _heading(
    rf"{_RELATIVE}{_TIME}({_PERCENT})?|slow[ _-]?down([ _]?factor)?|(run[ _]?)?time{_PERCENT}"
)
"""What is 1 or 100 % where nothing is lost."""
INVERSE = _heading(
    rf"speed[ _-]?up([ _]?factor)?|({_RELATIVE})?perf(ormance)?{_PERCENT}|{_RELATIVE}perf(ormance)?"
)
"""What is 1 or 100 % where nothing is lost, and less where more time was taken."""
TOLD_RELATIVE = _heading(rf"{_RELATIVE}.*")
ENERGY_MORE = _heading(rf"energy[ _]{_MORE}{_PERCENT}")
ENERGY_LESS = _heading(rf"energy[ _]{_LESS}{_PERCENT}")
"""What is 0 where nothing is saved, in percent."""
ENERGY_SHARE = _heading(rf"{_RELATIVE}energy({_PERCENT})?|energy{_PERCENT}")
LEAST = 0.5
"""A share of another run time below which a column that does not say so is something else."""


def relative_times(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """``runtime_s`` in the time of the run that slowdowns are told by; others as they are.

    >>> runs = pl.DataFrame({"cap_w": [200, 300], "Slowdown (%)": [25.0, 0.0]})
    >>> frame, notes = relative_times(runs)
    >>> frame["runtime_s"].to_list(), notes[0].message[:36]
    ([1.25, 1.0], 'runtime_s is 1 + Slowdown (%) / 100:')
    """
    loss, share = _of(frame, LOSS), _of(frame, RELATIVE)
    speed = _of(frame, INVERSE) if not loss + share else []
    if len(loss) + len(share) + len(speed) != 1 or _metered(frame, "energy_j", "J"):
        return frame, []
    name = (loss or share or speed)[0]
    time, said = _changed(name, less=False) if loss else _share(name)
    low = frame.select(time.min()).item()
    if low is None or low < (0.0 if speed or TOLD_RELATIVE.fullmatch(name.strip()) else LEAST):
        return frame, []
    if speed:
        time, said = pl.when(time > 0).then(1.0 / time), _inverse(name)
    note = f"runtime_s is {said}: times compare, and are no s"
    if _metered(frame, "power_w", "W"):
        note = f"runtime_s is {said}, and energy what the power takes in it"
        note += ": times and energies compare, and are no s and J"
    return frame.with_columns(runtime_s=time), [Note(note)]


def relative_energy(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """``energy_j`` in the energy of the run that savings are told by, where nothing was metered.

    >>> runs = pl.DataFrame({"cap_w": [200, 300], "energy saving (%)": [20.0, 0.0]})
    >>> frame, notes = relative_energy(runs)
    >>> frame["energy_j"].to_list(), notes[0].message
    ([0.8, 1.0], 'energy_j is 1 - energy saving (%) / 100: energies compare, and are no J')
    """
    more, less, share = (_of(frame, p) for p in (ENERGY_MORE, ENERGY_LESS, ENERGY_SHARE))
    metered = _metered(frame, "energy_j", "J") or _metered(frame, "power_w", "W")
    if len(more) + len(less) + len(share) != 1 or metered:
        return frame, []
    name = (more or less or share)[0]
    energy, said = _share(name) if share else _changed(name, less=bool(less))
    note = Note(f"energy_j is {said}: energies compare, and are no J")
    return frame.with_columns(energy_j=pl.when(energy > 0).then(energy)), [note]


def _of(frame: pl.DataFrame, heading: re.Pattern[str]) -> list[str]:
    """Columns of numbers with such a heading; a loss is no share."""
    return [
        c for c in frame.columns if frame[c].dtype.is_numeric() and heading.fullmatch(c.strip())
    ]


def _metered(frame: pl.DataFrame, ours: str, unit: str) -> bool:
    """Whether a column has such amounts in their unit; watts of a cap are not drawn."""
    return any(
        guess_name(c) == ours
        or (split_unit(c)[2] == unit and not (guess_name(c) or "").endswith("cap_w"))
        for c in frame.columns
    )


def _changed(name: str, *, less: bool) -> tuple[pl.Expr, str]:
    """What is left of 1 after a change in percent, and in words."""
    change = pl.col(name) / 100.0
    return (1.0 - change, f"1 - {name} / 100") if less else (1.0 + change, f"1 + {name} / 100")


def _share(name: str) -> tuple[pl.Expr, str]:
    """A share or a percentage as a share, and in words."""
    percent = SHARE.search(name) is not None
    values = pl.col(name) / 100.0 if percent else pl.col(name).cast(pl.Float64)
    return values, f"{name} / 100" if percent else name


def _inverse(name: str) -> str:
    return f"100 / {name}" if SHARE.search(name) else f"1 / {name}"
