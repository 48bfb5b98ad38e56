"""Truths that no comparison of two values makes: of tables, of C++'s library, of pointers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rheostat.measurement.code.reached.constant_values import NAME

STORED = re.compile(r"\s*store \S+ (?P<value>[^,]+), ptr (?P<place>[%@][^\s,]+)")
LOADED = re.compile(r"load \S+, ptr ([%@][^\s,]+)")
CHOICE = re.compile(r"(?:if\.then|cond\.true)")
SEARCHES = re.compile(
    r"(?:tail )?call .*@(?:str(?!n?dup)\w+|w?mem(?:r?chr|r?mem)|r?index|bsearch)\("
)
ALLOCATES = re.compile(
    r"(?:tail )?call .*@(?:[mc]alloc|realloc(?:array)?|aligned_alloc|memalign)\("
)
MADE_TRUE = re.compile(
    rf"\s*(?P<value>{NAME}) = (?:(?:tail )?call [^@]*\bi1 @(?:_ZStS?(?:eq|ne|lt|gt|le|ge)\w*|"
    r"_ZN9__gnu_cxx(?:eq|ne|lt|gt|le|ge)\w*|_ZNK?S\w*(?:5empty|8contains)E\w*|"
    r"_ZSt(?:5isnan|5isinf|8isfinite|8isnormal|7signbit|13binary_search)\w*)\(|"
    r"trunc i8 (?P<of>\S+) to i1|extractvalue \{ i\d+, i1 \} (?P<pair>\S+), 1)"
)
"""Not exchanges that other threads may make fail."""
PASSED_ON = re.compile(
    rf"\s*(?P<value>{NAME}) = (?:phi i1 |or i1 |xor i1 \S+, true|zext i1 \S+ to )"
)


def ends_text(m: re.Match[str], targets: tuple[str, str] | None, rows: Sequence[str]) -> bool:
    """Whether a loop asks for the end of a text: whether one ends there hangs on the texts.

    Parameters
    ----------
    m : re.Match
        A comparison.
    targets : pair of str, optional
        Where it leads.
    rows : sequence of str
        Its function.
    """
    if not (m["value"].startswith("%tobool") and m["other"] == "0"):
        return False
    chosen = targets and any(CHOICE.match(t) for t in targets)
    number = rf"[zs]ext i1 (?:{re.escape(m['value'])}|%lnot\S*) to"
    counted = any(re.search(number, row) for row in rows)
    character = m["type"] == "i8" or m["one"].startswith("%conv")
    return character and not (chosen or counted)


def maker(value: str, rows: Sequence[str], defined: Mapping[str, str]) -> str:
    """What makes a pointer, also one that is kept in a place of its own; empty if unknown.

    >>> made = {"%1": "call ptr @strstr()", "%2": "load ptr, ptr %p"}
    >>> maker("%2", ["  store ptr %1, ptr %p"], made)
    'call ptr @strstr()'
    """
    made = defined.get(value, "")
    if slot := LOADED.match(made):
        found_at = [m for row in rows if (m := STORED.match(row)) and m["place"] == slot[1]]
        made = defined.get(found_at[0]["value"], "") if len(found_at) == 1 else ""
    return made


def is_only_kept(value: str, rows: Sequence[str]) -> bool:
    """Whether a truth is stored, by itself or beside others: who reads it there is asked.

    >>> rows = ["  %3 = phi i1 [ true, %a ], [ %2, %b ]", "  %4 = zext i1 %3 to i32"]
    >>> is_only_kept("%2", [*rows, "  store i32 %4, ptr %failed, align 4"])
    True
    >>> is_only_kept("%2", [*rows, "  %5 = add nsw i32 %4, %sum"])
    False
    """
    known, open_ = {value}, [value]
    while open_:
        used = re.compile(rf"(?<!^  ){re.escape(open_.pop())}(?=[\s,)]|$)")
        for row in (r for r in rows if used.search(r)):
            m, kept = PASSED_ON.match(row), STORED.match(row)
            if m and m["value"] not in known:
                known.add(m["value"])
                open_.append(m["value"])
            elif not (m or (kept and used.search(f" {kept['value']}"))):
                return False
    return True


def targets_of(branch: re.Match[str] | None, value: str) -> tuple[str, str] | None:
    """Where a branch goes if it is this value that decides it."""
    return (branch[2], branch[3]) if branch is not None and branch[1] == value else None
