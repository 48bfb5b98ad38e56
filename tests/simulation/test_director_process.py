"""A server in a process of its own: CODES's order of requests, restarts, a simulation that asks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rheostat.measurement.network.dragonfly import Dragonfly
from rheostat.measurement.network.generate import generate_network_run, without_simgrid
from rheostat.measurement.network.iteration_log import read_iteration_log
from rheostat.prediction.iteration_time.clients import ClientForecasts
from rheostat.simulation.network.director import DirectorService

zmq = pytest.importorskip("zmq")
JOBS = {"milc": range(4), "lammps": range(4, 7)}
ITERATION_NS = {"milc": 3.3e6, "lammps": 4.1e6}


@contextmanager
def server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``rheostat network serve``, and the address that it listens at."""
    words = ["network", "serve", "--endpoint", "tcp://127.0.0.1:*", "--models", "models",
             "--workload", "wl.conf", "--allocation", "alloc.conf"]  # fmt: skip
    process = subprocess.Popen([sys.executable, "-m", "rheostat", *words], cwd=folder,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        line = next(x for x in process.stderr if "listening at " in x)
        yield process, line.split("listening at ")[1].strip()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def sent(endpoint: str, message: bytes) -> dict[str, str]:
    """One request as the director makes it: a new socket, one message, one reply."""
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RCVTIMEO, 120_000)
        socket.connect(endpoint)
        socket.send(message)
        return json.loads(socket.recv())


def asked(endpoint: str, operation: str, *args: str, payload: str = "") -> dict[str, str]:
    simulator = operation in ("send-records", "inference")
    request = {"cmd": "director-request", "operation": operation, "surrogate_backend": "director",
               "args": [*([str(len(args))] if simulator else []), *args]}  # fmt: skip
    return sent(endpoint, json.dumps(request).encode() + b"\0" + payload.encode())


def batches(endpoint: str, rng: np.random.Generator, count: int) -> None:
    """So many batches of nine records of every terminal, as in the training phase."""
    for app, terminals in JOBS.items():
        common = ITERATION_NS[app] * np.exp(rng.normal(0.0, 0.02, (count, 9)))
        for batch in common:
            for terminal in terminals:
                text = " ".join(f"{t:f}" for t in batch * (1.0 + 1e-4 * terminal))
                said = asked(endpoint, "send-records", str(terminal), "9", payload=text)
                assert said["status"] == "done"


def window(endpoint: str, steps: int) -> dict[int, list[float]]:
    """Every terminal asks for one step at each mark."""
    said = {t: [] for terminals in JOBS.values() for t in terminals}
    for _ in range(steps):
        for terminal, answers in said.items():
            reply = asked(endpoint, "inference", str(terminal), "1")
            assert list(reply)[:2] == ["status", "et"]
            answers.append(float(reply["predictions"]))
    return said


def test_a_run_with_windows_and_a_server_that_is_killed(tmp_path):
    (tmp_path / "wl.conf").write_text("4 milc 0 0\n3 lammps 0 0\n")
    (tmp_path / "alloc.conf").write_text("0 1 2 3\n4 5 6\n")
    (tmp_path / "models").mkdir()
    rng = np.random.default_rng(0)
    with server(tmp_path) as (process, endpoint):
        assert sent(endpoint, b'{"cmd":"set-debug","args":["1","1"]}\0')["status"] == "done"
        batches(endpoint, rng, 4)
        trained = asked(endpoint, "train-model", "all")
        assert (trained["total_records"], trained["trained_clients"]) == ("252", "7")
        assert asked(endpoint, "save-model", "run.rheo")["status"] == "done"
        before = window(endpoint, 5)
        for app, terminals in JOBS.items():
            assert all(before[t] == before[terminals[0]] for t in terminals)
            assert before[terminals[0]] == pytest.approx([ITERATION_NS[app]] * 5, rel=0.03)
        batches(endpoint, rng, 1)
        assert len(window(endpoint, 1)) == 7  # a second window
        process.send_signal(signal.SIGKILL)
    with server(tmp_path) as (process, endpoint):
        failed = asked(endpoint, "inference", "0", "1")
        assert (failed["status"], "no forecast yet" in failed["error"]) == ("failed", True)
        assert asked(endpoint, "load-model", "run.rheo")["status"] == "done"
        again = window(endpoint, 5)
        for terminal, answers in again.items():  # but for what neighbours did, which is unsaved
            assert answers == pytest.approx(before[terminal], rel=5e-3)
        assert sent(endpoint, b'{"cmd":"exit","args":["1","dummy"]}\0None')["status"] == "none"
        assert process.wait(60) == 0


def test_a_simulation_that_asks_is_shorter_and_its_end_is_right(tmp_path):
    """SimGrid simulates what it must: less than without, and both applications end within 1 %."""
    if why := without_simgrid():
        pytest.skip(why)
    ends, skipped = {}, {}
    for most_error in (None, 0.01):
        clients = ClientForecasts({0: "halo", 1: "allreduce"}, most_error=most_error)
        folder = tmp_path / str(most_error)
        service = DirectorService(clients, tmp_path)
        generate_network_run(folder, Dragonfly(3, 2, 2, 1), iterations=90, seed=1,
                             ask=service.answer)  # fmt: skip
        log, _ = read_iteration_log(folder / "iterations.txt")
        last = log.group_by("job").agg(pl.col("time_s").max()).sort("job")
        ends[most_error] = last["time_s"].to_numpy()
        spent = json.loads((folder / "spent.json").read_text())
        skipped[most_error] = sum(spent["skipped"].values())
        assert log["iteration"].max() == 89
    assert skipped[None] == 0
    assert skipped[0.01] >= 10
    assert ends[0.01] == pytest.approx(ends[None], rel=0.01)
