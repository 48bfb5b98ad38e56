"""Numbers of a program: of its text, and those that its compiler makes of macros and products."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rheostat.measurement.code.reached.source_places import Places

COMPARED = re.compile(r"\s*%\S+ = icmp \w+ i\d+ ([^\s,]+), ([^\s,]+)")
NUMBER = re.compile(
    r"(?<![\w.])(?P<one>0[xX][\da-fA-F]{1,8}|[1-9]\d{0,8})(?:[uUlL]{0,3}|\.0*[fF]?)(?![\w.])"
    r"(?:\s{0,9}(?P<how>\*|<<)\s{0,9}(?P<other>0[xX][\da-fA-F]{1,8}|[1-9]\d{0,8})[uUlL]{0,3}(?![\w.]))?"
)
LEAST_NUMBER, MOST_SIZE, MOST_SHIFT = 3, 10**9, 31


def numbers_in(text: str) -> list[int]:
    """Whole numbers that stand in a text, and products and shifts of two beside both.

    >>> numbers_in("if (n > 16 * 1024u || n == 0x1F) m = 1 << 3; x = n / 4096.0 + 0.5;")
    [16384, 16, 1024, 31, 8, 1, 3, 4096]
    """
    made = []
    for m in NUMBER.finditer(text):
        parts = [int(n, 0) for n in (m["one"], m["other"]) if n]
        if m["how"] == "*":
            made.append(parts[0] * parts[1])
        elif m["how"] and parts[1] < MOST_SHIFT:
            made.append(parts[0] << parts[1])
        made += parts
    return [n for n in made if n <= MOST_SIZE]


def numbers_compared(code: str, files: Mapping[str, str]) -> set[int]:
    """Whole numbers that rows of a program's own files compare with.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised, with lines.
    files : mapping of str to str
        The program's own files.
    """
    place = Places(code, files).of
    return {int(n) for row in code.splitlines() if (m := COMPARED.match(row)) and place(row)
            for n in m.groups() if n.isdecimal()}  # fmt: skip
