"""`llm.proxy`: a front before servers of language models that orders their requests.

Apart from the other questions of language models, as it loads no tables before it listens.
"""

from __future__ import annotations

import asyncio
import re
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat._optional import require
from rheostat.core.report import Report
from rheostat.decision.serving.dispatch_queue import DispatchQueue
from rheostat.decision.serving.proxy import PRIORITY, ServingProxy
from rheostat.decision.serving.request_target import is_this_machine
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.decision.serving.tenant_line import TenantLine
from rheostat.decision.serving.upstream import Upstream, upstream_connections
from rheostat.decision.serving.waiting_line import BoundLine
from rheostat.errors import DataError
from rheostat.prediction.answer_length.length_learner import LengthLearner, ready
from rheostat.prediction.answer_length.service_cost import StepTimes
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse_numbers import parse_bound, parse_numbers

IDLE_S, KEPT_S = 2.0, 75
"""After so long without use we close a connection to a server, sooner than servers do (5 s), and
one from a client, later than clients do: who asks on a connection that is being closed is lost."""
STEP = "8e-3,20e-6,22e-9,22e-6"
MOST_PLACES = 100_000
CHECKED = 8
"""Requests that did not wait need no score: one in so many gets one, to notice when they change."""
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")


@dataclass(frozen=True, kw_only=True, repr=False)
class ProxyAnswer(Answer):
    """What passed until the proxy ended.

    Parameters
    ----------
    requests : int
        That came.
    outcomes : mapping
        How many ended how.
    answers_learned : int
        Lengths of answers that were learned from.
    """

    schema: ClassVar[str] = "rheostat.llm-proxy/1"
    requests: int
    outcomes: Mapping[str, int]
    answers_learned: int

    def report(self) -> Report:
        """Nothing: counts are at /metrics while it runs."""
        return Report("", [])

    def facts(self) -> Mapping[str, Any]:
        """The counts."""
        return {"requests": self.requests, "outcomes": self.outcomes,
                "answers_learned": self.answers_learned}  # fmt: skip


@question
def proxy(
    upstream: Sequence[str],
    *,
    policy: str = "cost",
    priority: str = "",
    in_flight: int = 16,
    waiting: int = 10_000,
    head_start_s: float = 100.0,
    within: str = "",
    per_tenant: Sequence[str] = (),
    tenant_header: str = "",
    step_s: str | Sequence[float] = STEP,
    model: Path | str | None = None,
    save: Path | str | None = None,
    host: str = "127.0.0.1",
    port: int = 8100,
    allowed_hosts: Sequence[str] = (),
    timeout_s: float = 600.0,
    body_limit_b: int = 10_000_000,
    stop_after_s: float = 0.0,
) -> ProxyAnswer:
    """Stand before servers of language models and ask them in the order of what answers will cost.

    It learns how long answers are from those that pass.

    Parameters
    ----------
    upstream : sequence of str
        Addresses of servers, as ``http://127.0.0.1:8000``.
    policy : str
        cost, shortest-answer, shortest-prompt or fcfs.
    priority : str
        vllm or sglang: set each request's priority and let the server order.
    in_flight, waiting : int
        Requests that a server runs at once, and that wait; further ones get 503.
    head_start_s : float
        That a request of a tenth of the cost goes before.
    within : str
        Bound for 99 of 100 answers, as 90s, or 1.2x what first come, first served would need.
    per_tenant : sequence of str
        Requests that one tenant has at servers at once, as 8; of one alone, as batch=2. The next
        place goes to who holds the fewest.
    tenant_header : str
        Header that says whose a request is; its key if empty.
    step_s : str or sequence of float
        Seconds of a step, as `llm.calibrate` says them.
    model, save : path, optional
        The model of `llm.rank` to begin with, and where what was learned goes.
    host : str
        Address to listen at.
    port : int
        0 takes a free one.
    allowed_hosts : sequence of str
        At an address of this machine alone: names in Host beside localhost.
    timeout_s : float
        Longest silence of a server.
    body_limit_b : int
        Bytes of a request, at most.
    stop_after_s : float
        0 never stops.

    Returns
    -------
    ProxyAnswer
        With ``requests`` and ``outcomes``.

    Raises
    ------
    DataError
        An address is none, or options contradict each other.
    """
    known: Any = None
    if model is not None:
        from rheostat.prediction.saved_models import persist

        known = persist.load(Path(model), ["prompt-length"])
    order = service_order(policy, head_start_s, step_s, in_flight, known)
    order.learn = save is not None
    front = serving_proxy(upstream, priority, order, in_flight, waiting, timeout_s, body_limit_b,
                          within,
                          tenants=tenant_line(per_tenant, tenant_header, within))  # fmt: skip
    if tenant_header:
        front.tenant_headers = (tenant_header.lower(),)
    front.learn_apart = True
    front.hosts = host_names(host, allowed_hosts)
    try:
        serve_proxy(front, host, port, stop_after_s)
    except KeyboardInterrupt as stop:
        stop.answer = _ended(front, save)  # type: ignore[attr-defined]
        raise
    except BaseException:
        _ended(front, save)
        raise
    return _ended(front, save)


