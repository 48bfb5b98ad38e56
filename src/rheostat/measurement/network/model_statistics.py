"""Virtual-time statistics of CODES routers (``ross-stats-analysis-lps.bin``), as documented there.

Records follow each other without padding: a header of 48 bytes with the size of what follows, by
which kinds are told apart.  A router's has ``72 + 32 * radix`` bytes.  Five slots of it held
pointers and mean nothing; records of other sizes (terminals, ranks) are skipped.
"""

from __future__ import annotations

from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError
from rheostat.measurement.lines import whole
from rheostat.measurement.network.port_series import NS, PortSeries

Integers = np.ndarray[Any, np.dtype[np.int64]]
HEADER_B, SIZE_AT, FLAG = 48, 40, 3
LEAST_RADIX, MOST_RADIX = 2, 4096
LONGEST_B = 72 + 32 * MOST_RADIX


def read_model_statistics(path: str | Path, radix: int = 0, *, growing: bool = False) -> PortSeries:
    """Port telemetry from the binary file, plain or gzip.

    Parameters
    ----------
    path
        ``ross-stats-analysis-lps.bin`` of a run with ``--model-stats=3``.
    radix
        Ports of a router; 0 finds it by the sizes of the records.
    growing
        The simulation is still writing: a record that is cut off, and a window without samples of
        all routers, are left out at the end.

    Returns
    -------
    PortSeries
        Windows in order of time, routers in order of their numbers.

    Raises
    ------
    DataError
        The file is cut off or of another kind, its routers wrote the layout of before July 2026,
        or samples are missing.
    """
    data = whole(ordinary_file(path))
    starts, lengths = _records(data, path, growing=growing)
    sizes = Counter(lengths.tolist())
    wanted = 72 + 32 * radix if radix else _router_size(sizes)
    if wanted not in sizes:
        raise DataError(str(path), [_why_none(sizes, radix)])
    at = starts[lengths == wanted]
    payload = np.frombuffer(data, np.uint8)
    if growing:
        at = _whole_windows(payload, at)
    return _series(payload, at, (wanted - 72) // 32, path)


def _whole_windows(data: Any, at: Integers) -> Integers:
    """Records of windows that have as many samples as the first."""
    when = data[at[:, None] + 8 + np.arange(8)].view("<f8").ravel()
    _, window, counts = np.unique(when, return_inverse=True, return_counts=True)
    return np.asarray(at[counts[window] == counts[0]])


def _records(data: bytes, path: str | Path, *, growing: bool) -> tuple[Integers, Integers]:
    """Start of the payload, and its size, of every record; a long run has tens of millions."""
    starts, sizes, at = array("q"), array("q"), 0
    while at < len(data):
        if at + HEADER_B > len(data):
            if growing:
                break
            raise DataError(
                str(path),
                [f"cut off: {len(data) - at} bytes left at byte {at:,}, a header has {HEADER_B}"],
            )
        size = int.from_bytes(data[at + SIZE_AT : at + SIZE_AT + 4], "little")
        flag = int.from_bytes(data[at + SIZE_AT + 4 : at + HEADER_B], "little")
        if flag != FLAG or not 0 < size <= LONGEST_B:
            raise DataError(str(path), [_no_record(data, at)])
        if at + HEADER_B + size > len(data):
            if growing:
                break
            raise DataError(
                str(path),
                [f"cut off: the record at byte {at:,} of {len(data):,} has {size} bytes"],
            )
        starts.append(at + HEADER_B)
        sizes.append(size)
        at += HEADER_B + size
    return np.array(starts, np.int64), np.array(sizes, np.int64)


def _no_record(data: bytes, at: int) -> str:
    if at == 0 and data[:8] == bytes((3, 0, 0, 0, 24, 0, 0, 0)):
        return ("expected virtual-time statistics (analysis-lps.bin, --model-stats=3), "
                "got those of GVT or real time (model.bin)")  # fmt: skip
    return f"expected a record of virtual-time statistics at byte {at:,}, got other bytes"


def _router_size(sizes: Counter[int]) -> int:
    radixes = [(s - 72) // 32 for s in sizes if s > 72 and (s - 72) % 32 == 0]
    fits = [r for r in radixes if r >= LEAST_RADIX]
    return 72 + 32 * max(fits) if fits else 0


def _why_none(sizes: Counter[int], radix: int) -> str:
    known = ", ".join(f"{n:,} of {s} bytes" for s, n in sorted(sizes.items()))
    old = [
        s for s in sizes if s > 48 and (s - 48) % 16 == 0 and (not radix or s == 48 + 16 * radix)
    ]
    if old:
        return (
            "got the router layout of before July 2026 (48 + 16 * radix bytes, without stalls and "
            f"occupancy; records: {known}): run CODES of July 2026 or later"
        )
    ports = f" (radix {radix})" if radix else ""
    return (
        f"expected router records of 72 + 32 * radix bytes{ports}, got records: {known or 'none'}"
    )


def _series(data: Any, at: Any, radix: int, path: str | Path) -> PortSeries:
    def field(offset: int, count: int, kind: str) -> Any:
        width = np.dtype(kind).itemsize * count
        return data[at[:, None] + offset + np.arange(width)].view(kind)

    router = field(0, 1, "<u8").ravel()
    when = field(8, 1, "<f8").ravel()
    columns, offset = [], 72
    for kind in ("<f8", "<i8", "<u8", "<i4", "<i4"):
        columns.append(field(offset, radix, kind).astype(float))
        offset += np.dtype(kind).itemsize * radix
    windows, w = np.unique(when, return_inverse=True)
    routers, r = np.unique(router, return_inverse=True)
    samples = len(np.unique(w * len(routers) + r))
    if not samples == len(at) == len(windows) * len(routers):
        raise DataError(str(path), [
            f"expected a sample of each of {len(routers)} routers in each of {len(windows)} "
            f"windows, got {samples:,} in {len(at):,} (a full --buffer-size drops samples)"
        ])  # fmt: skip
    if routers[-1] != len(routers) - 1:
        raise DataError(str(path), [f"expected routers 0 to {len(routers) - 1}, got {routers[-1]}"])
    values = np.empty((len(windows), len(routers), radix, len(columns)))
    values[w, r] = np.stack(columns, axis=-1)
    values[..., 0] *= NS
    try:
        return PortSeries(windows * NS, values)
    except DataError as error:
        raise DataError(str(path), error.problems) from error
