"""What has to fit: values that a narrower type, a mask or a remainder keeps, how near they came.

A value that comes near the end of what is kept, and is another one with each input, may pass it
with the next.  One that many inputs share is a bound of the data, and one that passes the end is
cut on purpose, as the output is right.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

NAME = r'%(?:[-\w.$]+|"[^"]*")'
CONVERTED = re.compile(
    rf"\s*{NAME} = (?P<how>trunc|fpto[su]i|fptrunc|[su]itofp) (?P<type>i\d+|float|double) "
    r"(?P<value>\S+) to (?P<to>i\d+|float|double)(?:,.*)?$"
)
CUT = re.compile(
    rf"\s*{NAME} = (?P<how>and|urem|srem) (?P<type>i\d+) (?P<value>\S+), (?P<by>\d+)(?:, !.*)?$"
)
BOUNDED = re.compile(
    r"(?P<how>lshr|and|urem|srem|zext|sext) (?:exact )?i(?P<bits>\d+) \S+(?:,| to) (?P<by>i?\d+)"
)
WHOLE = {"float": 2**24, "double": 2**53}
"""Up to where floats hold every whole number."""
LEAST_CUT, NEAR = 7, 0.75
"""Smaller masks and remainders choose; from which share of the most a value is near it."""
RECORD = struct.Struct("4q")
At = tuple[str, int, int]


@dataclass(frozen=True)
class Narrowing:
    """Where values are kept, the least and most that fit, and its number among all.

    ``rounds``: a float is asked whether it is the value itself; ``counts``: what goes round in it
    does not do so on purpose, also on a line that the original has with a wider one.
    """

    at: At
    least: int
    most: int
    number: int
    rounds: bool = False
    counts: bool = False

    def finding(self, kept: bytes) -> str:
        """What is to be said of the values that runs kept; empty if nothing is.

        >>> near = RECORD.pack(0, 31871, 9, 1)
        >>> Narrowing(("a.c", 3, 1), -32768, 32767, 0).finding(near)[:41]
        'values up to 31,871 are kept where 32,767'
        >>> Narrowing(("a.c", 3, 1), -32768, 32767, 0).finding(RECORD.pack(0, 31871, 9, 2))
        ''
        """
        least, most, least_in, most_in = RECORD.unpack_from(kept, self.number * RECORD.size)
        if self.rounds:
            return "a value is rounded to a float here" if most else ""
        if least < self.least or most > self.most:
            return ""
        for value, end, runs in ((most, self.most, most_in), (-least, -self.least, least_in)):
            if value > NEAR * end > 0 and runs == 1:
                return f"values up to {value:,} are kept where {end:,} is the most there can be"
        return ""


def narrowing(
    row: str, at: At, number: int, defined: Mapping[str, str], code: str
) -> Narrowing | None:
    """What a row of LLVM's text keeps of a value; None where all values fit.

    Parameters
    ----------
    row : str
        An instruction.
    at : tuple
        Its place.
    number : int
        For the narrowing.
    defined : mapping of str to str
        What each value of the function is.
    code : str
        The whole text: whether what is kept is read with a sign.
    """
    if m := CONVERTED.match(row):
        rounds = m["how"] == "fptrunc"
        least, most = (0, 0) if rounds else _range(m, code)
    elif m := CUT.match(row):
        rounds, most = False, int(m["by"]) - (m["how"] != "and")
        least = -most if m["how"] == "srem" else 0
        if most < LEAST_CUT or (m["how"] == "and" and most & (most + 1)):
            return None
    else:
        return None
    low, high = bounds(defined.get(m["value"], ""))
    fits = not rounds and least <= low and high <= most
    return None if fits else Narrowing(at, least, most, number, rounds)


def _range(m: re.Match[str], code: str) -> tuple[int, int]:
    to = m["to"]
    if to in WHOLE:
        return -WHOLE[to], WHOLE[to]
    bits = int(to[1:])
    signed = m["how"] == "fptosi" or (m["how"] == "trunc" and f"sext {to} " in code)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def bounds(said: str) -> tuple[float, float]:
    """Between what a value lies by the instruction that makes it.

    >>> bounds("lshr i64 %s, 33"), bounds("zext i8 %c to i32"), bounds("load i32, ptr %p")
    ((0, 2147483647), (0, 255), (-inf, inf))
    """
    m = BOUNDED.match(said)
    if not m or (m["how"] in ("zext", "sext")) != m["by"].startswith("i"):
        return -float("inf"), float("inf")
    bits = int(m["bits"])
    if m["how"] == "sext":
        return -(1 << bits - 1), (1 << bits - 1) - 1
    by = bits if m["how"] == "zext" else int(m["by"])
    if m["how"] in ("zext", "lshr"):
        return 0, (1 << (by if m["how"] == "zext" else bits - by)) - 1
    return (1 - by if m["how"] == "srem" else 0), by - (m["how"] != "and")


def kept(row: str, made: Narrowing) -> Iterator[str]:
    """The instructions that note a value: to stand before the row."""
    m = CONVERTED.match(row) or CUT.match(row)
    assert m
    value, kind, word = m["value"], m["type"], f"%rheostat_value.{made.number}"
    if kind in WHOLE:
        if kind == "float":
            yield f"  {word} = fpext float {value} to double"
            value = word
        name = "rounded" if made.rounds else "real"
        yield f"  call void @rheostat_reached_{name}(i32 {made.number}, double {value})"
        return
    if kind != "i64":
        wider = "trunc" if int(kind[1:]) > 64 else "zext" if m["how"] == "uitofp" else "sext"
        yield f"  {word} = {wider} {kind} {value} to i64"
        value = word
    yield f"  call void @rheostat_reached_value(i32 {made.number}, i64 {value})"


DECLARED = (
    "declare float @llvm.floor.f32(float)",
    "declare double @llvm.floor.f64(double)",
    "declare void @rheostat_reached_value(i32, i64)",
    "declare void @rheostat_reached_real(i32, double)",
    "declare void @rheostat_reached_rounded(i32, double)",
)
