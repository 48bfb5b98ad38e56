"""Tables of a program's own, with values in the text: which of their entries were ever read.

An automaton's state that no input reaches, or a factor in an entry that no input asks for, stands
behind no comparison.  What was never read, no output vouches for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.verdict import Finding

DECLARED = re.compile(
    r"(?m)^(?P<name>@[-\w.$]+) = (?:(?:internal|private|dso_local|local_unnamed_addr|unnamed_addr|"
    r"linkonce_odr) )*(?:constant|global) (?P<given>.*?)(?:, comdat)?(?:, align \d+)?$"
)
SHAPE = re.compile(r"(?P<shape>(?:\[\d+ x )+(?P<leaf>[^\[\]]+)\]+), ptr (?P<of>@[-\w.$]+)(?=[,)])")
DIMENSION = re.compile(r"\[(\d+) x ")
LOAD = re.compile(
    rf"\s*{NAME} = load (?:volatile )?[^,]+, ptr "
    rf"(?P<at>@[-\w.$]+|{NAME}|getelementptr inbounds \([^()]*\))(?:,|$)"
)
BYTES = {"i8": 1, "i16": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}
OF_COMPILER = re.compile(r"@(?:__const|constinit|_ZT|llvm\.|\.ref|\d|rheostat)")
TEXT, ZERO = "@.str", re.compile(r"<?\{? ?(?:\[[^\]]*\] )?\[?(?:\w+|\[.*?\]) (?:0|0\.0+e\+00)[,\]]")
MOST_ENTRIES, MOST_TABLES = 65_536, 8
INSIDE = re.compile(r"(\w+)(?:\.\d+)?$")
ELEMENT = re.compile(r"getelementptr .*, (?:ptr [^,]+), (?:i64 0, )?i64 %")
LOADED = re.compile(r"load ptr, ptr (%[^\s,]+)")
LENGTH = re.compile(r"\d+")
SAID = "no input that was tried reads entry {} of this table ({} of {} are never read)"


@dataclass(frozen=True)
class Table:
    """Where it is declared, what it holds, and the bytes of its entries, one more behind them."""

    at: tuple[str, int]
    count: int
    offset: int
    padded: bool = False

    def findings(self, seen: bytes) -> Iterator[Finding]:
        """What is to be said of entries that were never read.

        The first entry is left out where it is 0 and others count from 1.

        >>> [f.message for f in Table(("a.c", 1), 3, 0).findings(bytes([1, 1, 0]))]
        ['no input that was tried reads entry 2 of this table (1 of 3 are never read)']
        """
        read = seen[self.offset : self.offset + self.count]
        never = [k for k, one in enumerate(read) if not one and not (self.padded and k == 0)]
        if never:
            yield Finding("output", *self.at, SAID.format(never[0], len(never), self.count))


def tables(
    code: str, files: Mapping[str, str], theirs: Collection[str], first: int
) -> dict[str, tuple[Table, str]]:
    """Tables that own files declare, by their names in LLVM's text, with the size of an entry.

    Parameters
    ----------
    code : str
        LLVM's text.
    files : mapping of str to str
        The program's own files.
    theirs : collection of str
        What tables hold that are left out.
    first : int
        The first free byte.
    """
    shapes = {m["of"]: (m["shape"], m["leaf"]) for m in SHAPE.finditer(code)}
    made: dict[str, tuple[Table, str]] = {}
    for m in DECLARED.finditer(code):
        name, held = m["name"], m["given"]
        if name not in shapes or held in theirs or held.endswith("zeroinitializer"):
            continue
        if (at := _declared(name, files, code)) is None:
            continue
        count, size = _entries(*shapes[name])
        count -= name.startswith(TEXT)
        if 2 <= count <= MOST_ENTRIES and len(made) < MOST_TABLES and not _leaves(name, code):
            made[name] = Table(at, count, first, bool(ZERO.match(held))), size
            first += count + 1
    return made


def _entries(shape: str, leaf: str) -> tuple[int, str]:
    """How many entries there are, and the bytes of one; of records each is one.

    >>> _entries("[20 x [4 x i8]]", "i8")
    (80, '1')
    """
    sizes = [int(n) for n in DIMENSION.findall(shape)]
    if leaf in BYTES:
        return math.prod(sizes), str(BYTES[leaf])
    whole = shape.split(" x ", 1)[1][:-1]
    return sizes[0], f"ptrtoint (ptr getelementptr ({whole}, ptr null, i64 1) to i64)"


def _declared(name: str, files: Mapping[str, str], code: str) -> tuple[str, int] | None:
    """The row of an own file that declares it; of a text the row that takes letters of it."""
    if OF_COMPILER.match(name):
        return None
    word = re.compile(r'"\s*\[' if name.startswith(TEXT) else rf"\b{_said(name)}\s*[\[{{]")
    rows = ((f, n) for f, text in files.items()
            for n, row in enumerate(text.splitlines(), 1) if word.search(row))  # fmt: skip
    at = next(rows, None)
    chosen = re.search(rf", ptr {re.escape(name)}, i64 0, i64 %", code)
    return at if at and (chosen or not name.startswith(TEXT)) else None


def _said(name: str) -> str:
    """What a program calls it.

    >>> _said("@main.next"), _said("@_ZZ4mainE4next"), _said("@_ZN5model6weightE")
    ('next', 'next', 'weight')
    """
    if not name.startswith("@_Z"):
        return (INSIDE.search(name) or ["", ""])[1]
    said, at = "", 0
    while m := LENGTH.search(name, at):
        at = m.end() + int(m[0])
        said = name[m.end() : at] or said
    return re.escape(said)


def _leaves(name: str, code: str) -> bool:
    """Whether a function that is not here is given it: what that reads is not known."""
    given = re.compile(rf"(?:call|invoke) [^@]*(@[-\w.$]+)\(.*{re.escape(name)}(?![-\w.$])")
    called = {m[1] for m in given.finditer(code)}
    return any(re.search(rf"(?m)^declare .*{re.escape(c)}\(", code) for c in called)


def read_entries(
    row: str, known: Mapping[str, tuple[Table, str]], defined: Mapping[str, str], array: str,
    number: int,
) -> Iterator[str]:  # fmt: skip
    """What writes which entry a row reads, to stand before it.

    Parameters
    ----------
    row : str
        An instruction.
    known : mapping of str to pair of Table and str
        The tables, and the size of an entry.
    defined : mapping of str to str
        What each value of the function is.
    array : str
        Where marks are.
    number : int
        Of the row, for names.
    """
    m = LOAD.match(row)
    at = m["at"] if m else ""
    if not at or (at.startswith("@") and at not in known):
        return
    if at.startswith("%") and defined.get(at, "").startswith("alloca"):
        return
    for i, (name, (table, size)) in enumerate(known.items()):
        one = f"%rheostat_entry.{number}.{i}"
        yield f"  {one}.from = ptrtoint ptr {at} to i64"
        yield f"  {one}.far = sub i64 {one}.from, ptrtoint (ptr {name} to i64)"
        yield f"  {one}.entry = udiv i64 {one}.far, {size}"
        yield f"  {one}.in = icmp ult i64 {one}.entry, {table.count}"
        yield f"  {one}.byte = select i1 {one}.in, i64 {one}.entry, i64 {table.count}"
        bytes_ = f"ptr getelementptr (i8, ptr @{array}, i64 {table.offset})"
        yield f"  {one}.to = getelementptr i8, {bytes_}, i64 {one}.byte"
        yield f"  store i8 1, ptr {one}.to"


def of_table(made: str, defined: Mapping[str, str]) -> bool:
    """Whether a pointer is read from an element of an array that is chosen by a number.

    >>> of_table("load ptr, ptr %a", {"%a": "getelementptr inbounds ptr, ptr %t, i64 %i"})
    True
    """
    m = LOADED.match(made)
    return bool(m and ELEMENT.match(defined.get(m[1], "")))


def given(code: str) -> set[str]:
    r"""What the tables of a text hold.

    >>> given("@t = internal constant [2 x i8] c\"ab\", align 1")
    {'[2 x i8] c"ab"'}
    """
    return {m["given"] for m in DECLARED.finditer(code)}
