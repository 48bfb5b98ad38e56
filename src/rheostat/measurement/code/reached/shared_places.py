"""Places that two numbers share, though no input went so far: ``id % 97 * 181 + id % 181``.

A place that is made of several remainders and quotients of one number is another one for each
number up to some number, and then comes again.  No output tells of that before a number is so
great, unless what lies there is asked whose it is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.measurement.code.reached.idle_operations import INDEXED, Idle
from rheostat.measurement.code.reached.quotients import MADE, TURNED, Tree, tree_of
from rheostat.measurement.code.reached.stated_ranges import FunctionText
from rheostat.measurement.code.reached.ties import EQUAL

NUMBERS, MOST = 1 << 17, 1 << 40
"""Numbers whose places are made, and up to where their parts are exact."""
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv,
         "%": operator.mod, "|": operator.or_, "^": operator.xor, "&": operator.and_,
         "<<": operator.lshift, ">>": operator.rshift}  # fmt: skip
PARTS = ("%", "&")
TAKEN = re.compile(r"[su]rem|and|[su]div|[la]shr")
CALLED = re.compile(r"(?:tail )?call [^@]*@([-\w.$]+)\(")
RETURNED = re.compile(r"\s*ret i\d+ (%[^\s,]+)")
POINTED = re.compile(
    r"getelementptr [^,]*, ptr (%[^\s,]+)|call [^@]*@_ZNK?S\w*ixEm\(ptr [^,%]*(%[^\s,]+)"
)
BELOW = "a number below {:,}, from which on two have one place"


@dataclass(frozen=True)
class Below(Idle):
    """A number that may always stay below ``neutral``."""

    def compared(self, name: str) -> str:
        """The instruction that tells whether it does.

        >>> Below("i32", "%id", 64, "").compared("%y")
        '%y = icmp ult i32 %id, 64'
        """
        return f"{name} = icmp ult {self.type_} {self.value}, {self.neutral}"


def shared_places(code: str) -> dict[tuple[str, str], list[Below]]:
    """Numbers that have to come so great that two share a place, by function and value.

    The value is a part that is taken of the number.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.
    """
    functions = FunctionText.each(code)
    indexed = {name: list(_indexes(f)) for name, f in functions.items()}
    called = {
        m[1] for name, f in functions.items() for trees in indexed[name] for tree in trees
        if isinstance(tree, str) and (m := CALLED.match(f.defined.get(tree, "")))
    }  # fmt: skip
    made: dict[tuple[str, str], list[Below]] = {}
    for name, f in functions.items():
        given = [(_tree(f, m[1]),) for row in f.rows if (m := RETURNED.match(row))]
        for trees in (*indexed[name], *(given if name in called else ())):
            leaf = _one_leaf(trees)
            first = _first_shared(trees, leaf) if leaf and not _asks_whose(f, leaf) else 0
            value = _part(f, leaf) if first else ""
            if m := MADE.match(f.defined.get(value, "")):
                below = Below(m["type"], m["one"], first, BELOW.format(first))
                made[name, value] = [below]
    return made


def _tree(f: FunctionText, value: str) -> Tree:
    return tree_of(value, f.defined, f.once)


def _indexes(f: FunctionText) -> Iterator[tuple[Tree, ...]]:
    """Indexes of each element, that of the array within an array with it."""
    outer: dict[str, tuple[Tree, ...]] = {}
    for row in f.rows:
        if m := INDEXED.match(row):
            at = POINTED.search(row)
            trees = (
                *outer.get((at[1] or at[2]) if at else "", ()),
                _tree(f, m["index"] or m["at"]),
            )
            outer[row.strip().partition(" = ")[0]] = trees
            yield trees


def _leaves(tree: Tree) -> Iterator[str]:
    """What a tree is made of, but for constants.

    >>> list(_leaves(("+", ("%", "%id", "97"), ("*", "%id", "3"))))
    ['%id', '%id']
    """
    if isinstance(tree, tuple):
        yield from (*_leaves(tree[1]), *_leaves(tree[2]))
    elif not tree.lstrip("-").isdecimal():
        yield tree


def _signs(tree: Tree) -> set[str]:
    return {tree[0]} | _signs(tree[1]) | _signs(tree[2]) if isinstance(tree, tuple) else set()


def _one_leaf(trees: tuple[Tree, ...]) -> str:
    """The number that all is made of, where parts of it are taken more than once; else empty."""
    every = [leaf for tree in trees for leaf in _leaves(tree)]
    signs = set().union(*map(_signs, trees))
    return every[0] if len(every) > 1 and len(set(every)) == 1 and signs & {*PARTS} else ""


def _first_shared(trees: tuple[Tree, ...], leaf: str) -> int:
    """The first number whose place one before it has; 0 if there is none among so many.

    >>> at = ("+", ("*", ("%", "%id", "97"), "181"), ("%", "%id", "181"))
    >>> _first_shared((at,), "%id"), _first_shared((("%", "%i", "9"), ("/", "%i", "9")), "%i")
    (17557, 0)
    """
    whole = np.zeros(NUMBERS, dtype=np.int64)
    for tree in trees:
        one = _values(tree)
        if one is None or np.abs(one).max() >= MOST:
            return 0
        whole = whole * 1_000_003 + one
    _, first = np.unique(whole, return_index=True)
    again = np.ones(NUMBERS, dtype=bool)
    again[first] = False
    return int(again.argmax())


def _values(tree: Tree) -> np.ndarray | None:
    """What a tree is for each number, the first ones."""
    if isinstance(tree, str):
        known = int(tree) if tree.lstrip("-").isdecimal() else None
        return np.arange(NUMBERS) if known is None else np.full(NUMBERS, known)
    one, other = _values(tree[1]), _values(tree[2])
    if one is None or other is None or np.abs(one).max() >= MOST or np.abs(other).max() >= MOST:
        return None
    if (tree[0] in "/%" and not other.all()) or (tree[0] in ("<<", ">>") and other.max() > 20):
        return None
    made: np.ndarray = SIGNS[tree[0]](one, other)
    return made


def _part(f: FunctionText, leaf: str) -> str:
    """A value that takes a part of the number by a constant."""
    for value, said in f.defined.items():
        m = MADE.match(said)
        if (
            m
            and TAKEN.fullmatch(m["how"])
            and m["other"].isdecimal()
            and _tree(f, m["one"]) == leaf
        ):
            return value
    return ""


def _asks_whose(f: FunctionText, leaf: str) -> bool:
    """Whether the number is compared with what an element holds."""
    for row in f.rows:
        if m := EQUAL.match(row):
            both = m["one"], m["other"]
            if leaf in [_tree(f, v) for v in both] and any(_is_element(f.defined, v) for v in both):
                return True
    return False


def _is_element(defined: Mapping[str, str], value: str) -> bool:
    said = defined.get(value, "")
    while m := TURNED.match(said):
        said = defined.get(m["of"], "")
    at = re.match(r"load i\d+, ptr (%[^\s,]+)", said)
    return bool(at and defined.get(at[1], "").startswith(("getelementptr", "call")))
