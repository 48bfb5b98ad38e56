"""Numbers that a program compares with, as its compiler makes them of macros and products."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rheostat.measurement.code.reached.source_places import Places

COMPARED = re.compile(r"\s*%\S+ = icmp \w+ i\d+ ([^\s,]+), ([^\s,]+)")


def numbers_compared(code: str, files: Mapping[str, str]) -> set[int]:
    """Whole numbers that rows of a program's own files compare with.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised, with lines.
    files : mapping of str to str
        The program's own files.
    """
    place = Places(code, files).of
    return {int(n) for row in code.splitlines() if (m := COMPARED.match(row)) and place(row)
            for n in m.groups() if n.isdecimal()}  # fmt: skip
