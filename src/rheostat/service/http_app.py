"""The service as an ASGI application: routes read a request, ask, and send what came of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from rheostat.service.access import TokenAccess
from rheostat.service.live_state import LiveState
from rheostat.service.question_fields import QUESTIONS, Value, body_of
from rheostat.service.question_queue import QuestionQueue
from rheostat.service.service_metrics import ServiceMetrics

PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/charts.js": ("charts.js", "text/javascript; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
"""Every file that the page has; no other is ever read."""
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"description": "Not JSON."},
    401: {"description": "No token, or one that is not known."},
    403: {"description": "Of the whole site: not for a user's token."},
    408: {"description": "The question took too long and was ended."},
    409: {"description": "No setting holds the limits, or the log cannot answer."},
    413: {"description": "The request is too large."},
    415: {"description": "Not application/json."},
    421: {"description": "Host does not name this machine."},
    422: {"description": "The question cannot be answered as it was asked."},
    429: {"description": "Too many requests, or too many questions wait."},
}
MOST_PAGES = 1000
MOST_PROBLEMS = 20


class AdviceRequest(BaseModel):
    """What is known of a job at submission."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    settings: Annotated[
        dict[Annotated[str, Field(max_length=64)], Value], Field(min_length=1, max_length=64)
    ]


class TakenRequest(BaseModel):
    """What a submission did after advice."""

    model_config = ConfigDict(extra="forbid")
    taken: bool


@dataclass
class Parts:
    """What the routes share."""

    live: LiveState
    queue: QuestionQueue
    metrics: ServiceMetrics
    pages: int = 0


def http_app(parts: Parts) -> FastAPI:
    """The application without its guard."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(parts.live.watch())
        yield
        watching.cancel()
        parts.queue.close()

    app = FastAPI(
        title="rheostat serve", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json",
        lifespan=life, description="Questions of one log, asked over HTTP.",
    )  # fmt: skip
    app.exception_handler(RequestValidationError)(_unanswerable)
    for name in QUESTIONS:
        _question_route(app, name, parts)
    _advice_routes(app, parts)
    _state_routes(app, parts)
    for path, (file, kind) in PAGE.items():
        _page_route(app, path, file, kind)
    return app


async def _unanswerable(_: Request, error: RequestValidationError) -> JSONResponse:
    """What is wrong with a body, without what it held: that may be NaN, or long."""
    problems = error.errors()[:MOST_PROBLEMS]
    said = [f"{'.'.join(map(str, p['loc']))[:200]}: {p['msg'][:200]}" for p in problems]
    return JSONResponse({"error": "; ".join(said)}, 422)


def _question_route(app: FastAPI, name: str, parts: Parts) -> None:
    """POST /api/v1/NAME with what `body_of` allows; the document is that of ``to_dict()``."""
    body_type: Any = body_of(name)
    whole = QUESTIONS[name].whole_site

    async def asked(request: Request, body: Any) -> Response:
        access: TokenAccess = request.state.access
        if whole and access.user:
            return _counted(parts, name, 403, b'{"error":"of the whole site: not for your token"}')
        reply = await parts.queue.ask(name, body.model_dump(exclude_none=True), access.user)
        return _counted(parts, name, reply.status, reply.body)

    asked.__annotations__["body"] = body_type
    app.post(f"/api/v1/{name}", summary=name, description=body_type.__doc__, responses=ERRORS)(
        asked
    )


def _counted(parts: Parts, route: str, status: int, body: bytes) -> Response:
    parts.metrics.answers.labels(route, str(status)).inc()
    return Response(body, status, media_type="application/json")


def _advice_routes(app: FastAPI, parts: Parts) -> None:
    @app.post("/api/v1/advice", responses=ERRORS)
    async def advice(request: Request, body: AdviceRequest) -> Response:
        """Advice for a job about to be submitted, from the table made before; at once."""
        began = time.perf_counter()
        user = request.state.access.user
        settings = {**body.settings, "user": user} if user else body.settings
        made = parts.live.table.find(settings, own=bool(user))
        status = "unknown" if made is None else made[11 : made.index(b'"', 11)].decode()
        parts.metrics.advice.labels(status).inc()
        parts.metrics.seconds.observe(time.perf_counter() - began)
        return Response(made or b'{"status":"unknown","words":""}', media_type="application/json")

    @app.post("/api/v1/taken", responses=ERRORS)
    async def taken(body: TakenRequest) -> dict[str, bool]:
        """Counts whether a submission took its advice."""
        parts.metrics.taken.labels("taken" if body.taken else "kept").inc()
        return {"counted": True}


def _state_routes(app: FastAPI, parts: Parts) -> None:
    @app.get("/healthz")
    async def healthz() -> dict[str, bool]:
        """Whether advice is at hand."""
        return {"ready": bool(parts.live.table.version)}

    @app.get("/api/v1/state", responses=ERRORS)
    async def state(request: Request) -> JSONResponse:
        """What is served: model, log, and what the token allows."""
        access: TokenAccess = request.state.access
        facts = {} if access.user else dict(parts.live.table.facts)
        knobs = list(parts.queue.served.knobs)
        return JSONResponse({"ready": bool(parts.live.table.version), "scope": access.scope,
                             "user": access.user, "knobs": knobs, "facts": facts})  # fmt: skip

    @app.get("/api/v1/events", responses=ERRORS)
    async def events() -> Response:
        """Server-sent events: new files are served, counts of advice."""
        if parts.pages >= MOST_PAGES:
            return JSONResponse({"error": "too many open pages"}, 429)
        return StreamingResponse(_listened(parts), media_type="text/event-stream")

    @app.get("/metrics", responses=ERRORS)
    async def metrics(request: Request) -> Response:
        """The text format of Prometheus."""
        if request.state.access.user:
            return JSONResponse({"error": "of the whole site: not for your token"}, 403)
        return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4")


async def _listened(parts: Parts) -> AsyncIterator[str]:
    parts.pages += 1
    try:
        async for event in parts.live.events():
            yield event
    finally:
        parts.pages -= 1


def _page_route(app: FastAPI, path: str, file: str, kind: str) -> None:
    content = files("rheostat.service").joinpath("page", file).read_bytes()

    async def page() -> Response:
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    send: Callable[..., Any] = page
    app.get(path, include_in_schema=False)(send)
