"""Which of several devices add up: none that contains others, or that is a part of one beside it.

Of RAPL's zones cores and what is on the same die are parts of a package, memory stands beside it,
and ``psys`` is the whole platform.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rheostat.core.jobs import Note

PACKAGE = re.compile(r"(package|pkg)[-_ ]?\d*")
INSIDE = re.compile(r"(cores?|uncore|pp[01]|graphics)([-_ ]?\d+)?")
PLATFORM = re.compile(r"(psys|platform)[-_ ]?\d*")
NESTED = re.compile(r".*rapl(-mmio)?:\d+:\d+")
TOTAL = re.compile(r"(?<![a-z])(totals?|totale|sums?|all|overall|gesamt|summe|somme|suma)(?![a-z])")
WIDER = re.compile(r"(?<![a-z])(rack|cluster|room|site|facility|whole)(?![a-z])")
"""What contains others by its name, where it draws as much as they do."""
CLOSE = 0.99


def counted_once(names: Sequence[str]) -> tuple[list[str], str]:
    """The devices that may be added up, and why the others are not.

    >>> counted_once(["n1 package-0", "n1 core", "n1 dram"])
    (['n1 package-0', 'n1 dram'], 'n1 core is part of a package')
    >>> counted_once(["n1 package-0", "n2 core"])
    (['n1 package-0', 'n2 core'], '')
    >>> counted_once(["package-0", "dram", "psys"])[1]
    'psys contains the packages'
    >>> counted_once(["core", "dram"]), counted_once(["intel-rapl:0", "intel-rapl:0:0"])[0]
    ((['core', 'dram'], ''), [])
    """
    if any(map(NESTED.fullmatch, names)):
        return [], "zones within zones"
    hosts = {_host(PACKAGE, n) for n in names} - {None}
    inside = [n for n in names if _host(INSIDE, n) in hosts]
    platform = [n for n in names if _host(PLATFORM, n) in hosts]
    said = [f"{', '.join(own)} {verb}" for own, verb in (
        (inside, "is part of a package" if len(inside) == 1 else "are parts of packages"),
        (platform, "contains the packages" if len(platform) == 1 else "contain the packages"),
    ) if own]  # fmt: skip
    return [n for n in names if n not in (*inside, *platform)], ", ".join(said)


def _host(pattern: re.Pattern[str], name: str) -> str | None:
    """What stands before such a zone in a name, but for its package; None where it is no such zone.

    >>> _host(INSIDE, "n1 package-0/core"), _host(INSIDE, "core"), _host(INSIDE, "dram")
    ('n1', '', None)
    """
    words = re.split(r"[ /:]+", name.strip().lower())
    ahead = (k for k in range(len(words)) if pattern.fullmatch(" ".join(words[k:])))
    count = next(ahead, None)
    return None if count is None else " ".join(w for w in words[:count] if not PACKAGE.fullmatch(w))


def named_totals(watts: Mapping[str, float | None]) -> list[Note]:
    """Notes on devices that are called a total of others, by their mean watts.

    >>> [n.message[:58] for n in named_totals({"a": 300.0, "b": 310.0, "rack total": 750.0})]
    ['rack total is called a total, of 750 W in the mean beside ']
    >>> named_totals({"rack 1": 300.0, "rack 2": 900.0}), named_totals({"rack": 300.0, "n1": 400.0})
    ([], [])
    """
    totals = [n for n in watts if TOTAL.search(n.lower())] or _wider(watts)
    others = {n: w for n, w in watts.items() if n not in totals}
    if not totals or not others:
        return []
    rest = sum(w or 0.0 for w in others.values())
    beside = f"{rest:.4g} W of the other {len(others)} in sum" if len(others) > 1 else (
        f"{rest:.4g} W of {next(iter(others))}")  # fmt: skip
    twice = "where it contains them, adding up all rows counts them twice"
    return [Note(f"{n} is called a total, of {w:.4g} W in the mean beside {beside}: {twice}")
            for n in totals if (w := watts[n]) is not None]  # fmt: skip


def _wider(watts: Mapping[str, float | None]) -> list[str]:
    """The only device that is named after what holds others, and draws what they do."""
    wide = [n for n in watts if WIDER.search(n.lower())]
    rest = sum(w or 0.0 for n, w in watts.items() if n not in wide)
    return wide if len(wide) == 1 and 0 < CLOSE * rest <= (watts[wide[0]] or 0.0) else []
