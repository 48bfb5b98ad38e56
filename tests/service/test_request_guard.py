"""What stands before each request of the service, asked as a hostile client would."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from contextlib import contextmanager, nullcontext, suppress
from importlib.resources import files
from pathlib import Path

import pytest

from rheostat.errors import DataError
from rheostat.questions import timed_connection
from rheostat.service.access import add_token, allowed, read_tokens
from rheostat.service.advice_table import AdviceTable
from rheostat.service.http_app import Parts, http_app
from rheostat.service.live_state import LiveState
from rheostat.service.question_fields import QUESTIONS
from rheostat.service.question_process import Reply
from rheostat.service.request_guard import MOST_CLIENTS, RateLimit, RequestGuard
from rheostat.service.served import ServedFiles
from rheostat.service.service_metrics import ServiceMetrics
from tests.service.conftest import TOKENS

MINE = {"authorization": "Bearer of-a-user"}
SITES = {"authorization": "Bearer of-the-site"}


class Queue:
    """Keeps what it was asked, and says that it was."""

    def __init__(self):
        self.served, self.heard = ServedFiles(Path("log"), None, "", ()), []

    async def ask(self, name, sent, user=""):
        self.heard.append((name, sent, user))
        return Reply(200, b"{}")


def service(**guard):
    """The whole service but the process that answers questions."""
    metrics, queue = ServiceMetrics(), Queue()
    live = LiveState(queue.served, metrics)
    keys, common = ("user", "app", "nodes"), ("app", "nodes")
    full = {("u012", "cfd", 4): b'{"status":"advised","whose":"u012"}'}
    shared = {("cfd", 4): b'{"status":"advised","whose":"any"}'}
    live.table = AdviceTable("1", keys, common, full, shared, {"jobs": 9})
    app = RequestGuard(http_app(Parts(live, queue, metrics)), hosts=[], **guard)
    app.queue = queue
    return app


def asked(app, path, body=None, *, method="", parts=None, **more):
    """Status, headers and body of one request; ``parts`` are of a body without a stated length."""
    raw = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
    sent = parts or [raw or b""]
    headers = {"host": "localhost:8200", **more.pop("headers", {})}
    if body is not None and parts is None:
        headers = {"content-type": "application/json", "content-length": str(len(raw)), **headers}
    method = method or ("GET" if body is None and parts is None else "POST")
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(),
             "query_string": b"", "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
             "client": ("10.0.0.1", 5), "server": ("127.0.0.1", 8200), "scheme": "http",
             "http_version": "1.1", "root_path": "", **more}  # fmt: skip
    waiting, got = list(sent), []

    async def receive():
        if not waiting:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message):
        got.append(message)

    asyncio.run(app(scope, receive, send))
    headers = {k.decode(): v.decode() for k, v in got[0]["headers"]}
    return got[0]["status"], headers, b"".join(m.get("body", b"") for m in got[1:])


def test_a_name_that_leads_here_from_elsewhere_is_no_name_of_this_machine():
    """DNS rebinding: a page of another's name asks 127.0.0.1."""
    app = service()
    for host in ("evil.example", "localhost.evil.example", "evil@127.0.0.1", ""):
        assert asked(app, "/healthz", headers={"host": host})[0] == 421
    for host in ("localhost", "127.0.0.1:8200", "[::1]:8200"):
        assert asked(app, "/healthz", headers={"host": host})[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_sites_page_is_not_answered(site):
    app = service()
    assert asked(app, "/api/v1/state", headers={"sec-fetch-site": site})[0] == 403
    assert asked(app, "/api/v1/state", headers={"sec-fetch-site": "same-origin"})[0] == 200
    for origin in ("http://evil.example", "null", "http://localhost.evil.example:8200"):
        assert asked(app, "/api/v1/state", headers={"origin": origin})[0] == 403
    for origin in ("http://localhost:8200", "http://[::1]:8200"):
        assert asked(app, "/api/v1/state", headers={"origin": origin})[0] == 200
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert asked(app, "/api/v1/taken", b'{"taken":true}', headers=form)[0] == 415


def test_without_a_token_only_the_empty_page_is_seen():
    app = service(tokens=TOKENS)
    closed = [f"/api/v1/{name}" for name in QUESTIONS]
    for path in (*closed, "/api/v1/state", "/api/v1/events", "/api/openapi.json", "/metrics"):
        for given in ({}, {"authorization": "Bearer x"}, {"authorization": "Basic of-the-site"}):
            status, headers, body = asked(app, path, headers=given)
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
            assert b"cfd" not in body
    assert asked(app, "/")[0] == 200
    assert asked(app, "/api/v1/state", headers=SITES)[0] == 200


def test_a_users_token_sees_the_users_jobs_alone():
    app = service(tokens=TOKENS)
    for name, question in QUESTIONS.items():
        app.queue.heard.clear()
        body = {"knobs": ["cap_w=1,2"], "app": "a"} if name == "caps" else {}
        status, _, _ = asked(app, f"/api/v1/{name}", body, headers=MINE)
        assert status == (403 if question.whole_site else 200), name
        assert [user for *_, user in app.queue.heard] == ([] if question.whole_site else ["u012"])
    assert asked(app, "/metrics", headers=MINE)[0] == 403
    assert json.loads(asked(app, "/api/v1/state", headers=MINE)[2])["facts"] == {}
    other = {"settings": {"user": "u013", "app": "cfd", "nodes": 4}}
    assert b"u012" in asked(app, "/api/v1/advice", other, headers=MINE)[2]
    unknown = {"settings": {"user": "u012", "app": "cfd", "nodes": 8}}
    assert b"unknown" in asked(app, "/api/v1/advice", unknown, headers=MINE)[2]
    assert b"any" in asked(app, "/api/v1/advice", other, headers=SITES)[2]


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize(
    "more", ["jobs", "known", "past", "model", "machine", "format", "columns", "trial", "out"]
)
def test_no_client_names_a_file_a_format_or_a_machine(name, more):
    app = service()
    status, _, body = asked(app, f"/api/v1/{name}", {more: "/etc/passwd"})
    assert (status, app.queue.heard) == (422, [])
    assert more in body.decode()


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"seed":' + b"9" * 5000 + b"}", b'{"seed":1e999}',
     b'{"seed":NaN}', b'{"job":"' + b"x" * 300 + b'"}', b'{"limits":["a",7]}',
     b'{"rows":[]}', b'{"rows":[{}]}', b'{"rows":[{"a":{"b":1}}]}', b'{"rows":[{"a":NaN}]}',
     b'"text"', b"null"],
    ids=lambda body: body[:20].decode("latin-1"),
)  # fmt: skip
def test_what_is_no_question_is_refused_before_anything_is_asked(body):
    app = service()
    status, headers, said = asked(app, "/api/v1/front", body)
    assert status in (400, 422)
    assert app.queue.heard == []
    assert len(said) < 5000
    assert headers["x-content-type-options"] == "nosniff"


