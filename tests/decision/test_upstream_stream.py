"""Bytes to and from a server: together, bounded, in time, encrypted, and what ends them."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess

import pytest

httpcore = pytest.importorskip("httpcore2", reason="the extra proxy is not installed")
streams = pytest.importorskip("rheostat.decision.serving.upstream_stream")
TOGETHER = streams.TOGETHER
NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"


class Transport:
    """Keeps what is written and whether reading is paused."""

    def __init__(self):
        self.sent, self.paused = [], False

    def write(self, data):
        self.sent.append(data)

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False


def made():
    stream, transport = streams.UpstreamStream(), Transport()
    stream.connection_made(transport)
    return stream, transport


def test_a_request_goes_out_in_one_piece_and_a_long_one_as_it_comes() -> None:
    async def run():
        stream, transport = made()
        await stream.write(b"head ")
        await stream.write(b"body")
        assert transport.sent == []
        stream.data_received(b"answer")
        assert await stream.read(3) + await stream.read(99) == b"answer"
        assert transport.sent == [b"head body"]
        await stream.write(b"x" * (TOGETHER + 1))
        assert len(transport.sent[1]) == TOGETHER + 1

    asyncio.run(run())


def test_a_server_sends_no_more_than_is_read() -> None:
    async def run():
        stream, transport = made()
        stream.data_received(b"x" * (TOGETHER + 2))
        assert transport.paused
        assert len(await stream.read(1)) == 1
        assert transport.paused
        await stream.read(1)
        assert not transport.paused

    asyncio.run(run())


def test_a_server_that_neither_sends_nor_takes_is_late() -> None:
    async def run():
        stream, _ = made()
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(9, timeout=0.01)
        stream.pause_writing()
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"x" * (TOGETHER + 1), timeout=0.01)
        writing = asyncio.ensure_future(stream.write(b"x" * (TOGETHER + 1)))
        await asyncio.sleep(0)
        stream.resume_writing()
        await writing

    asyncio.run(run())


def test_an_end_is_an_end_and_a_reset_an_error_once_what_came_is_read() -> None:
    async def run():
        ended, _ = made()
        ended.data_received(b"x")
        ended.eof_received()
        assert [await ended.read(9), await ended.read(9)] == [b"x", b""]
        reset, _ = made()
        reset.data_received(b"x")
        waits, _ = made()
        waiting = asyncio.ensure_future(waits.read(9))
        await asyncio.sleep(0)
        for stream in (reset, waits):
            stream.connection_lost(ConnectionResetError("reset"))
        assert await reset.read(9) == b"x"
        with pytest.raises(httpcore.ReadError, match="reset"):
            await reset.read(9)
        with pytest.raises(httpcore.ReadError, match="reset"):
            await waiting
        with pytest.raises(httpcore.WriteError, match="reset"):
            await reset.write(b"y")

    asyncio.run(run())


def test_what_comes_unasked_ends_a_connection_in_no_use() -> None:
    async def run():
        stream, _ = made()
        assert not stream.get_extra_info("is_readable")
        stream.data_received(b"x")
        assert stream.get_extra_info("is_readable")
        other, _ = made()
        other.eof_received()
        assert other.get_extra_info("is_readable")

    asyncio.run(run())


async def connections_to(context, client_context, host):
    """How many a server that speaks TLS has made, asked with a long body, then a short one."""
    made = []

    async def serve(reader, writer):
        made.append(writer)
        while head := await reader.readline():
            head += await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].split()[0])
            got = await reader.readexactly(size)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + got)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    try:
        async with httpcore.AsyncConnectionPool(
            ssl_context=client_context, network_backend=streams.UpstreamNetwork()
        ) as pool:
            for body in (b"abc" * 700_000, b"short"):
                answer = await pool.request("POST", f"https://{host}:{port}/", content=body)
                assert answer.content == body
        return len(made)
    finally:
        server.close()


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_an_encrypted_server_is_asked_over_one_connection_if_its_certificate_is_known(
    tmp_path, host
) -> None:
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost",
            "-addext", NAMES]  # fmt: skip
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    known = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    assert asyncio.run(connections_to(context, known, host)) == 1
    with pytest.raises(httpcore.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(connections_to(context, ssl.create_default_context(), host))
