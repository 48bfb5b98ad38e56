"""The statements of an HLO text: headers, instructions and closing braces, each with its line.

What a statement says about files and frames (``FileNames`` and other tables, metadata) is skipped.
A literal may go over many lines; strings may hold brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.errors import DataError

TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
AGAIN = "the text is damaged or cut off: write it anew"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|"|[()\[\]{}]')
_SPLIT = re.compile(r'"(?:[^"\\]|\\.)*"|[()\[\]{},]')
_HEADER = re.compile(r"(ENTRY\s+)?%?[\w.\-]+\s*(\(.*\)\s*->.*)?\{$")
_PAIR = {")": "(", "]": "[", "}": "{"}


class HloError(ValueError):
    """What is wrong in a statement; the module adds the line and makes it a `DataError`."""


def damaged(source: str, line: int, expected: str, got: str) -> DataError:
    """The error about one place of a text."""
    return DataError(source, [f"line {line}: expected {expected}, got {got[:120]!r}", AGAIN])


def statements(text: str, source: str) -> Iterator[tuple[int, str]]:
    r"""(line number from 1, statement) without blank lines, comments and tables.

    >>> [s for _, s in statements("HloModule m\nFileNames\n1 a.py\n\nENTRY e {\n}", "x")]
    ['HloModule m', 'ENTRY e {', '}']
    """
    lines = iter(enumerate(text.split("\n"), 1))
    table = 0
    for number, raw in lines:
        line = raw.strip()
        if line in TABLES:
            table = 1
        elif not line:
            table = 0
        elif table:
            if line.split(" ", 1)[0] != str(table):
                raise damaged(source, number, f"row {table} of a table of files and frames", line)
            table += 1
        elif not line.startswith("//"):
            yield number, _whole(number, line, lines, source)


def _whole(number: int, line: str, lines: Iterator[tuple[int, str]], source: str) -> str:
    """The statement with the lines that its open brackets reach over."""
    if line.startswith("}") or _HEADER.fullmatch(line):
        return line
    stack: list[str] = []
    parts = [line]
    _count(parts[0], stack, number, source)
    while stack:
        more = next(lines, None)
        if more is None:
            raise damaged(source, number, f"a closing bracket for {stack[-1]!r}", line)
        parts.append(more[1].strip())
        _count(parts[-1], stack, more[0], source)
    return " ".join(parts)


def _count(line: str, stack: list[str], number: int, source: str) -> None:
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token == '"':
            raise damaged(source, number, "a closing quotation mark", line[match.start() :])
        if token in "([{":
            stack.append(token)
        elif token in _PAIR and (not stack or stack.pop() != _PAIR[token]):
            raise damaged(source, number, f"an opening bracket for {token!r}", line)


def split(text: str) -> list[str]:
    """Parts between commas that no bracket or string encloses.

    >>> split('a, {b, c}, d="x,y"')
    ['a', '{b, c}', 'd="x,y"']
    """
    depth, begin, parts = 0, 0, []
    for match in _SPLIT.finditer(text):
        token = match[0]
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif token == "," and not depth:
            parts.append(text[begin : match.start()].strip())
            begin = match.end()
    last = text[begin:].strip()
    return [*parts, last] if last or parts else []


def closing(text: str, at: int) -> int:
    """Where the bracket that opens at ``at`` is closed; HloError if it is not."""
    depth = 0
    for match in _TOKEN.finditer(text, at):
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
            if not depth:
                return match.start()
    raise HloError(f"expected a closing bracket, got {text[at : at + 40]!r}")
