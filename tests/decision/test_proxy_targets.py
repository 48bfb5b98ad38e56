"""What a client can have the proxy ask: raw requests, byte by byte, and addresses of servers."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from rheostat.decision.serving.request_target import checked_target, is_this_machine
from rheostat.decision.serving.upstream import Upstream
from rheostat.errors import DataError
from rheostat.questions.serving_proxy import host_names, serving_proxy

pytest.importorskip("httpcore2", reason="the extra proxy is not installed")
pytest.importorskip("httpx2", reason="no client to ask with is installed")
pytest.importorskip("uvicorn", reason="the extra proxy is not installed")
from tests.decision.test_proxy_messages import CHAT, Client, asked, proxy, refusal, request
from tests.decision.test_serving_proxy import Script, front, listening

REFUSED = [
    b"http://HOST/v1/models", b"%2F@HOST/x", b"@HOST/x", b"v1/models", b"*", b"HOST",
    b"//HOST/v1/models", b"/\\HOST/v1/models", b"///x", b"/../tenantB/v1/models",
    b"/v1/../../tenantB", b"/%2e%2e/tenantB", b"/.%2E/tenantB", b"/%2e%2e%2ftenantB",
    b"/..%2ftenantB", b"/..%5ctenantB", b"/..\\tenantB", b"/%252e%252e/tenantB",
    b"/%25252e%25252e%25252ftenantB", b"/..;a=b/tenantB", b"/v1/..", b"/v1#/..", b"/v1?x#y",
    b"/" + b"a" * 9000, b"/v1/%00", b"/v1/%2500x", b"/v1?x=%00", b"/v1/%0d%0aHost:x",
]  # fmt: skip
PASSED = [
    b"/v1/models", b"/v1/models/a%2Fb%3Fc?x=%20&y=../..", b"/v1//models", b"/v1/@HOST/..x", b"/",
    b"/v1/a..b/...", b"/%zz",
]  # fmt: skip


async def answer_to(url: str, raw: bytes) -> tuple[int, bytes]:
    """Status and all else that comes back for these bytes until nothing comes any more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
    writer.write(raw)
    got = await asyncio.wait_for(reader.read(), 60.0)
    writer.close()
    return int(got.split(b" ")[1]), got


def test_no_target_leads_to_another_host_or_out_of_the_prefix() -> None:
    """Absolute forms, ``@``, ``//``, ``..``, encoded once and often, backslashes; raw."""
    seen, elsewhere, script = [], [], Script()

    async def app(scope, receive, send):
        seen.append((scope["raw_path"], dict(scope["headers"])[b"host"]))
        await script.reply(send, 200, b"{}")

    async def other(scope, receive, send):
        elsewhere.append(scope["raw_path"])

    async def run():
        async with (
            listening(app) as url, listening(other) as evil, front(f"{url}/tenantA") as (_, client)
        ):  # fmt: skip
            host = evil.removeprefix("http://").encode()
            at = str(client.base_url).rstrip("/")
            for target in [*REFUSED, *PASSED]:
                raw = b"GET %s HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n" % (
                    target.replace(b"HOST", host), host)  # fmt: skip
                status, got = await answer_to(at, raw)
                assert status == (400 if target in REFUSED else 200), target
                assert (b"invalid_request_error" in got) == (target in REFUSED)
            return url.removeprefix("http://").encode(), host

    address, host = asyncio.run(run())
    assert elsewhere == []
    sent = [b"/tenantA" + t.partition(b"?")[0].replace(b"HOST", host) for t in PASSED]
    assert seen == [(path, address) for path in sent]


@pytest.mark.parametrize(("head", "version"), [
    (b"content-length: 4\r\ntransfer-encoding: chunked", "1.1"),
    (b"transfer-encoding: chunked\r\ncontent-length: 4", "1.1"),
    (b"transfer-encoding: chunked", "1.0"),
])  # fmt: skip
def test_a_request_with_two_ends_is_refused_and_its_connection_closed(head, version) -> None:
    """What follows may be meant as a request by another reader: it is not read."""
    script = Script()

    async def run():
        async with listening(script) as url, front(url) as (_, client):
            raw = (b"POST %s HTTP/%s\r\nhost: a\r\n%s\r\n\r\n0\r\n\r\nGET /v1/models HTTP/1.1\r\n"
                   b"host: a\r\n\r\n" % (CHAT.encode(), version.encode(), head))  # fmt: skip
            return await answer_to(str(client.base_url).rstrip("/"), raw)

    status, got = asyncio.run(run())
    assert status == 400
    assert got.count(b"HTTP/1.1 ") == 1
    assert (b"connection: close" in got) == (version == "1.1")  # of 1.0 every one is closed
    assert script.begun == []


