"""The lesser or greater of two values, in a program's text and in LLVM's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rheostat.measurement.code.reached_truths import STORED

LABEL = re.compile(r'([-\w.$]+|"[^"]*"):')
VALUE = r"[\w.\[\]]+(?:->[\w.\[\]]+)*"
LESSER = re.compile(
    rf"(?P<a>{VALUE})\s*[<>]=?\s*(?P<b>{VALUE})\s*(?:\?\s*"
    r"(?:(?P=a)\s*:\s*(?P=b)|(?P=b)\s*:\s*(?P=a))(?!\s*[-+*/%&|\w.(\[])|"
    r"\)\s*(?:(?P=a)\s*=\s*(?P=b)|(?P=b)\s*=\s*(?P=a))\s*;)"
)
"""The lesser or greater of two values."""
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
TYPES = {**dict.fromkeys("ij", "i32"), **dict.fromkeys("lmxy", "i64"), **dict.fromkeys("st", "i16"),
         "f": "float", "d": "double"}  # fmt: skip


def is_taken(constant: str, targets: Sequence[str], rows: Sequence[str]) -> bool:
    """Whether one of the blocks that a comparison leads to takes a constant.

    >>> is_taken("7", ("a", "b"), ["a:", "  store i32 7, ptr %x"])
    True
    """
    labels = "|".join(map(re.escape, targets))
    taken = re.compile(rf"phi .*\[ {re.escape(constant)}, %(?:{labels}) \]")
    block = ""
    for row in rows if targets else ():
        m = LABEL.match(row)
        block = m[1] if m else block
        stored = block in targets and STORED.match(row)
        if (stored and stored["value"] == constant) or taken.search(row):
            return True
    return False


def chooses(row: str) -> bool:
    """Whether a line of a program takes the lesser or greater of two values.

    >>> chooses("x = a < b ? a : b;"), chooses("if (a < b) c = b;")
    (True, False)
    """
    return bool(LESSER.search(row[:MOST_ROW]))
