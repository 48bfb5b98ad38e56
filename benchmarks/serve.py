"""How soon does `rheostat serve` give an advice, and what does that need?

    python benchmarks/serve.py [--clients 64] [--per-second 200] [--seconds 20] [--pages 100]

The command serves the generated site of its ``--demo`` in a process of its own.  So many clients
(httpx2, connections kept) ask for advice on kinds of job of that log at even intervals, all
together so many times a second, whether the answers before have come or not.  Latency is what a
client sees, from when a request was due; CPU-seconds and memory are the server's.  After a quarter
of the time the model's file is replaced, and half-way a question that takes seconds (`decide` of
the whole log) is asked: no advice may wait for them, and none may be lost.  ``beat_p99_ms`` is how
late the clients themselves are: on a machine that others use, it is their part of the latency.
Then so many pages are open as long: each listens to the service's events and asks once for the
view of power; cores are the server's and its processes' CPU-seconds per second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import psutil

from rheostat import read
from rheostat.questions.demonstration.demo_site import demo_site

KEYS = ("user", "account", "app", "partition", "nodes")
START_S, WARM_S = 240.0, 2.0


def served(folder: Path) -> tuple[subprocess.Popen[str], str, list[dict[str, Any]], Path]:
    """The server's process, its address, settings to ask about, and the file of its model."""
    site = demo_site(folder)
    asked = read(site.log).frame.select(KEYS).drop_nulls().tail(500).to_dicts()
    command = [sys.executable, "-m", "rheostat", "serve", str(site.log), "--model", str(site.model),
               "--machine", str(site.machine), "--knob", "nodes=1..64", "--port", "0",
               "--rate", "100000"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return process, found[0], asked, site.model
    raise SystemExit("the service did not start")


async def ready(client: httpx2.AsyncClient) -> None:
    """Wait until advice is at hand."""
    until = time.monotonic() + START_S
    while not (await client.get("/healthz")).json()["ready"]:
        if time.monotonic() > until:
            raise SystemExit("no advice was made")
        await asyncio.sleep(0.2)


async def one_client(
    client: httpx2.AsyncClient, asked: Sequence[dict[str, Any]], every_s: float, first_s: float,
    until_s: float,
) -> list[tuple[float, int]]:  # fmt: skip
    """(latency s, status) of each request."""
    result, due = [], first_s
    while due < until_s:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        body = {"settings": asked[len(result) % len(asked)]}
        reply = await client.post("/api/v1/advice", json=body)
        result.append((time.monotonic() - due, reply.status_code))
        due += every_s
    return result


async def measured(address: str, process: int, asked: list[dict[str, Any]], model: Path,
                   given: argparse.Namespace) -> dict[str, Any]:  # fmt: skip
    """Everything that the table shows."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=given.clients)
    rng = np.random.default_rng(0)
    async with httpx2.AsyncClient(base_url=address, timeout=280, limits=limits) as client:
        await ready(client)
        every_s, begin = given.clients / given.per_second, time.monotonic() + WARM_S
        server = psutil.Process(process)
        cpu = server.cpu_times()
        work = [
            one_client(client, rng.permutation(np.array(asked)).tolist(), every_s,
                       begin + every_s * k / given.clients, begin + given.seconds)
            for k in range(given.clients)
        ]  # fmt: skip
        beside = asyncio.create_task(_question(client, begin + given.seconds / 2))
        swap = asyncio.create_task(_swapped(client, model, begin + given.seconds / 4))
        beats: list[float] = []
        beating = asyncio.create_task(_beat(beats))
        rows = [row for client_rows in await asyncio.gather(*work) for row in client_rows]
        beating.cancel()
        now, status, swapped_s = server.cpu_times(), await beside, await swap
        pages = await open_pages(client, server, given.pages, given.seconds)
    late = np.array([s for s, _ in rows])
    used = now.user + now.system - cpu.user - cpu.system
    return {
        "clients": given.clients, "advices": len(rows), "per_second": len(rows) / given.seconds,
        "not_200": sum(code != 200 for _, code in rows), "question_status": status,
        "swapped_after_s": swapped_s, "beat_p99_ms": 1e3 * float(np.quantile(beats, 0.99)),
        "p50_ms": 1e3 * float(np.quantile(late, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(late, 0.99)), "most_ms": 1e3 * float(late.max()),
        "cpu_s_per_1000": 1e3 * used / len(rows), **pages,
        "memory_mb": server.memory_info().rss / 1e6,
    }  # fmt: skip


async def open_pages(
    client: httpx2.AsyncClient, server: psutil.Process, pages: int, seconds: float
) -> dict[str, float]:
    """What it costs to have so many pages open for so long."""
    before = _cpu_s(server)
    heard = await asyncio.gather(*(_one_page(client, seconds) for _ in range(pages)))
    cores = (_cpu_s(server) - before) / seconds
    return {"pages": pages, "pages_served": sum(n > 0 for n in heard), "pages_cores": cores}


async def _one_page(client: httpx2.AsyncClient, seconds: float) -> int:
    """Events that one page heard."""
    heard = 0
    try:
        async with asyncio.timeout(seconds), client.stream("GET", "/api/v1/events") as reply:
            reply.raise_for_status()
            asked = await client.post("/api/v1/site-power", json={"days": 31, "bins": 372})
            asked.raise_for_status()
            async for line in reply.aiter_lines():
                heard += line.startswith("data: ")
    except TimeoutError:
        pass
    return heard


def _cpu_s(server: psutil.Process) -> float:
    """Of the server and of the processes that answer questions for it."""
    times = [p.cpu_times() for p in (server, *server.children(recursive=True))]
    return sum(t.user + t.system for t in times)


async def _beat(late: list[float], every_s: float = 0.005) -> None:
    """How late this process is called, again and again."""
    while True:
        due = time.monotonic() + every_s
        await asyncio.sleep(every_s)
        late.append(time.monotonic() - due)


async def _swapped(client: httpx2.AsyncClient, model: Path, at_s: float) -> float:
    """Replace the model's file; seconds until the service has taken it up."""
    await asyncio.sleep(max(0.0, at_s - time.monotonic()))
    before, began = await _taken_up(client), time.monotonic()
    beside = model.with_suffix(".new")
    beside.write_bytes(model.read_bytes())
    beside.replace(model)
    while await _taken_up(client) == before:
        if time.monotonic() - began > START_S:
            raise SystemExit("the new model was not taken up")
        await asyncio.sleep(0.5)
    return time.monotonic() - began


async def _taken_up(client: httpx2.AsyncClient) -> str:
    """When the files that are served were read."""
    text = (await client.get("/metrics")).text
    return next(x for x in text.splitlines() if x.startswith("rheostat_files_loaded_seconds "))


async def _question(client: httpx2.AsyncClient, at_s: float) -> int:
    await asyncio.sleep(max(0.0, at_s - time.monotonic()))
    return (await client.post("/api/v1/decide", json={})).status_code


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--per-second", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        process, address, asked, model = served(Path(folder))
        try:
            facts = asyncio.run(measured(address, process.pid, asked, model, given))
        finally:
            process.terminate()
            process.wait(30)
    if given.json:
        print(json.dumps(facts))
    else:
        print("\n".join(f"{name:16} {value:10.4g}" for name, value in facts.items()))


if __name__ == "__main__":
    main()
