"""Remainders by a rounded reciprocal that nothing corrects: `v - (v * reciprocal >> 64) * p`.

The quotient is one too small, or too large, for few values, and no decision tells of them.  It is
exact for every value where multiplier, shift and divisor are constants and the value's type keeps
it small enough; else a comparison has to follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rheostat.measurement.code.reached.stated_ranges import FunctionText
from rheostat.measurement.code.reached.truths import LOADED

OPERATION = re.compile(
    r"(?P<how>sub|mul|[la]shr|and|urem) (?:n[us]w |exact )*i(?P<bits>\d+) "
    r"(?P<one>[^\s,]+), (?P<other>[^\s,]+)"
)
WIDENED = re.compile(r"(?P<how>[sz]ext|trunc) i(?P<bits>\d+) (?P<of>%[^\s,]+) to i\d+")
CALL = re.compile(r"(?:tail )?call [^@]*@([-\w.$]+)\((.*?)\)(?:,| #|$)")
GIVEN = re.compile(r"i\d+ (?:noundef |signext |zeroext )*([^\s,)]+)")
STORED = re.compile(r"\s*store i\d+ (?P<value>%[^\s,]+), ptr (?P<place>%[^\s,]+)")
RETURNED = re.compile(r"\s*ret i\d+ ([^\s,]+)")
ORDERED = re.compile(r"icmp (?:samesign )?[us](?:lt|le|gt|ge) i\d+ ([^\s,]+), ([^\s,]+)")
KEEPS = re.compile(r"(?:add|sub|xor|select|phi|[sz]ext|trunc|shl|freeze|load)\b")
SIGN = re.compile(r"[la]shr i(?:32|64|128) (%[^\s,]+), (?:31|63|127)\b")
VALUE = re.compile(r"%[-\w.$]+")
LEAST_SHIFT, RESULT = 32, "ret"
UNCORRECTED = "a remainder by a rounded reciprocal, which nothing corrects"


class _Flow(FunctionText):
    def source(self, value: str) -> str:
        """A value without conversions and through variables that are set once."""
        for _ in self.defined:
            said = self.defined.get(value, "")
            if m := WIDENED.match(said):
                value = m["of"]
            elif (m := LOADED.match(said)) and m[1] in self.once:
                value = self.once[m[1]]
            else:
                return m[1] if m else value  # a variable that is set more than once
        return value

    def operation(self, value: str, *hows: str) -> re.Match[str] | None:
        m = OPERATION.match(self.defined.get(self.source(value), ""))
        return m if m and m["how"] in hows else None

    def bound(self, value: str) -> int:
        """What the value is always less than, by its type and how it was made."""
        said = self.defined.get(value, "")
        if m := WIDENED.match(said):
            inner = self.bound(m["of"])
            return inner // (2 if m["how"] == "sext" and inner == 1 << int(m["bits"]) else 1)
        if (m := OPERATION.match(said)) and m["other"].isdecimal():
            number, most = int(m["other"]), 1 << int(m["bits"])
            made = {"and": number + 1, "urem": number, "lshr": most >> number}
            return made.get(m["how"], most)
        if (m := LOADED.match(said)) and m[1] in self.once and self.once[m[1]] in self.defined:
            return self.bound(self.once[m[1]])
        typed = re.match(r"\S+(?: \S+)*? i(\d+)\b", said) or re.match(r"load i(\d+)", said)
        return 1 << int(typed[1]) if typed else 1 << 128


def rounded_reciprocals(code: str) -> dict[tuple[str, str], str]:
    """Remainders by a rounded reciprocal, by function and value, with what to say.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.
    """
    functions = _Flow.each(code)
    high = {name for name, f in functions.items() if _is_high_half(f)}
    return {
        (name, value): UNCORRECTED
        for name, f in functions.items()
        for value, by in _remainders(f, high)
        if not _is_corrected(functions, name, value, by)
    }


def _is_high_half(f: _Flow) -> bool:
    """Whether a function gives the upper half of the product of what it is given."""
    for row in f.rows:
        m = RETURNED.match(row)
        shift = f.operation(m[1], "lshr", "ashr") if m else None
        product = f.operation(shift["one"], "mul") if shift else None
        if product and {f.source(product[k]) for k in ("one", "other")} <= set(f.parameters):
            return True
    return False


def _remainders(f: _Flow, high: set[str]) -> Iterator[tuple[str, str]]:
    """Differences of a value and its rounded quotient times the divisor, with that."""
    for value in f.defined:
        difference = OPERATION.match(f.defined[value])
        product = difference and f.operation(difference["other"], "mul")
        if not difference or not product or difference["how"] != "sub":
            continue
        of = f.source(difference["one"])
        for quotient, by in (product.group("one", "other"), product.group("other", "one")):
            for whole, many, shift in _factors(f, quotient, high):
                exact = _is_exact(f.bound(whole), f.source(many), shift, f.source(by))
                if f.source(whole) == of and not exact:
                    yield value, f.source(by)


def _factors(f: _Flow, quotient: str, high: set[str]) -> Iterator[tuple[str, str, int]]:
    """The two factors of a product that is shifted, either way round, and by how much."""
    if shift := f.operation(quotient, "lshr", "ashr"):
        product, by = f.operation(shift["one"], "mul"), shift["other"]
        if product and not (by.isdecimal() and int(by) < LEAST_SHIFT):
            one, other, count = product["one"], product["other"], int(by) if by.isdecimal() else -1
            yield from ((one, other, count), (other, one, count))
    elif (m := CALL.match(f.defined.get(f.source(quotient), ""))) and m[1] in high:
        one, other, *_ = *GIVEN.findall(m[2]), "", ""
        yield from ((one, other, 64), (other, one, 64))


def _is_exact(bound: int, many: str, shift: int, by: str) -> bool:
    """Whether a quotient by a product is right for all whole numbers below a bound.

    >>> _is_exact(2**32, "3435973837", 35, "10"), _is_exact(2**64, "9223372161", 64, "1999999973")
    (True, False)
    """
    if not (many.lstrip("-").isdecimal() and by.isdecimal() and shift >= 0 and int(by)):
        return False
    factor = int(many) % (1 << 64) if many.startswith("-") else int(many)
    beyond = factor * int(by) - (1 << shift)
    largest = bound - 1 - bound % int(by)  # the last that leaves the greatest remainder
    return beyond >= 0 and max(largest, 0) * beyond < 1 << shift


def _is_corrected(functions: Mapping[str, _Flow], name: str, value: str, by: str) -> bool:
    """Whether the remainder is compared anywhere, or anything with the divisor's number."""
    known, count = {(name, value)}, 0
    numbers = {by, str(int(by) - 1)} if by.isdecimal() else set()
    while count != len(known):
        count = len(known)
        for own_name, f in functions.items():
            own = {v for n, v in known if n == own_name}
            returned = {v for v, said in f.defined.items()
                        if (call := CALL.match(said)) and (call[1], RESULT) in known}  # fmt: skip
            spread = returned | _spread(f, own)
            if None in spread and not numbers:
                return True  # in memory, where it may be compared later
            known |= {(own_name, v) for v in spread if v}
            if any(_corrects(functions, said, own, numbers) for said in f.defined.values()):
                return True
    return False


def _spread(f: _Flow, own: set[str]) -> set[str | None]:
    """What holds one of these values, too; None stands for memory that is no variable."""
    made = set[str | None]()
    for row in f.rows if own else ():
        if (m := STORED.match(row)) and m["value"] in own:
            is_variable = f.defined.get(m["place"], "").startswith("alloca")
            made.add(m["place"] if is_variable else None)
        if (m := RETURNED.match(row)) and m[1] in own:
            made.add(RESULT)
    for value, said in f.defined.items() if own else ():
        if KEEPS.match(said) and own & set(VALUE.findall(said.split(", !")[0])):
            made.add(value)
    return made


def _corrects(
    functions: Mapping[str, _Flow], said: str, own: set[str], numbers: set[str]
) -> bool:  # fmt: skip
    """Whether a value is compared, its sign is taken, or a function is given it that compares."""
    if m := ORDERED.match(said):
        return bool((own | numbers) & set(m.groups()))
    if m := SIGN.match(said):
        return m[1] in own
    call = CALL.match(said)
    if not call or not own & set(VALUE.findall(call[2])):
        return False
    called = functions.get(call[1])
    compares = called and any(ORDERED.match(x) for x in called.defined.values())
    return bool(compares) or "min" in call[1]
