"""The lesser or greater of two values, in a program's text and in LLVM's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.truths import LOADED, STORED

LABEL = re.compile(r'([-\w.$]+|"[^"]*"):')
VALUE = r"[\w.\[\]]+(?:->[\w.\[\]]+)*"
LESSER = re.compile(
    rf"(?P<a>{VALUE})\s*[<>]=?\s*(?P<b>{VALUE})\s*(?:\?\s*"
    r"(?:(?P=a)\s*:\s*(?P=b)|(?P=b)\s*:\s*(?P=a))(?!\s*[-+*/%&|\w.(\[])|"
    r"\)\s*(?:(?P=a)\s*=\s*(?P=b)|(?P=b)\s*=\s*(?P=a))\s*;)"
)
"""The lesser or greater of two values."""
DIFFERENCE = re.compile(
    rf"(?P<x>{VALUE})\s*[<>]=?\s*(?P<c>\w+)\s*\?(?P<one>[^;?:]*):(?P<other>[^;?:]*)"
)
"""What is more than a number, less that number, or 0: `x > 9 ? x - 9 : 0` is `max(0, x - 9)`."""
MOST_ROW = 400
"""Characters of a line that are read."""
CHOSEN_CXX = re.compile(
    r"call .*@_ZSt(?:3min|3max|5clamp)I([ijlmxyfdst])ERKT_S2_S2_(?:S2_)?\((.*?)\)(?:,| #|$)"
)
CHOSEN = re.compile(
    r"call .*@(?:llvm\.m(?:in|ax)num\.f\d+|fm(?:in|ax)f?)"
    r"\((?:noundef )?(float|double) (?:noundef )?([^\s,]+), "
    r"(?:float|double) (?:noundef )?([^\s,)]+)\)"
)
CHOSEN_CL = re.compile(
    r"call .*@_Z(?:3min|3max|4fmin|4fmax|5clamp)([cahstijlmfd])\1+\((.*?)\)(?:,| #|$)"
)
"""In kernels of OpenCL."""
CHOSEN_OF = re.compile(r"\[ ([^\s,]+), %([^\s,\]]+) \]")
LOOPS = re.compile(r"(?:do|for|while)\.body")
TURNED = re.compile(r"(?:[sz]ext|trunc|[su]itofp|fpto[su]i|fpext|fptrunc) \S+ (%[^\s,]+) to")
TYPES = {**dict.fromkeys("ij", "i32"), **dict.fromkeys("lmxy", "i64"), **dict.fromkeys("st", "i16"),
         **dict.fromkeys("cah", "i8"), "f": "float", "d": "double"}  # fmt: skip


def is_taken(
    constant: str, value: str, targets: Sequence[str], rows: Sequence[str],
    defined: Mapping[str, str],
) -> bool:  # fmt: skip
    """Whether a block that a comparison leads to takes a constant in place of the value compared.

    A loop's body that sets what is counted in it to 0 is none, nor is a block that keeps more.

    >>> known = {"%1": "load i32, ptr %x"}
    >>> is_taken("7", "%1", ("a", "b"), ["a:", "  store i32 7, ptr %x"], known)
    True
    >>> is_taken("7", "%1", ("a", "b"), ["a:", "  store i32 7, ptr %y"], known)
    False
    >>> is_taken("0", "%1", ("do.body", "b"), ["do.body:", "  store i32 0, ptr %x"], known)
    False
    >>> more = ["a:", "  store i32 7, ptr %x", "  store i32 %2, ptr %y"]
    >>> is_taken("7", "%1", ("a", "b"), more, known)
    False
    """
    targets = [t for t in targets if not LOOPS.match(t)]
    made = _made(value, defined)
    stored = [m for row in rows if (m := STORED.match(row))]
    stores = Counter(block for block, _ in _stores(rows)) if targets else Counter[str]()
    holds = {_place(m["place"], defined) for m in stored if _made(m["value"], defined) == made}
    for block, m in _stores(rows) if targets else ():
        if block in targets and stores[block] == 1 and m["value"] == constant:
            place = _place(m["place"], defined)
            if place in holds or f"ptr {place}" in made:
                return True
    for row in rows if targets else ():
        chosen = CHOSEN_OF.findall(row) if " = phi " in row else []
        if (constant in [v for v, label in chosen if label in targets]
                and made in [_made(v, defined) for v, _ in chosen]):  # fmt: skip
            return True
    return False


def _stores(rows: Sequence[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """What is stored, with the label of its block."""
    block = ""
    for row in rows:
        m = LABEL.match(row)
        block = m[1] if m else block
        if m := STORED.match(row):
            yield block, m


def _made(value: str, defined: Mapping[str, str]) -> str:
    """What makes a value, but for the names of what it is made of; conversions are left out.

    >>> _made("%2", {"%2": "sext i32 %1 to i64", "%1": "urem i32 %0, 8, !dbg !3"})
    'urem i32 %, 8'
    """
    said = defined.get(value, "")
    while m := TURNED.match(said):
        said = defined.get(m[1], "")
    said = said.partition(", align")[0].partition(", !")[0]
    if m := LOADED.match(said):
        return f"load ptr {_place(m[1], defined)}"
    return re.sub(NAME, "%", said) or value


def _place(place: str, defined: Mapping[str, str]) -> str:
    """A variable by its name, an element by how it is reached."""
    said = defined.get(place, "")
    return re.sub(NAME, "%", said.partition(", !")[0]) if "getelementptr" in said else place


def chooses(row: str, column: int) -> bool:
    """Whether a line of a program takes the lesser or greater of two values at a column.

    >>> chooses("x = a < b ? a : b;", 7), chooses("if (a < b) c = b;", 7)
    (True, False)
    >>> chooses("if (a < 9) if (b > c) c = b;", 7)
    False
    """
    return any(m.start() < column <= m.end() or not column
               for m in LESSER.finditer(row[:MOST_ROW]))  # fmt: skip


def compares_difference(row: str, column: int) -> bool:
    """Whether a value is compared at a column so that its difference from the other or 0 is taken.

    >>> compares_difference("m = 4 + (h[k] > 20 ? (h[k] - 20) / 6 : 0);", 15)
    True
    >>> compares_difference("m = h > 20 ? h - 21 : 0;", 7), compares_difference("h > 20 ? 0 : h", 3)
    (False, False)
    """
    for m in DIFFERENCE.finditer(row[:MOST_ROW]):
        difference = re.compile(rf"[\s(]*{re.escape(m['x'])}\s*-\s*{m['c']}\b")
        for one, other in ((m["one"], m["other"]), (m["other"], m["one"])):
            if difference.match(one) and re.match(r"\s*0\b(?!\.)", other):
                return m.start() < column <= m.end("c")
    return False
