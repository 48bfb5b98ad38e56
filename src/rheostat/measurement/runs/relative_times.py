"""Run times as a slowdown or a share of another run's: enough to choose by, in no seconds."""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

SHARE = re.compile(r"%|pct|percent", re.IGNORECASE)
LOSS = re.compile(
    r"(slow[ _-]?down|((performance|perf|run[ _]?time|time)[ _](loss|overhead|increase))|overhead)"
    r"[ _]*[(\[]?(%|pct|percent)[)\]]?", re.IGNORECASE
)  # fmt: skip
"""What is 0 where nothing is lost, in percent."""
RELATIVE = re.compile(
    r"(rel(ative)?|norm(ali[sz]ed)?)[ _.]*(run|execution)?[ _]?time"
    r"[ _]*([(\[]?(%|pct|percent)[)\]]?)?"
    r"|slow[ _-]?down([ _]?factor)?|(run[ _]?)?time[ _]*[(\[]?(%|pct|percent)[)\]]?", re.IGNORECASE
)  # fmt: skip
"""What is 1 or 100 % where nothing is lost."""
INVERSE = re.compile(
    r"speed[ _-]?up([ _]?factor)?|((rel(ative)?|norm(ali[sz]ed)?)[ _.]*)?perf(ormance)?"
    r"[ _]*[(\[]?(%|pct|percent)[)\]]?|(rel(ative)?|norm(ali[sz]ed)?)[ _.]*perf(ormance)?",
    re.IGNORECASE
)  # fmt: skip
"""What is 1 or 100 % where nothing is lost, and less where more time was taken."""
LEAST = 0.5
"""A share of another run time below which a column of those is something else."""


def relative_times(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """``runtime_s`` in the time of the run that slowdowns are told by; others as they are.

    >>> runs = pl.DataFrame({"cap_w": [200, 300], "Slowdown (%)": [25.0, 0.0]})
    >>> frame, notes = relative_times(runs)
    >>> frame["runtime_s"].to_list(), notes[0].message[:40]
    ([1.25, 1.0], 'runtime_s is 1 + Slowdown (%) / 100, and')
    """
    numbers = [c for c in frame.columns if frame[c].dtype.is_numeric()]
    loss = [c for c in numbers if LOSS.fullmatch(c.strip())]
    share = [c for c in numbers if c not in loss and RELATIVE.fullmatch(c.strip())]
    speed = [c for c in numbers if INVERSE.fullmatch(c.strip())] if not loss + share else []
    joules = any(guess_name(c) == "energy_j" or split_unit(c)[2] == "J" for c in frame.columns)
    if len(loss) + len(share) + len(speed) != 1 or joules:
        return frame, []
    name = (loss or share or speed)[0]
    percent = SHARE.search(name) is not None
    values = pl.col(name) / 100.0 if percent else pl.col(name).cast(pl.Float64)
    time = 1.0 + values if loss else values
    low = frame.select(time.min()).item()
    if low is None or low < (LEAST if not speed else 0.0):
        return frame, []
    said = f"1 + {name} / 100" if loss else f"{name} / 100" if percent else name
    if speed:
        time, said = (
            pl.when(time > 0).then(1.0 / time),
            f"100 / {name}" if percent else f"1 / {name}",
        )
    note = f"runtime_s is {said}, and energy what the power takes in it: times and energies compare"
    return frame.with_columns(runtime_s=time), [Note(f"{note}, and are no s and J")]
