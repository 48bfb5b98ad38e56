"""Constants of a candidate's own, as instructions have them, and what may stand in their place."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.truths import LOADED, STORED

NUMBER = r"-?(?:\d\.\d+e[+-]\d+|0x[\dA-F]{16}|\d+)"
USED = re.compile(
    rf"\s*{NAME} = (?P<how>f?(?:add|sub|mul|div|rem)|[su](?:div|rem)|[if]cmp \w+) "
    r"(?:(?:nuw|nsw|exact|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
    rf"(?P<type>i8|i16|i32|i64|float|double) (?:(?P<left>{NUMBER}), %[^\s,]+|"
    rf"%[^\s,]+, (?P<right>{NUMBER}))(?:, !.*)?$"
)
CALLED = re.compile(r"call [^@]*@(?P<name>[\w.]+|\"[^\"]*\")\((?P<given>.*)\)")
GIVEN = re.compile(rf"(?P<type>i32|i64|float|double) (?:noundef )?(?P<text>{NUMBER})(?=[,)]|$)")
OF_LIBRARY = re.compile(r"_Z(?:N?K?(?:St|S[abdios]|9__gnu_cxx)|[nd][al])|llvm\.|__")
SIZED = re.compile(rf"\s*(?P<value>{NAME}) = (?:add|mul|shl|[sz]ext|trunc) ")
ASKS_MEMORY = re.compile(r"call .*@(?:[mc]alloc|realloc(?:array)?|aligned_alloc|_Zn[wa]\w*)\(")
LEAST_OF = re.compile(r"f(?:min|max|dim)f?")
KEPT = re.compile(rf"\s*store (?P<type>i32|i64|float|double) (?P<right>{NUMBER}), ptr ")
ANY = re.compile(rf"(?<=[\s,(\[]){NUMBER}(?=[,)\]\s]|$)")
BESIDE = re.compile(r"![\w.]+|align \d+|\b[a-z_]+\(\d+\)|lifetime.*")
ROUNDED_UP = re.compile(
    r"\+\s*(?:(?P<less>\d+)|(?P<name>[A-Za-z_]\w*)\s*-\s*1)\s*\)\s*/\s*(?P<by>\w+)"
)
VARIABLE = re.compile(rf"\s*{NAME} = icmp \w+ i\d+ (?P<value>{NAME}), ")
FACTOR = re.compile(
    rf"(?:mul|[su]div|shl|[al]shr) (?:(?:n[us]w|exact) )*i\d+ (?P<value>{NAME}), \d"
)
STEP = re.compile(rf"add (?:n[us]w )*i\d+ (?P<value>{NAME}), (?P<by>[1-9]\d*)(?:, !|$)")
INDEXED = re.compile(
    rf"\s*{NAME} = getelementptr inbounds \[(?P<size>\d+) x [^\]]+\], ptr [^,]+, i64 0, "
    rf"i64 (?P<index>{NAME})(?:,|$)"
)
WIDER = re.compile(rf"[sz]ext i32 (?P<of>{NAME}) to i64")
LEAST, USUAL = 3, (0.0, 0.5, 1.0, 2.0, float("inf"))
"""Smaller numbers count and choose; reals that everybody has."""
LARGEST = {"float": 3e38, "double": 1e300}
PACKED = {"float": "f4x", "double": "d", "i8": "b7x", "i16": "h6x", "i32": "i4x", "i64": "q"}


@dataclass(frozen=True)
class UsedNumber:
    """A number that stands in an instruction; ``compares`` where it is compared with.

    ``by_factors`` where that is with what is only multiplied, divided or shifted; ``steps`` by how
    much else that only grows.
    """

    type_: str
    text: str
    compares: bool = False
    start: int = 0
    by_factors: bool = False
    steps: int = 1

    @property
    def value(self) -> float:
        """As a number."""
        return value_of(self.text)

    @property
    def is_real(self) -> bool:
        """Whether it is a floating-point number."""
        return self.type_ in LARGEST

    def near(self) -> list[float]:
        """What is a little more and less; by the least factor or step where none comes between.

        >>> UsedNumber("i32", "40").near(), UsedNumber("double", "8.0e+00").near()
        ([41, 39], [9.0, 7.0])
        >>> UsedNumber("i32", "32", compares=True, by_factors=True).near()
        [64, 16]
        >>> UsedNumber("i32", "18", compares=True, steps=9).near()
        [27, 9]
        """
        c = self.value
        if self.by_factors:
            return self._that_fit([c * 2, c // 2])
        some = [c * 9 / 8, c * 7 / 8] if self.is_real else [c + self.steps, c - self.steps]
        return self._that_fit(some)

    def far(self, *, loop: bool = False) -> list[float]:
        """What is far from it, also beyond all numbers if it is compared with and ends no ``loop``.

        >>> UsedNumber("i32", "40").far(), UsedNumber("i8", "40", True).far()
        ([10, 160], [10, 127, -128])
        """
        c = self.value
        some = [c / 4, c * 4] if self.is_real else [c // 4, c * 4]
        if self.compares and not loop:
            most = LARGEST.get(self.type_) or 2 ** (int(self.type_[1:]) - 1) - 1
            some += [most, -most if self.is_real else -most - 1]
        return self._that_fit(some)

    def _that_fit(self, some: Iterable[float]) -> list[float]:
        most = LARGEST.get(self.type_) or 2 ** (int(self.type_[1:]) - 1)
        fit = [x for x in some if x != self.value and -most <= x <= most - (not self.is_real)]
        return list(dict.fromkeys(fit))

    def packed(self, value: float) -> bytes:
        r"""Eight bytes that hold the type's.

        >>> UsedNumber("i32", "7").packed(8)[:5]
        b'\x08\x00\x00\x00\x00'
        """
        return struct.pack("<" + PACKED[self.type_], value)


def value_of(text: str) -> float:
    """A number as LLVM writes it.

    >>> value_of("-7"), value_of("1.500000e+00"), value_of("0x3FB999999999999A")
    (-7, 1.5, 0.1)
    """
    if text.startswith("0x"):
        return float(struct.unpack(">d", bytes.fromhex(text[2:]))[0])
    return float(text) if "." in text else int(text)


def sizes_in(rows: Iterable[str]) -> Counter[float]:
    """How often each size of a number stands in instructions.

    >>> sizes_in(["  %x = add i32 %y, -56, !dbg !99"])
    Counter({56: 1})
    """
    return Counter(abs(value_of(n)) for row in rows for n in ANY.findall(BESIDE.sub("", row)))


def constants_of(
    row: str, own: Collection[float], once: Collection[str], functions: Collection[str]
) -> list[UsedNumber]:
    """The constants of a row whose sizes are ``own``.

    Also of a store to a place set ``once``, and of what one of the text's ``functions`` is given.

    >>> constants_of("  %c = icmp sgt i32 %n, 56, !dbg !9", {56}, (), ())
    [UsedNumber(type_='i32', text='56', compares=True, start=24, by_factors=False, steps=1)]
    >>> [c.text for c in constants_of("  call void @f(i32 noundef 56, i32 9)", {9}, (), {"f"})]
    ['9']
    """
    if m := USED.match(row):
        side = "left" if m["left"] else "right"
        made = [UsedNumber(m["type"], m[side], "cmp" in m["how"], m.start(side))]
    elif (stored := STORED.match(row)) and stored["place"] in once and (m := KEPT.match(row)):
        made = [UsedNumber(m["type"], m["right"], False, m.start("right"))]
    elif (m := CALLED.search(row)) and _is_asked(m["name"], functions):
        start = m.start("given")
        made = [UsedNumber(g["type"], g["text"], False, start + g.start("text"))
                for g in GIVEN.finditer(m["given"])]  # fmt: skip
    else:
        made = []
    return [c for c in made if abs(c.value) in own]


def goes_by_factors(
    row: str, rows: Sequence[str], defined: Mapping[str, str]
) -> bool:  # fmt: skip
    """Whether a row compares a variable that its function multiplies, divides or shifts alone.

    >>> rows = ["  store i32 1, ptr %far", "  store i32 %twice, ptr %far"]
    >>> made = {"%1": "load i32, ptr %far", "%twice": "mul nsw i32 %1, 2"}
    >>> goes_by_factors("  %c = icmp slt i32 %1, 32", rows, made)
    True
    >>> goes_by_factors("  %c = icmp slt i32 %1, 32", rows, made | {"%twice": "add i32 %1, 2"})
    False
    """
    kept, place = _kept(row, rows, defined)
    made = [FACTOR.match(defined.get(v, "")) for v in kept]
    reads = [LOADED.match(defined.get(f["value"], "")) if f else None for f in made]
    return bool(reads) and all(r and r[1] == place for r in reads)


def _kept(
    row: str, rows: Sequence[str], defined: Mapping[str, str]
) -> tuple[list[str], str]:  # fmt: skip
    """What but constants is stored to the variable that a row compares, and its place."""
    m = VARIABLE.match(row)
    read = LOADED.match(defined.get(m["value"], "")) if m else None
    place = read[1] if read else ""
    values = [s["value"] for r in rows if (s := STORED.match(r)) and s["place"] == place]
    return [v for v in values if v.startswith("%")], place


def goes_by_steps(row: str, rows: Sequence[str], defined: Mapping[str, str]) -> int:
    """By how much a variable grows that a row compares, where it does nothing else; 1 if not.

    >>> rows = ["  store i32 0, ptr %far", "  store i32 %next, ptr %far"]
    >>> made = {"%1": "load i32, ptr %far", "%next": "add nsw i32 %1, 9, !dbg !7"}
    >>> goes_by_steps("  %c = icmp slt i32 %1, 18", rows, made)
    9
    >>> goes_by_steps("  %c = icmp slt i32 %1, 18", [*rows, "  store i32 %n, ptr %far"], made)
    1
    """
    kept, place = _kept(row, rows, defined)
    made = [STEP.match(defined.get(v, "")) for v in kept]
    reads = [LOADED.match(defined.get(m["value"], "")) if m else None for m in made]
    by = {int(m["by"]) for m in made if m}
    return by.pop() if len(by) == 1 and all(r and r[1] == place for r in reads) else 1


def reaches_the_end(
    row: str, size: float, rows: Sequence[str], defined: Mapping[str, str]
) -> bool:  # fmt: skip
    """Whether a row compares a variable that is an index, plus one, of an array of one more.

    Up to that number all of the array is gone through: ``at[d + 1] += at[d]`` for 512 of 513.

    >>> made = {"%1": "load i32, ptr %d", "%2": "add nsw i32 %1, 1", "%3": "sext i32 %2 to i64"}
    >>> at = ["  %4 = getelementptr inbounds [513 x i32], ptr %at, i64 0, i64 %3"]
    >>> [reaches_the_end("  %c = icmp slt i32 %1, 512", n, at, made) for n in (512, 511)]
    [True, False]
    >>> reaches_the_end("  %c = icmp slt i32 %1, 512", 512, at, made | {"%3": "sext i32 %1 to i64"})
    False
    """
    _, place = _kept(row, rows, defined)
    for m in filter(None, map(INDEXED.match, rows)):
        wider = WIDER.match(defined.get(m["index"], ""))
        step = STEP.match(defined.get(wider["of"] if wider else m["index"], ""))
        read = LOADED.match(defined.get(step["value"], "")) if step and step["by"] == "1" else None
        if read and read[1] == place and int(m["size"]) == size + 1:
            return True
    return False


def _is_asked(name: str, functions: Collection[str]) -> bool:
    return bool(LEAST_OF.fullmatch(name)) or (
        name in functions and not OF_LIBRARY.match(name.strip('"'))
    )


def is_room(row: str, rows: Sequence[str]) -> bool:
    """Whether what a row makes only says how much memory is asked for.

    Sanitizers show where that is too little, and nothing where it is more than is needed.

    >>> rows = ["  %s = mul i64 %n, 24", "  %t = add i64 %s, 8", "  %p = call ptr @malloc(i64 %t)"]
    >>> is_room(rows[0], rows), is_room(rows[0], rows[:2]), is_room(rows[2], rows)
    (True, False, False)
    """
    known, open_ = set[str](), [row]
    while open_:
        m = SIZED.match(open_.pop())
        if m is None:
            return False
        value = re.compile(re.escape(m["value"]) + r"(?![-\w.$])")
        uses = [r for r in rows if value.search(r.partition(" = ")[2])]
        other = any(value.search(r) for r in rows if " = " not in r)
        if other or not uses:
            return False
        open_ += [r for r in uses if r not in known and not ASKS_MEMORY.search(r)]
        known |= set(uses)
    return True


def rounds_up(row: str, size: float) -> bool:
    """Whether a row rounds up to groups of so many: groups of one more or less cover as much.

    Parameters
    ----------
    row : str
        Of the program's own text.
    size : float
        A number in what it does; of a name it may be the value.

    >>> rounds_up("grid = (n + 7) / 8 * 8;", 8), rounds_up("grid = (n + BLOCK - 1) / BLOCK;", 64)
    (True, True)
    >>> rounds_up("grid = (n + 9) / 8;", 8), rounds_up("k = (n + B - 1) / B + 56;", 56)
    (False, False)
    """
    m = ROUNDED_UP.search(row)
    if m is None:
        return False
    if m["name"]:
        return m["by"] == m["name"] and not re.search(rf"\b{size:g}\b", row)
    by = int(m["by"]) if m["by"].isdecimal() else 0
    return int(m["less"]) + 1 == by and size in (by, by - 1)


def is_usual(size: float) -> bool:
    """Whether a size is one that counts, halves or chooses, in any program."""
    return size < LEAST if isinstance(size, int) else size in USUAL


def rows_with(
    numbers: Sequence[int], row: str, some: Sequence[UsedNumber], name: str
) -> Iterator[str]:
    r"""The row with what a table has at these numbers in the place of its constants.

    >>> rows = rows_with([4], "  %c = add i32 %n, 56", [UsedNumber("i32", "56", start=19)], "%new")
    >>> print("\n".join(rows))
      %new.constant.0 = load i32, ptr getelementptr (i64, ptr @rheostat_constants, i64 4)
      %c = add i32 %n, %new.constant.0
    """
    for i, (number, made) in reversed([*enumerate(zip(numbers, some, strict=True))]):
        new = f"{name}.constant.{i}"
        at = f"getelementptr (i64, ptr @rheostat_constants, i64 {number})"
        yield f"  {new} = load {made.type_}, ptr {at}"
        row = row[: made.start] + new + row[made.start + len(made.text) :]
    yield row
