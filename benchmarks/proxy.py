"""What does `rheostat llm proxy` itself need, beside a front that passes everything on?

    python benchmarks/proxy.py [--requests N] [--rounds R] [--json]

All stand before the same made server, each in a process of its own, and are asked the same made
prompts over eight connections; every second answer is a stream of twenty events, 2 ms apart.  They
are asked in turn, in rounds, so that what else the machine does meets all alike.  CPU seconds are
the process's own per 1,000 requests, after the first hundred; what is shown is the median round,
and the median of each round's ratio to the bare front in it.  Memory is the most it ever held.  The
model of lengths that the proxy begins with is fitted to 500 made answers, trees and network
included.  The bare front is the same server (uvicorn) and the same connections (httpcore2).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

CONNECTIONS, WARM, EVERY_S = 8, 100, 2e-3
EVENT = b'data: {"choices": [{"delta": {"content": "word "}}]}\n\n'
BARE = """
import httpcore2, socket, sys, uvicorn
client = httpcore2.AsyncConnectionPool(max_connections=None, max_keepalive_connections=32)

async def front(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body")
    request = httpcore2.Request(scope["method"], sys.argv[1] + scope["path"],
                                headers=scope["headers"], content=body)
    answer = await client.handle_async_request(request)
    await send({"type": "http.response.start", "status": answer.status,
                "headers": [(k.lower(), v) for k, v in answer.headers
                            if k.lower() != b"transfer-encoding"]})
    async for part in answer.aiter_stream():
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await answer.aclose()
    await send({"type": "http.response.body", "body": b""})

config = uvicorn.Config(front, http="h11", ws="none", lifespan="off", log_level="warning",
                        access_log=False, server_header=False, date_header=False)
listening = socket.create_server(("127.0.0.1", 0))
print(f"listening at http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
uvicorn.Server(config).run(sockets=[listening])
"""


def main() -> None:
    """Ask each front the same and print what it needed."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--requests", type=int, default=2000)
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--rounds", type=int, default=8)
    given = args.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "lengths.rheo"
        rows = asyncio.run(measured(given.requests // given.rounds, given.rounds, model))
    if given.json:
        print(json.dumps(rows))
        return
    shown = Table("front", "CPU s per 1,000 requests", "times the bare one", "memory, MB")
    for row in rows:
        shown.add_row(row["front"], f"{row['cpu_s']:.2f}", f"{row['ratio']:.2f}",
                      f"{row['memory_mb']:.0f}")  # fmt: skip
    Console().print(shown)


async def measured(requests: int, rounds: int, model: Path) -> list[dict[str, Any]]:
    """A row per front."""
    save_lengths(model)
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    ours = [str(Path(sys.executable).parent / "rheostat"), "llm", "proxy", "--port", "0",
            "--upstream", address]  # fmt: skip
    commands = {
        "bare": [sys.executable, "-c", BARE, address],
        "fcfs": [*ours, "--policy", "fcfs"],
        "cost": [*ours, "--policy", "cost"],
        "cost, with a model": [*ours, "--policy", "cost", "--model", str(model)],
    }
    fronts = [await Front.begun(command) for command in commands.values()]
    rng = np.random.default_rng(1)
    try:
        await asyncio.gather(*(front.asked(bodies(rng, WARM)) for front in fronts))
        used = np.empty((rounds, len(fronts)))
        for turn in range(rounds):
            same = bodies(rng, requests)
            for i in np.roll(range(len(fronts)), turn):
                used[turn, i] = await fronts[i].asked(same)
        return [{"front": name, "cpu_s": float(np.median(used[:, i])) / requests * 1000,
                 "ratio": float(np.median(used[:, i] / used[:, 0])),
                 "memory_mb": peak(front.process.pid)}
                for i, (name, front) in enumerate(zip(commands, fronts, strict=True))]  # fmt: skip
    finally:
        for front in fronts:
            front.end()


def save_lengths(path: Path) -> None:
    """A model of 500 made answers."""
    from rheostat.prediction.answer_length.length_learner import fitted
    from rheostat.prediction.saved_models.persist import save

    rng = np.random.default_rng(0)
    save(fitted([(prompt(rng), float(rng.integers(1, 40))) for _ in range(500)]), path)


def prompt(rng: np.random.Generator) -> str:
    """Forty of a thousand made words."""
    return " ".join(f"word{i}" for i in rng.integers(0, 1000, 40))


def bodies(rng: np.random.Generator, count: int) -> list[bytes]:
    """Made requests; every second asks for a stream."""
    return [json.dumps({"messages": [{"role": "user", "content": prompt(rng)}],
                        "stream": bool(i % 2)}).encode() for i in range(count)]  # fmt: skip


class Front(NamedTuple):
    """A front that runs."""

    process: subprocess.Popen[str]
    port: int

    @classmethod
    async def begun(cls, command: list[str]) -> Front:
        """It listens."""
        front = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True)  # fmt: skip
        assert front.stderr is not None
        line = await asyncio.to_thread(front.stderr.readline)
        return cls(front, int(re.findall(r":(\d+)$", line.strip())[0]))

    async def asked(self, same: list[bytes]) -> float:
        """CPU seconds of its own process for these requests."""
        before = cpu_s(self.process.pid)
        await shared(self.port, same)
        return cpu_s(self.process.pid) - before

    def end(self) -> None:
        """It and what learns for it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


async def shared(port: int, bodies: list[bytes]) -> None:
    """Ask over so many connections at once."""
    await asyncio.gather(*(ask(port, bodies[i::CONNECTIONS]) for i in range(CONNECTIONS)))


async def ask(port: int, bodies: list[bytes]) -> None:
    """One request after the other on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for body in bodies:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n"
        writer.write(head % len(body) + b"\r\n" + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in answered, answered
        if (length := re.search(rb"content-length: (\d+)", answered)) is not None:
            await reader.readexactly(int(length[1]))
        else:
            await reader.readuntil(b"0\r\n\r\n")
    writer.close()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The made server: a stream for whom asks for one, else one document."""
    usage = {"completion_tokens": 20, "prompt_tokens": 40}
    said = {"choices": [{"message": {"content": "word " * 20}}], "usage": usage}
    whole, head = json.dumps(said).encode(), b"HTTP/1.1 200 OK\r\ncontent-type: "
    one = head + b"application/json\r\ncontent-length: %d\r\n\r\n%s"
    many = head + b"text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    try:
        while True:
            asked = (await reader.readuntil(b"\r\n\r\n")).lower()
            body = await reader.readexactly(int(re.findall(rb"content-length: (\d+)", asked)[0]))
            if b'"stream": true' in body:
                writer.write(many)
                for _ in range(20):
                    writer.write(b"%x\r\n%s\r\n" % (len(EVENT), EVENT))
                    await asyncio.sleep(EVERY_S)
                writer.write(b"0\r\n\r\n")
            else:
                writer.write(one % (len(whole), whole))
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        writer.close()


def cpu_s(pid: int) -> float:
    """Seconds that its threads ran so far, without children."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((t / "schedstat").read_text().split()[0]) for t in threads) / 1e9


def peak(pid: int) -> float:
    """Most memory held at once, MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


if __name__ == "__main__":
    main()
