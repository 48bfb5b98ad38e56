"""Guards that nobody can show to be needed: of a rounding, and of an access to a container.

The cell of a fraction is less than their number but where it rounds up.  A fraction is less than
one; times a number of cells it may round to that number, once in about 2**53 values, so that
whoever guards an index against it cannot show that the guard was needed.  Nor can who compares an
index with a container's own size before asking for that element, which would not be there.
"""

from __future__ import annotations

import re

FRACTION = re.compile(
    r"\b(?P<cell>\w+)\s*=\s*\((?:int|long|unsigned|size_t)\)\s*\(\s*\(?\s*(?P<of>\w+(?:\[[^]]*\])?)"
    r"\s*-\s*(?:std::)?floorf?\s*\(\s*(?P=of)\s*\)\s*\)?\s*\*\s*(?P<many>\w+)\s*\)"
)
GUARDS = (
    r"(?<!\w){0}\s*<\s*{1}\s*\?\s*{0}\s*:\s*{1}\s*-\s*1\b",
    r"\bif\s*\(\s*{0}\s*(?:>=|==)\s*{1}\s*\)\s*{0}\s*=\s*{1}\s*-\s*1\b",
    r"\bif\s*\(\s*{0}\s*(?:>=|==)\s*{1}\s*\)\s*(?:{0}--|--{0})\s*;",
)
ACCESS = re.compile(
    r"(?<![\w.>])(?P<index>\w+)\s*<\s*(?P<of>\w+)\.(?:size|length)\(\)\s*&&"
    r"[^;?]*(?<![\w.>])(?P=of)\s*\[\s*(?P=index)\s*\]"
)


def guards_access(row: str) -> bool:
    """Whether a row keeps an index within a container whose element it then asks for.

    >>> guards_access("while (end < text.size() && text[end] != ' ')")
    True
    >>> guards_access("while (end < text.size() && other[end] != ' ')")
    False
    """
    return ACCESS.search(row) is not None


def guards_rounding(row: str, text: str) -> bool:
    r"""Whether a row keeps the cell of a fraction, which the text makes, below their number.

    >>> text = "int c = (int)((s - floor(s)) * m);\nin = c < m ? c : m - 1;"
    >>> guards_rounding(text.splitlines()[1], text), guards_rounding("c < m ? c : m - 1", "c = s;")
    (True, False)
    """
    return any(
        re.search(guard.format(re.escape(m["cell"]), re.escape(m["many"])), row)
        for m in FRACTION.finditer(text)
        for guard in GUARDS
    )
