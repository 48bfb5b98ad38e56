"""A site's priority: age, size, fairshare and quality of service, weighed as Slurm weighs them.

Most clusters order their queue by a sum of factors between 0 and 1 with weights of the site's
choice.  Three of the factors are facts of the job; fairshare is a memory: processor-seconds that
the user has taken, of which half is forgotten every half-life.

    Symbol  Unit  Meaning
    w       s     waiting time so far
    n             processors of the job, of P in the machine
    u       s     processor-seconds of the user, decayed; U of all users
    x             the user's share of the machine, of all shares
    q             quality of service, 0 to 1

    priority = age min(w / max_age, 1) + size n / P + fairshare 2^(-(u / U) / x) + qos q

References
----------
Slurm, "Multifactor Priority Plugin" and "Classic Fairshare Algorithm"
(slurm.schedmd.com/priority_multifactor.html, classic_fair_share.html).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rheostat.core.storage.files import read_text, read_toml
from rheostat.errors import DataError

DAY_S = 86_400.0
KEYS = {
    "PriorityWeightAge": "age",
    "PriorityWeightJobSize": "size",
    "PriorityWeightFairshare": "fairshare",
    "PriorityWeightQOS": "qos",
    "PriorityMaxAge": "max_age_s",
    "PriorityDecayHalfLife": "half_life_s",
    "PriorityFavorSmall": "favour_small",
}


@dataclass(frozen=True)
class Multifactor:
    """Weights and clocks; the highest priority goes first, ties as they arrived.

    ``levels`` gives a job's ``qos`` a priority, of which the highest counts as 1; a quality of
    service without one counts as 0.  ``shares`` are the users' shares; a user without has 1.
    With ``half_life_s=0`` nothing is forgotten.

    >>> Multifactor(age=-1, half_life_s=float("nan"))
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: multifactor: age: expected a number of at least 0, got -1; half_life_s: expected a number of at least 0, got nan
    """  # noqa: E501 - a doctest shows the whole message

    age: float = 1000.0
    size: float = 1000.0
    fairshare: float = 10_000.0
    qos: float = 0.0
    max_age_s: float = 7 * DAY_S
    half_life_s: float = 7 * DAY_S
    favour_small: bool = False
    levels: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = {f.name: getattr(self, f.name) for f in fields(self) if f.type == "float"}
        tables = {name: getattr(self, name) for name in ("levels", "shares")}
        problems = [
            f"{name}: expected a table of names and numbers, got {given!r}"
            for name, given in tables.items()
            if not isinstance(given, Mapping)
        ]
        if problems:
            raise DataError("multifactor", problems)
        for name, given in tables.items():
            numbers |= {f"{name}.{k}": v for k, v in given.items()}
        problems = [
            f"{name}: expected a number of at least 0, got {value!r}"
            for name, value in numbers.items()
            if not (isinstance(value, (int, float)) and 0 <= value < math.inf)
        ]
        if not isinstance(self.favour_small, bool):
            problems.append(f"favour_small: expected true or false, got {self.favour_small!r}")
        problems += [] if self.max_age_s != 0 else ["max_age_s: expected seconds above 0, got 0"]
        if self.qos > 0 and not any(self.levels.values()):
            problems.append("qos: has a weight, but levels gives no quality of service a priority")
        if problems:
            raise DataError("multifactor", problems)

    @classmethod
    def load(cls, path: str | Path) -> Multifactor:
        """From a TOML file with the names of this class, or from a ``slurm.conf``.

        A ``slurm.conf`` does not hold the priorities of the qualities of service (the accounting
        database does): there the weight of QOS is left out unless it is 0.
        """
        slurm = Path(path).suffix == ".conf"
        text = read_text(path, errors="replace") if slurm else ""  # Slurm reads ASCII keys
        entries = {} if slurm else read_toml(path)
        try:
            return cls(**(slurm_priority(text) if slurm else _known(entries)))
        except DataError as error:
            raise DataError(str(path), error.problems) from error


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    names = [f.name for f in fields(Multifactor)]
    odd = [f"{k} is not known; known: {', '.join(names)}" for k in facts if k not in names]
    if odd:
        raise DataError("multifactor", odd)
    return dict(facts)


def slurm_priority(text: str) -> dict[str, Any]:
    """The priority lines of a ``slurm.conf``; weights it does not set are 0, as Slurm has them."""
    made: dict[str, Any] = {}
    known = {k.lower(): v for k, v in KEYS.items()}
    problems = []
    for line in text.splitlines():
        key, equals, value = line.partition("#")[0].strip().partition("=")
        name = known.get(key.strip().lower())
        if not equals or name is None:
            continue
        try:
            made[name] = _value(name, value.strip())
        except ValueError:
            problems.append(f"{key.strip()}: expected a number or a time, got {value.strip()!r}")
    if not made and not problems:
        problems.append(f"expected a line such as PriorityWeightAge=1000, one of {', '.join(KEYS)}")
    if made.get("qos", 0.0) > 0:
        problems.append("PriorityWeightQOS: the file lacks the priorities; write TOML with levels")
    if problems:
        raise DataError("slurm.conf", problems)
    return dict.fromkeys(("age", "size", "fairshare"), 0.0) | made


def _value(name: str, text: str) -> float | bool:
    if name == "favour_small":
        return text.lower() == "yes"
    return slurm_seconds(text) if name.endswith("_s") else float(text)


def slurm_seconds(text: str) -> float:
    """Slurm's times: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:s]].

    >>> slurm_seconds("7-0"), slurm_seconds("90"), slurm_seconds("1:30:00"), slurm_seconds("0")
    (604800.0, 5400.0, 5400.0, 0.0)
    """
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", text):
        raise ValueError(text)
    days, dash, rest = text.rpartition("-")
    parts = [float(p) for p in rest.split(":")]
    units = (3600.0, 60.0, 1.0) if dash or len(parts) == 3 else (60.0, 1.0)
    seconds = sum(p * u for p, u in zip(parts, units, strict=False))
    return float(days or 0) * DAY_S + seconds
