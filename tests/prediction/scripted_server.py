"""An OpenAI-compatible server on 127.0.0.1 that answers from a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Script:
    """Replies in order, the last one again and again; what was asked is kept.

    A reply is a text, a status, a body, a (text, finish reason), a (status, body) or a function of
    the request.
    """

    replies: list[Any]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def next(self, request: dict[str, Any]) -> Any:
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(request)
        return reply(request) if callable(reply) else reply


@contextmanager
def serving(*replies: Any) -> Iterator[Script]:
    """A running server; its script's ``url`` is the base address."""
    script = Script(list(replies))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            script.headers.append({k.lower(): v for k, v in self.headers.items()})
            reply = script.next(json.loads(self.rfile.read(length)))
            status, body = _answer(reply)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(reply: Any) -> tuple[int, bytes]:
    if isinstance(reply, int):
        return reply, json.dumps({"error": {"message": f"status {reply}", "type": "x"}}).encode()
    if isinstance(reply, bytes):
        return 200, reply
    if isinstance(reply, tuple) and isinstance(reply[1], bytes):
        return reply
    text, finish = reply if isinstance(reply, tuple) else (reply, "stop")
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if finish == "refusal":
        message = {"role": "assistant", "content": None, "refusal": text}
        finish = "stop"
    return 200, json.dumps({
        "id": "1", "object": "chat.completion", "created": 0, "model": "scripted-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
    }).encode()  # fmt: skip
