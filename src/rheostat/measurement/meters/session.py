"""A window of measurement: meters are sampled from its beginning to its end.

A thread takes samples often enough that no counter wraps unseen and power sensors are summed
finely; the first and the last sample are taken at the edges of the window itself.  Whatever is
sampled can be written down, and a recording is added up again by the same code.
"""

from __future__ import annotations

import csv
import math
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import replacing
from rheostat.errors import DataError
from rheostat.measurement.lines import Records
from rheostat.measurement.meters.reading import (
    STATES,
    UNAVAILABLE,
    Domain,
    EnergyAccumulator,
    EnergyMeter,
    Reading,
)

INTERVAL_S = 0.1
COLUMNS = ("t_s", "meter", "domain", "kind", "range_j", "least_window_s", "most_w", "part_of",
           "value")  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """Seconds of a window, one reading per domain, and meters that had nothing to say and why."""

    runtime_s: float
    readings: tuple[Reading, ...] = ()
    silent: dict[str, str] = field(default_factory=dict)

    @property
    def energy_j(self) -> float:
        """Joules of all domains that are part of no other, each sensor once.

        NaN without any, and where one of them could not be told: a total without it would be wrong.
        Where two meters read the same domain the first one that can tell counts; Slurm's total,
        which has other domains in it, counts only where these are not all there.
        """
        return math.fsum(r.energy_j for r in self.counted) if self.counted else math.nan

    @property
    def counted(self) -> tuple[Reading, ...]:
        """The readings that make up the total."""
        seen: dict[str, Reading] = {}
        for r in self.readings:
            if r.part_of or r.domain == "job":
                continue
            if r.domain not in seen or seen[r.domain].state == UNAVAILABLE:
                seen[r.domain] = r
        if seen and all(r.state != UNAVAILABLE for r in seen.values()):
            return tuple(seen.values())
        job = [r for r in self.readings if r.domain == "job" and r.state != UNAVAILABLE]
        return tuple(job or seen.values())

    @property
    def state(self) -> str:
        """The least trust among what is counted; unavailable without any."""
        states = [STATES.index(r.state) for r in self.counted]
        return STATES[max(states)] if states else UNAVAILABLE

    @property
    def power_w(self) -> float:
        """Mean watts over the window."""
        return self.energy_j / self.runtime_s if self.runtime_s > 0 else math.nan


class Session:
    """Meters over a window, as a context manager.

    >>> with Session([]) as session:
    ...     pass
    >>> session.measured.state, session.measured.runtime_s >= 0
    ('unavailable', True)
    """

    def __init__(
        self, meters: Sequence[EnergyMeter], *, interval_s: float = INTERVAL_S, keep: bool = False
    ) -> None:
        if not interval_s > 0:
            raise DataError("interval", [f"expected seconds above 0, got {interval_s}"])
        self.meters, self.interval_s, self.keep = tuple(meters), interval_s, keep
        self.rows: list[tuple[Any, ...]] = []

    def __enter__(self) -> Session:
        self.silent = {m.name: why for m in self.meters if (why := m.why())}
        self._live = [
            (m, [EnergyAccumulator(d) for d in m.domains()])
            for m in self.meters
            if m.name not in self.silent
        ]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._sample()
        self._began = time.perf_counter()
        if self._live:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._began
        self._stop.set()
        if self._live:
            self._thread.join()
        self._sample()
        readings = [a.reading(m.name, seconds) for m, every in self._live for a in every]
        self.measured = Measured(seconds, tuple(readings), self.silent)

    def _watch(self) -> None:
        while not self._stop.wait(self.interval_s):
            self._sample()

    def _sample(self) -> None:
        for meter, every in self._live:
            now = time.perf_counter()
            for sum_, value in zip(every, meter.sample(), strict=True):
                sum_.add(now, value)
                if self.keep:
                    self.rows.append((now, meter.name, sum_.domain, value))

    def write(self, path: str | Path) -> None:
        """Write the samples kept, as CSV that `replay` reads."""
        with replacing(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(COLUMNS)
            began = self.rows[0][0] if self.rows else 0.0
            for t, meter, d, value in self.rows:
                out.writerow([repr(t - began), meter, d.name, d.kind, d.range_j, d.least_window_s,
                              d.most_w, d.part_of, repr(value)])  # fmt: skip


def replay(path: str | Path) -> Measured:
    """What a recording amounts to: the same sums over the same samples."""
    try:
        rows = list(csv.DictReader(line for _, line in Records(path)))
    except csv.Error as error:
        raise DataError(str(path), [f"is not a readable CSV file: {error}"]) from error
    missing = [c for c in COLUMNS if not rows or c not in rows[0]]
    if missing:
        why = "; ".join(f"column {c} is missing" for c in missing)
        raise other_kind(path, "a recording of rheostat measure --record", why)
    sums: dict[tuple[str, str], EnergyAccumulator] = {}
    times: list[float] = []
    problems = []
    for i, row in enumerate(rows, 1):
        try:
            domain, t, value = _recorded(row, times[-1] if times else -math.inf)
        except (TypeError, ValueError) as error:
            problems.append(f"row {i}: {error}")
            continue
        sums.setdefault((row["meter"], row["domain"]), EnergyAccumulator(domain)).add(t, value)
        times.append(t)
    if problems:
        raise DataError(str(path), problems)
    seconds = times[-1] - times[0]
    return Measured(seconds, tuple(_readings(sums, seconds)))


def _recorded(row: Mapping[str, str], before_s: float) -> tuple[Domain, float, float]:
    """One sample of a recording; a `ValueError` says which number cannot be one of `write`."""
    numbers = {}
    for name, (low, high) in _BETWEEN.items():
        numbers[name] = float(row[name])
        if not (low <= numbers[name] <= high or (name, row[name]) == ("range_j", "inf")):
            raise ValueError(f"{name}: expected {low:g} to {high:g}, got {row[name][:20]}")
    t, value = numbers.pop("t_s"), float(row["value"])
    if t < before_s:
        raise ValueError(f"t_s falls from {before_s:g} to {t:g}: is this one recording?")
    if math.isinf(value):
        raise ValueError(f"value: expected a finite number, or nan for none, got {row['value']}")
    if row["kind"] not in ("energy", "power"):
        raise ValueError(f"kind: expected energy or power, got {row['kind'][:20]!r}")
    domain = Domain(
        row["domain"],
        row["kind"],
        range_j=numbers["range_j"],
        least_window_s=numbers["least_window_s"],
        most_w=numbers["most_w"],
        part_of=row["part_of"],
    )
    return domain, t, value


_BETWEEN = {
    "t_s": (-1e10, 1e10),
    "range_j": (0.0, 1e15),
    "least_window_s": (0.0, 1e6),
    "most_w": (0.0, 1e9),
}


def _readings(sums: dict[tuple[str, str], EnergyAccumulator], seconds: float) -> Iterable[Reading]:
    for (meter, _), added in sums.items():
        yield added.reading(meter, seconds)
