"""Counters of 8 or 16 bits: what is stored is one more, or a constant more, of what was there.

A stamp or a count that goes round is right only as long as nobody holds an old one, which no output
shows before somebody does.  Left out is one that goes round on purpose: it is the index of a ring
of as many elements, or what it comes to is asked for 0 at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rheostat.measurement.code.reached.constant_values import NAME, RECORD, At, Narrowing
from rheostat.measurement.code.reached.room import Noted
from rheostat.measurement.code.reached.ties import Kinds

KEPT = re.compile(rf"\s*store i(?P<bits>8|16) (?P<value>{NAME}), ptr (?P<place>[%@][^\s,]+)")
MORE = re.compile(rf"add (?:n[us]w )*i\d+ (?P<of>{NAME}), (?P<by>\d+)(?:,|$)")
TURNED = re.compile(rf"(?P<how>[sz]ext|trunc) i\d+ (?P<of>{NAME}) to i\d+")
NOTHING = re.compile(rf"\s*{NAME} = icmp (?:eq|ne) i\d+ (?P<of>{NAME}), 0(?:,|$)")
RING = (
    r"(?:getelementptr .*?\[{0} x .*, i64|call .*Lm{0}EE(?:ixE|2atE).*i64 (?:noundef )?)"
    r" ?(%[^\s,)]+)"
)


@dataclass(frozen=True)
class Counter(Narrowing):
    """Numbers that are stored, before they are cut."""

    def finding(self, kept: bytes) -> str:
        """What is to be said where a number goes round, or may with the next input.

        >>> one = Counter(("a.c", 1, 1), 0, 255, 0)
        >>> one.finding(RECORD.pack(1, 256, 9, 9))
        'a count goes round behind 255; it is not shown that nobody holds an old one'
        >>> one.finding(RECORD.pack(1, 250, 9, 1))
        'values up to 250 are kept where 255 is the most there can be'
        """
        if RECORD.unpack_from(kept, self.number * RECORD.size)[1] > self.most:
            return (f"a count goes round behind {self.most:,}; "
                    "it is not shown that nobody holds an old one")  # fmt: skip
        return super().finding(kept)


def noted_counters(
    row: str, at: At, number: int, defined: Mapping[str, str], rows: Sequence[str], kinds: Kinds
) -> Iterator[Noted]:
    """What is to be kept of a number of 8 or 16 bits that grows by a constant.

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
    kinds : Kinds
        Of its values.
    """
    m = KEPT.match(row)
    more = MORE.match(defined.get(_wider(m["value"], defined), "")) if m else None
    if not (m and more and kinds.keeps(m["place"], more["of"])):
        return
    bits, place = int(m["bits"]), m["place"]
    if _is_ring(place, 1 << bits, rows, kinds) or _asked_for_nothing(m, rows, defined, kinds):
        return
    signed = _is_signed(place, bits, rows, kinds)
    most = (1 << bits - signed) - 1
    word, of = f"%rheostat_value.{number}", _narrow(more["of"], defined)
    added = [f"  {word}.of = {'sext' if signed else 'zext'} i{bits} {of} to i64",
             f"  {word} = add i64 {word}.of, {more['by']}",
             f"  call void @rheostat_reached_value(i32 {number}, i64 {word})"]  # fmt: skip
    yield Counter(at, -1 << 62, most, number, counts=True), added, []


def _wider(value: str, defined: Mapping[str, str]) -> str:
    """What a value is cut from."""
    m = TURNED.match(defined.get(value, ""))
    return m["of"] if m and m["how"] == "trunc" else value


def _narrow(value: str, defined: Mapping[str, str]) -> str:
    """What a value was before it was made wider."""
    m = TURNED.match(defined.get(value, ""))
    return m["of"] if m and m["how"] != "trunc" else value


def _is_signed(place: str, bits: int, rows: Sequence[str], kinds: Kinds) -> bool:
    wider = re.compile(rf"\s*{NAME} = sext i{bits} ({NAME}) to ")
    return any(kinds.keeps(place, m[1]) for row in rows if (m := wider.match(row)))


def _is_ring(place: str, count: int, rows: Sequence[str], kinds: Kinds) -> bool:
    """Whether it is the index of as many elements as it has values."""
    index = re.compile(RING.format(count))
    return any(kinds.keeps(place, m[1]) for row in rows if (m := index.search(row)))


def _asked_for_nothing(
    m: re.Match[str], rows: Sequence[str], defined: Mapping[str, str], kinds: Kinds
) -> bool:
    """Whether what is stored is asked for 0 before the block ends."""
    for row in rows[rows.index(m.string) + 1 :]:
        if re.match(r"\s*(?:br|ret|switch|invoke)\b", row):
            break
        if (asked := NOTHING.match(row)) and (
            _narrow(asked["of"], defined) == m["value"] or _read_behind(asked["of"], m, rows, kinds)
        ):
            return True
    return False


def _read_behind(value: str, m: re.Match[str], rows: Sequence[str], kinds: Kinds) -> bool:
    """Whether it was read from the place since."""
    behind = rows[rows.index(m.string) + 1 :]
    return kinds.keeps(m["place"], value) and any(f"  {value} = " in f"{row} " for row in behind)
