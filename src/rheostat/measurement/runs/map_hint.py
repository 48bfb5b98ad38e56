"""What to type where no column of a table is named as a run time, power or energy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from rheostat.measurement.runs.guess import guess_name, may_be
from rheostat.measurement.runs.mapping import RATE, YIELD


def what_to_map(columns: Sequence[str]) -> str:
    """What to type where nothing is named as measured; of several run times, each in turn.

    >>> what_to_map(["nodes", "A time (s)", "A energy (kJ)", "B time (s)", "B energy (kJ)"])[:72]
    "of several, say which: --column runtime_s='A time (s)' --column energy_j"
    >>> what_to_map(["Size", "Bandwidth (MB/s)"])[:52]
    "is it a speed? --column runtime_s='1/Bandwidth (MB/s"
    >>> what_to_map(["nodes", "speed"])[:36]
    'map them: --column runtime_s=THEIRS '
    """
    times = [c for c in may_be("runtime_s", columns) if guess_name(c) is None]
    rates = [c for c in columns if RATE.search(c) and not YIELD.search(c)]
    if len(times) < 2 and len(rates) == 1:
        said = f"is it a speed? --column runtime_s={shlex.quote(f'1/{rates[0]}')}"
        more = [shlex.quote(f"energy_j=1/{c}") for c in columns if YIELD.search(c)]
        more = more or [f"energy_j={c}" for c in columns if re.fullmatch(r"energy_per_im\w+_J", c)]
        return " --column ".join([said, *more[: len(more) == 1]])
    if len(times) < 2:
        return (
            "map them: --column runtime_s=THEIRS (a rate: runtime_s=1/THEIRS; a sum: "
            "energy_j=A+B), columns={'runtime_s': 'THEIRS'} in Python"
        )
    ways = []
    for time in times[:3]:
        typed = [f"--column runtime_s={shlex.quote(time)}"]
        for other in ("energy_j", "power_w"):
            if alike := _of_the_same(time, may_be(other, columns)):
                typed.append(f"--column {other}={shlex.quote(alike)}")
        ways.append(" ".join(typed))
    return f"of several, say which: {', or '.join(ways)}"


def _of_the_same(time: str, columns: Sequence[str]) -> str:
    """The column whose name shares most words with that of a time; "" where none shares one."""
    words = set(re.split(r"[\W_]+", time.lower()))
    shared = {c: len(words & set(re.split(r"[\W_]+", c.lower()))) for c in columns}
    best = max(shared, key=lambda c: shared[c], default="")
    return best if shared.get(best) else ""
