"""Ties: orders that are asked for only where two values of the data are equal.

Which of two equal values comes first is no decision that inputs have to take both ways: `races`
looks at it with data of few values.  ``if (a.x != b.x) return a.x < b.x; return a.at < b.at;`` is
one as well as ``a.x == b.x && a.at < b.at``, on one line or on several.  Both are comparisons of
two things of one kind: the same member or element of two, or a variable that keeps one of them.
``o.spot == o.strike && o.years < 5 * o.rate`` is none.

Whether two are equal at all is no decision either where one function orders them by that member,
and where they are equal by other ones, and returns: keys may differ on purpose.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rheostat.measurement.code.reached.choices import LABEL as BEGINS
from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.constants import CONSTANT
from rheostat.measurement.code.reached.truths import LOADED, STORED

EQUAL = re.compile(
    rf"\s*(?P<value>{NAME}) = (?:icmp|fcmp (?:[a-z]+ )*?)\s*(?P<how>eq|ne|oeq|une) \S+ "
    rf"(?P<one>{NAME}), (?P<other>{NAME})(?:,|$)"
)
ALIKE = re.compile(rf"\s*(?P<value>{NAME}) = icmp (?P<how>eq|ne) i32 (?P<one>{NAME}), 0(?:,|$)")
COMPARES_TEXTS = re.compile(r"(?:tail )?call i32 @(?:mem|str|strn|wcs|wmem)cmp\(")
BRANCH = re.compile(rf"\s*br i1 ({NAME}), label %(\S+), label %([^\s,]+)")
LABEL = re.compile(r"label %([-\w.$]+)")
CONVERTED = re.compile(rf"(?:[sz]ext|trunc|fpext|fptrunc|freeze|[su]itofp) .*?({NAME})(?: to |$)")
BYTE = re.compile(r"[sz]ext i8 ")
COUNTED = re.compile(r"load i(?:16|32|64), ")
MEMBER = re.compile(r"getelementptr (?:inbounds )?(%\S+|%\".*?\"), ptr .*?((?:, i\d+ \d+)+)$")
ELEMENT = re.compile(r"getelementptr (?:inbounds )?(.+?), ptr ([^\s,]+), (.*)")
OF_CONTAINER = re.compile(r"call .*?@(_ZNK?S\w*(?:ixE|2atE)\w*)\(ptr [^,%@]*([%@][^\s,)]+)")
CALLED = re.compile(r"(?:tail )?call .*?(@[-\w.$]+)\(")
BEHIND = re.compile(r", (?:!|align )")
NAMED = re.compile(NAME)
INDEX = re.compile(rf"i\d+ {NAME}")
PAIR = re.compile(
    rf"\s*{NAME} = (?P<how>icmp|fcmp|sub) (?P<order>[a-z ]*?)\s*\S+ "
    r"(?P<one>[^\s,]+), (?P<other>[^\s,]+)"
)
PLAIN = re.compile(
    rf"\s*(?:$|br |ret |call void @llvm\.(?:lifetime|dbg)\.|{NAME} = (?:load |getelementptr |phi |"
    r"select |[sz]ext |trunc |xor i1 )|store \S+ [^,]+, ptr %(?:retval|cleanup\.dest\.slot)\b)"
)
"""Instructions that lead from a comparison to what is returned of it."""
DEEPEST = 8


class Kinds:
    """Of which kind the values of a function are.

    Parameters
    ----------
    rows : sequence of str
        The function in LLVM's text before it is optimised.
    defined : mapping of str to str
        What its values are.
    """

    def __init__(self, rows: Sequence[str], defined: Mapping[str, str]) -> None:
        self._defined, self._head = defined, rows[0] if rows else ""
        self._known: dict[str, set[str]] = {}
        self._stored: defaultdict[str, list[str]] = defaultdict(list)
        for row in rows:
            if m := STORED.match(row):
                self._stored[self._shape(m["place"])].append(m["value"])

    def equal(self, one: str, other: str) -> bool:
        """Whether two values are the same member, or element, of two things.

        Or a variable is one of them that keeps such a value.
        """
        return bool(self._kinds(one) & self._kinds(other))

    def ordered(self, one: str, other: str) -> bool:
        """Whether they are so, or both plain counters."""
        return self.equal(one, other) or (self._is_counter(one) and self._is_counter(other))

    def keeps(self, place: str, value: str) -> bool:
        """Whether a value was read from that place, or from what keeps such a one."""
        return self._shape(place) in self._kinds(value)

    def is_part(self, value: str) -> bool:
        """Whether it was read from a member or an element."""
        return self._place(value).startswith("getelementptr") or bool(
            OF_CONTAINER.match(self._place(value))
        )

    def is_byte(self, value: str) -> bool:
        """Whether it is a byte that was made wider, as characters are before they are compared."""
        return BYTE.match(self._defined.get(value, "")) is not None

    def compares(self, row: str) -> bool:
        """Whether a row only says which of two of one kind comes first, or passes that on."""
        m = PAIR.match(row)
        if m is None:
            of = row.strip().partition(" = ")[2]
            return bool(BEGINS.match(row) or PLAIN.match(row) or OF_CONTAINER.match(of))
        sides = m.group("one", "other")
        made = [self._defined.get(s, "").startswith("zext i1 ") for s in sides]
        return (m["how"] == "sub" and all(made)) or self.ordered(*sides)

    def compares_texts(self, value: str) -> bool:
        """Whether it is, or a variable keeps, how two texts compare."""
        m = LOADED.match(self._defined.get(value, ""))
        made = self._stored[self._shape(m[1])] if m else [value]
        return all(COMPARES_TEXTS.match(self._defined.get(v, "")) for v in made) and bool(made)

    def _kinds(self, value: str) -> set[str]:
        if value not in self._known:
            self._known[value] = set(self._sources(value))
        return self._known[value]

    def _sources(self, value: str) -> Iterator[str]:
        """What a value is, and all that the variable, or the elements, it is read from keep."""
        open_, known = [value], set[str]()
        while open_:
            one = self._unconverted(open_.pop())
            m = LOADED.match(self._defined.get(one, ""))
            kind = self._shape(m[1] if m else one)
            if kind not in known and not CONSTANT.fullmatch(kind):
                known.add(kind)
                open_ += self._stored[kind] if m else []
                yield kind

    def _is_counter(self, value: str) -> bool:
        """Whether it is a whole number in a variable of its own, and no element is kept there."""
        said = self._defined.get(self._unconverted(value), "")
        m = LOADED.match(said) if COUNTED.match(said) else None
        place = self._defined.get(m[1], "") if m else ""
        held = self._stored[self._shape(m[1])] if m else []
        return place.startswith(("alloca", "load ptr")) and not any(
            self._place(value).startswith("getelementptr") for value in held
        )

    def _place(self, value: str) -> str:
        """What the place is that a value was read from."""
        m = LOADED.match(self._defined.get(self._unconverted(value), ""))
        return self._defined.get(m[1], "") if m else ""

    def _unconverted(self, value: str) -> str:
        while m := CONVERTED.match(BEHIND.split(self._defined.get(value, ""))[0]):
            value = m[1]
        return value

    def _shape(self, value: str, depth: int = 0) -> str:
        """How a value, or a place, is made.

        A member is told by its type and number, an element by what it is of, a call by its name.
        """
        said = BEHIND.split(self._defined.get(value, ""))[0]
        if depth > DEEPEST or not said or said.startswith("alloca"):
            return self._given(value)
        if m := MEMBER.match(said):
            return f"{m[1]}{m[2]}"
        if m := ELEMENT.match(said):
            return f"{self._shape(m[2], depth + 1)}[{INDEX.sub('~', m[3])}]"
        if m := OF_CONTAINER.match(said):
            return f"{self._shape(m[2], depth + 1)}[{m[1]}]"
        if m := CALLED.match(said):
            return m[1]
        return NAMED.sub(lambda m: self._shape(m[0], depth + 1), said)

    def _given(self, value: str) -> str:
        """A variable, or an argument by its type: which one hangs on the call."""
        m = re.search(
            rf"([\w.]+)(?: noundef| signext| zeroext)* {re.escape(value)}[,)]", self._head
        )
        return m[1] if m and value.startswith("%") and m[1] != "ptr" else value


class Ties:
    """What of a function asks only which of two equal things comes first.

    ``orders`` are the blocks that nothing but two equal things leads to, and that only order them.

    Parameters
    ----------
    rows : sequence of str
        The function in LLVM's text before it is optimised.
    kinds : Kinds
        Of its values.
    """

    def __init__(self, rows: Sequence[str], kinds: Kinds) -> None:
        self._kinds, self._blocks = kinds, _blocks(rows)
        self._tied = tied_blocks(rows, kinds)
        self._equal, self.orders = set[str](), set[str]()
        for m in filter(None, map(EQUAL.match, rows)):
            self._look_at(m)

    def settle(self, label: str, value: str, how: str) -> bool:
        """Whether a comparison of two things of one kind is no question.

        Parameters
        ----------
        label : str
            Its block.
        value : str
            Its value.
        how : str
            What it asks.
        """
        return (value in self._equal or label in self.orders
                or (label in self._tied and how in ("lt", "gt")))  # fmt: skip

    def _look_at(self, m: re.Match[str]) -> None:
        """Whether both ways of an equality return, one by these two, the other by others."""
        sides = m.group("one", "other")
        ways = [w.groups()[1:] for rows in self._blocks.values() for row in rows
                if (w := BRANCH.match(row)) and w[1] == m["value"]]  # fmt: skip
        if not ways or not (self._kinds.equal(*sides) and all(map(self._kinds.is_part, sides))):
            return
        same, apart = (self._returning(t) for t in ways[0][:: 1 if "eq" in m["how"] else -1])
        if same and any(self._orders_by(row, sides[0]) for label in apart - same
                        for row in self._blocks[label]):  # fmt: skip
            self._equal.add(m["value"])
            self.orders |= same - apart

    def _orders_by(self, row: str, value: str) -> bool:
        m = PAIR.match(row)
        return m is not None and self._kinds.equal(m["one"], value)

    def _returning(self, start: str) -> set[str]:
        """Blocks from one to the function's end; none where another thing is done there."""
        known, open_ = {start}, [start]
        while open_:
            rows = self._blocks.get(open_.pop(), ["nothing"])
            if not all(map(self._kinds.compares, rows)):
                return set()
            targets = {t for row in rows for t in LABEL.findall(row)} - known
            known |= targets
            open_ += targets
        return known


