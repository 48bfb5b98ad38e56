"""``rheostat serve``: questions of one log over HTTP, and a page that shows them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.service.access import TokenAccess
    from rheostat.service.served import ServedFiles


def serve(
    log: Annotated[
        Path | None,
        typer.Argument(help="A job log, or a folder of rheostat site ingest.", metavar="LOG"),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a generated site instead of LOG.")
    ] = False,
    model: o.Saved = None,
    machine: Annotated[
        str, typer.Option(help="Processors, or a TOML file with watts and a cap.")
    ] = "",
    knob: o.Knobs = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen at; 0 takes a free one.", min=0, max=65535)
    ] = 8200,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="At an address of this machine alone: a name in Host beside localhost. Repeatable."
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(help="File of hashed tokens; needed at an address that others reach."),
    ] = None,
    new_token: Annotated[
        str, typer.Option(help="Add a token of this name to --tokens, print it once, and stop.")
    ] = "",
    of_user: Annotated[
        bool, typer.Option("--of-user", help="The new token sees jobs of the user NAME alone.")
    ] = False,
    rate: Annotated[
        float, typer.Option(help="Requests per second of one client.", min=1.0, max=1e6)
    ] = 1000.0,
    body_limit: Annotated[
        int, typer.Option(help="Bytes of a request, at most.", min=1000, max=2**30)
    ] = 1_000_000,
    timeout: Annotated[
        float, typer.Option(help="Longest time of a question, s.", min=1.0, max=86_400.0)
    ] = 300.0,
    stop_after: Annotated[
        float, typer.Option(help="Stop after so many seconds; 0 never does.", min=0.0)
    ] = 0.0,
    seed: o.Seed = 0,
    form: o.Form = "",
) -> None:
    """Serve questions of LOG over HTTP, advice from a table, a page to watch, and /metrics.

    Listens at this machine alone unless --host says otherwise, and then only with --tokens. Files
    that change, and SIGHUP, are taken in while the old ones still answer.
    """
    from rheostat.cli.output import tell
    from rheostat.service.access import SITE, USER, add_token

    if new_token:
        if tokens is None:
            raise typer.BadParameter("expected --tokens FILE beside it", param_hint="--new-token")
        print(add_token(tokens, USER if of_user else SITE, new_token))
        return
    if demo == (log is not None):
        raise typer.BadParameter("expected either a log or --demo", param_hint="LOG")
    known = _accesses(tokens, host)
    if log is not None:
        _run(_served(log, model, machine, knob, form), host, port, allowed_host or [], known,
             rate, body_limit, timeout, stop_after)  # fmt: skip
        return
    from rheostat.cli.output import working
    from rheostat.questions.demonstration.demo_site import demo_site

    with tempfile.TemporaryDirectory(prefix="rheostat-demo-") as folder:
        with working("generating a site and learning from its log"):
            made = demo_site(Path(folder), seed=seed)
        tell("a generated site: no job, user or watt of it is real")
        knobs = knob or ["nodes=1..64"]
        _run(_served(made.log, made.model, str(made.machine), knobs, ""), host, port,
             allowed_host or [], known, rate, body_limit, timeout, stop_after)  # fmt: skip


def _served(
    log: Path, model: Path | None, machine: str, knobs: list[str] | None, form: str
) -> ServedFiles:
    """What is served, after one look at every part of it."""
    from rheostat.core.machine import Machine
    from rheostat.measurement.read import guess_format, read
    from rheostat.prediction.saved_models.persist import PREDICTORS, load
    from rheostat.questions.parse import parse_space
    from rheostat.service.served import ServedFiles

    guessed = form or guess_format(log)
    read(log, guessed)
    if model is not None:
        load(model, PREDICTORS)
    if machine:
        Machine.load(machine)
    parse_space(knobs)
    return ServedFiles(log, model, machine, tuple(knobs or ()), guessed)


def _accesses(tokens: Path | None, host: str) -> tuple[TokenAccess, ...]:
    """The tokens; none only where this machine alone can ask."""
    from rheostat.decision.serving.request_target import is_this_machine
    from rheostat.service.access import read_tokens

    if tokens is not None:
        return read_tokens(tokens)
    if not is_this_machine((f"[{host}]" if ":" in host else host).encode()):
        problem = f"others reach {host}: expected --tokens FILE (--new-token NAME makes one)"
        raise typer.BadParameter(problem, param_hint="--host")
    return ()


def _run(
    served: ServedFiles, host: str, port: int, names: list[str], tokens: tuple[TokenAccess, ...],
    rate: float, body_limit: int, timeout_s: float, stop_after_s: float,
) -> None:  # fmt: skip
    """Serve until interrupted, or for so long."""
    import asyncio
    import signal

    from rheostat._optional import require
    from rheostat.questions.serving_proxy import host_names, listening_socket

    for module in ("fastapi", "prometheus_client", "uvicorn"):
        require(module, extra="serve")
    listening = listening_socket(host, port)
    hosts = host_names(host, names)
    # uvicorn stops at SIGTERM and sends it again at its end: files of a demo are to go first
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        asyncio.run(_serve(served, listening, host, hosts, tokens, rate, body_limit, timeout_s,
                           stop_after_s))  # fmt: skip
    finally:
        signal.signal(signal.SIGTERM, before)


async def _serve(
    served: ServedFiles, listening: Any, host: str, hosts: list[str] | None, tokens: Any,
    rate: float, body_limit: int, timeout_s: float, stop_after_s: float,
) -> None:  # fmt: skip
    import asyncio
    import signal

    import uvicorn

    from rheostat.cli.output import tell
    from rheostat.questions.timed_connection import TimedConnection
    from rheostat.service.http_app import Parts, http_app
    from rheostat.service.live_state import LiveState
    from rheostat.service.question_queue import QuestionQueue
    from rheostat.service.request_guard import RequestGuard
    from rheostat.service.service_metrics import ServiceMetrics

    metrics = ServiceMetrics()
    live = LiveState(served, metrics)
    parts = Parts(live, QuestionQueue(served, timeout_s=timeout_s), metrics)
    guard = RequestGuard(
        http_app(parts), hosts=hosts, tokens=tokens, rate=rate, most_bytes=body_limit,
        refused=lambda status: metrics.answers.labels("refused", str(status)).inc(),
    )  # fmt: skip
    server = uvicorn.Server(uvicorn.Config(
        guard, http=TimedConnection, ws="none", lifespan="on", log_level="warning",
        access_log=False, server_header=False, limit_concurrency=2000, timeout_graceful_shutdown=2,
    ))  # fmt: skip
    loop = asyncio.get_running_loop()
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, live.reload)
    if stop_after_s:
        loop.call_later(stop_after_s, setattr, server, "should_exit", True)
    shown = f"[{host}]" if ":" in host else host
    tell(f"listening at http://{shown}:{listening.getsockname()[1]}")
    await server.serve(sockets=[listening])
