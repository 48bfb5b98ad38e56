"""The operator's page: its commands in their order, to the removal, on a real Slurm."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from rheostat.measurement.read import read
from rheostat.measurement.synthetic.served_models import serving_runs

pytestmark = [
    pytest.mark.slow, pytest.mark.slurm, pytest.mark.xdist_group("slurm"),
    pytest.mark.skipif(os.environ.get("RHEOSTAT_LAB") != "page",
                       reason="ten minutes of jobs: make lab-page"),
]  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "operate.md"
EXPORT = "sacct --allusers"
INCLUDED = "\ninclude rheostat.conf"
INSTALLS = ("scontrol reconfigure", "rheostat site install advice.csv --etc /etc/slurm --mode")
ELSEWHERE = ("sudo ", "export SLURM_CONF=", "cat evening.csv")
"""Packages, systemd and the lab's own start; the file that the page shows is written from it."""
LAST_WEEKS_MODEL = """rheostat site ingest --from october.txt --store older
rheostat fit older --out model.rheo"""
JOBS = """on() { echo $((1 + 2 * size / $1)).$((RANDOM % 10)); }
for size in 1 2; do for app in cfd md stencil; do for nodes in 1 2 4; do
  case $app in md) many="1 1";; *) many="2 4";; esac
  set -- $(on 1) $(for n in $many; do on $n; done)
  sbatch -Q -o /dev/null -J $app -N $nodes --exclusive -c 64 --mem=$((size * 8 / nodes))G \\
    --wrap "case \\$SLURM_JOB_NUM_NODES in 1) s=$1;; 2) s=$2;; *) s=$3;; esac; srun sleep \\$s" \\
    || exit 1
done; done; done"""
"""Memory is asked for by the size of the problem, so that the log can tell what nodes change."""
FILES = {
    "power.toml": """url = "http://127.0.0.1:19090"\nstep_s = 1
[[series]]\nquery = "lab_job_power_watts"\njob = "jobid"\nnode = "node"\n""",
    "site.toml": "procs = 256\nidle_w = 2.8\nbusy_w = 9.0\n",
}
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def advised(etc: Path) -> bool:
    """Whether jobs are submitted now: the page says nothing of more of them for another order."""
    settings = etc / "rheostat.conf"
    included = INCLUDED in (etc / "slurm.conf").read_text()
    return included and "PriorityWeight" not in settings.read_text()


def commands() -> list[str]:
    """Every command of the page, those that go on in the next line whole."""
    typed = "".join(blocks("sh-session")).replace("\\\n", " ")
    return [line[2:] for line in typed.splitlines() if line.startswith("$ ")]


class Operator:
    """Who types the commands, in a folder, on the lab."""

    def __init__(self, lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.env = {**lab.env, "PATH": f"{Path(sys.executable).parent}:{lab.env['PATH']}"}
        for name, text in FILES.items():
            (folder / name).write_text(text)
        serving_runs().write_csv(folder / "runs.csv")
        grid = next(b for b in blocks("sh-session") if "cat evening.csv" in b)
        rows = grid.partition("cat evening.csv\n")[2].partition("$ ")[0]
        (folder / "evening.csv").write_text(rows)

    def types(self, command: str) -> str:
        """What it prints; it must end well."""
        here = command.replace("/etc/slurm", str(self.lab.folder / "etc"))
        done = subprocess.run(["bash", "-ec", here], env=self.env, cwd=self.folder, text=True,
                              capture_output=True, timeout=300, check=False)  # fmt: skip
        if done.returncode:
            pytest.fail(f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def people_submit(self) -> None:
        """Jobs of three applications of two users, which end and are taken in."""
        for user in ("alice", "bob"):
            self.lab.run("bash", "-c", JOBS, user=user)
        end = time.monotonic() + 200
        while self.lab.run("squeue", "-h", check=False).stdout.strip():
            assert time.monotonic() < end
            time.sleep(0.5)
        time.sleep(5.0)  # accounting has their ends, and samples of power end in a gap

    def weeks_before(self) -> None:
        """The export has the same jobs in each of five weeks before, under numbers of their own."""
        file = self.folder / "october.txt"
        head, *lines = file.read_text().splitlines()
        at = [head.split("|").index(c) for c in ("JobID", "JobIDRaw", "ConsumedEnergyRaw")]
        rng = Random(0)
        older = [self._moved(line, at, k, rng) for k in range(5, 0, -1) for line in lines]
        file.write_text("\n".join([head, *older]) + "\n")

    @staticmethod
    def _moved(line: str, at: list[int], weeks: int, rng: Random) -> str:
        cells = line.split("|")
        *numbers, energy = at
        if cells[energy]:  # alike in no week, as jobs are
            cells[energy] = str(round(int(cells[energy]) * rng.uniform(0.85, 1.15)))
        for k in numbers:
            cells[k] = re.sub(r"^\d+", lambda n: str(int(n[0]) + 10_000 * weeks), cells[k])
        back = timedelta(weeks=weeks)
        return STAMP.sub(
            lambda t: (datetime.fromisoformat(t[0]) - back).isoformat(), "|".join(cells)
        )


@pytest.mark.timeout(1500)
def test_the_operators_page_from_the_first_job_to_the_removal(lab, tmp_path):
    lab.drained()
    etc = lab.folder / "etc"
    before = {p.name: p.read_bytes() for p in etc.iterdir()}
    operator = Operator(lab, tmp_path)
    operator.people_submit()
    said = {}
    for command in commands():
        if command.startswith(ELSEWHERE):
            continue
        print("$", command, time.strftime("%X"), flush=True)
        said[command.partition("#")[0].strip()] = operator.types(command)
        if command.startswith(EXPORT):
            operator.weeks_before()
        if command.startswith("rheostat site drift"):
            operator.types(LAST_WEEKS_MODEL)
        if command.startswith(INSTALLS) and advised(etc):
            operator.people_submit()
            operator.types("rheostat site ingest --sacct --store jobs")
            operator.types("rheostat site power --store jobs --map power.toml")
    assert {p.name: p.read_bytes() for p in etc.iterdir()} == before
    assert len(read(tmp_path / "jobs")) == 36 * (5 + 3)
    weights = re.findall(r"Weight\w+=(\d+)", (tmp_path / "weights.conf").read_text())
    assert set(weights) - {"0"} <= set(re.findall(r"\d+", said["sprio --weights"]))
    print("\n".join(f"$ {c}\n{t}" for c, t in said.items()))
    for name in ("advice.csv", "shadow.html", "model.rheo", "model.rheo.previous", "evening.html"):
        assert (tmp_path / name).stat().st_size > 100