def test_a_request_is_bounded_in_bytes_as_stated_and_as_sent():
    app = service(most_bytes=1000)
    kind = {"content-type": "application/json"}
    assert asked(app, "/api/v1/taken", b" " * 1001)[0] == 413
    for length in ("1001", "-1", "x", "9" * 30):
        assert asked(app, "/api/v1/taken", b"", headers={"content-length": length})[0] == 413
    assert asked(app, "/api/v1/taken", parts=[b" " * 600] * 2, headers=kind)[0] == 413
    assert asked(app, "/api/v1/taken", parts=[b'{"taken":', b"true}"], headers=kind)[0] == 200


def test_a_request_that_does_not_end_is_let_go():
    app = service(timeout_s=0.05)
    kind = {"content-type": "application/json"}

    async def silence():
        await asyncio.sleep(60)

    got = []

    async def send(message):
        got.append(message)

    scope = {"type": "http", "method": "POST", "path": "/api/v1/taken", "client": None,
             "headers": [(b"host", b"localhost"), *((k.encode(), v.encode())
                                                    for k, v in kind.items())]}  # fmt: skip
    asyncio.run(app(scope, silence, send))
    assert got[0]["status"] == 408


def test_a_client_has_so_many_requests_a_second_and_one_that_is_refused_no_more():
    app = service(rate=3.0)
    assert [asked(app, "/healthz")[0] for _ in range(4)] == [200, 200, 200, 429]
    assert asked(app, "/healthz", client=("10.0.0.2", 5))[0] == 200
    app = service(rate=3.0, tokens=TOKENS)
    guesses = [asked(app, "/metrics", headers={"authorization": f"Bearer {k}"})[0] for k in "abcd"]
    assert guesses == [401, 401, 401, 429]
    assert asked(app, "/metrics", headers=SITES)[0] == 200
    limit = RateLimit(1.0)
    assert all(limit.take(str(k), 0.0) for k in range(MOST_CLIENTS + 5))
    assert len(limit._left) == MOST_CLIENTS


