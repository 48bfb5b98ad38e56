"""The power of the lab's nodes: a law per application, as counters for Slurm and for Prometheus.

A node draws ``IDLE_W`` and, for each core that a job has there, the watts of its application.
Slurm's plugin pm_counters reads the files ``energy`` and ``power`` of a node, Prometheus scrapes
``/metrics``.  Both are made of the same numbers, four times a second.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rheostat.measurement.job_logs.node_sharing import nodes_of

NODES = ("n1", "n2", "n3", "n4")
PORT = 19100
IDLE_W = 180.0
CORE_W = {"cfd": 5.0, "md": 7.0, "stencil": 3.5}
OTHER_W = 5.2
STEP_S = 0.25
CALL = ("squeue", "--noheader", "--states=RUNNING,COMPLETING", "--format=%A|%j|%N|%C|%D|%T")


def running() -> list[tuple[str, str, list[str], float]]:
    """Number, application, nodes and cores on each node of every running job."""
    done = subprocess.run(CALL, capture_output=True, text=True, timeout=10, check=False)
    jobs = []
    for line in done.stdout.splitlines():
        job, name, nodes, cores, count, state = line.rsplit("|", 5)
        if nodes and state == "RUNNING":
            jobs.append((job, name, nodes_of(nodes), int(cores) / int(count)))
    return jobs


class Power:
    """Watts and joules of nodes, and watts of jobs on nodes, as of the last step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.energy_j = dict.fromkeys(NODES, 1_000_000.0)
        self.power_w = dict.fromkeys(NODES, IDLE_W)
        self.jobs_w: dict[tuple[str, str], float] = {}
        self.at = time.time()

    def step(self) -> None:
        """Add what was drawn since the last step, at the watts that it began with."""
        now = time.time()
        for node in NODES:
            self.energy_j[node] += self.power_w[node] * (now - self.at)
        self.at = now
        jobs = running()
        jobs_w = {(j, n): CORE_W.get(name, OTHER_W) * c for j, name, ns, c in jobs for n in ns}
        for node in NODES:
            own = sum(watts for (_, where), watts in jobs_w.items() if where == node)
            self.power_w[node] = IDLE_W + own
            self._put(node, "power", f"{round(self.power_w[node])} W {round(now * 1e6)} us")
            self._put(node, "energy", f"{round(self.energy_j[node])} J {round(now * 1e6)} us")
        self.jobs_w = jobs_w

    def _put(self, node: str, name: str, text: str) -> None:
        """In place: slurmd keeps the file open."""
        path = self.folder / node / name
        with path.open("r+" if path.exists() else "w") as file:
            file.write(text.ljust(40) + "\n")

    def metrics(self) -> str:
        """In Prometheus's format."""
        lines = ["# TYPE lab_node_energy_joules_total counter"]
        lines += [
            f'lab_node_energy_joules_total{{node="{n}"}} {v:.3f}' for n, v in self.energy_j.items()
        ]
        lines += ["# TYPE lab_node_power_watts gauge"]
        lines += [f'lab_node_power_watts{{node="{n}"}} {v:g}' for n, v in self.power_w.items()]
        lines += ["# TYPE lab_job_power_watts gauge"]
        share = {n: IDLE_W / max(1, sum(w == n for _, w in self.jobs_w)) for n in NODES}
        lines += [
            f'lab_job_power_watts{{jobid="{j}",node="{n}"}} {v + share[n]:g}'
            for (j, n), v in self.jobs_w.items()
        ]
        lines += ["# TYPE lab_job_cores_power_watts gauge"]
        lines += [
            f'lab_job_cores_power_watts{{jobid="{j}",node="{n}"}} {v:g}'
            for (j, n), v in self.jobs_w.items()
        ]
        return "\n".join(lines) + "\n"


def serve(power: Power) -> None:
    """Answer Prometheus, on this machine alone."""

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = power.metrics().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """No line per scrape."""

    server = ThreadingHTTPServer(("127.0.0.1", PORT), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main(lab: Path) -> None:
    """Step for ever."""
    power = Power(lab / "counters")
    power.step()
    serve(power)
    while True:
        time.sleep(STEP_S)
        try:
            power.step()
        except (subprocess.TimeoutExpired, ValueError) as error:
            print(error, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
