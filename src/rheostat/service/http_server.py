"""`serve`: questions of a log over HTTP, from the files that are named until the server stops."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheostat._optional import require
from rheostat.core.machine import Machine
from rheostat.decision.serving.request_target import is_this_machine
from rheostat.errors import QuestionError
from rheostat.measurement.read import guess_format, read
from rheostat.prediction.saved_models.persist import PREDICTORS, load
from rheostat.questions import listener
from rheostat.questions.parse import parse_space
from rheostat.questions.serving_proxy import host_names, listening_socket, shown
from rheostat.service.access import SITE, USER, TokenAccess, read_tokens
from rheostat.service.access import add_token as add_line
from rheostat.service.served import ServedFiles

if TYPE_CHECKING:
    from uvicorn import Server

    from rheostat.service.live_state import LiveState


@dataclass(frozen=True)
class ServiceSettings:
    """Where a service listens, to whom, and how much of it one client gets.

    Parameters
    ----------
    host, port : str, int
        Address; port 0 takes a free one, which the listener is told.
    allowed_hosts : sequence of str
        At an address of this machine alone: names in Host beside localhost.
    tokens : Path or None
        File of hashed tokens; needed at an address that others reach.
    rate : float
        Requests per second of one client.
    body_limit : int
        Bytes of a request.
    timeout_s, stop_after_s : float
        Longest time of a question; when the service stops, 0 never.
    """

    host: str = "127.0.0.1"
    port: int = 8200
    allowed_hosts: Sequence[str] = ()
    tokens: Path | None = None
    rate: float = 1000.0
    body_limit: int = 1_000_000
    timeout_s: float = 300.0
    stop_after_s: float = 0.0


def add_token(tokens: Path | None, name: str, *, of_user: bool = False) -> str:
    """Make a token for who asks a service, and add its hash to a file.

    Parameters
    ----------
    tokens : Path
        File of hashed tokens, made if there is none.
    name : str
        What the token is for, or the user whose jobs it sees.
    of_user : bool
        Whether it sees jobs of the user ``name`` alone.

    Returns
    -------
    str
        The token, which is kept nowhere.

    Raises
    ------
    QuestionError
        No file is named.
    """
    if tokens is None:
        raise QuestionError("--new-token", ["expected --tokens FILE beside it"])
    return add_line(tokens, USER if of_user else SITE, name)


def serve(
    log: Path | None,
    settings: ServiceSettings = ServiceSettings(),
    *,
    demo: bool = False,
    model: Path | None = None,
    machine: str = "",
    knobs: Sequence[str] = (),
    format: str = "",
    seed: int = 0,
) -> None:
    """Serve questions of a log, or of a generated site, until interrupted.

    Parameters
    ----------
    log : Path or None
        A job log, or a folder of `site.ingest`.
    settings : ServiceSettings
        Where and for whom.
    demo : bool
        Serve a generated site instead of ``log``.
    model, machine, knobs, format
        As of `ServedFiles`.
    seed : int
        Of the generated site.

    Raises
    ------
    DataError
        A file cannot be read, or others reach the address and there are no tokens.

    Examples
    --------
    >>> serve(None)
    Traceback (most recent call last):
    rheostat.errors.QuestionError: LOG: expected either a log or --demo
    """
    if demo == (log is not None):
        raise QuestionError("LOG", ["expected either a log or --demo"])
    access = _access(settings)
    if log is not None:
        _run(_served(log, model, machine, knobs, format), settings, access)
        return
    from rheostat.questions.demonstration.demo_site import demo_site

    with tempfile.TemporaryDirectory(prefix="rheostat-demo-") as folder:
        with listener.working("generating a site and learning from its log"):
            made = demo_site(Path(folder), seed=seed)
        listener.line("a generated site: no job, user or watt of it is real")
        knobs = knobs or ["nodes=1..64"]
        _run(_served(made.log, made.model, str(made.machine), knobs, ""), settings, access)


def _served(
    log: Path, model: Path | None, machine: str, knobs: Sequence[str], form: str
) -> ServedFiles:
    """What is served, after one look at every part of it."""
    guessed = form or guess_format(log)
    read(log, guessed)
    if model is not None:
        load(model, PREDICTORS)
    if machine:
        Machine.load(machine)
    parse_space(knobs or None)
    return ServedFiles(log, model, machine, tuple(knobs), guessed)


def _access(settings: ServiceSettings) -> tuple[TokenAccess, ...]:
    """The tokens; none only where this machine alone can ask."""
    if settings.tokens is not None:
        return read_tokens(settings.tokens)
    if not is_this_machine(shown(settings.host).encode()):
        problem = (
            f"others reach {settings.host}: expected --tokens FILE (--new-token NAME makes one)"
        )
        raise QuestionError("--host", [problem])
    return ()


def _run(served: ServedFiles, settings: ServiceSettings, access: tuple[TokenAccess, ...]) -> None:
    """Serve until interrupted, or for so long."""
    for module in ("fastapi", "prometheus_client", "uvicorn"):
        require(module, extra="serve")
    listening = listening_socket(settings.host, settings.port)
    hosts = host_names(settings.host, list(settings.allowed_hosts))
    # uvicorn stops at SIGTERM and sends it again at its end: files of a demo are to go first
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        asyncio.run(_serve(served, settings, access, listening, hosts))
    finally:
        signal.signal(signal.SIGTERM, before)


async def _serve(
    served: ServedFiles,
    settings: ServiceSettings,
    access: tuple[TokenAccess, ...],
    listening: Any,
    hosts: list[str] | None,
) -> None:
    server, live = _server(served, settings, access, hosts)
    loop = asyncio.get_running_loop()
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, live.reload)
    if settings.stop_after_s:
        loop.call_later(settings.stop_after_s, setattr, server, "should_exit", True)
    listener.line(f"listening at http://{shown(settings.host)}:{listening.getsockname()[1]}")
    await server.serve(sockets=[listening])


def _server(
    served: ServedFiles,
    settings: ServiceSettings,
    access: tuple[TokenAccess, ...],
    hosts: list[str] | None,
) -> tuple[Server, LiveState]:
    """The server, with its guard before the questions, and the state that it tells of."""
    import uvicorn

    from rheostat.questions.timed_connection import TimedConnection
    from rheostat.service.http_app import Parts, http_app
    from rheostat.service.live_state import LiveState
    from rheostat.service.question_queue import QuestionQueue
    from rheostat.service.request_guard import RequestGuard
    from rheostat.service.service_metrics import ServiceMetrics

    metrics = ServiceMetrics()
    live = LiveState(served, metrics)
    parts = Parts(live, QuestionQueue(served, timeout_s=settings.timeout_s), metrics)
    guard = RequestGuard(
        http_app(parts), hosts=hosts, tokens=access, rate=settings.rate,
        most_bytes=settings.body_limit,
        refused=lambda status: metrics.answers.labels("refused", str(status)).inc(),
    )  # fmt: skip
    server = uvicorn.Server(uvicorn.Config(
        guard, http=TimedConnection, ws="none", lifespan="on", log_level="warning",
        access_log=False, server_header=False, limit_concurrency=2000, timeout_graceful_shutdown=2,
    ))  # fmt: skip
    return server, live
