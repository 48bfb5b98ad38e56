"""The whole loop on a real Slurm: 300 jobs of known laws, learned from, advised, drawn, measured.

    sudo .venv/bin/python benchmarks/site_loop.py [--count 300] [--json]

Three applications of two users, whose run time (sleep) and watts follow laws in their nodes.  A
third of the jobs is history; advice learned from it is installed to record, then to try it on half
of the jobs.  slurmctld and `rheostat serve` are killed (SIGKILL) meanwhile, and started again.
Starts a lab, and ends it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from rheostat.measurement.monitoring.power_mapping import PowerMapping, PowerSeries

ROOT = Path(__file__).parents[1]
LAWS = {"cfd": (7.0, 0.15, 5.0), "md": (6.0, 0.1, 7.0), "stencil": (12.0, 0.9, 3.5)}
"""Seconds on one node, exponent of nodes, watts per core."""
USERS = ("alice", "bob")
SETTINGS = [(app, nodes) for app in LAWS for nodes in (1, 2, 4)]
CORES, PORT = 16, 18200
SUBMIT = f"""while read -r name nodes one two four options; do
  begun=$EPOCHREALTIME
  id=$(sbatch --parsable -o /dev/null -J "$name" -N "$nodes" -c {CORES} $options --wrap \\
    "case \\$SLURM_JOB_NUM_NODES in 1) sleep $one;; 2) sleep $two;; *) sleep $four;; esac")
  echo "$id $begun $EPOCHREALTIME $nodes"
done"""
WATTS = PowerSeries("lab_job_cores_power_watts", job="jobid", node="node")


def seconds(app: str, nodes: int) -> float:
    """What a job sleeps, but for its noise of 5 %."""
    one, exponent, _ = LAWS[app]
    return float(one * nodes**-exponent)


class Site:
    """A lab, who submits there, and what was accepted."""

    def __init__(self, lab: Path, folder: Path) -> None:
        self.lab, self.store, self.rng = lab, folder / "jobs", random.Random(0)
        self.etc, self.begun = lab / "etc", time.time()
        self.asked: dict[str, int] = {}
        self.before = (self.etc / "slurm.conf").read_text()

    def submit(self, count: int, options: str = "") -> list[float]:
        """Seconds that each sbatch took; ``count`` for each user."""
        took = []
        for user in USERS:
            wanted = [SETTINGS[k % len(SETTINGS)] for k in range(count)]
            lines = [self._line(app, nodes, options) for app, nodes in wanted]
            call = ["runuser", "-u", user, "--", "bash", "-c", SUBMIT]
            done = subprocess.run(call, cwd="/tmp", input="".join(lines), text=True, check=True,
                                  capture_output=True, timeout=600)  # fmt: skip
            rows = [line.split() for line in done.stdout.splitlines()]
            self.asked |= {row[0]: int(row[3]) for row in rows if len(row) == 4}
            took += [float(row[2]) - float(row[1]) for row in rows if len(row) == 4]
            if len(rows) < len(lines) or any(len(row) < 4 for row in rows):
                sys.exit(f"sbatch: {done.stderr[-500:]}")
        return took

    def _line(self, app: str, nodes: int, options: str) -> str:
        noise = self.rng.uniform(0.95, 1.05)
        times = " ".join(f"{noise * seconds(app, n):.2f}" for n in (1, 2, 4))
        return f"{app} {nodes} {times} {options}\n"

    def drained(self, most_s: float = 900.0) -> None:
        """Wait until no job is left and accounting has their ends."""
        end = time.monotonic() + most_s
        while _run("squeue", "-h") or self.asked.keys() - _ended():
            if time.monotonic() > end:
                sys.exit(f"not ended: {_run('squeue')[-2000:]}")
            time.sleep(1.0)

    def taken_in(self) -> rh.JobTable:
        """The store, with all that has ended."""
        self.drained()
        time.sleep(4.5)  # as long as a gap of power may be
        rh.site.ingest(self.store, since=f"{time.time() - self.begun:.0f}s")
        rh.site.power(self.store, PowerMapping("http://127.0.0.1:19090", (WATTS,), 1.0))
        return rh.read(self.store)

    def installed(self, advice: pl.DataFrame, mode: str) -> None:
        """The hooks, read by slurmctld."""
        rh.site.install(advice, self.etc, mode=mode)
        (self.etc / "slurm.conf").write_text(f"{self.before}include rheostat.conf\n")
        _run("scontrol", "reconfigure")
        time.sleep(1.5)

    def killed(self) -> None:
        """slurmctld killed when its state is on disk (it writes it all 5 s), and started again."""
        last_s, state = time.time(), self.lab / "state" / "job_state"
        while state.stat().st_mtime <= last_s:
            time.sleep(0.05)
        number = int((self.lab / "run" / "slurmctld.pid").read_text())
        os.kill(number, signal.SIGKILL)
        while Path(f"/proc/{number}").exists():
            time.sleep(0.05)
        _run("slurmctld")
        while " UP" not in _run("scontrol", "ping"):
            time.sleep(0.5)


class Service:
    """`rheostat serve` of a store, and what it advises for a kind of job."""

    def __init__(self, store: Path) -> None:
        program = Path(sys.executable).with_name("rheostat")
        self.call = [program, "serve", store, "--port", str(PORT), "--knob", "nodes=1,2,4"]
        self.process = self._started()
        self.first = self.advice()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def advice(self, most_s: float = 120.0) -> dict[str, Any]:
        """Of a job of alice's, asked until the service answers."""
        job = {"user": "alice", "app": "stencil", "nodes": 4, "partition": "batch"}
        asked = urllib.request.Request(f"http://127.0.0.1:{PORT}/api/v1/advice",
                                       json.dumps({"settings": job}).encode(),
                                       {"content-type": "application/json"})  # fmt: skip
        end = time.monotonic() + most_s
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(asked, timeout=10.0) as answer:
                    return dict(json.load(answer))
            except OSError:
                time.sleep(0.5)
        sys.exit("rheostat serve does not answer")

    def killed(self) -> bool:
        """Killed and started again; whether it answers as before."""
        self.process.kill()
        self.process.wait()
        self.process = self._started()
        return self.advice() == self.first

    def ended(self) -> None:
        """Take it down."""
        self.process.terminate()
        self.process.wait()


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout


