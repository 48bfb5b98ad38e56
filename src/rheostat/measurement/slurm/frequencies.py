"""The clock that a job asked of its processors, as sacct prints it.

Slurm counts kHz.  Older releases shorten the bare count, 1.8 GHz is "1.80M"; newer ones know that
it is of thousands, "1.80G", or "1800000K" unconverted.  Only one of the two is a clock that
processors have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rheostat.core.jobs import Note
from rheostat.measurement.checks import note_rows
from rheostat.measurement.slurm.sacct_lines import Cells, elapsed_s

LEAST_HZ, MOST_HZ = 1e8, 1e10
"""No processor of a machine that Slurm runs on is clocked slower, or faster."""
GOVERNOR = 2**31
"""Slurm keeps the name of a governor as a number from here on."""
MOST_OF_IT = 0.9
"""A job ran at the clock that steps asked for during this share of the time of all its steps."""
FIELDS = ("ReqCPUFreqMax", "ReqCPUFreq")
UNSAID = ("", "0", "unknown", "none", "n/a", "(null)")
ODD = "frequency_hz: no number that is a processor's clock (100 MHz to 10 GHz): not known"
SEVERAL = "frequency_hz: steps of the job asked for several clocks, or some for none: not known"
_CLOCK = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(Hz)?", re.I)
_PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def clock_hz(text: str) -> float | None:
    """Hz of a clock as any release prints it; None where it is none that processors have.

    >>> [clock_hz(t) for t in ("1.80M", "1.80G", "1800000", "1800000K", "1.8 GHz")] == [1.8e9] * 5
    True
    >>> clock_hz("800M"), clock_hz("800.00K"), clock_hz("2.40K"), clock_hz("OnDemand")
    (800000000.0, 800000000.0, None, None)
    """
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        return None
    plain = float(match[1]) * _PREFIX[match[2].upper()]
    read = (plain,) if match[3] else (plain, plain * 1e3) if match[2] else (plain * 1e3,)
    return next((hz for hz in read if LEAST_HZ <= hz <= MOST_HZ), None)


def frequency_of(cells: Cells, steps: Sequence[Cells]) -> tuple[float | None, str]:
    """Hz that a job asked for, by its own line or by those of its steps; and why they are unknown.

    >>> frequency_of({"ReqCPUFreqMax": "Unknown"}, [{"step": "0", "ReqCPUFreqMax": "2.10G"}])
    (2100000000.0, '')
    """
    own = _asked(cells)
    if hz := clock_hz(own):
        return hz, ""
    numbered = [s for s in steps if s["step"].isdigit()]
    batch = [s for s in steps if s["step"] == "batch"]
    among = next((part for part in (numbered, batch) if any(map(_asked, part))), [])
    took: dict[str, float] = {"": 0.0} if among else {own: 1.0}
    for step in among:
        took[_asked(step)] = took.get(_asked(step), 0.0) + (elapsed_s(step) or 1.0)
    text = max(took, key=lambda t: took[t])
    if took[text] < MOST_OF_IT * sum(took.values()):
        return None, SEVERAL
    return (hz := clock_hz(text)), ODD if text and hz is None else ""


def by_reason(reasons: Iterable[tuple[int, str]]) -> list[Note]:
    """A note per reason, with the rows that have it; no reason is none.

    >>> [(n.message, n.rows) for n in by_reason([(3, "odd"), (4, ""), (9, "odd")])]
    [('odd', (3, 9))]
    """
    rows: dict[str, list[int]] = {}
    for row, why in reasons:
        if why:
            rows.setdefault(why, []).append(row)
    return [note_rows(why, at) for why, at in rows.items()]


def _asked(cells: Mapping[str, str]) -> str:
    """The clock in a line as it stands there, where any does."""
    texts = (cells.get(field, "").strip() for field in FIELDS)
    return next((t for t in texts if t.lower() not in UNSAID), "")
