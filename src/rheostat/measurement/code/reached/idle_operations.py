"""Whether what is computed ever changes anything: a summand that was always 0, a factor always 1.

What is added only on a rare input, on another day or on another machine is nothing in every run
here, wherever it comes from: a quotient, a table in which all but one entry are 0, the system.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rheostat.measurement.code.reached.constant_values import CUT, LEAST_CUT, NAME, bounds
from rheostat.measurement.code.reached.truths import STORED

COMPUTED = re.compile(
    rf"\s*(?P<value>{NAME}) = (?P<how>f?(?:add|sub|mul|div)|[su]div|x?or|and|shl|[al]shr) "
    r"(?:(?:nuw|nsw|exact|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
    r"(?P<type>i\d+|float|double) (?P<left>[^\s,]+), (?P<right>[^\s,]+?)(?:, !.*)?$"
)
INDEXED = re.compile(
    rf"\s*{NAME} = getelementptr [^,]*, ptr [^,]+, (?:i\d+ 0, )?(?P<type>i\d+) (?P<index>%[^\s,]+)"
    r"(?:, !.*)?$|.*call [^@]*@_ZNK?S\w*ixEm\(ptr [^,]*, (?P<by>i64) noundef (?P<at>%[^\s,)]+)\)"
)
"""An element of an array; ``operator[]`` of C++'s containers."""
VANISHES = re.compile(
    rf"\s*(?P<value>{NAME}) = "
    r"(?:(?:[su]div|[al]shr|and) (?P<type>i\d+) \S+, (?P<by>[1-9]\d*)|"
    r"fpto[su]i \w+ \S+ to (?P<to>i\d+))(?:, !.*)?$"
)
"""What may be nothing until a value is large enough: a quotient, a shift, a bit, a whole part.
Exact quotients are left out: pointers have them."""
QUOTIENT = "0 as a whole part of {}"
PARTED = re.compile(
    rf"\s*(?P<value>{NAME}) = (?P<how>[su]div|[al]shr) (?P<type>i\d+) (?P<whole>%[^\s,]+), "
    r"(?P<by>%[^\s,]+|[1-9]\d*)(?:, !.*)?$"
)
ONE_MORE = "(?:add (?:n[us]w )*i\\d+ (?:{0}, 1|1, {0})|icmp [su]le i\\d+ %[^\\s,]+, {0})(?:,|$)"
SUMMAND = re.compile(r"add (?:n[us]w )*i\d+ (%[^\s,]+), ([^\s,]+?)(?:, !.*)?$")
OF_SHIFT = re.compile(r"\s*%sh[lr]\.mask\d* = and ")
"""What OpenCL C keeps of how far a value is shifted, which no text says: the compiler's."""
UNCUT = "all of what {} is to keep a part of, so that it changes nothing"
NO_MULTIPLE = "no multiple of what it is divided by, where one more than the quotient is taken"
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "or": "|", "xor": "^", "shl": "<<",
         "shr": ">>", "and": "&"}  # fmt: skip
ONE_SIDED = ("-", "/", "<<", ">>")
"""Of these only what stands on the right changes nothing."""
NEUTRAL = {"*": 1, "/": 1, "&": -1}
"""What changes nothing; of others 0."""
NOTHING = "{} {} of {}, so that it changes nothing"
FIRST, TOGETHER = "0 as an index", "0 as what {} makes of both"
TURNED = re.compile(r"(?:[sz]ext|trunc|[su]itofp|fpext|fptrunc) \S+ (%[^\s,]+) to")
TRUTH = re.compile(r"zext i1 ")
LOAD = re.compile(r"load [^,]+, ptr ([%@][^\s,]+)")


@dataclass(frozen=True)
class Idle:
    """A value that may change nothing: its type, the number that it then is, and how to say it.

    ``side`` is left or right for an operand of an instruction.
    """

    type_: str
    value: str
    neutral: int
    said: str
    side: str = field(default="", kw_only=True)

    def compared(self, name: str) -> str:
        """The instruction that tells whether it is that number.

        >>> Idle("double", "%x", 0, "").compared("%y")
        '%y = fcmp oeq double %x, 0.0'
        """
        if self.type_ in ("float", "double"):
            return f"{name} = fcmp oeq {self.type_} {self.value}, {self.neutral}.0"
        return f"{name} = icmp eq {self.type_} {self.value}, {self.neutral}"


@dataclass(frozen=True)
class Uncut(Idle):
    """What a mask or a remainder keeps of ``whole``, which may be all of it each time."""

    whole: str = ""

    def compared(self, name: str) -> str:
        """The instruction that tells whether it is.

        >>> Uncut("i32", "%r", 0, "", "%n").compared("%y")
        '%y = icmp eq i32 %r, %n'
        """
        return f"{name} = icmp eq {self.type_} {self.value}, {self.whole}"


