"""How batch systems write numbers, durations, memory, moments and lists of hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

FORMS = ("%a %b %d %H:%M:%S %Y", "%b %d %H:%M:%S %Y", "%b %d %H:%M %Y", "%m/%d/%Y %H:%M:%S",
         "%m/%d/%Y %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")  # fmt: skip
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(?:s|seconds?(?:\(s\))?|second\(s\))?")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B|bytes|bytes?|W)?", re.IGNORECASE)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def number(value: Any) -> float | None:
    """A number or a text of one; None for anything else.

    >>> number("12"), number(3.5), number(True), number("x"), number(None)
    (12.0, 3.5, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        read = float(value)
    except (ValueError, OverflowError):
        return None
    return read if abs(read) < 1e300 else None


def count(value: Any) -> int | None:
    """A whole number above 0.

    >>> count("64"), count(0), count("1.5"), count("n1")
    (64, None, None, None)
    """
    read = number(value)
    return int(read) if read is not None and read == int(read) and 0 < read < 2**53 else None


def length_s(value: Any) -> float | None:
    """Seconds of a duration as 100:00:00, 1:02:03:04, 25s, 25 second(s), 25.

    >>> length_s("100:00:00"), length_s("1:00:00:01"), length_s("25 second(s)"), length_s("25s")
    (360000.0, 86401.0, 25.0, 25.0)
    >>> length_s(7), length_s("soon")
    (7.0, None)
    """
    text = str(value).strip()
    if re.fullmatch(r"\d+(:\d+){1,3}(\.\d+)?", text):
        parts = [float(p) for p in reversed(text.split(":"))]
        return sum(p * s for p, s in zip(parts, (1, 60, 3600, 86400), strict=False))
    match = _LENGTH.fullmatch(text)
    return float(match[1]) if match else None


def memory_b(value: Any) -> float | None:
    """Bytes, where kb and Gbytes are powers of 1024 as all of these systems count.

    >>> memory_b("2097152kb"), memory_b("2 Gbytes"), memory_b("2.5G"), memory_b("-")
    (2147483648.0, 2147483648.0, 2684354560.0, None)
    """
    match = _MEMORY.fullmatch(str(value).strip())
    return float(match[1]) * 1024.0 ** _POWER[match[2].upper()] if match else None


def moment_s(value: Any, zone: ZoneInfo) -> float | None:
    """Seconds since 1970, of a number of them or of a date on the site's clock; 0 is never.

    >>> utc = ZoneInfo("UTC")
    >>> moment_s("Tue Sep  1 08:00:00 2026", utc), moment_s(1788249600, utc), moment_s("-/-", utc)
    (1788249600.0, 1788249600.0, None)
    """
    if (seconds := number(value)) is not None:
        return seconds if seconds > 0 else None
    text = " ".join(str(value).split())
    for form in FORMS:
        try:
            when = datetime.strptime(text, form).replace(tzinfo=zone).timestamp()
        except (ValueError, OverflowError):
            continue
        return when if when > 86400 else None  # a job that never started has 1970
    return None


def hosts(value: Any) -> int | None:
    """How many different hosts a list names: n1/0*64+n2/0, 64*n1:64*n2, or a JSON list.

    >>> hosts("n1/0*64+n2/0*64+n1/1"), hosts("64*n1:64*n2:n3"), hosts(["n1", "n2"]), hosts("")
    (2, 3, 2, None)
    """
    names = value if isinstance(value, list) else re.split(r"[+:\s]+", str(value or ""))
    return len({re.sub(r"^\d+\*|/.*$", "", str(n)) for n in names} - {"", "-"}) or None


def inner(record: Mapping[str, Any], *path: str) -> Any:
    """A value within objects; None where one of them is missing."""
    value: Any = record
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
