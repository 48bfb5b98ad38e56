"""Kinds of characters that a program asks for as its original does: `c >= '0' && c <= '9'`.

Where the original's own question of the same kind comes out one way only, the texts have no such
characters, however often the candidate asks.  That holds for bytes; what else is compared with the
same numbers is a question of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rheostat.measurement.code.reached.choices import MOST_ROW
from rheostat.measurement.code.reached.marks import Comparison

KIND = re.compile(
    r"(?P<of>[\w.*+\[\]>-]+)\s*>=\s*'(?P<low>[^'\\])'\s*&&\s*(?P=of)\s*<=\s*'(?P<high>[^'\\])'"
)


def kinds_in(text: str) -> set[tuple[str, str]]:
    """First and last character of each kind that a text asks for.

    >>> kinds_in("while (*p >= '0' && *p <= '9') p++;"), kinds_in("a >= '0' && b <= '9'")
    ({('0', '9')}, set())
    """
    return {(m["low"], m["high"]) for m in KIND.finditer(text)}


def asks_kind(c: Comparison, row: str, theirs: Collection[tuple[str, str]]) -> bool:
    """Whether a byte is asked for an end of a kind that the original asks for, too.

    Parameters
    ----------
    c : Comparison
        What is asked.
    row : str
        Its line.
    theirs : collection of tuple
        First and last character of the original's kinds.
    """
    ends = {str(ord(end)) for kind in kinds_in(row[:MOST_ROW]) & set(theirs) for end in kind}
    return c.letter and c.how in ("lt", "gt") and c.constant in ends