@dataclass(frozen=True)
class Multiple(Idle):
    """A whole number that may never be a multiple of ``by``, by which it is divided."""

    by: str = ""
    signed: bool = True

    def compared(self, name: str) -> str:
        """The instructions that tell whether it is none.

        >>> print(Multiple("i32", "%n", 0, "", "64").compared("%y"))
        %y.rest = srem i32 %n, 64
        %y = icmp ne i32 %y.rest, 0
        """
        rest, how = f"{name}.rest", "srem" if self.signed else "urem"
        return (f"{rest} = {how} {self.type_} {self.value}, {self.by}\n"
                f"{name} = icmp ne {self.type_} {rest.strip()}, 0")  # fmt: skip


def one_more(
    row: str, defined: Mapping[str, str], rows: Sequence[str] = ()
) -> Iterator[Multiple]:  # fmt: skip
    """A number of blocks that is one too many where they come out even: ``n / 64 + 1``.

    Also one that is kept in a variable first, and a loop up to the quotient, that one counted.

    >>> made = {"%b": "add nsw i32 %q, 1"}
    >>> [m.by for m in one_more("  %q = sdiv i32 %n, 64", made)]
    ['64']
    >>> [m.by for m in one_more("  %q = sdiv i32 %s, 64", {"%s": "add i32 %n, 64"})]
    ['64']
    """
    m = PARTED.match(row)
    if not m:
        return
    by = m["by"]
    if m["how"].endswith("shr"):
        by = str(1 << int(by)) if by.isdigit() and int(by) < 31 else ""
    same = "|".join(map(re.escape, (m["value"], *_read_again(m["value"], defined, rows))))
    plus = re.compile(ONE_MORE.format(f"(?:{same})"))
    whole = SUMMAND.match(defined.get(m["whole"], ""))
    if by and (any(map(plus.match, defined.values())) or (whole and by in whole.groups())):
        yield Multiple(m["type"], m["whole"], 0, NO_MULTIPLE, by, m["how"] in ("sdiv", "ashr"))


def _read_again(
    value: str, defined: Mapping[str, str], rows: Sequence[str]
) -> Iterator[str]:  # fmt: skip
    """Values that are read from where this one is kept."""
    kept = {m["place"] for row in rows if (m := STORED.match(row)) and m["value"] == value}
    yield from (v for v, said in defined.items() if (m := LOAD.match(said)) and m[1] in kept)


def idle(
    row: str, rows: Sequence[str], defined: Mapping[str, str], set_once: Mapping[str, str],
    constant: Collection[str] = (),
) -> Iterator[Idle]:  # fmt: skip
    """What may change nothing in an instruction.

    Parameters
    ----------
    row : str
        The instruction.
    rows : sequence of str
        Its function.
    defined : mapping of str to str
        What each value of the function is.
    set_once : mapping of str to str
        Places that hold one constant.
    constant : collection of str
        Values that are a constant where they stand.

    Yields
    ------
    Idle
        Without constants, truth values, whose comparisons are looked at, and what is added to;
        two truths at once are not what each is.

    >>> known = {"%n": "load i32, ptr %p"}
    >>> [len([*idle(f"  %{to} = and i32 %n, 63", (), known, {})]) for to in ("and", "shl.mask")]
    [2, 0]
    """

    def source(value: str) -> str:
        while m := TURNED.match(defined.get(value, "")):
            if TRUTH.match(defined[value]):
                return ""
            value = m[1]
        return value if varies(value) else ""

    def varies(value: str) -> bool:
        loaded = LOAD.match(defined.get(value, ""))
        known = value in constant or (loaded and loaded[1] in set_once)
        return value.startswith("%") and not known

    if OF_SHIFT.match(row):
        return
    yield from one_more(row, defined, rows)
    m = CUT.match(row)
    if m and source(m["value"]) and LEAST_CUT <= int(m["by"]) < bounds(defined[m["value"]])[1]:
        of = row.strip().split(" = ")[0]
        yield Uncut(m["type"], of, 0, UNCUT.format(m["by"]), m["value"])
    if m := VANISHES.match(row):
        yield Idle(m["type"] or m["to"], m["value"], 0, QUOTIENT.format(m["by"] or 1))
    if m := INDEXED.match(row):
        index = m["index"] or m["at"]
        if source(index):
            yield Idle(m["type"] or m["by"], index, 0, FIRST)
    elif m := COMPUTED.match(row):
        sign = SIGNS[m["how"][-3:]]
        if sign in "&*" and all(map(varies, (m["left"], m["right"]))):
            yield Idle(m["type"], m["value"], 0, TOGETHER.format(sign))
        sides = ("right",) if sign in ONE_SIDED else ("left", "right")
        for side in () if m["type"] == "i1" else sides:
            value, other = m[side], m["left" if side == "right" else "right"]
            read = LOAD.match(defined.get(source(value), ""))
            grows = read and any(f" {m['value']}, ptr {read[1]}" in r for r in rows)
            counts = read and not other.startswith("%")
            if source(value) and not (grows or counts):
                neutral = NEUTRAL.get(sign, 0)
                said = NOTHING.format(neutral, side, sign)
                yield Idle(m["type"], value, neutral, said, side=side)
