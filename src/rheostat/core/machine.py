"""`Machine`: what exists.  Processors, GPUs, watts, and what is known of them in advance.

A plain machine is a number of processors.  A site has partitions, a power cap, prices, maintenance
windows and failures; all of it fits one TOML file, and every mistake in it is told at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from rheostat.core.series import Series
from rheostat.core.storage.files import read_toml
from rheostat.errors import DataError

NAN, INF = float("nan"), float("inf")


def _whole(thing: Any, name: str, least: int) -> list[str]:
    value = getattr(thing, name)
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return []
    what = "a whole number above 0" if least == 1 else f"a whole number of at least {least}"
    return [f"{name}: expected {what}, got {value!r}"]


def _positive(thing: Any, names: tuple[str, ...], what: str) -> list[str]:
    bad = [
        n for n in names
        if not isinstance(getattr(thing, n), (int, float)) or getattr(thing, n) < 0
    ]  # fmt: skip
    return [f"{n}: expected {what} of at least 0, got {getattr(thing, n)!r}" for n in bad]


@dataclass(frozen=True)
class Partition:
    """Processors that share a queue.  Watts are those of one processor or GPU; NaN is unknown.

    Idle processors sleep after ``sleep_after_s``; then they draw ``sleep_w``, and waking takes
    ``wake_s`` at ``wake_w``.
    """

    procs: int
    name: str = ""
    gpus: int = 0
    idle_w: float = NAN
    busy_w: float = NAN
    gpu_idle_w: float = 0.0
    gpu_busy_w: float = 0.0
    sleep_after_s: float = INF
    sleep_w: float = 0.0
    wake_s: float = 0.0
    wake_w: float = NAN

    def __post_init__(self) -> None:
        problems = [*_whole(self, "procs", 1), *_whole(self, "gpus", 0)]
        watts = ("idle_w", "busy_w", "gpu_idle_w", "gpu_busy_w", "sleep_w", "wake_w")
        problems += _positive(self, watts, "watts")
        problems += _positive(self, ("sleep_after_s", "wake_s"), "seconds")
        if not problems and math.isfinite(self.sleep_after_s):
            missing = [n for n in ("idle_w", "wake_w") if math.isnan(getattr(self, n))]
            problems += [f"{n}: expected watts, because processors sleep" for n in missing]
        if problems:
            raise DataError(f"partition {self.name}".strip(), problems)


@dataclass(frozen=True)
class Window:
    """Maintenance: ``procs`` processors of ``partition`` are away from ``from_s`` until ``to_s``.

    All processors if none are given, all partitions if none is named.
    """

    from_s: float
    to_s: float
    partition: str = ""
    procs: int = 0

    def __post_init__(self) -> None:
        problems = _whole(self, "procs", 0)
        if not self.from_s < self.to_s < INF:
            problems.append(f"expected from_s < to_s, got {self.from_s!r} and {self.to_s!r}")
        if problems:
            raise DataError("maintenance", problems)


@dataclass(frozen=True)
class Failure:
    """``procs`` processors of ``partition`` fail at ``at_s``, repaired ``repair_s`` later."""

    at_s: float
    repair_s: float
    partition: str = ""
    procs: int = 1

    def __post_init__(self) -> None:
        problems = [*_whole(self, "procs", 1), *_positive(self, ("repair_s",), "seconds")]
        problems += [] if math.isfinite(self.at_s) else [f"at_s: expected a time, got {self.at_s}"]
        if problems:
            raise DataError("failure", problems)


@dataclass(frozen=True)
class RandomFailures:
    """Failures at random: each unit of ``procs`` processors fails every ``mtbf_s`` on average."""

    mtbf_s: float
    repair_s: float
    procs: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [*_whole(self, "procs", 1), *_whole(self, "seed", 0)]
        problems += _positive(self, ("mtbf_s", "repair_s"), "seconds")
        problems += [] if self.mtbf_s != 0 else ["mtbf_s: expected seconds above 0, got 0"]
        if problems:
            raise DataError("failures", problems)


@dataclass(frozen=True)
class Rules:
    """What the site enforces.  Nothing unless asked for.

    ``kill="limit"`` ends a run when the requested time is over; ``dependencies`` holds a job until
    ``preceding_job`` has ended, plus ``think_s``; ``arrays`` lets at most ``array_limit`` tasks of
    one ``array_id`` run, or as many as the column ``array_limit`` says, 0 for all; ``requeue`` is
    how often a job killed by a failure may start again.
    """

    kill: str = "never"
    dependencies: bool = False
    arrays: bool = False
    array_limit: int = 0
    requeue: int = 3

    def __post_init__(self) -> None:
        problems = [*_whole(self, "requeue", 0), *_whole(self, "array_limit", 0)]
        if self.kill not in ("never", "limit"):
            problems.append(f"kill: expected never or limit, got {self.kill!r}")
        for name in ("dependencies", "arrays"):
            if not isinstance(getattr(self, name), bool):
                problems.append(f"{name}: expected true or false, got {getattr(self, name)!r}")
        if problems:
            raise DataError("rules", problems)


@dataclass(frozen=True)
class Machine:
    """``procs`` processors that any job may use; watts are those of one processor, NaN unknown.

    With ``partitions`` the processors and watts are theirs.  ``cap_w`` is the power that the whole
    site may draw, ``tariff_per_kwh`` and ``carbon_g_per_kwh`` what a kilowatt-hour costs and emits.

    Parameters
    ----------
    procs : int
        Processors, the sum of the partitions where there are any.
    name : str
        For reports.
    idle_w, busy_w : float
        Watts of one processor without and with a job; NaN unknown.
    partitions : tuple of Partition
        Parts with processors, watts, GPUs and sleep of their own.
    cap_w : Series, optional
        Watts that the site may draw.
    tariff_per_kwh, carbon_g_per_kwh : Series, optional
        Price and grams of CO2 of a kilowatt-hour.
    maintenance : tuple of Window
        Processors that are away, planned.
    failures : tuple of Failure
        Processors that fail at stated moments, not planned.
    random_failures : RandomFailures, optional
        Failures drawn at random.
    rules : Rules
        Limits, dependencies, arrays, requeueing.

    Raises
    ------
    DataError
        Numbers out of range, unknown or repeated partitions; all at once.

    Examples
    --------
    >>> Machine.load("128").procs
    128
    >>> Machine(0)
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: machine: procs: expected a whole number above 0, got 0
    """

    procs: int
    name: str = ""
    idle_w: float = NAN
    busy_w: float = NAN
    partitions: tuple[Partition, ...] = ()
    cap_w: Series | None = None
    tariff_per_kwh: Series | None = None
    carbon_g_per_kwh: Series | None = None
    maintenance: tuple[Window, ...] = ()
    failures: tuple[Failure, ...] = ()
    random_failures: RandomFailures | None = None
    rules: Rules = Rules()

    def __post_init__(self) -> None:
        problems = [*_whole(self, "procs", 1), *_positive(self, ("idle_w", "busy_w"), "watts")]
        names = [p.name for p in self.partitions]
        if self.partitions and sum(p.procs for p in self.partitions) != self.procs:
            problems.append(f"procs: expected the sum of the partitions, got {self.procs}")
        if len(set(names)) < len(names):
            problems.append(f"partitions: expected different names, got {', '.join(names)}")
        named = [*(w.partition for w in self.maintenance), *(f.partition for f in self.failures)]
        problems += [
            f"partition {n} is not one of {', '.join(names)}"
            for n in named
            if n not in ("", *names)
        ]
        if self.cap_w is not None and any(math.isnan(p.idle_w) for p in self.parts):
            problems.append("cap_w: expected idle_w of every partition, since idle power counts")
        if self.cap_w is not None and min(self.cap_w.values) <= 0:
            problems.append("cap_w: expected watts above 0")
        if problems:
            raise DataError("machine", problems)

    @property
    def parts(self) -> tuple[Partition, ...]:
        """The partitions; a plain machine is one without a name."""
        if self.partitions:
            return self.partitions
        return (Partition(self.procs, idle_w=self.idle_w, busy_w=self.busy_w),)

    @property
    def plain(self) -> bool:
        """Nothing but processors that any job may use: watts are then counted, not planned."""
        things = (
            self.partitions, self.maintenance, self.failures, self.random_failures, self.cap_w
        )  # fmt: skip
        return not any(things) and self.rules == Rules()

    @property
    def capped_alone(self) -> bool:
        """A plain machine but for a power cap that does not change."""
        cap = self.cap_w
        return cap is not None and len(set(cap.values)) == 1 and replace(self, cap_w=None).plain

    @classmethod
    def load(cls, source: str | Path) -> Machine:
        """A number of processors, or a TOML file."""
        if str(source).isdigit():
            return cls(int(str(source)))
        if not Path(source).exists():
            raise DataError(
                f"machine {source}", ["expected a number of processors or a TOML file, found none"]
            )
        return cls.from_mapping(read_toml(source), str(source))

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any], source: str = "machine") -> Machine:
        """From plain values as a TOML file has them; all that is wrong is told at once."""
        facts = dict(facts)
        problems: list[str] = []
        made: dict[str, Any] = {}
        for key, (field, kind) in _MANY.items():
            made[field] = _several(facts.pop(key, []), key, kind, problems)
        for key, (field, kind) in _ONE.items():
            if key in facts:
                made[field] = _one(facts.pop(key), key, kind, problems)
        power = facts.pop("power", {})
        if isinstance(power, Mapping):
            problems += [f"power: {k} is not known" for k in power if k not in _POWER]
            for key in (k for k in _POWER if k in power):
                made[key] = _series(power[key], f"power: {key}", problems)
        else:
            problems.append("power: expected a table")
        known = ("procs", "name", "idle_w", "busy_w")
        problems += [f"{k} is not known; known: {', '.join(KEYS)}" for k in facts if k not in known]
        if made["partitions"] and None not in made["partitions"]:
            facts.setdefault("procs", sum(p.procs for p in made["partitions"]))
        elif "procs" not in facts and not problems:
            problems.append("procs is missing")
        if problems:
            raise DataError(source, problems)
        try:
            return cls(**facts, **made)
        except DataError as error:
            raise DataError(source, error.problems) from error


_MANY: dict[str, tuple[str, Callable[..., Any]]] = {
    "partition": ("partitions", Partition),
    "maintenance": ("maintenance", Window),
    "failure": ("failures", Failure),
}
_ONE: dict[str, tuple[str, Callable[..., Any]]] = {
    "failures": ("random_failures", RandomFailures),
    "rules": ("rules", Rules),
}
_POWER = ("cap_w", "tariff_per_kwh", "carbon_g_per_kwh")
KEYS = ("procs", "name", "idle_w", "busy_w", *_MANY, *_ONE, "power")


def _several(given: Any, key: str, kind: Any, problems: list[str]) -> tuple[Any, ...]:
    if not isinstance(given, list):
        problems.append(f"{key}: expected tables, written [[{key}]]")
        return ()
    return tuple(_one(g, f"{key} {i}", kind, problems) for i, g in enumerate(given, 1))


def _one(given: Any, key: str, kind: Any, problems: list[str]) -> Any:
    """One table as its class; None, and the problems, if it is wrong."""
    if not isinstance(given, Mapping):
        problems.append(f"{key}: expected a table")
        return None
    known = [f.name for f in fields(kind)]
    odd = [k for k in given if k not in known]
    problems += [f"{key}: {k} is not known; known: {', '.join(known)}" for k in odd]
    try:
        return kind(**{k: v for k, v in given.items() if k in known})
    except DataError as error:
        problems += [f"{key}: {p}" for p in error.problems]
    except TypeError as error:
        problems.append(f"{key}: {str(error).split('() ')[-1]}")
    return None


def _series(given: Any, key: str, problems: list[str]) -> Series | None:
    try:
        return Series.of(given)
    except DataError as error:
        problems += [f"{key}: {p}" for p in error.problems]
    return None
