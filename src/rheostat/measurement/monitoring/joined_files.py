"""A clock that goes back: another host's file begins there, or the clock was put right.

Where files of several hosts begin together, each part is a device of its own.  Where a part begins
near the end of the one before, one clock was put back, and one device goes on.  In between nothing
tells which, and either answer may be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array
from rheostat.errors import DataError

FEWEST = 5
"""Samples of a part, at least."""
TOGETHER = 0.1
"""Share of the shorter part within which files of several hosts begin."""
AGAIN = 0.5
"""Share of the part before that a clock which was put right shows again, at most."""
UNCLEAR = (
    "the clock goes back by {:.4g} s behind data row {}: files of several hosts, or one clock that "
    "was put back? Read the rows up to there and those behind as files of their own, or add a "
    "column host; where summer time ended, --zone (Europe/Paris) tells"
)
JOINED = "the clock goes back {} times: taken as {} files of other hosts, one behind the other"
PUT_RIGHT = (
    "the clock goes back by {:.4g} s behind data row {}: taken as put right, and the next sample "
    "as one step later; if the file of another host begins there, read each as a file of its own"
)


def parts_told_apart(
    device: list[str], t: pl.Series, serials: Sequence[str] = (), *, headed: int = 0
) -> tuple[list[str], pl.Series, list[Note]]:
    """Devices and times of a file in which a clock goes back, so that no two parts interleave.

    ``serials`` has what no other device has (a UUID) for each sample, where the file tells it;
    ``headed`` is how often the headings come again, as where files were joined.

    >>> t = pl.Series([*range(6), *range(6)], dtype=pl.Float64)
    >>> names, _, notes = parts_told_apart(["GPU 0"] * 12, t)
    >>> names[5:7], len(notes)
    (['GPU 0 of part 1', 'GPU 0 of part 2'], 1)
    >>> put_back = pl.Series([0.0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9])
    >>> parts_told_apart(["GPU 0"] * 12, put_back)[1].to_list()[4:8]
    [4.0, 5.0, 6.0, 7.0]

    Raises
    ------
    DataError
        Nothing tells whether other hosts begin there.
    """
    seconds = t.to_numpy()
    starts = steps_back(device, seconds)
    spans = _spans(seconds, starts)
    if not starts or any(len(s) < FEWEST for s in spans) or not _overlap(spans):
        return device, t, []
    same = _same(serials, starts)
    if same is None and (headed == len(starts) or _together(spans)):
        same = False
    if same is False:
        said = JOINED.format(len(starts), len(spans))
        return named_by_part(device, starts), t, [Note(said)]
    if same or all(_near_the_end(a, b) for a, b in pairwise(spans)):
        return device, *_gone_on(device, seconds, starts)
    back = float(spans[0][-1] - spans[1][0])
    raise DataError("samples", [UNCLEAR.format(back, starts[0])])


def steps_back(device: Sequence[str], seconds: Array) -> list[int]:
    """Places where a device's clock goes back, by more than lines that came out of order."""
    own = rows_of_each(device)
    least = {name: _usual(seconds[rows]) / 2 for name, rows in own.items()}
    last: dict[str, float] = {}
    starts = []
    for place, (name, now) in enumerate(zip(device, seconds, strict=True)):
        if np.isfinite(now):
            if last.get(name, now) - now > least[name]:
                starts.append(place)
                last.clear()
            last[name] = float(now)
    return starts


def named_by_part(device: Sequence[str], starts: Sequence[int]) -> list[str]:
    """Names of devices with the number of the part of the file that each sample is in."""
    number = np.searchsorted(starts, np.arange(len(device)), side="right") + 1
    return [f"{d} of part {k}" for d, k in zip(device, number, strict=True)]


def rows_of_each(device: Sequence[str]) -> dict[str, Array]:
    """The rows of each device, in the order of the file.

    >>> {name: rows.tolist() for name, rows in rows_of_each(["a", "b", "a"]).items()}
    {'a': [0, 2], 'b': [1]}
    """
    frame = pl.DataFrame({"of": list(device)}).with_row_index("row")
    rows = frame.group_by("of", maintain_order=True).agg("row")
    return {name: np.asarray(own) for name, own in rows.iter_rows()}


def _usual(seconds: Array) -> float:
    """The usual step from a sample of a device to its next."""
    steps = np.diff(seconds[np.isfinite(seconds)])
    return float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0


def _spans(seconds: Array, starts: Sequence[int]) -> list[Array]:
    bounds = [0, *starts, len(seconds)]
    return [seconds[a:b][np.isfinite(seconds[a:b])] for a, b in pairwise(bounds)]


def _overlap(spans: list[Array]) -> bool:
    """Whether each part goes on while another one does."""
    ends = [(float(s.min()), float(s.max())) for s in spans]
    return all(
        any(low < h and high > w for j, (w, h) in enumerate(ends) if j != i)
        for i, (low, high) in enumerate(ends)
    )


def _same(serials: Sequence[str], starts: Sequence[int]) -> bool | None:
    """Whether the serials of all parts are the same; None where some are, or there are none.

    >>> _same(["a", "a", "b", "b"], [2]), _same(["a", "b", "a", "b"], [2]), _same([], [2])
    (False, True, None)
    """
    if not serials:
        return None
    parts = [{*serials[a:b]} for a, b in pairwise([0, *starts, len(serials)])]
    if all(part == parts[0] for part in parts):
        return True
    return False if sum(map(len, parts)) == len(set().union(*parts)) else None


def _together(spans: list[Array]) -> bool:
    """Whether all parts begin as the first one does, but for little of what they last."""
    little = TOGETHER * min(float(s.max() - s.min()) for s in spans)
    return all(abs(float(s[0] - spans[0][0])) <= little for s in spans)


def _near_the_end(part: Array, following: Array) -> bool:
    """Whether a part begins again within the last half of the one before."""
    return float(part[-1] - following[0]) <= AGAIN * float(part[-1] - part[0])


def _gone_on(
    device: Sequence[str], seconds: Array, starts: Sequence[int]
) -> tuple[pl.Series, list[Note]]:
    """Times of a clock that was put back, from there on as if it had not been; and what is said."""
    shifted, notes, each = seconds.copy(), [], rows_of_each(device)
    for start in starts:
        rows = each[device[start]]
        before = [k for k in rows[rows < start] if np.isfinite(shifted[k])][-1]
        back = shifted[before] + _usual(seconds[rows]) - shifted[start]
        notes.append(Note(PUT_RIGHT.format(back, start)))
        shifted[start:] += back
    return pl.Series(shifted).fill_nan(None), notes
