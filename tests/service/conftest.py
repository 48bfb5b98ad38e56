"""A small served site, asked in this process or over a real socket."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from rheostat.questions.demonstration.demo_site import DemoSite, demo_site
from rheostat.service.access import TokenAccess, digest_of
from rheostat.service.http_app import Parts, http_app
from rheostat.service.live_state import LiveState
from rheostat.service.question_queue import QuestionQueue
from rheostat.service.request_guard import RequestGuard
from rheostat.service.served import ServedFiles
from rheostat.service.service_metrics import ServiceMetrics

TOKENS = (
    TokenAccess(digest_of("of-the-site"), "site", "operator"),
    TokenAccess(digest_of("of-a-user"), "user", "u012"),
)


@dataclass
class Running:
    """A service at a free port of this machine."""

    address: str
    port: int
    parts: Parts
    server: Any
    thread: threading.Thread = field(repr=False)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)


def parts_of(served: ServedFiles, timeout_s: float = 280.0) -> Parts:
    metrics = ServiceMetrics()
    live = LiveState(served, metrics, every_s=0.2)
    return Parts(live, QuestionQueue(served, timeout_s=timeout_s), metrics)


def start(served: ServedFiles, *, timeout_s: float = 280.0, **guard: Any) -> Running:
    """Serve in a thread of its own; the guard is that of an address of this machine."""
    import socket

    import uvicorn

    from rheostat.questions.timed_connection import TimedConnection

    parts = parts_of(served, timeout_s)
    listening = socket.create_server(("127.0.0.1", 0))
    app = RequestGuard(http_app(parts), hosts=[], **guard)
    config = uvicorn.Config(app, http=TimedConnection, ws="none", log_level="error",
                            timeout_graceful_shutdown=1)  # fmt: skip
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True
    )
    thread.start()
    port = listening.getsockname()[1]
    return Running(f"http://127.0.0.1:{port}", port, parts, server, thread)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> DemoSite:
    return demo_site(tmp_path_factory.mktemp("site"), seed=3, jobs=900)


@pytest.fixture(scope="session")
def served(site: DemoSite) -> ServedFiles:
    return ServedFiles(site.log, site.model, str(site.machine), ("nodes=1..64",))


@pytest.fixture(scope="session")
def running(served: ServedFiles):
    service = start(served)
    ready(service)
    yield service
    service.stop()


@pytest.fixture(scope="session")
def guarded(served: ServedFiles):
    service = start(served, tokens=TOKENS)
    ready(service)
    yield service
    service.stop()


def ready(service: Running, seconds: float = 120.0) -> None:
    import time

    until = time.monotonic() + seconds
    while not service.parts.live.table.version:
        assert time.monotonic() < until, "no advice was made"
        time.sleep(0.05)


def send(
    service: Running, path: str, body: Any = None, *, method: str = "", raw: bytes | None = None,
    **headers: str,
) -> tuple[int, dict[str, str], bytes]:  # fmt: skip
    """One request by a plain client: status, headers, body."""
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", service.port, timeout=290)
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    given = {k.replace("_", "-"): v for k, v in headers.items()}
    if data is not None:
        given.setdefault("Content-Type", "application/json")
    try:
        connection.request(method or ("GET" if data is None else "POST"), path, data, given)
        reply = connection.getresponse()
        return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def asked(service: Running, name: str, **body: Any) -> tuple[int, Any]:
    status, _, text = send(service, f"/api/v1/{name}", body)
    return status, json.loads(text)


def folder_of(site: DemoSite) -> Path:
    return site.log.parent
