"""What each port did during an iteration, in 45 numbers: five statistics of nine quantities.

The published data had the bandwidth used, and occupancy and downstream credits of four virtual
channels.  CODES now writes five quantities of a port, its channels as one sum; four more follow
from these and the links, in place of the channels one by one.  Which four is our choice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rheostat.core.outcome import Array

Integers = np.ndarray[Any, np.dtype[np.int64]]

MEASURED = ("busy", "traffic", "stalled", "occupancy", "queued")
DERIVED = ("received", "onward", "filling", "stall_rate")
STATISTICS = ("mean", "min", "max", "q25", "q75")
FEATURES = len(STATISTICS) * (len(MEASURED) + len(DERIVED))


def port_quantities(windows: Array, peer: Integers) -> Array:
    """Nine quantities of every port in every window but the first, in the logarithm.

    Parameters
    ----------
    windows
        (1 + windows, routers, ports, 5) in the order of `MEASURED`, B and chunks; the first is the
        window before.
    peer
        Port at the other end of each port's link, numbered over all routers; -1 at a terminal.

    Returns
    -------
    ndarray
        (windows, all ports, 9).  After what was measured: bytes that came in over the port's link
        (where a terminal is, an equal share of what its router sent on without having received
        it); mean bytes that wait at a port of the router at the other end; change of the bytes
        that wait here; chunks stalled per KiB sent.

    Examples
    --------
    >>> before, now = np.zeros((1, 2, 2, 5)), np.ones((1, 2, 2, 5))
    >>> both = np.concatenate([before, now * [0, 1024, 3, 8, 2]])
    >>> np.expm1(port_quantities(both, np.array([2, -1, 0, -1])))[0, :2, 5:].round(1).tolist()
    [[1024.0, 10.0, 10.0, 1.5], [1024.0, 0.0, 10.0, 1.5]]
    """
    now, before = windows[1:], windows[:-1]
    count, routers, radix, _ = now.shape
    linked = (peer >= 0).reshape(routers, radix)
    traffic, waiting = now[..., 1], now[..., 3] + now[..., 4]
    received = traffic.reshape(count, routers * radix)[:, peer].reshape(traffic.shape) * linked
    injected = np.maximum(traffic.sum(2) - received.sum(2), 0.0) / np.maximum((~linked).sum(1), 1)
    received = received + injected[..., None] * ~linked
    onward = waiting.mean(2)[:, peer // radix].reshape(traffic.shape) * linked
    filling = waiting - before[..., 3] - before[..., 4]
    rate = now[..., 2] / (1.0 + traffic / 1024.0)
    derived = np.stack([received, onward, filling, rate], axis=-1)
    every = np.concatenate([now, derived], axis=-1)
    every = every.reshape(count, routers * radix, every.shape[-1])
    return np.asarray(np.sign(every) * np.log1p(np.abs(every)))


def port_statistics(quantities: Array) -> Array:
    """(windows, ports, q) to (ports, 5 q): mean, least, most and quartiles over the windows.

    >>> port_statistics(np.arange(5.0)[:, None, None]).tolist()
    [[2.0, 0.0, 4.0, 1.0, 3.0]]
    """
    if not len(quantities):
        return np.zeros((quantities.shape[1], len(STATISTICS) * quantities.shape[2]))
    quartiles = np.quantile(quantities, [0.25, 0.75], axis=0)
    parts = [quantities.mean(0), quantities.min(0), quantities.max(0), *quartiles]
    return np.concatenate(parts, axis=1)


def iteration_features(values: Array, bounds: Iterable[tuple[int, int]], peer: Integers) -> Array:
    """(iterations, ports, 45), single precision.

    Parameters
    ----------
    values
        (windows, routers, ports, 5) of a run.
    bounds
        First window of each iteration and the one after its last; an iteration within one window
        has that one.
    peer
        As `port_quantities` takes it.
    """
    rows = []
    for begin, end in bounds:
        first = min(begin, end - 1)
        own = values[max(first, 0) : end]
        before = values[max(first - 1, 0) : max(first, 1)]
        quantities = port_quantities(np.concatenate([before, own]), peer)
        rows.append(port_statistics(quantities).astype(np.float32))
    return np.stack(rows)
