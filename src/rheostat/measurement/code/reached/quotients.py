"""Quotients of sums, and what is rounded: was there ever no remainder, the most, or a half?

``(cost + held / 2) / held`` and ``(cost + (held - 1) / 2) / held`` are the same but for one
remainder, and so are most that are one off.  Where no input had it, no output vouches for it.
A question names the whole quotient: one that is made in the same way in the original is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.constants import CONSTANT
from rheostat.measurement.code.reached.idle_operations import Idle
from rheostat.measurement.code.reached.truths import LOADED

FLAGS = r"(?:(?:n[us]w|exact|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
MADE = re.compile(
    rf"(?P<how>f?(?:add|sub|mul|div)|[su](?:div|rem)|x?or|and|shl|[al]shr) {FLAGS}"
    r"(?P<type>i\d+|float|double) (?P<one>[^\s,]+), (?P<other>[^\s,]+?)(?:, !.*)?$"
)
ROW = re.compile(rf"\s*(?P<value>{NAME}) = (?P<said>.*)")
TURNED = re.compile(r"(?:[sz]ext|trunc|freeze) \S+ (?P<of>\S+)(?: to|$)")
ROUNDS = re.compile(
    r"(?:tail )?call [^@]*@(?:llvm\.)?l?l?(?P<how>rint|nearbyint|roundeven|round)f?"
    rf"(?:\.[\w.]+)?\((?P<type>float|double) (?:noundef )?(?P<value>{NAME})\)"
)
DOWN = re.compile(
    rf"(?:fpto[su]i (?P<type>float|double) (?P<value>{NAME}) to|(?:tail )?call [^@]*@(?:llvm\.)?"
    rf"floorf?(?:\.\w+)?\((?P<of>float|double) (?:noundef )?(?P<down>{NAME})\))"
)
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "or": "|", "xor": "^",
         "and": "&", "shl": "<<", "shr": ">>"}  # fmt: skip
EITHER_WAY = "+*|^&"
NAMED = re.compile(NAME)
HALF, DEEPEST = "5.000000e-01", 8
SMALL, MOST_SHIFT = 64, 31
"""Divisors up to it have all remainders, or none ever has one; shifts leave that many bits."""
NO_HALF = "no half between whole numbers, which {} takes to one side"
LEAVES, LESS = "{} with a remainder", "{} with less than the greatest remainder"


@dataclass(frozen=True)
class NoHalf(Idle):
    """A value that is rounded to a whole one; which way a half goes hangs on the function."""

    def compared(self, name: str) -> str:
        """The instructions that tell whether it is no half between two whole numbers.

        >>> print(NoHalf("double", "%x", 0, "").compared("%y"))
        %y.down = call double @llvm.floor.f64(double %x)
        %y.rest = fsub double %x, %y.down
        %y = fcmp one double %y.rest, 5.0e-1
        """
        bits = "f64" if self.type_ == "double" else "f32"
        return (f"{name}.down = call {self.type_} @llvm.floor.{bits}({self.type_} {self.value})\n"
                f"{name}.rest = fsub {self.type_} {self.value}, {name.strip()}.down\n"
                f"{name} = fcmp one {self.type_} {name.strip()}.rest, 5.0e-1")  # fmt: skip


@dataclass(frozen=True)
class Remainder:
    """A quotient of a sum, by ``by`` or 2 to it, of whose remainder 0 or the most is asked.

    Small divisors are not asked, and 1 and 2 show nothing: all remainders are at an end.
    """

    type_: str
    value: str
    by: str
    how: str
    most: bool
    said: str

    def outcome(self, name: str) -> str:
        """The instructions that tell: 0 if it came, ``too`` 1 if it is asked; 2 shows nothing.

        >>> print(Remainder("i64", "%n", "%d", "udiv", False, "").outcome("%y"))
        %y.rest = urem i64 %n, %d
        %y.met = icmp eq i64 %y.rest, 0
        %y.large = icmp ugt i64 %d, 64
        %y.tells = icmp ugt i64 %d, 2
        %y.came = select i1 %y.met, i1 %y.tells, i1 false
        %y.asked = or i1 %y.came, %y.large
        %y = select i1 %y.came, i64 0, i64 2
        %y.too = select i1 %y.asked, i64 1, i64 2
        """
        kind, signed, by, rows = self.type_, self.how == "sdiv", self.by, list[str]()
        if self.how.endswith("shr"):
            by = f"{name}.by"
            rows.append(f"{by} = shl {kind} 1, {self.by}")
        rest = f"{name}.rest"
        rows.append(f"{rest} = {'srem' if signed else 'urem'} {kind} {self.value}, {by}")
        for part, value in (("rest", rest), ("by", by)) if signed else ():
            rows += [f"{name}.minus.{part} = sub {kind} 0, {value}",
                     f"{name}.is.{part} = icmp slt {kind} {value}, 0",
                     f"{name}.size.{part} = select i1 {name}.is.{part}, {kind} "
                     f"{name}.minus.{part}, {kind} {value}"]  # fmt: skip
        if signed:
            rest, by = f"{name}.size.rest", f"{name}.size.by"
        if self.most:
            rows.append(f"{name}.next = add {kind} {rest}, 1")
        met = f"{name}.next, {by}" if self.most else f"{rest}, 0"
        rows += [
            f"{name}.met = icmp eq {kind} {met}",
            f"{name}.large = icmp ugt {kind} {by}, {SMALL}",
            f"{name}.tells = icmp ugt {kind} {by}, 2",
            f"{name}.came = select i1 {name}.met, i1 {name}.tells, i1 false",
            f"{name}.asked = or i1 {name}.came, {name}.large",
            f"{name} = select i1 {name}.came, i64 0, i64 2",
            f"{name}.too = select i1 {name}.asked, i64 1, i64 2",
        ]
        return "\n".join(rows)


def rounded(row: str, defined: Mapping[str, str]) -> Iterator[NoHalf]:
    """A value that a row rounds to a whole one.

    Parameters
    ----------
    row : str
        An instruction.
    defined : mapping of str to str
        What each value of the function is.
    """
    m = ROW.match(row)
    if m and (r := ROUNDS.match(m["said"])):
        yield NoHalf(r["type"], r["value"], 0, NO_HALF.format(r["how"]))
    elif m and (r := DOWN.match(m["said"])):
        of = MADE.match(defined.get(r["value"] or r["down"], ""))
        if of and of["how"] == "fadd" and HALF in (of["one"], of["other"]):
            value = of["one"] if of["other"] == HALF else of["other"]
            how = "adding a half" + (" and a floor" if r["down"] else "")
            yield NoHalf(of["type"], value, 0, NO_HALF.format(how))


def remainders(
    row: str, defined: Mapping[str, str], once: Mapping[str, str]
) -> Iterator[Remainder]:  # fmt: skip
    """What is to be asked of a row that divides a sum.

    Parameters
    ----------
    row : str
        An instruction.
    defined : mapping of str to str
        What each value of the function is.
    once : mapping of str to str
        Places of the function that one value is stored to, and that value.
    """
    m = ROW.match(row)
    q = MADE.match(m["said"]) if m else None
    if not (m and q) or q["how"] not in ("sdiv", "udiv", "lshr", "ashr"):
        return
    by = int(q["other"]) if q["other"].isdecimal() else 0
    most = by if q["how"].endswith("div") else 1 << min(by, MOST_SHIFT)
    tree = tree_of(m["value"], defined, once)
    if (by and not SMALL < most < 1 << MOST_SHIFT) or not isinstance(tree[1], tuple):
        return
    for most, how in ((False, LEAVES), (True, LESS)) if tree[1][0] in "+-" else ():
        said = how.format(words(tree))
        yield Remainder(q["type"], q["one"], q["other"], q["how"], most, said)


Tree = str | tuple[str, "Tree", "Tree"]


def tree_of(
    value: str, defined: Mapping[str, str], once: Mapping[str, str], depth: int = 0
) -> Tree:
    """How a value is made of others, through variables that are set once; else by its place.

    Parameters
    ----------
    value : str
        What it is called in LLVM's text.
    defined : mapping of str to str
        What each value of the function is.
    once : mapping of str to str
        Places of the function that one value is stored to, and that value.
    depth : int
        How far it has been followed.
    """
    said = defined.get(value, "")
    if depth > DEEPEST or not said:
        return value
    if t := TURNED.match(said):
        return tree_of(t["of"], defined, once, depth + 1)
    if m := MADE.match(said):
        one, other = (tree_of(m[s], defined, once, depth + 1) for s in ("one", "other"))
        if m["how"] == "lshr" and m["other"].isdecimal():
            return "/", one, str(1 << int(m["other"]))
        return SIGNS[re.sub("f|[su](?=div|rem)|[al](?=shr)", "", m["how"])], one, other
    if m := LOADED.match(said):
        held = once.get(m[1], "")
        tree = tree_of(held, defined, once, depth + 1) if held else m[1]
        known = not isinstance(tree, str) or CONSTANT.fullmatch(tree)
        return tree if known else _reached(m[1], defined)
    return value


def _reached(place: str, defined: Mapping[str, str], depth: int = 0) -> str:
    """A place by how it is reached: the same element has the same name wherever it is read."""
    said = defined.get(place, "").partition(", !")[0]
    if depth > DEEPEST or not said.startswith(("getelementptr", "load", "sext", "zext")):
        return place
    return NAMED.sub(lambda m: _reached(m[0], defined, depth + 1), said)


def words(tree: Tree) -> str:
    """A tree as it is written, with letters for what it is made of, in one order.

    >>> words(("/", ("+", ("/", "%held", "2"), "%cost"), "%held"))
    '((a / 2) + b) / a'
    >>> words(("/", ("+", "%y", ("/", "%x", "2")), "%x"))
    '((a / 2) + b) / a'
    """
    letters: dict[str, str] = {}

    def shape(tree: Tree) -> str:
        if isinstance(tree, str):
            return tree if CONSTANT.fullmatch(tree) else "~"
        sign, one, other = tree
        sides = [shape(one), shape(other)]
        return f"({f' {sign} '.join(sorted(sides) if sign in EITHER_WAY else sides)})"

    def said(tree: Tree) -> str:
        if isinstance(tree, str):
            if CONSTANT.fullmatch(tree):
                return tree
            return letters.setdefault(tree, chr(ord("a") + min(len(letters), 25)))
        sign, one, other = tree
        sides = sorted((one, other), key=shape) if sign in EITHER_WAY else (one, other)
        return f"({f' {sign} '.join(map(said, sides))})"

    made = said(tree)
    return made[1:-1] if made.startswith("(") else made
