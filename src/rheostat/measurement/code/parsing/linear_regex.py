"""Patterns that a file brings, on texts that a stranger's program prints: in linear time.

Python's matcher may try 2^n ways through n characters (``(a+)+$``).  That of polars, Rust's regex,
reads a text once; it has no look-around and no back-references.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import polars as pl


def problem(pattern: Any) -> str:
    r"""Why something is no pattern, or an empty text.

    >>> problem(r"sum (\S+)"), problem("(")
    ('', "'(' is no regular expression: missing ), unterminated subpattern at position 0")
    >>> problem("(?=a)b")[:64]
    "'(?=a)b' is no regular expression of linear time, as it must be:"
    """
    try:
        _groups(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        return f"{pattern!r:.200} is no regular expression: {error}"
    try:
        matches(pattern, "")
    except pl.exceptions.PolarsError as error:
        said = next(iter(re.findall("(?m)^error: (.*)", f"{error}")), f"{error}".split("\n")[0])
        return f"{pattern!r:.200} is no regular expression of linear time, as it must be: {said}"
    return ""


def _groups(pattern: str) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of Python's own reading, which is not used
        return re.compile(pattern).groups


def matches(pattern: str, text: str) -> list[str]:
    r"""All matches: their first group where there is one, empty where it took no part.

    >>> matches(r"sum (\d+)", "sum 3, sum 14"), matches(r"a\d", "a1 b2 a3")
    (['3', '14'], ['a1', 'a3'])
    """
    matches = pl.Series([text]).str.extract_all(pattern).explode().drop_nulls()
    if not _groups(pattern):
        return matches.to_list()
    return matches.cast(pl.String).str.extract(pattern, 1).fill_null("").to_list()


def masked(pattern: str, text: str) -> str:
    r"""The text with a ``#`` in place of each match.

    >>> masked(r"node\d+", "on node17 and node4")
    'on # and #'
    """
    return str(pl.Series([text]).str.replace_all(pattern, "#").item())