def _ended() -> set[str]:
    """Jobs all of whose tasks have an end."""
    ends: dict[str, bool] = {}
    for line in _run("sacct", "-a", "-n", "-X", "-P", "--format=JobID,End").splitlines():
        number, _, end = line.partition("|")
        job = number.partition("_")[0]
        ends[job] = ends.get(job, True) and end not in ("", "Unknown")
    return {job for job, ended in ends.items() if ended}


def loop(site: Site, count: int) -> dict[str, Any]:
    """Everything, and what came of it."""
    tasks = max(1, round(count / 3 / len(SETTINGS) / len(USERS)))
    rest = count - tasks * len(SETTINGS) * len(USERS)
    bare = site.submit(len(SETTINGS), f"--array=1-{tasks}")
    past = site.taken_in()
    advice = rh.decide(past, knobs="nodes=1,2,4", method="law", slowdown=30,
                       objectives="runtime_s,energy_j").table()  # fmt: skip
    service = Service(site.store)
    site.installed(advice, "record")
    recorded = site.submit(rest // 12)
    site.installed(advice, "trial")
    drawn = site.submit(rest // 5)
    site.killed()
    same = service.killed()
    service.ended()
    drawn += site.submit((rest - 2 * (rest // 12) - 2 * (rest // 5)) // 2)
    log = site.taken_in()
    return {**counted(site, log.frame), "service_answers_as_before_it_was_killed": same,
            **measured(rh.site.shadow(log, advice), log.frame),
            "sbatch_s": {name: {"median": statistics.median(s), "most": max(s), "calls": len(s)}
                         for name, s in (("no hooks", bare), ("record", recorded),
                                         ("trial", drawn))}}  # fmt: skip


def counted(site: Site, frame: pl.DataFrame) -> dict[str, Any]:
    """Jobs that were submitted, lost, ended otherwise, and changed without having been drawn."""
    base = frame["job_id"].str.split("_").list.first()
    asked = base.replace_strict(site.asked, default=None, return_dtype=pl.Int64)
    changed = frame.filter(frame["nodes"] != asked)
    return {
        "submissions": len(site.asked), "jobs": len(frame),
        "lost": len(site.asked.keys() - set(base)),
        "not_completed": int((frame["state"] != "COMPLETED").sum()),
        "changed": len(changed),
        "changed_not_drawn": int(changed["trial_arm"].ne_missing("advised").sum()),
    }  # fmt: skip


def measured(answer: Any, frame: pl.DataFrame) -> dict[str, Any]:
    """The trial beside the forecast, and beside the law for the jobs that were kept as asked."""
    moves = frame.filter(pl.col("trial_arm") == "advised").select(
        "app", "nodes_requested", advised="nodes"
    )
    kept = frame.filter(pl.col("trial_arm") == "asked").join(
        moves.unique(), on=["app", "nodes_requested"]
    )
    rows = kept.select("app", "nodes", "advised").rows()
    joules = [(LAWS[a][2] * n * seconds(a, n), LAWS[a][2] * m * seconds(a, m)) for a, n, m in rows]
    before, after = (sum(j[k] for j in joules) for k in (0, 1))
    return {
        "trial": answer.to_dict()["trial"],
        "by_the_law": after / before - 1 if before else None,
        "total": dict(answer.total),
        "said": list(answer.beside()),
    }


def main() -> None:
    """Start a lab, run the loop, end the lab, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    lab = Path("/var/tmp/rheostat-lab")
    os.environ |= {
        "PATH": f"{os.environ['PATH']}:/usr/sbin",
        "PYTHON": sys.executable,
        "RHEOSTAT_LAB": str(lab),
        "SLURM_CONF": str(lab / "etc" / "slurm.conf"),
    }
    subprocess.run([ROOT / "lab" / "start"], stdout=sys.stderr, check=True, timeout=300)
    try:
        with tempfile.TemporaryDirectory() as folder:
            result = loop(Site(lab, Path(folder)), asked.count)
    finally:
        subprocess.run([ROOT / "lab" / "stop"], stdout=sys.stderr, check=False, timeout=120)
    if asked.json:
        print(json.dumps({"schema": "rheostat.bench.site-loop/1", **result}))
        return
    print("\n".join(f"{name}: {value}" for name, value in result.items() if name != "said"))
    print("\n".join(result["said"]))


if __name__ == "__main__":
    main()
