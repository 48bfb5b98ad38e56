"""A real Slurm for the tests of this folder: started once, stopped at the end, one at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ("slurmctld", "slurmdbd", "slurmd", "munged", "mariadbd", "prometheus")
PATH = f"{os.environ['PATH']}:/usr/sbin"


def lacking() -> str:
    """What the lab needs and this machine has not."""
    if os.geteuid():
        return "the lab needs root"
    absent = [p for p in PROGRAMS if shutil.which(p, path=PATH) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (docs/guide/operate.md)"
    return "" if subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0 else (
        "no mount namespaces here")  # fmt: skip


class Lab:
    """Commands of Slurm, as a user, with a bound on their time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.submitted = set[str]()
        self.prometheus = "http://127.0.0.1:19090"
        self.env = {**os.environ, "PATH": PATH, "SLURM_CONF": str(folder / "etc" / "slurm.conf"),
                    "RHEOSTAT_LAB": str(folder), "PYTHON": sys.executable}  # fmt: skip

    def run(
        self, *words: str, user: str = "", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        who = ["runuser", "-u", user, "--"] if user else []
        return subprocess.run([*who, *words], env=self.env, capture_output=True, text=True,
                              timeout=60, check=check, cwd="/tmp")  # fmt: skip

    def submit(self, name: str, script: str, *options: str, user: str = "alice") -> str:
        """The number of the job."""
        done = self.run("sbatch", "--parsable", "-o", "/dev/null", "-J", name, *options,
                        "--wrap", script, user=user)  # fmt: skip
        number = done.stdout.strip().partition(";")[0]
        self.submitted.add(number)
        return number

    def seen(self, state: str, seconds: float = 30.0) -> None:
        """Wait until accounting has a job of this state."""
        end = time.monotonic() + seconds
        call = ("sacct", "-a", "-n", "-X", "-P", f"--state={state}", "--format=JobID")
        while not self.run(*call, check=False).stdout.strip():
            assert time.monotonic() < end, self.run(*call).stdout
            time.sleep(0.3)

    def drained(self, seconds: float = 60.0) -> None:
        """Wait until no job is left, and accounting has their ends."""
        end = time.monotonic() + seconds
        while self.run("squeue", "-h", check=False).stdout.strip():
            assert time.monotonic() < end, self.run("squeue").stdout
            time.sleep(0.3)
        self.ended(self.submitted, end - time.monotonic())

    def ended(self, jobs: set[str], seconds: float = 60.0) -> None:
        """Wait until accounting has the ends of these jobs."""
        end = time.monotonic() + seconds
        call = ("sacct", "-a", "-n", "-X", "-P", "--format=JobID,End")
        while jobs - self._with_end(self.run(*call, check=False).stdout):
            assert time.monotonic() < end, self.run(*call).stdout
            time.sleep(0.3)

    @staticmethod
    def _with_end(listed: str) -> set[str]:
        """Jobs of which accounting has an end for every task."""
        ends: dict[str, bool] = {}
        for line in listed.splitlines():
            number, _, end = line.partition("|")
            job = number.partition("_")[0]
            ends[job] = ends.get(job, True) and end not in ("", "Unknown")
        return {job for job, ended in ends.items() if ended}


def _locked(lock: IO[str], seconds: float = 15.0) -> None:
    """Ports and munge's socket are the machine's: one lab at a time."""
    end = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > end:
                pytest.skip("the tests of somebody else have a lab here")
            time.sleep(1)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if reason := lacking():
        pytest.skip(reason)
    with open("/tmp/rheostat-lab.lock", "w") as lock:
        _locked(lock)
        if Path("/var/tmp/rheostat-lab/run/started").exists():
            pytest.skip("a lab runs already: lab/stop ends it")
        made = Lab(Path("/var/tmp/rheostat-lab-tests"))
        subprocess.run([ROOT / "lab" / "stop"], env=made.env, check=True, timeout=60)
        try:
            done = subprocess.run([ROOT / "lab" / "start"], env=made.env, capture_output=True,
                                  text=True, timeout=120, check=False)  # fmt: skip
            assert done.returncode == 0, done.stderr
            yield made
        finally:
            subprocess.run([ROOT / "lab" / "stop"], env=made.env, check=True, timeout=60)
