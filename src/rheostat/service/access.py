"""Who may ask: tokens, kept as hashes in a file that nobody else can write."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rheostat.core.storage.bounded_read import checked_size
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError

MOST_TOKENS = 1000
SITE, USER = "site", "user"


@dataclass(frozen=True)
class TokenAccess:
    """What a token allows.

    Parameters
    ----------
    digest : str
        SHA-256 of the token, in hexadecimal digits.
    scope : str
        "site" asks every question of all jobs, "user" of the jobs of ``name`` alone.
    name : str
        A user of the log, or what a token of the site is for.
    """

    digest: str
    scope: str
    name: str

    @property
    def user(self) -> str:
        """Whose jobs alone are seen; empty: everybody's."""
        return self.name if self.scope == USER else ""


EVERYBODY = TokenAccess("", SITE, "")


def digest_of(token: str) -> str:
    """What is kept of a token.  It has 256 random bits, so no slow hash is needed.

    >>> digest_of("abc")[:8]
    'ba7816bf'
    """
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def allowed(token: str, known: Sequence[TokenAccess]) -> TokenAccess | None:
    """The access of a token, compared with every digest in the same time; None for no such token.

    >>> one = TokenAccess(digest_of("secret"), "user", "alice")
    >>> allowed("secret", [one]).user, allowed("secre", [one])
    ('alice', None)
    """
    given, held = digest_of(token), None
    for access in known:
        if hmac.compare_digest(given, access.digest):
            held = access
    return held


def read_tokens(path: Path) -> tuple[TokenAccess, ...]:
    """The accesses of a file: lines of digest, scope and name.

    Raises
    ------
    DataError
        Others may write to it, or a line is none; all at once.
    """
    ordinary_file(path)
    checked_size(path)
    seen = path.stat()
    if seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or seen.st_uid not in (0, os.getuid()):
        raise DataError(str(path), ["expected a file that only you can write: chmod 600"])
    text = path.read_text("utf-8", "replace")
    lines = [x for x in text.splitlines() if x.strip() and not x.startswith("#")]
    problems, made = [], []
    for number, line in enumerate(lines[: MOST_TOKENS + 1], 1):
        parts = line.split(maxsplit=2)
        good = len(parts) == 3 and len(parts[0]) == 64 and parts[1] in (SITE, USER)
        if good and set(parts[0]) <= set("0123456789abcdef"):
            made.append(TokenAccess(*parts))
        else:
            problems.append(f"line {number}: expected SHA256 site|user NAME")
    if len(lines) > MOST_TOKENS:
        problems.append(f"expected at most {MOST_TOKENS:,} tokens, got {len(lines):,}")
    if not lines:
        problems.append("has no token: rheostat serve --new-token NAME adds one")
    if problems:
        raise DataError(str(path), problems)
    return tuple(made)


def add_token(path: Path, scope: str, name: str) -> str:
    """Make a token, append its digest to the file, and return the token, which is kept nowhere."""
    if not name.strip() or not name.isprintable() or len(name) > 200 or "\n" in name:
        raise DataError("--new-token", [f"expected a name, got {name[:80]!r}"])
    token = secrets.token_urlsafe(32)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(f"{digest_of(token)} {scope} {name}\n")
    return token
