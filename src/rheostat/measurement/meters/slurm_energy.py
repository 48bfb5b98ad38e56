"""Slurm: the energy its accounting has gathered for the job this process runs in.

``sstat`` prints the joules of the running steps; the difference over a window is derived, counts
whole nodes, and moves only as often as the site gathers (``AcctGatherNodeFreq``, often 30 s).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence

from rheostat.measurement.meters.reading import Domain
from rheostat.measurement.slurm.spelling import amount

LEAST_WINDOW_S = 60.0
MOST_W = 1e7


def _sstat(job: str) -> str:
    argv = ["sstat", "--allsteps", "--noheader", "--parsable2", "-j", job,
            "--format=JobID,ConsumedEnergyRaw"]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    return done.stdout if done.returncode == 0 else ""


class SlurmEnergy:
    """Joules of the job of ``SLURM_JOB_ID``; ``ask`` prints what ``sstat`` would."""

    name = "slurm"

    def __init__(
        self, ask: Callable[[str], str] | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self.ask, self.environ = ask, os.environ if environ is None else environ

    def why(self) -> str:
        """Why Slurm says nothing."""
        if not self.environ.get("SLURM_JOB_ID"):
            return "this process is in no Slurm job (SLURM_JOB_ID is not set)"
        if self.ask is None and shutil.which("sstat") is None:
            return "sstat is not in PATH"
        if not self._joules() > 0:
            return "Slurm gathers no energy here (AcctGatherEnergyType is none, or not yet)"
        return ""

    def domains(self) -> Sequence[Domain]:
        """The job's nodes, as one."""
        why = "difference of Slurm's total for the job: whole nodes, whoever else is on them"
        return [Domain("job", least_window_s=LEAST_WINDOW_S, most_w=MOST_W, why=why)]

    def sample(self) -> Sequence[float]:
        """Joules so far."""
        return [self._joules()]

    def _joules(self) -> float:
        text = (self.ask or _sstat)(self.environ.get("SLURM_JOB_ID", ""))
        total, seen = 0.0, False
        for line in text.splitlines():
            step, _, value = line.partition("|")
            joules = amount(value.split("|")[0])
            if joules is not None and not step.endswith((".batch", ".extern")):
                total, seen = total + joules, True
        return total if seen else float("nan")
