"""Guards that nobody can show to be needed: of a rounding, of an access, of a work-item too many.

The cell of a fraction is less than their number but where it rounds up.  A fraction is less than
one; times a number of cells it may round to that number, once in about 2**53 values, so that
whoever guards an index against it cannot show that the guard was needed.  Nor can who compares an
index with a container's own size before asking for that element, which would not be there.  That a
kernel leaves where its item is none of the data's is needed only where groups are not full.
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

LEAVES = re.compile(r"\bif\s*\((?P<asked>[^;{}]*)\)\s*return\s*;")
ITEM = (
    r"get_global_id\s*\(\s*[0-2]\s*\)|"
    r"blockIdx\.[xyz]\s*\*\s*blockDim\.[xyz]\s*\+\s*threadIdx\.[xyz]"
)
BEYOND = re.compile(rf"\s*(?P<item>{ITEM}|\w+)\s*>=\s*[A-Za-z_]\w*(?:\s*\*\s*[A-Za-z_]\w*)*\s*")


def guards_items(row: str, text: str) -> bool:
    """Whether a kernel leaves by a row where its item is none of the data's.

    >>> text = "int i = get_global_id(0); if (i >= w * h) return;"
    >>> guards_items(text, text), guards_items("if (i >= w - 1) return;", text)
    (True, False)
    >>> guards_items("if (k >= n) return;", text)
    False
    """
    m = LEAVES.search(row)
    asked = [BEYOND.fullmatch(one) for one in m["asked"].split("||")] if m else [None]
    return all(
        one is not None and re.search(
            rf"{ITEM}" if not one["item"].isidentifier() else
            rf"\b{one['item']}\s*=\s*(?:\(\w+\)\s*)?\(?(?:{ITEM})\s*[;,)]", text)
        for one in asked
    )  # fmt: skip


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
