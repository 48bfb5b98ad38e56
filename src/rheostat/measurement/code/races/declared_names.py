"""Names that a text of C or C++ declares, and which of them are numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

ARGUMENTS = re.compile(r"\([^()]*\)")
ARITHMETIC = re.compile(
    r"\b(?:int|long|short|char|unsigned|signed|float|double|bool|_Bool|__int128|auto|\w+_t)\b"
)
NOT_SHARED = re.compile(r"\*|thread_local|_Thread_local|__thread|[aA]tomic")
DECLARED = re.compile(
    r"(?P<type>[A-Za-z_][\w:]*(?:\s+[A-Za-z_][\w:]*)*?)(?P<link>[\s*&]+)"
    r"(?P<names>[A-Za-z_]\w*\s*(?:[=,:[(].*)?)\Z",
    re.DOTALL,
)
NO_TYPES = frozenset({"return", "else", "goto", "case", "delete", "throw", "new", "if", "while",
                      "for", "do", "switch", "sizeof", "struct", "using"})  # fmt: skip
BOUND = re.compile(r"\bauto\s*&{0,2}\s*\[([\w\s,]*)\]")
TEMPLATE = re.compile(r"<[\w\s:,*&]*>")


def declares(statement: str, name: str) -> bool:
    """Whether a name is declared in a statement, or is what one of its loops counts.

    >>> [declares("for (i = 0; i < n; i++) { int k = i, m[4]; s += k; }", x) for x in "ikms"]
    [True, True, True, False]
    """
    return bool(re.search(rf"\bfor\s*\(\s*{name}\b", statement)) or name in names(statement)


def scalars(text: str) -> set[str]:
    """Names that are declared as numbers, in common to threads."""
    return {n for n, kind in _declarations(text)
            if ARITHMETIC.search(kind) and not NOT_SHARED.search(kind)}  # fmt: skip


def names(text: str) -> set[str]:
    """Every name that is declared in a text."""
    return {name for name, _ in _declarations(text)}


def _declarations(text: str) -> Iterator[tuple[str, str]]:
    """Names that a text declares, with the words before them."""
    text = re.sub(r"^[^\S\n]*#.*", "", text, flags=re.MULTILINE)
    for m in BOUND.finditer(text):
        yield from ((name, "bound") for name in re.findall(r"\w+", m[1]))
    flat = TEMPLATE.sub(" ", text)
    while True:
        for m in ARGUMENTS.finditer(flat):
            for part in (*m[0][1:-1].split(";"), *m[0][1:-1].split(",")):
                yield from _declared(part)
        less = ARGUMENTS.sub(" ", flat)
        if less == flat:
            break
        flat = less
    for part in re.split(r"[;{}]", flat):
        yield from _declared(part)


def _declared(part: str) -> Iterator[tuple[str, str]]:
    m = DECLARED.match(part.strip())
    if not m or m["type"].split()[0] in NO_TYPES:
        return
    for one in (m["link"] + m["names"]).split(","):
        if name := re.match(r"([\s*&]*)([A-Za-z_]\w*)", one):
            yield name[2], f"{m['type']}{name[1]}"