@pytest.mark.parametrize(("host", "status"), [
    (b"evil.com", 403), (b"evil.com:8100", 403), (b"127.0.0.1.evil.com", 403), (b"0.0.0.0", 403),
    (b"localhost", 200), (b"127.0.0.1:8100", 200), (b"[::1]:8100", 200), (b"GPU7:80", 200),
    (b"[::1", 400), (b"\xff", 400), (b"", 400), (b"evil@127.0.0.1", 400), (b"127.0.0.1/", 400),
    (b"127.0.0.1:8100:1", 400), (b"127.0.0.1:x", 400), (b"127.0.0.1#@evil.com", 400),
])  # fmt: skip
def test_at_an_address_of_this_machine_host_must_name_it(host, status) -> None:
    """A page whose name resolves to 127.0.0.1 asks with its own name (DNS rebinding)."""
    client = Client(b"{}")
    front = proxy(client, hosts=host_names("127.0.0.1", ["gpu7"]))
    for path, method in ((CHAT, "POST"), ("/metrics", "GET")):
        sent = asked(front, request(), path=path, method=method, more=[(b"host", host)])
        assert sent[0]["status"] == status
    assert len(client.asked) == (status == 200)
    assert host_names("::1", []) == []
    assert host_names("0.0.0.0", ["a"]) is None  # others are to reach it, by any name
    assert asked(proxy(client), request(), more=[(b"host", host)])[0]["status"] == 200


def test_metrics_are_ours_and_ask_nobody() -> None:
    client = Client(b"{}")
    start, body = asked(proxy(client), path="/metrics", method="GET")
    assert start["status"] == 200
    assert b"rheostat_proxy_waiting 0" in body["body"]
    assert client.asked == []


@pytest.mark.parametrize("status", [101, 199, 600, 999])
def test_what_is_no_answer_is_an_error_of_ours(status) -> None:
    client = Client(b"x", status=status)
    start, document = refusal(proxy(client))
    assert (start["status"], document["type"]) == (503, "server_failed")
    assert client.closed == 1


@pytest.mark.parametrize("first", [
    b"200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nSTOLEN",
    b"204 No Content\r\ncontent-length: 5\r\n\r\nhello",
])  # fmt: skip
def test_what_a_server_sends_beyond_its_answer_reaches_nobody(first, caplog) -> None:
    """Bytes behind an answer would be the answer to whoever asks next on this connection."""
    opened = []

    async def odd(reader, writer):
        opened.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                good = b"200 OK\r\ncontent-length: 4\r\n\r\nmine"
                writer.write(b"HTTP/1.1 " + (first if b"/first" in head else good))

    async def run():
        server = await asyncio.start_server(odd, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, front(address) as (_, client):
            answers = [await client.get(path) for path in ("/first", "/second", "/third")]
        for writer in opened:
            writer.close()
            await writer.wait_closed()
        return answers

    answers = asyncio.run(run())
    assert [a.status_code for a in answers] == [int(first[:3]), 200, 200]
    assert [a.text for a in answers[1:]] == ["mine", "mine"]
    assert ("content-length" in answers[0].headers) == (first[:3] != b"204")
    assert len(opened) == 2  # the first is closed, the second serves both that ask later
    assert caplog.text.count("sent more than its answer: its connection is closed") == 1


def test_an_answer_without_an_end_is_not_held(monkeypatch) -> None:
    monkeypatch.setattr("rheostat.decision.serving.proxy_messages.MOST_HELD", 10)
    sent = asked(proxy(Client(b"[" * 8, b"[" * 8, b"]" * 8)), request())
    assert [m["body"] for m in sent[1:]] == [b"[" * 16, b"]" * 8, b""]


def test_user_and_password_of_an_address_go_into_a_header_alone() -> None:
    server = Upstream.at("https://me:s%40cret@gpu7/tenant/v1/")
    assert str(server) == "https://gpu7/tenant"
    assert "cret" not in repr(server)
    assert server.authorization == b"Basic bWU6c0BjcmV0"
    made = server.request("GET", b"/v1/models", [(b"authorization", b"Bearer mine")], b"", 9.0)
    assert made.headers == [(b"host", b"gpu7"), (b"accept-encoding", b"identity"),
                            (b"authorization", b"Basic bWU6c0BjcmV0")]  # fmt: skip
    assert (made.url.host, made.url.port, made.url.target) == (b"gpu7", 443, b"/tenant/v1/models")
    assert Upstream.at("http://[::1]:9").named == b"[::1]:9"
    with pytest.raises(DataError) as caught:
        serving_proxy(["http://me:hush@h/v1?x=1", "me:hush@h"], "", None, 1, 1, 9.0, 999)
    assert "hush" not in str(caught.value)
    assert "http://***@h/v1?x=1" in str(caught.value)


@pytest.mark.parametrize("upstream", [
    "http://", "localhost:8000", "http://h:99999", "http://a b/", "ftp://x", "http://h/v1?x=1",
    "http://h:0", "http://[::1", "http://h/../x", "http://h/a\\b", "http://h/%2e%2e",
    "http://h/\u00e9", "",
])  # fmt: skip
def test_an_upstream_is_an_address(upstream) -> None:
    with pytest.raises(DataError, match="expected http://HOST:PORT"):
        serving_proxy([upstream], "", None, 1, 1, 9.0, 999)


def test_paths_are_what_they_are_after_any_decoding() -> None:
    for path in (b"/%" + b"25" * 900 + b"2e./x", b"/a/%2E%2e%5c"):
        with pytest.raises(ValueError, match="expected a path without"):
            checked_target(path)
    assert checked_target(b"/a%2F..b") == b"/a%2F..b"
    assert not is_this_machine(b"localhost.evil.com")
    assert is_this_machine(b"a.localhost:1")


def test_path_and_query_together_have_8_kib_at_most() -> None:
    path, query = b"/" + b"a" * 4095, b"q" * 4096
    assert checked_target(path, query) == path + b"?" + query
    with pytest.raises(ValueError, match="expected 8192 bytes of path and query at most"):
        checked_target(path, query + b"q")