def test_nothing_of_a_page_comes_from_elsewhere_and_no_data_is_taken_for_a_page():
    for path in ("/", "/page.js", "/api/v1/state", "/nothing"):
        headers = asked(service(), path)[1]
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'"
        )
        assert (headers["x-frame-options"], headers["referrer-policy"]) == ("DENY", "no-referrer")
    assert asked(service(), "/..%2f..%2fetc/passwd")[0] == 404
    for name in ("page.js", "charts.js"):
        text = files("rheostat.service").joinpath("page", name).read_text()
        parses = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|srcdoc"
        assert re.findall(parses, text) == []  # names of jobs are text, whatever they hold


def test_tokens_are_in_a_file_that_only_its_owner_writes(tmp_path):
    path = tmp_path / "tokens"
    token = add_token(path, "user", "alice")
    assert path.stat().st_mode & 0o777 == 0o600
    assert token not in path.read_text()
    assert allowed(token, read_tokens(path)).user == "alice"
    path.chmod(0o620)
    with pytest.raises(DataError, match="only you can write"):
        read_tokens(path)
    path.chmod(0o600)
    path.write_text("x site a\n" + "0" * 64 + " root a\n")
    with pytest.raises(DataError) as told:
        read_tokens(path)
    assert len(told.value.problems) == 2
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="link"):
        add_token(tmp_path / "link", "site", "b")
    with pytest.raises(DataError, match="--new-token"):
        add_token(path, "site", "a\n" + "0" * 64 + " site b")


@pytest.mark.parametrize("drips", [False, True])
def test_a_connection_without_a_request_is_closed(monkeypatch, drips):
    """And one that sends its head a letter at a time."""
    monkeypatch.setattr(timed_connection, "HEAD_S", 0.3)
    with (
        suppress(BrokenPipeError, ConnectionResetError) if drips else nullcontext(),
        _listening(service()) as address,
        socket.create_connection(address, timeout=0.05) as client,
    ):
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        heard = b""
        while not heard.endswith(b"}"):
            heard += _heard(client)
        for _ in range(600):
            if drips:
                client.sendall(b"G")
            if not _heard(client, closed=b""):
                break
        else:
            raise AssertionError("still open")


def test_who_was_told_that_it_is_no_http_is_not_answered_again():
    """The head is one, what follows is not: both came before anything could be answered."""
    failed = []

    async def app(scope, receive, send):
        try:
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        except Exception as error:
            failed.append(error)
            raise

    with _listening(app) as address, socket.create_connection(address, timeout=20) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")
        heard = b""
        while got := client.recv(1000):
            heard += got
    assert heard.startswith(b"HTTP/1.1 400 ")
    assert heard.count(b"HTTP/1.1 ") == 1
    assert failed == []


@contextmanager
def _listening(app):
    """The address of a server with connections of ours."""
    uvicorn = pytest.importorskip("uvicorn")
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=timed_connection.TimedConnection, ws="none",
                            lifespan="off", log_level="critical", timeout_keep_alive=0)  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(20)


def _heard(client, closed=None):
    """What came, a letter where nothing did."""
    try:
        got = client.recv(1000)
    except TimeoutError:
        return b"" if closed is None else b"-"
    return got
