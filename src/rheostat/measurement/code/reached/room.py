"""What has room for so much and no more: texts, arrays, whole numbers in floating point.

No run shows what the next input does where a text nearly fills what it is put into, where an
index comes near the end of an array of a fixed size, or where whole numbers are compared after a
division that not all of them survive apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rheostat.measurement.code.reached.constant_values import (
    CONVERTED,
    NAME,
    NEAR,
    RECORD,
    At,
    Narrowing,
    kept,
    narrowing,
)

PRINTED = re.compile(
    rf"\s*(?P<value>{NAME}) = (?:tail |notail )?call i32 \(ptr, (?P<sized>i64, )?ptr, \.\.\.\) "
    rf"@s(?P<n>n?)printf\(ptr (?:noundef )?(?P<place>{NAME}), (?:i64 (?:noundef )?(?P<size>\d+), )?"
    r"ptr [^,)]+(?P<fields>[^)]*)\)"
)
TO_CHARACTERS = re.compile(
    rf"\s*(?P<value>{NAME}) = (?:tail )?call \{{ ptr, i32 \}} @_ZSt8to_chars[^(]*"
    rf"\(ptr noundef {NAME}, ptr noundef (?P<end>{NAME}),"
)
OF_ARRAY = re.compile(
    rf"(?:{NAME} = )?getelementptr (?:inbounds )?\[(?P<count>\d+) x [^,]+, ptr [%@][^\s,]+, i64 0, "
    rf"i(?:64|32) (?P<index>0|{NAME})(?:, !.*)?$"
)
LEAST_ROOM, MOST_ROOM = 8, 4096
"""Lengths of arrays that may be a guess at how many there will be; longer ones are tables."""
Noted = tuple[Narrowing, list[str], list[str]]


@dataclass(frozen=True)
class TextRoom(Narrowing):
    """Characters that are printed into memory for so many; each of its fields may be longer."""

    fields: int = 0

    def finding(self, kept: bytes) -> str:
        """What is to be said where one character more of each field has no room.

        >>> TextRoom(("a.c", 1, 1), 0, 11, 0, fields=2).finding(RECORD.pack(3, 10, 1, 9))
        'texts of up to 10 characters are put where 11 fit'
        """
        _, most, _, runs = RECORD.unpack_from(kept, self.number * RECORD.size)
        near = runs and most <= self.most < most + self.fields
        return f"texts of up to {most} characters are put where {self.most} fit" if near else ""


@dataclass(frozen=True)
class CharactersRoom(Narrowing):
    """Characters that are left behind a number that ``std::to_chars`` writes."""

    def finding(self, kept: bytes) -> str:
        """What is to be said where one more digit has no room.

        >>> CharactersRoom(("a.cc", 1, 1), 0, 0, 0).finding(RECORD.pack(0, 1, 9, 9))
        'a number is written where one more digit has no room'
        """
        least, _, _, runs = RECORD.unpack_from(kept, self.number * RECORD.size)
        return "a number is written where one more digit has no room" if runs and least <= 0 else ""


@dataclass(frozen=True)
class ArrayRoom(Narrowing):
    """Indexes of an array of a fixed size."""

    def finding(self, kept: bytes) -> str:
        """What is to be said where the greatest index is another one with each input.

        >>> ArrayRoom(("a.c", 1, 1), 0, 63, 0).finding(RECORD.pack(0, 57, 9, 1))
        'indexes up to 57 of an array that ends at 63, another one with each input'
        """
        _, most, _, runs = RECORD.unpack_from(kept, self.number * RECORD.size)
        if runs != 1 or not NEAR * self.most < most <= self.most:
            return ""
        return (f"indexes up to {most} of an array that ends at {self.most}, "
                "another one with each input")  # fmt: skip


@dataclass(frozen=True)
class Exactly(Narrowing):
    """Whole numbers that are divided or multiplied in floating point, and then compared."""

    def finding(self, kept: bytes) -> str:
        """What is to be said where two that differ may come out equal.

        >>> Exactly(("a.c", 1, 1), -4096, 4096, 0).finding(RECORD.pack(0, 5000, 9, 1))[:51]
        'whole numbers up to 5,000 are compared as floating-'
        """
        least, most, _, runs = RECORD.unpack_from(kept, self.number * RECORD.size)
        largest = max(most, -least)
        if runs and self.most < 0:
            return (
                "a whole number is taken from what is rounded, so that it may be one less or more"
            )
        if not runs or largest <= self.most:
            return ""
        return (f"whole numbers up to {largest:,} are compared as floating-point ones, which tells "
                f"them apart up to {self.most:,}")  # fmt: skip


def noted(
    row: str, at: At, number: int, defined: Mapping[str, str], code: str,
    inexact: Mapping[str, int],
) -> Iterator[Noted]:  # fmt: skip
    """What is to be kept of the values of a row, with the rows to stand before and behind it.

    Parameters
    ----------
    row : str
        An instruction.
    at : tuple
        Its place.
    number : int
        For the first.
    defined : mapping of str to str
        What each value of the function is.
    code : str
        The whole text.
    inexact : mapping of str to int
        Whole numbers that are compared in floating point, and up to where they are told apart.
    """
    if made := narrowing(row, at, number, defined, code):
        yield made, list(kept(row, made)), []
        number += 1
    if (m := CONVERTED.match(row)) and (most := inexact.get(row.strip().split(" = ")[0])):
        exact = Exactly(at, -most, most, number)
        yield exact, list(kept(row, exact)), []
    elif m := TO_CHARACTERS.match(row):
        yield CharactersRoom(at, 0, 0, number), [], _characters_left(m, number)
    elif m := PRINTED.match(row):
        yield from _text(m, at, number, defined)
    elif m := OF_ARRAY.match(row.strip()):
        most = int(m["count"]) - 1
        if m["index"] != "0" and LEAST_ROOM <= most < MOST_ROOM:
            room = ArrayRoom(at, 0, most, number)
            yield room, [_call(number, m["index"])], []


def _text(m: re.Match[str], at: At, number: int, defined: Mapping[str, str]) -> Iterator[Noted]:
    whole = OF_ARRAY.match(defined.get(m["place"], ""))
    size = m["size"] if m["n"] else whole and whole["count"]
    if size and int(size):
        wide = f"%rheostat_value.{number}"
        rows = [f"  {wide} = sext i32 {m['value']} to i64", _call(number, wide)]
        yield TextRoom(at, 0, int(size) - 1, number, fields=m["fields"].count(",")), [], rows


def _characters_left(m: re.Match[str], number: int) -> list[str]:
    word = f"%rheostat_value.{number}"
    return [
        f"  {word}.at = extractvalue {{ ptr, i32 }} {m['value']}, 0",
        f"  {word}.from = ptrtoint ptr {word}.at to i64",
        f"  {word}.to = ptrtoint ptr {m['end']} to i64",
        f"  {word} = sub i64 {word}.to, {word}.from",
        _call(number, word),
    ]


def _call(number: int, value: str) -> str:
    return f"  call void @rheostat_reached_value(i32 {number}, i64 {value})"
