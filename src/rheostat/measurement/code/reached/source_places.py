"""Where in the program's own text a row of LLVM's text comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from rheostat.measurement.code.reached.marks import At

AT = re.compile(r"!dbg !(\d+)")
LOCATION = re.compile(
    r"(?m)^!(\d+) = !DILocation\(line: (\d+)(?:, column: (\d+))?, .*?scope: !(\d+)"
)
SCOPE = re.compile(r"(?m)^!(\d+) = (?:distinct )?!DI\w+\(.*?file: !(\d+)")
FILE = re.compile(r'(?m)^!(\d+) = !DIFile\(filename: "([^"]*)"')


class Places:
    """Files, lines and columns of a text with lines.

    Parameters
    ----------
    code : str
        What clang writes with ``-gline-tables-only``.
    files : mapping of str to str
        The program's own files.
    """

    def __init__(self, code: str, files: Mapping[str, str]) -> None:
        self._files = files
        self._scopes, self._names, self._where = _numbered(code)

    def of(self, row: str) -> At | None:
        """File, line and column; None for what is of no file of the program.

        Parameters
        ----------
        row : str
            Of the text.
        """
        m = AT.search(row)
        line, column, scope = self._where.get(m[1] if m else "", (0, 0, ""))
        file = self._names.get(self._scopes.get(scope, ""), "").removeprefix("./")
        return (file, line, column) if line and file in self._files else None


@lru_cache(maxsize=8)
def _numbered(code: str) -> tuple[dict[str, str], dict[str, str], dict[str, tuple[int, int, str]]]:
    """Scopes' files, files' names, and lines, columns and scopes; each check asks for the same.

    LLVM writes them behind all functions.
    """
    code = code[code.find("\n!") + 1 :]
    where = {n: (int(x), int(y or 0), s) for n, x, y, s in LOCATION.findall(code)}
    return dict(SCOPE.findall(code)), dict(FILE.findall(code)), where
