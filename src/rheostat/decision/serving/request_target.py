r"""What a request may name: a path under a server's prefix, and this machine as its ``Host``.

A target is never joined to an address as text.  Its path is checked here as whatever reads it may
come to read it - percent-encodings resolved however often they were nested, ``\`` as ``/`` - and
goes on as it came, behind the server's prefix, to a host that no part of a request can change.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable
from urllib.parse import unquote_to_bytes

LONGEST = 8192
"""Bytes of a target, path and query."""
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")


def checked_target(path: bytes, query: bytes = b"") -> bytes:
    """The target of a request as it goes on: a ValueError says why there is none.

    Parameters
    ----------
    path, query
        As they came, percent-encodings and all; the query without its ``?``.

    Examples
    --------
    >>> checked_target(b"/v1/models/a%2Fb", b"x=%20")
    b'/v1/models/a%2Fb?x=%20'
    >>> checked_target(b"/v1/%252e%252e/admin")
    Traceback (most recent call last):
    ...
    ValueError: expected a path without '..', also percent-encoded
    """
    if len(path) + len(query) > LONGEST:
        raise ValueError(f"expected {LONGEST} bytes of path and query at most")
    if not path.startswith(b"/") or path[1:2] in (b"/", b"\\"):
        raise ValueError("expected a path that begins with one '/'")
    if b"#" in path + query:
        raise ValueError("expected no '#'")
    plain = path
    while (decoded := unquote_to_bytes(plain)) != plain:
        plain = decoded
    if CONTROL.search(plain) or b"\0" in unquote_to_bytes(query):
        raise ValueError("expected no control character, also percent-encoded")
    parts = plain.replace(b"\\", b"/").split(b"/")
    if any(part.partition(b";")[0] == b".." for part in parts):  # some servers drop ;parameters
        raise ValueError("expected a path without '..', also percent-encoded")
    return path + b"?" + query if query else path


def is_this_machine(host: bytes, names: Collection[str] = ()) -> bool:
    """Whether a ``Host`` names the machine that it is asked of, or is one of these names.

    A page of another site that has its own name resolve to 127.0.0.1 is so kept from asking.

    >>> [is_this_machine(h) for h in (b"localhost:8100", b"127.0.0.2", b"[::1]:8100", b"evil.com")]
    [True, True, True, False]
    >>> is_this_machine(b"GPU7:8100", ["gpu7"])
    True
    """
    if (named := HOST.fullmatch(host)) is None:
        return False
    name = named[1].decode().lower().strip("[]")
    if name in names or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def ambiguous_end(headers: Iterable[tuple[bytes, bytes]], http_version: str) -> bool:
    """Whether servers may disagree on where the request ends (RFC 9112, 6.1)."""
    names = {name.lower() for name, _ in headers}
    coded = b"transfer-encoding" in names
    return coded and (b"content-length" in names or http_version == "1.0")
