"""Whether two preprocessed texts are the same to a compiler but for OpenMP's pragmas.

By the compiler's own reading: comments that begin on a pragma's line, lines that a backslash and
blanks join, trigraphs, and blanks within a text are not what they look like in the source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

TOKEN = re.compile(
    r'(?:u8|[uUL])?R"(?P<end>[^\s()\\]{0,16})\((?s:.*?)\)(?P=end)"|'
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'(?:[^'\\\n]|\\.)*'|"
    r"\.?\d(?:[eEpP][-+]|[\w.']+)*|\w+|<<=|>>=|<=>|\.\.\.|->\*?|::|"
    r"\+\+|--|&&|\|\||<<|>>|##|[-+*/%&|^=!<>]=|\S"
)
LEFT_OUT = re.compile(r"\s*#(?!\s*pragma\b(?!\s+omp\b))")
"""OpenMP's pragmas, and where a row comes from."""


def same_tokens(one: str, other: str) -> bool:
    r"""Whether both have the same tokens, and the same pragmas of others than OpenMP.

    Parameters
    ----------
    one, other : str
        What a preprocessor writes.

    Examples
    --------
    >>> same_tokens("int a;\n#pragma omp simd\nx = a+ +b;", "int  a; x = a + +b;")
    True
    >>> same_tokens("x = a++ +b;", "x = a+ ++b;")
    False
    """
    rows, others = _rows(one), _rows(other)
    while rows and others and rows[-1] == others[-1]:
        rows.pop()
        others.pop()
    known = next((i for i, (x, y) in enumerate(zip(rows, others, strict=False)) if x != y),
                 min(len(rows), len(others)))  # fmt: skip
    return _tokens(rows[known:]) == _tokens(others[known:])


def _rows(text: str) -> list[str]:
    """Rows that are code, or pragmas of others."""
    return [row for row in text.splitlines() if row.strip() and not LEFT_OUT.match(row)]


def _tokens(rows: Sequence[str]) -> list[str]:
    return [m[0] for m in TOKEN.finditer("\n".join(rows))]
