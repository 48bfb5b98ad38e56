"""What a search itself takes: seconds, and joules by the model that judges variants."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheostat.core.storage.files import read_json, replace_file
from rheostat.measurement.code.costs.modelled_energy import EnergyModel


def _cpu_s() -> float:
    """CPU seconds of this process and of all it has waited for."""
    import resource

    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


@dataclass
class SearchCost:
    """Seconds of this call and of those before it, kept in the folder after each variant.

    Parameters
    ----------
    path : Path
        The file.
    before : dict
        Seconds and CPU seconds of earlier calls.
    began, cpu_s : float
        Clocks at the start of this one.
    """

    path: Path
    before: dict[str, float]
    began: float
    cpu_s: float

    @classmethod
    def of(cls, folder: Path) -> SearchCost:
        """What a folder has cost so far; the clock starts."""
        path = folder / "cost.json"
        before = read_json(path) if path.exists() else {"seconds": 0.0, "cpu_s": 0.0}
        return cls(path, before, time.perf_counter(), _cpu_s())

    def total(self) -> dict[str, Any]:
        """The cost up to now, of all calls."""
        cpu_s = self.before["cpu_s"] + _cpu_s() - self.cpu_s
        seconds = self.before["seconds"] + time.perf_counter() - self.began
        cores = cpu_s / seconds if seconds > 0 else 0.0
        joules = {"energy_j": seconds * EnergyModel().power_w(cores), "energy_kind": "modelled"}
        return {"seconds": seconds, "cpu_s": cpu_s, **joules}

    def kept(self) -> dict[str, Any]:
        """The cost up to now, written down: what a kill loses is the variant it interrupts."""
        total = self.total()
        replace_file(self.path, json.dumps({k: total[k] for k in ("seconds", "cpu_s")}))
        return total
