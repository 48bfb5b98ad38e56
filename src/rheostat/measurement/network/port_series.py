"""What the ports of all routers did, window by window."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rheostat.core.outcome import Array
from rheostat.core.storage.bounded_read import checked_members
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError

QUANTITIES = ("busy_s", "traffic_b", "stalled_chunks", "occupancy_b", "queued_b")
NS = 1e-9
MEMBERS = {"t": 1, "A": 4}


@dataclass(frozen=True, eq=False)
class PortSeries:
    """Telemetry of every port.

    Parameters
    ----------
    end_s
        End of each window, s since the start of the run, ascending, (windows,).
    values
        (windows, routers, ports, 5), in the order of `QUANTITIES`: seconds in which the port could
        not send for full buffers downstream, bytes sent and chunks stalled, sums over the window;
        bytes in its virtual channels and in its overflow queue, as they stood at the window's end.
    """

    end_s: Array
    values: Array

    def __post_init__(self) -> None:
        problems = []
        if self.values.ndim != 4 or self.values.shape[-1] != len(QUANTITIES):
            problems.append(
                f"expected values of (windows, routers, ports, {len(QUANTITIES)}), "
                f"got {self.values.shape}"
            )
        elif self.end_s.shape != self.values.shape[:1] or not len(self.end_s):
            problems.append(
                f"expected a time per window, got {self.end_s.shape} and {self.values.shape[:1]}"
            )
        elif not np.isfinite(self.end_s).all() or not (np.diff(self.end_s) > 0).all():
            problems.append("expected windows in ascending order of time")
        elif (odd := ~(np.isfinite(self.values) & (self.values >= 0))).any():
            window, router, port, quantity = np.argwhere(odd)[0]
            problems.append(
                f"expected numbers from 0, got {self.values[window, router, port, quantity]:g} in "
                f"window {window}, router {router}, port {port} ({QUANTITIES[quantity]}), and "
                f"{odd.sum() - 1:,} more; windows may be left out"
            )
        if problems:
            raise DataError("port series", problems)

    @property
    def window_s(self) -> float:
        """Length of a window."""
        return (
            float(np.median(np.diff(self.end_s))) if len(self.end_s) > 1 else float(self.end_s[0])
        )

    def before(self, moment_s: float, windows: int) -> Array:
        """The last windows that had ended by then: (at most ``windows``, routers, ports, 5)."""
        end = int(np.searchsorted(self.end_s, moment_s, side="right"))
        return self.values[max(end - windows, 0) : end]


def read_ports(path: str | Path) -> PortSeries:
    """An ``.npz`` with ``t`` (ns) and ``A`` (windows, routers, ports, 5), times in ns.

    Raises
    ------
    DataError
        It is damaged, or holds other arrays; arrays of Python objects are not read.
    """
    path = ordinary_file(path)
    try:
        with zipfile.ZipFile(path) as packed:
            checked_members(packed)
        with np.load(path, allow_pickle=False) as file:
            given = {k: np.asarray(file[k]) for k in MEMBERS}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise other_kind(path, "port telemetry (.npz with t and A)", error) from error
    odd = [k for k, n in MEMBERS.items() if given[k].ndim != n or given[k].dtype.kind not in "fiu"]
    if odd:
        raise DataError(
            str(path),
            [
                f"{k}: expected {MEMBERS[k]} axes of numbers, got {given[k].shape} {given[k].dtype}"
                for k in odd
            ],
        )
    values = given["A"].astype(float)
    values[..., 0] *= NS
    try:
        return PortSeries(given["t"] * NS, values)
    except DataError as error:
        raise DataError(str(path), error.problems) from error


def write_ports(path: str | Path, ports: PortSeries) -> None:
    """Write what `read_ports` reads."""
    from rheostat.core.storage.files import replacing

    values = ports.values.copy()
    values[..., 0] /= NS
    with replacing(path) as draft, draft.open("wb") as file:
        np.savez_compressed(file, t=ports.end_s / NS, A=values)
