"""``rheostat llm proxy``: a front before a server of language models that orders its requests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option


@asks("rheostat.questions.serving_proxy:proxy", o.shown)
def proxy(
    upstream: Annotated[
        list[str],
        option(
            "Address of a server, as http://127.0.0.1:8000 or "
            "http://USER:PASSWORD@HOST/PATH. Repeatable."
        ),
    ],
    policy: Annotated[str, option("cost, shortest-answer, shortest-prompt or fcfs.")] = "cost",
    priority: Annotated[
        str,
        option(
            "vllm or sglang: set each request's priority and let the server order; else the "
            "requests wait here."
        ),
    ] = "",
    in_flight: Annotated[
        int, option("Requests that a server runs at once.", min=1, max=100_000)
    ] = 16,
    waiting: Annotated[
        int, option("Requests that wait; further ones get 503.", min=1, max=10_000_000)
    ] = 10_000,
    head_start: Annotated[
        float, option("Seconds that a request of a tenth of the cost goes before.", min=0.0)
    ] = 100.0,
    within: Annotated[
        str,
        option(
            "Bound for 99 of 100 answers, as 90s: cheap requests first as long as no other "
            "is late for it; or as 1.2x, times what first come, first served would need."
        ),
    ] = "",
    per_tenant: Annotated[
        list[str] | None,
        option(
            "Requests of one tenant at servers at once, as 8; of one alone, as batch=2. The "
            "next place goes to who holds the fewest. Repeatable."
        ),
    ] = None,
    tenant_header: Annotated[
        str, option("Header that says whose a request is; its API key if not given.")
    ] = "",
    step: Annotated[
        str, option("Seconds of a step, as rheostat llm calibrate prints them.")
    ] = "8e-3,20e-6,22e-9,22e-6",
    model: Annotated[
        Path | None, option("Begin with this model of llm rank --save.", "--model")
    ] = None,
    save: Annotated[
        Path | None, option("Keep what was learned in this file.", "--save", "-o", writable=True)
    ] = None,
    host: Annotated[str, option("Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen at; 0 takes a free one.", min=0, max=65535)] = 8100,
    allowed_host: Annotated[
        list[str] | None,
        option("At an address of this machine alone: a name in Host beside localhost. Repeatable."),
    ] = None,
    timeout: Annotated[float, option("Longest silence of a server, s.", min=0.1)] = 600.0,
    body_limit: Annotated[
        int, option("Bytes of a request, at most.", min=1, max=2**32)
    ] = 10_000_000,
    stop_after: Annotated[
        float, option("Stop after so many seconds; 0 never does.", min=0.0)
    ] = 0.0,
) -> None:
    """Stand before servers of language models and ask them in the order of what answers will cost.

    Speaks and expects the API of OpenAI; answers stream through.  It learns how long answers are
    from those that pass.  Counts are at /metrics.
    """
