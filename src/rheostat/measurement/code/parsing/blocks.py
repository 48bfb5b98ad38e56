"""Blocks and statements of a text in C, by its brackets."""

from __future__ import annotations

import re

IF, ELSE = re.compile(r"\bif\b"), re.compile(r"\s*else\b")


def statement_end(text: str, at: int) -> int:
    """Where the statement that begins here ends: at a semicolon or brace outside of brackets.

    >>> text = "if (a) { b; } else c; d;"
    >>> text[: statement_end(text, 0)], text[7 : statement_end(text, 7)]
    ('if (a) { b; } else c;', '{ b; }')
    """
    depth = waiting = 0
    for k in range(at, len(text)):
        depth += (text[k] in "({[") - (text[k] in ")}]")
        if depth > 0:
            continue
        waiting += text[k] == "i" and IF.match(text, k) is not None
        if text[k] in ";}":
            if not (waiting and ELSE.match(text, k + 1)):
                return k + 1
            waiting -= 1
    return len(text)


def opened(text: str, at: int) -> int:
    """Where the block begins that a place is in; -1 outside of all."""
    deep = 0
    for i in range(at - 1, -1, -1):
        deep += (text[i] == "}") - (text[i] == "{")
        if deep < 0:
            return i
    return -1


def closed(text: str, begin: int) -> int:
    """Where the block ends that begins at a brace."""
    deep = 0
    for i in range(begin, len(text)):
        deep += (text[i] == "{") - (text[i] == "}")
        if deep == 0:
            return i
    return len(text)