def _blocks(rows: Sequence[str]) -> dict[str, list[str]]:
    made, label = defaultdict[str, list[str]](list), "entry"
    for row in rows[1:]:
        m = BEGINS.match(row)
        label = m[1] if m else label
        made[label].append(row)
    return made


def tied_blocks(rows: Sequence[str], kinds: Kinds) -> set[str]:
    """Labels of a function's blocks that are reached only where two values of data are equal.

    Parameters
    ----------
    rows : sequence of str
        The function in LLVM's text before it is optimised.
    kinds : Kinds
        Of its values.
    """
    equal = {m["value"]: "eq" in m["how"] for row in rows
             if (m := EQUAL.match(row)) and kinds.equal(*m.group("one", "other"))}  # fmt: skip
    equal |= {m["value"]: m["how"] == "eq" for row in rows
              if (m := ALIKE.match(row)) and kinds.compares_texts(m["one"])}  # fmt: skip
    leading = [label for row in rows if re.match(r"\s*(?:br|switch)\b|\s*i\d+ -?\d+, label", row)
               for label in LABEL.findall(row)] if equal else []  # fmt: skip
    tied = {label for label in _behind(rows, equal) if leading.count(label) == 1}
    blocks, open_ = _blocks(rows), [*tied]
    while open_:  # behind the first order of two equal things stands the other one
        here = blocks.get(open_.pop(), [])
        asked = {m[0].split()[0] for row in here if (m := PAIR.match(row)) and kinds.compares(row)}
        ways = [m for row in here if (m := BRANCH.match(row)) and m[1] in asked]
        more = {t for m in ways for t in m.groups()[1:] if leading.count(t) == 1} - tied
        tied |= more
        open_ += more
    return tied


def _behind(rows: Sequence[str], equal: Mapping[str, bool]) -> Iterator[str]:
    for row in rows:
        if (m := BRANCH.match(row)) and m[1] in equal:
            yield m[2] if equal[m[1]] else m[3]
