"""Small answers leave at once: no connection waits 40 ms for an acknowledgement."""

from __future__ import annotations

import socket

from rheostat.questions.serving_proxy import listening_socket


def test_what_is_accepted_sends_small_parts_at_once() -> None:
    listening = listening_socket("127.0.0.1", 0)
    with listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