def _ended(front: ServingProxy, save: Path | str | None) -> ProxyAnswer:
    """Keep what was learned, and count."""
    learner = front.order.learner
    if save is not None and learner.model is not None:
        from rheostat.prediction.saved_models import persist

        persist.save(learner.model, Path(save))
        listener.line(f"wrote {save}")
    elif save is not None:
        listener.line(f"no fit to answers has ended yet: {save} was not written")
    return ProxyAnswer(requests=front.counters.received, outcomes=dict(front.counters.outcomes),
                       answers_learned=learner.answers)  # fmt: skip


def service_order(
    policy: str, head_start_s: float, step_s: str | Sequence[float], batch_cap: int, known: Any
) -> ServiceOrder:
    """The order of requests, by what steps take and what is known of answers."""
    times = StepTimes(*parse_numbers(step_s, 4, "--step"))
    if known is not None:
        ready(known)  # else the first request would wait for libraries
    return ServiceOrder(
        policy, head_start_s, LengthLearner(known, checked=CHECKED), times, batch_cap
    )


def serving_proxy(
    upstreams: Sequence[str], priority: str, order: ServiceOrder, in_flight: int, waiting: int,
    timeout_s: float, most_bytes: int, within: str = "", *, tenants: TenantLine | None = None,
) -> ServingProxy:  # fmt: skip
    """The proxy, once its options agree with each other."""
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
    line = BoundLine(len(servers), in_flight, *parse_bound(within)) if within else None
    queue = DispatchQueue(len(servers), 10**9 if priority else in_flight, waiting, line or tenants)
    client = upstream_connections(servers, 2 * in_flight, IDLE_S)
    return ServingProxy(servers, order, queue, client, priority, timeout_s, most_bytes,
                        bool(within))  # fmt: skip


def tenant_line(limits: Sequence[str], header: str, within: str) -> TenantLine | None:
    """Places shared among tenants, by what each may hold; None where nothing is said of them.

    >>> tenant_line(["8", "batch=2"], "x-class", "").limits
    {'batch': 2}
    """
    problems, places = [], {}
    for limit in limits:
        name, _, number = limit.rpartition("=")
        if not (number.isascii() and number.isdigit() and 0 < int(number[:9]) <= MOST_PLACES):
            said = f"N or VALUE=N with N from 1 to {MOST_PLACES}"
            problems.append(f"--per-tenant: expected {said}, got {limit!r}")
        elif name in places:
            problems.append(f"--per-tenant: {limit!r} says again what one tenant may hold")
        else:
            places[name] = int(number)
    if not limits and header:
        problems.append("--tenant-header without --per-tenant changes nothing: expected both")
    if limits and within:
        problems.append("--within orders all requests as one: expected no --per-tenant beside it")
    if header and not HEADER.fullmatch(header):
        problems.append(f"--tenant-header: expected a header's name, got {header!r}")
    if any(places) and not header:
        problems.append("--per-tenant VALUE=N names a header's value: expected --tenant-header")
    if problems:
        raise DataError("llm proxy", problems)
    return TenantLine(places.pop("", MOST_PLACES), places) if limits else None


def host_names(host: str, names: Sequence[str]) -> list[str] | None:
    """What Host may name beside this machine; None where others are to reach this address."""
    return [n.lower() for n in names] if is_this_machine(shown(host).encode()) else None


def shown(host: str) -> str:
    """An address as it stands in a URL.

    >>> shown("::1")
    '[::1]'
    """
    return f"[{host}]" if ":" in host else host


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there, in the family of the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        host.encode("idna")  # create_server leaves its socket open where a name is none
    except UnicodeError as error:
        raise DataError("--host", [f"expected a name or an address, got {host!r}"]) from error
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise DataError("--port", [f"cannot listen at {host}:{port}: {error}"]) from error
    # what it accepts inherits this; asyncio sets it only where a socket names its protocol
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def serve_proxy(front: ServingProxy, host: str, port: int, stop_after_s: float) -> None:
    """Serve until interrupted, or for so long; who is served then is served to the end."""
    uvicorn = require("uvicorn", extra="proxy")
    listening = listening_socket(host, port)
    from rheostat.questions.timed_connection import TimedConnection

    config = uvicorn.Config(front, http=TimedConnection, ws="none", lifespan="off",
                            log_level="warning", access_log=False, timeout_keep_alive=KEPT_S,
                            server_header=False, date_header=False)  # fmt: skip
    server = uvicorn.Server(config)

    async def serve() -> None:
        if stop_after_s:
            asyncio.get_running_loop().call_later(
                stop_after_s, setattr, server, "should_exit", True
            )
        listener.line(f"listening at http://{shown(host)}:{listening.getsockname()[1]}")
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
