"""What is computed in 32 bits, or by digits of which there are so many: how near to their end.

A sum that the next input may carry beyond an ``int``, and digits that leave out the bits which no
input had until now: neither is a conversion, and no output shows it before it happens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rheostat.measurement.code.reached.constant_values import (
    NAME,
    NEAR,
    RECORD,
    At,
    Narrowing,
    bounds,
)
from rheostat.measurement.code.reached.room import Noted

MADE = re.compile(
    rf"\s*(?P<value>{NAME}) = (?P<how>add|sub|mul) nsw i32 "
    rf"(?P<one>{NAME}), (?P<other>{NAME})(?:, !.*)?$"
)
LOADED = re.compile(r"load i32, ptr ([^\s,]+)")
DIGIT = re.compile(
    rf"\s*{NAME} = (?P<how>and|[su]rem) i(?P<bits>\d+) "
    rf"(?P<value>{NAME}), (?P<by>{NAME}|\d+)(?:, !.*)?$"
)
SHIFTED = re.compile(
    rf"(?P<how>[al]shr|[su]div) i\d+ (?P<value>{NAME}), (?P<by>{NAME}|\d+)(?:, !.*)?$"
)
MOST = 2**31 - 1
LEAST_COUNTED = 255
"""Summands up to it only count."""
DECLARED = ("declare void @rheostat_reached_digit(i32, i64, i64, i64, i32)",)


@dataclass(frozen=True)
class Digits(Narrowing):
    """A whole number that is taken apart into digits: how far they go, and how large it came."""

    def finding(self, kept: bytes) -> str:
        """What is to be said where the next input may have a digit more.

        >>> Digits(("a.c", 1, 1), 0, 0, 0).finding(RECORD.pack(-131072, 130500, 9, 1))
        'values up to 130,500 are taken apart into digits that end at 131,071'
        """
        end = self.end(kept)
        _, most, _, runs = RECORD.unpack_from(kept, self.number * RECORD.size)
        if runs != 1 or not NEAR * end < most < end:
            return ""
        return f"values up to {most:,} are taken apart into digits that end at {end - 1:,}"

    def end(self, kept: bytes) -> int:
        """The first number that has more digits, by what runs kept."""
        return -int(RECORD.unpack_from(kept, self.number * RECORD.size)[0])

    def is_known(self, kept: bytes, numbers: Collection[int]) -> bool:
        """Whether a mask or shift of the original says that no value goes beyond the digits.

        >>> said = RECORD.pack(-65536, 65530, 9, 1)
        >>> [Digits(("a.c", 1, 1), 0, 0, 0).is_known(said, [n]) for n in (65535, 48, 47)]
        [True, True, False]
        """
        end = self.end(kept)
        bits = (end - 1).bit_length()
        shifts = {64 - bits, 32 - bits} if end == 1 << bits else set()
        return bool({end, end - 1, *shifts} & set(numbers))


def noted_sums(
    row: str, at: At, number: int, defined: Mapping[str, str], rows: Sequence[str]
) -> Iterator[Noted]:
    """What is to be kept of a sum of 32 bits, or of a number of which a row takes a digit.

    Parameters
    ----------
    row : str
        An instruction.
    at : tuple
        Its place.
    number : int
        For what is kept.
    defined : mapping of str to str
        What each value of the function is.
    rows : sequence of str
        The function.
    """
    if (m := MADE.match(row)) and _grows(m, defined, rows):
        yield Narrowing(at, -MOST - 1, MOST, number), _wide(m, number), []
    elif (m := DIGIT.match(row)) and (of := SHIFTED.match(defined.get(m["value"], ""))):
        by_parts = m["how"] == "and"
        fits = bounds(defined.get(of["value"], ""))[1] < float("inf")
        if by_parts == of["how"].endswith("shr") and int(m["bits"]) <= 64 and not fits:
            yield Digits(at, 0, 0, number), _digit(m, of, number), []


def _grows(m: re.Match[str], defined: Mapping[str, str], rows: Sequence[str]) -> bool:
    """Whether it is added to what it is stored to, or is made wide only afterwards."""
    value = re.escape(m["value"])
    sides = [defined.get(m[s], "") for s in ("one", "other")]
    if min(bounds(s)[1] for s in sides) <= LEAST_COUNTED and m["how"] != "mul":
        return False
    places = [re.escape(p[1]) for s in sides if (p := LOADED.match(s))]
    stored = [rf"\s*store i32 {value}, ptr {p}(?:,|$)" for p in places if m["how"] == "add"]
    wider = rf"\s*%conv\S* = sext i32 {value} to i64"
    return any(re.match(pattern, row) for row in rows for pattern in (*stored, wider))


def _wide(m: re.Match[str], number: int) -> list[str]:
    """The same in 64 bits."""
    word = f"%rheostat_value.{number}"
    return [
        f"  {word}.one = sext i32 {m['one']} to i64",
        f"  {word}.other = sext i32 {m['other']} to i64",
        f"  {word} = {m['how']} i64 {word}.one, {word}.other",
        f"  call void @rheostat_reached_value(i32 {number}, i64 {word})",
    ]


def _digit(m: re.Match[str], of: re.Match[str], number: int) -> list[str]:
    """The number, by what it is shifted or divided, and what of that is left."""
    word, kind = f"%rheostat_value.{number}", f"i{m['bits']}"
    made, wide = [], []
    for name, value in (("whole", of["value"]), ("by", of["by"]), ("mask", m["by"])):
        narrow = kind != "i64" and value.startswith("%")
        if narrow:
            made.append(f"  {word}.{name} = sext {kind} {value} to i64")
        wide.append(f"i64 {word}.{name}" if narrow else f"i64 {value}")
    divided = int(m["how"] != "and")
    given = ", ".join([f"i32 {number}", *wide, f"i32 {divided}"])
    return [*made, f"  call void @rheostat_reached_digit({given})"]
