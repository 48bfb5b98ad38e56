"""Counters in words: how right each method is, and what a change of a counter would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Chart, Grid, Section
from rheostat.core.units import plain_name

Facts = Mapping[str, Any]


def leverage_section(title: str, changes: Sequence[Facts], said: str = "") -> Section:
    """A table of changes, and a picture of those of the first target, largest first.

    Parameters
    ----------
    title : str
        The heading.
    changes : sequence of mapping
        ``target``, ``factors`` by counter, and ``change``: mean, low, high, shares of one.
    said : str, optional
        A sentence above.

    Returns
    -------
    Section
        With a bar per counter and the ends of its interval.
    """
    rows = tuple(
        (c["target"], ", ".join(f"{name} x {f:g}" for name, f in c["factors"].items()),
         *(round(100 * v, 2) for v in c["change"]))
        for c in changes
    )  # fmt: skip
    heads = ("target", "change", "target changes %", "low", "high")
    return Section(title, (said,) if said else (), Grid(heads, rows), _bars(changes))


def _bars(changes: Sequence[Facts]) -> Chart:
    first = changes[0]["target"]
    own = [c for c in changes if c["target"] == first]
    names = [", ".join(c["factors"]) for c in own]
    value, low, high = ([c["change"][k] for c in own] for k in range(3))
    bars = {"name": first, "x": names, "y": value, "low": low, "high": high}
    axes = ("counter", f"change of {plain_name(first)}")
    return Chart("bar", (bars,), axes, units=("", "share"))
