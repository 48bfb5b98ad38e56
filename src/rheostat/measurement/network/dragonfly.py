"""A 1-D Dragonfly: its sizes from ``net.conf``, its ports, and the graph of its ports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.graph import Graph
from rheostat.core.storage.files import read_text
from rheostat.errors import DataError

Integers = np.ndarray[Any, np.dtype[np.int64]]
GIB = 2.0**30
PAIR = re.compile(r'^\s*([\w-]+)\s*=\s*"([^"]*)"\s*;', re.MULTILINE)
SIZES = {"num_groups": "groups", "num_routers": "routers_per_group",
         "num_cns_per_router": "terminals_per_router",
         "num_global_channels": "global_ports"}  # fmt: skip
MOST = 100_000
"""Ports of the largest system that is taken for real."""


@dataclass(frozen=True)
class Dragonfly:
    """Groups of fully connected routers, fully connected by global links.

    Ports of a router are numbered as CODES does: to the other routers of its group, then global,
    then to its terminals.  Port p of router r is node ``r * radix + p`` of the graph.

    Parameters
    ----------
    groups, routers_per_group, terminals_per_router, global_ports
        Sizes; the last two are per router.
    local_b_s, global_b_s, terminal_b_s
        Bandwidth of a link, B/s; 0 where it is not known.
    routing
        Name of the routing, as ``prog-adaptive``.

    Examples
    --------
    >>> small = Dragonfly(9, 4, 2, 2)
    >>> small.ports, small.edges.shape
    (252, (2, 1692))
    """

    groups: int
    routers_per_group: int
    terminals_per_router: int
    global_ports: int
    local_b_s: float = 0.0
    global_b_s: float = 0.0
    terminal_b_s: float = 0.0
    routing: str = ""

    def __post_init__(self) -> None:
        sizes = (self.groups, self.routers_per_group, self.terminals_per_router, self.global_ports)
        if min(sizes) < 1 or self.groups < 2:
            raise DataError(
                "Dragonfly", [f"expected two groups or more and sizes from 1, got {sizes}"]
            )
        if self.ports > MOST:
            raise DataError("Dragonfly", [f"expected at most {MOST:,} ports, got {self.ports:,}"])
        if (self.routers_per_group * self.global_ports) % (self.groups - 1):
            channels = self.routers_per_group * self.global_ports
            raise DataError("Dragonfly", [
                f"expected as many global ports of a group ({channels}) as other groups "
                f"({self.groups - 1}), or a multiple"])  # fmt: skip

    @property
    def routers(self) -> int:
        """Number of routers."""
        return self.groups * self.routers_per_group

    @property
    def terminals(self) -> int:
        """Number of compute nodes."""
        return self.routers * self.terminals_per_router

    @property
    def radix(self) -> int:
        """Ports of a router."""
        return self.routers_per_group - 1 + self.global_ports + self.terminals_per_router

    @property
    def ports(self) -> int:
        """Ports of all routers."""
        return self.routers * self.radix

    @property
    def local_ports(self) -> slice:
        """Ports of a router within its group."""
        return slice(0, self.routers_per_group - 1)

    @property
    def wide_ports(self) -> slice:
        """Ports of a router to other groups."""
        return slice(self.routers_per_group - 1, self.radix - self.terminals_per_router)

    def terminal_port(self, terminals: Any) -> tuple[Integers, Integers]:
        """(router, port) of each terminal."""
        router, place = np.divmod(np.asarray(terminals, int), self.terminals_per_router)
        return router, self.radix - self.terminals_per_router + place

    @cached_property
    def edges(self) -> Integers:
        """Directed edges between ports, (2, e): within a router, local links, global links."""
        return np.concatenate([self._within(), self._local(), self._wide()], axis=1)

    @cached_property
    def peer(self) -> Integers:
        """Port at the other end of each port's link, (ports,); -1 where a terminal is.

        >>> Dragonfly(3, 2, 1, 1).peer[:3].tolist()  # to the router beside, to group 1, a terminal
        [3, 10, -1]
        """
        out = np.full(self.ports, -1)
        source, target = np.concatenate([self._local(), self._wide()], axis=1)
        out[source] = target
        return out

    def port_graph(self) -> Graph:
        """Ports with their router and kind (local, global, terminal), and `edges`."""
        router, port = np.divmod(np.arange(self.ports), self.radix)
        kinds = np.array(["terminal"] * self.radix, dtype=object)
        kinds[self.local_ports], kinds[self.wide_ports] = "local", "global"
        nodes = pl.DataFrame({"router": router, "port": port, "kind": kinds[port].tolist()})
        return Graph("ports", nodes, self.edges)

    def _within(self) -> Integers:
        a, b = np.nonzero(~np.eye(self.radix, dtype=bool))
        base = np.arange(self.routers)[:, None] * self.radix
        return np.stack([(base + a).ravel(), (base + b).ravel()])

    def _local(self) -> Integers:
        """Router i meets router j on port j, or j - 1 above itself, and the other way round."""
        i, j = np.nonzero(~np.eye(self.routers_per_group, dtype=bool))
        base = np.arange(self.groups)[:, None] * self.routers_per_group
        out = (base + i) * self.radix + j - (j > i)
        back = (base + j) * self.radix + i - (i > j)
        return np.stack([out.ravel(), back.ravel()])

    def _wide(self) -> Integers:
        """Channel c of group g leads to group g + 1 + c, and comes back on the mirrored channel."""
        others = self.groups - 1
        channels = np.arange(self.routers_per_group * self.global_ports)
        round_, step = np.divmod(channels, others)
        g = np.arange(self.groups)[:, None]
        there = round_ * others + others - 1 - step
        return np.stack([
            self._wide_port(g, channels).ravel(),
            self._wide_port((g + 1 + step) % self.groups, there).ravel(),
        ])  # fmt: skip

    def _wide_port(self, group: Integers, channel: Integers) -> Integers:
        router, place = np.divmod(channel, self.global_ports)
        where = (group * self.routers_per_group + router) * self.radix
        return np.asarray(where + self.routers_per_group - 1 + place)


def read_dragonfly(path: str | Path) -> Dragonfly:
    """The network of a CODES configuration (``net.conf``).

    Raises
    ------
    DataError
        Sizes are missing or no numbers, or the network is a 2-D Dragonfly: routers of its groups
        are not fully connected, so it has another graph.
    """
    text = re.sub(r"^\s*#.*$", "", read_text(path, errors="replace"), flags=re.MULTILINE)
    given = dict(PAIR.findall(text))
    if {"num_router_rows", "num_router_cols"} & set(given):
        raise DataError(
            str(path), ["expected a 1-D Dragonfly, got one with router rows and columns"]
        )
    problems = [f"{k} is missing" for k in SIZES if k not in given]
    sizes: dict[str, int] = {}
    for key, name in SIZES.items():
        value = given.get(key, "1")
        if not re.fullmatch(r"\d{1,6}", value):
            problems.append(f"{key}: expected a count, got {value[:40]!r}")
        else:
            sizes[name] = int(value)
    speeds: dict[str, Any] = {}
    for name, key in (("local", "local"), ("global", "global"), ("terminal", "cn")):
        value = given.get(f"{key}_bandwidth", "0")
        if not re.fullmatch(r"\d{1,6}(\.\d{1,9})?", value):
            problems.append(f"{key}_bandwidth: expected GiB/s, got {value[:40]!r}")
        else:
            speeds[f"{name}_b_s"] = float(value) * GIB
    if problems:
        raise DataError(str(path), problems)
    try:
        return Dragonfly(**sizes, routing=given.get("routing", ""), **speeds)
    except DataError as error:
        raise DataError(str(path), error.problems) from error
