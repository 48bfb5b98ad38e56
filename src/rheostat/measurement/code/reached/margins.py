"""Margins of comparisons: ``x > most * 1.000001``, ``fabs(d) < 1e-12``.

Where no input came within the margin, no output vouches for it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

CLOSE, TINY = 0.01, 1e-3
"""How far from 1 a factor, and from 0 a summand or a bound, is a margin."""
CHANGED = re.compile(
    r"f(?P<how>add|sub|mul|div) (?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
    r"\w+ (?P<value>%[^\s,]+), (?P<by>[-+.\w]+?)(?:, !.*)?$"
)
ONE_SIDED = {"lt": "ole", "le": "ole", "gt": "ogt", "ge": "ogt"}
NEGATIVE = {"lt": "olt", "le": "olt", "gt": "oge", "ge": "oge"}


def without_margin(m: re.Match[str], defined: Mapping[str, str]) -> tuple[str, str]:
    """The comparison without its margin, as an instruction, and how to say so.

    Parameters
    ----------
    m : re.Match
        A comparison.
    defined : mapping of str to str
        What each value of the function is.

    Returns
    -------
    tuple of str
        Both empty where there is no margin.
    """
    how, sides = m["how"][-2:], [m["one"], m["other"]]
    if m["type"] not in ("float", "double") or how not in ONE_SIDED:
        return "", ""
    for k, side in enumerate(sides):
        changed = CHANGED.match(defined.get(side, ""))
        number = _number(changed["by"]) if changed else None
        if changed and number is not None and _is_margin(changed["how"], number):
            sides[k] = changed["value"]
            return f"fcmp {m['how']} {m['type']} {', '.join(sides)}", f"without {number:g}"
    bound = _number(sides[1])
    if bound is None or not 0 < abs(bound) <= TINY:
        return "", ""
    zero = (ONE_SIDED if bound > 0 else NEGATIVE)[how]
    return f"fcmp {zero} {m['type']} {sides[0]}, 0.0", f"with 0 in place of {bound:g}"


def _is_margin(how: str, by: float) -> bool:
    if how in ("mul", "div"):
        return 0 < abs(by - 1) <= CLOSE
    return 0 < abs(by) <= TINY


def _number(text: str) -> float | None:
    """A constant as LLVM writes it.

    >>> _number("0x3FF000010C6F7A0B"), _number("1.0e-03"), _number("%x")
    (1.000001, 0.001, None)
    """
    if re.fullmatch(r"0x[\dA-F]{16}", text):
        return float(struct.unpack(">d", bytes.fromhex(text[2:]))[0])
    return float(text) if re.fullmatch(r"-?\d+\.\d+e[-+]\d+", text) else None
