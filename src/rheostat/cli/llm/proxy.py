"""``rheostat llm proxy``: a front before a server of language models that orders its requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    import socket

    from rheostat.decision.serving.proxy import ServingProxy
    from rheostat.prediction.answer_length.prompt_length import PromptLength

IDLE_S, KEPT_S = 2.0, 75
"""After so long without use we close a connection to a server, sooner than servers do (5 s), and
one from a client, later than clients do: who asks on a connection that is being closed is lost."""


def proxy(
    upstream: Annotated[
        list[str],
        typer.Option(
            help="Address of a server, as http://127.0.0.1:8000 or http://USER:PASSWORD@HOST/PATH. "
            "Repeatable."
        ),
    ],
    policy: Annotated[
        str, typer.Option(help="cost, shortest-answer, shortest-prompt or fcfs.")
    ] = "cost",
    priority: Annotated[
        str,
        typer.Option(
            help="vllm or sglang: set each request's priority and let the server order; else the "
            "requests wait here."
        ),
    ] = "",
    in_flight: Annotated[
        int, typer.Option(help="Requests that a server runs at once.", min=1, max=100_000)
    ] = 16,
    waiting: Annotated[
        int, typer.Option(help="Requests that wait; further ones get 503.", min=1, max=10_000_000)
    ] = 10_000,
    head_start: Annotated[
        float,
        typer.Option(help="Seconds that a request of a tenth of the cost goes before.", min=0.0),
    ] = 100.0,
    within: Annotated[
        str,
        typer.Option(
            help="Bound for 99 of 100 answers, as 90s: cheap requests first as long as no other is "
            "late for it; or as 1.2x, times what first come, first served would need."
        ),
    ] = "",
    step: Annotated[
        str, typer.Option(help="Seconds of a step, as rheostat llm calibrate prints them.")
    ] = "8e-3,20e-6,22e-9,22e-6",
    model: Annotated[
        Path | None, typer.Option("--model", help="Begin with this model of llm rank --save.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", "-o", help="Keep what was learned in this file.", writable=True),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen at; 0 takes a free one.", min=0, max=65535)
    ] = 8100,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="At an address of this machine alone: a name in Host beside localhost. Repeatable."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Longest silence of a server, s.", min=0.1)
    ] = 600.0,
    body_limit: Annotated[
        int, typer.Option(help="Bytes of a request, at most.", min=1, max=2**32)
    ] = 10_000_000,
    stop_after: Annotated[
        float, typer.Option(help="Stop after so many seconds; 0 never does.", min=0.0)
    ] = 0.0,
    json: o.Json = False,
) -> None:
    """Stand before servers of language models and ask them in the order of what answers will cost.

    Speaks and expects the API of OpenAI; answers stream through.  It learns how long answers are
    from those that pass.  Counts are at /metrics.
    """
    from rheostat.cli.output import put_json, tell

    known: PromptLength | None = None
    if model is not None:
        from rheostat.prediction.saved_models import persist

        known = persist.load(model, ["prompt-length"])
    order = _order(policy, head_start, step, in_flight, known)
    order.learn = save is not None
    front = _proxy(upstream, priority, order,
                   in_flight, waiting, timeout, body_limit, within)  # fmt: skip
    front.learn_apart = True
    front.hosts = _hosts(host, allowed_host or [])
    try:
        _run(front, host, port, stop_after)
    finally:
        learner, outcomes = front.order.learner, dict(front.counters.outcomes)
        if save is not None and learner.model is not None:
            from rheostat.prediction.saved_models import persist

            persist.save(learner.model, save)
            tell(f"wrote {save}")
        elif save is not None:
            tell(f"no fit to answers has ended yet: {save} was not written")
        if json:
            put_json("rheostat.llm-proxy/1", {"requests": front.counters.received,
                     "outcomes": outcomes, "answers_learned": learner.answers})  # fmt: skip


def _order(policy: str, head_start_s: float, step: str, batch_cap: int, known: Any) -> Any:
    from rheostat.decision.serving.service_order import ServiceOrder
    from rheostat.prediction.answer_length.length_learner import LengthLearner, ready
    from rheostat.prediction.answer_length.service_cost import StepTimes
    from rheostat.questions.parse_numbers import parse_numbers

    times = StepTimes(*parse_numbers(step, 4, "--step"))
    if known is not None:
        ready(known)  # else the first requests would wait for the compiler
    return ServiceOrder(policy, head_start_s, LengthLearner(known), times, batch_cap)


def _proxy(
    upstreams: list[str], priority: str, order: Any, in_flight: int, waiting: int,
    timeout_s: float, most_bytes: int, within: str = "",
) -> ServingProxy:  # fmt: skip
    from rheostat.decision.serving.dispatch_queue import DispatchQueue
    from rheostat.decision.serving.proxy import PRIORITY, ServingProxy
    from rheostat.decision.serving.upstream import Upstream, upstream_connections
    from rheostat.decision.serving.waiting_line import BoundLine, KeyLine
    from rheostat.errors import DataError
    from rheostat.questions.parse_numbers import parse_bound

    servers, problems = [], []
    for address in upstreams:
        try:
            servers.append(Upstream.at(address))
        except ValueError as error:
            problems.append(f"--upstream: {error}")
    if priority and priority not in PRIORITY:
        problems.append(f"--priority: expected {' or '.join(PRIORITY)}, got {priority!r}")
    if within and priority:
        problems.append("--within holds requests here: expected no --priority beside it")
    if within and order.policy != "cost":
        problems.append(f"--within needs costs: expected --policy cost, got {order.policy}")
    if problems:
        raise DataError("llm proxy", problems)
    line = BoundLine(len(servers), in_flight, *parse_bound(within)) if within else KeyLine()
    queue = DispatchQueue(len(servers), 10**9 if priority else in_flight, waiting, line)
    client = upstream_connections(servers, 2 * in_flight, IDLE_S)
    return ServingProxy(servers, order, queue, client, priority, timeout_s, most_bytes,
                        bool(within))  # fmt: skip


def _hosts(host: str, names: list[str]) -> list[str] | None:
    """What Host may name beside this machine; None where others are to reach this address."""
    from rheostat.decision.serving.request_target import is_this_machine

    shown = f"[{host}]" if ":" in host else host
    return [n.lower() for n in names] if is_this_machine(shown.encode()) else None


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens there, in the family of the address."""
    import socket

    from rheostat.errors import DataError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        host.encode("idna")  # create_server leaves its socket open where a name is none
    except UnicodeError as error:
        raise DataError("--host", [f"expected a name or an address, got {host!r}"]) from error
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise DataError("--port", [f"cannot listen at {host}:{port}: {error}"]) from error


def _run(front: ServingProxy, host: str, port: int, stop_after_s: float) -> None:
    """Serve until interrupted, or for so long; who is served then is served to the end."""
    import asyncio
    import signal

    from rheostat._optional import require
    from rheostat.cli.output import tell

    uvicorn = require("uvicorn", extra="proxy")
    listening = _listening(host, port)
    config = uvicorn.Config(front, http="h11", ws="none", lifespan="off", log_level="warning",
                            access_log=False, timeout_keep_alive=KEPT_S, server_header=False,
                            date_header=False)  # fmt: skip
    server = uvicorn.Server(config)

    async def serve() -> None:
        if stop_after_s:
            asyncio.get_running_loop().call_later(
                stop_after_s, setattr, server, "should_exit", True
            )
        shown = f"[{host}]" if ":" in host else host
        tell(f"listening at http://{shown}:{listening.getsockname()[1]}")
        try:
            await server.serve(sockets=[listening])
        finally:
            front.stop_learning()
            await front.client.aclose()

    # uvicorn stops at SIGTERM and sends it again at its end: what was learned is to be kept first
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        asyncio.run(serve())
    finally:
        signal.signal(signal.SIGTERM, before)
