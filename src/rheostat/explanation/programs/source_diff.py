"""The difference of two programs as ``patch`` and ``git apply`` take it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

NO_END = "\n\\ No newline at end of file\n"


def unified_diff(original: Mapping[str, str], candidate: Mapping[str, str]) -> str:
    r"""File by file; a single file under another name is compared with it.

    Parameters
    ----------
    original, candidate : mapping of str to str
        Text of the files by name.

    Returns
    -------
    str
        A unified diff; empty where nothing changed.

    Examples
    --------
    >>> print(unified_diff({"a.c": "x\n"}, {"a.c": "y\n"}), end="")
    --- a/a.c
    +++ b/a.c
    @@ -1 +1 @@
    -x
    +y
    """
    pairs = [(name, name) for name in dict.fromkeys((*original, *candidate))]
    if len(original) == len(candidate) == 1:
        pairs = [(next(iter(original)), next(iter(candidate)))]
    lines: list[str] = []
    for old, new in pairs:
        if old != new:
            lines.append(f"diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n")
        before, after = original.get(old, ""), candidate.get(new, "")
        lines += difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            f"a/{old}",
            f"b/{new}",
        )
    return "".join(x if x.endswith("\n") else x + NO_END for x in lines)
