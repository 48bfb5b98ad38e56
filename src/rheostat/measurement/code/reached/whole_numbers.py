"""Whole numbers that are taken from floating-point ones which were made of whole numbers.

A quotient's whole part is right as long as the numbers are held exactly; that of a logarithm or of
a product with a quotient may be one less where it should be a whole number, and the exponent of
a rounded number one more.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from rheostat.measurement.code.reached.inexact import (
    ELEMENT,
    FROM_WHOLE,
    HELD,
    LOADED,
    TOLD_APART,
    VALUE,
    FloatFlow,
    float_flows,
    inexact,
)

TAKEN = re.compile(r"(?:fpto[su]i|bitcast) (?:float|double) (%\S+) to i\d+")
READ = re.compile(r"load i(?:32|64), ptr (%[^\s,]+)")
COPIED = re.compile(
    r"call void @llvm\.memcpy[^(]*\(ptr [^%,]*(?P<to>%[^\s,]+), ptr [^%,]*(?P<of>%[^\s,]+)"
)
ASKED = re.compile(
    r"call (?:i32|i64|float|double) @(?:ilogb|logb|frexp|l?l?r(?:ound|int))[fl]?\(.*?(%[^\s,)]+)"
)
CALLED = re.compile(r"(?:tail )?call [^@]*(?:float|double) @(?:llvm\.)?([a-z]+\d*p?)[\w.]*\((.*)\)")
OPERATION = re.compile(r"(?:f(?:add|sub|mul|div|rem|neg)|fpext|fptrunc|select|phi)\b")
PRODUCT = re.compile(
    r"f(?P<how>mul|div) (?:[a-z]+ )*(?:float|double) (?P<one>[^\s,]+), (?P<other>[^\s,]+)"
)
ROUNDED_LATE = {"log": 0, "logf": 0, "exp": 0, "pow": 0, "cbrt": 0, "hypot": 0, "sin": 0, "cos": 0,
                "tan": 0, "atan": 0, "log10": 0, "log1p": 0}  # fmt: skip
LOG2 = {"float": 2**12, "double": 2**32}
"""Up to where the logarithm of 2**k - 1 is less than k."""
NEVER = -1
"""Stands for the most where no whole number is safe."""


@dataclass
class _Slice:
    """What a whole number is made of: conversions of whole ones, and what is known of the way."""

    conversions: dict[str, str] = field(default_factory=dict)
    known: bool = True
    rounded: bool = False
    log2: bool = False
    root: bool = False
    product: bool = False

    def most(self, kind: str) -> int:
        """Up to which whole number it is right."""
        if self.rounded:
            return NEVER
        if self.product and not self.log2:
            return TOLD_APART[kind]
        return LOG2[kind] if self.log2 else HELD[kind] // (2 if self.root else 1)


def told_apart(code: str) -> dict[tuple[str, str], int]:
    """Up to where whole numbers are told apart that are compared, or taken, in floating point.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.

    Returns
    -------
    dict of tuple to int
        By function and value.
    """
    made = inexact(code)
    for key, most in whole_of_floats(code).items():
        made[key] = min(most, made.get(key, most))
    return made


def whole_of_floats(code: str) -> dict[tuple[str, str], int]:
    """Whole numbers that are converted and taken back, and up to where that is right.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.

    Returns
    -------
    dict of tuple to int
        By function and value; `NEVER` where no whole number is safe.
    """
    made: dict[tuple[str, str], int] = {}
    for name, f in float_flows(code).items():
        for value, most in _taken(f):
            made[name, value] = min(most, made.get((name, value), most))
    return made


def _taken(f: FloatFlow) -> Iterator[tuple[str, int]]:
    for start in _starts(f):
        made = _slice(f, start)
        if made.known:
            yield from ((v, made.most(kind)) for v, kind in made.conversions.items())


def _starts(f: FloatFlow) -> Iterator[str]:
    """Floating-point values from which whole numbers are taken."""
    copied = {m["to"]: m["of"] for row in f.rows if (m := COPIED.search(row))}
    for said in f.defined.values():
        if (m := TAKEN.match(said)) or (m := ASKED.match(said)):
            yield m[1]
        elif m := READ.match(said):
            yield from f.stored.get(copied.get(m[1], m[1]), ())


def _slice(f: FloatFlow, start: str) -> _Slice:
    made, known, open_ = _Slice(), set[str](), [start]
    while open_:
        value = open_.pop()
        if value not in known:
            known.add(value)
            open_ += _sources(f, value, made)
    return made


def _sources(f: FloatFlow, value: str, made: _Slice) -> list[str]:
    said = f.defined.get(value, "")
    if m := FROM_WHOLE.match(said):
        made.conversions[value] = m[1]
    elif m := CALLED.match(said):
        name = m[1].removesuffix("f")
        made.rounded |= name in ROUNDED_LATE
        made.log2 |= name == "log2"
        made.root |= name == "sqrt"
        made.known &= made.rounded or name in ("log2", "sqrt", "floor", "ceil", "trunc", "round",
                                               "rint", "fabs", "fmuladd")  # fmt: skip
        return VALUE.findall(m[2])
    elif OPERATION.match(said):
        made.rounded |= _by_rounded(f, said)
        made.product |= _is_product(f, said)
        return VALUE.findall(said)
    elif (m := LOADED.match(said)) and m[1] in f.stored and not ELEMENT.match(
        f.defined.get(m[1], "")
    ):  # fmt: skip
        return f.stored[m[1]]
    else:
        made.known = False
    return []


def _is_product(f: FloatFlow, said: str) -> bool:
    """Whether two whole numbers are multiplied, neither of them a constant."""
    m = PRODUCT.match(said)
    return m is not None and m["how"] == "mul" and all(
        any(FROM_WHOLE.match(f.defined.get(o, "")) for o in _scaled_origins(f, m[side]))
        for side in ("one", "other")
    )  # fmt: skip


def _scaled_origins(f: FloatFlow, value: str) -> set[str]:
    """What a value comes from, through powers of two as well, which keep all digits."""
    known, open_ = set[str](), [value]
    while open_:
        made = f.all_origins([open_.pop()]) - known
        known |= made
        scaled = (PRODUCT.match(f.defined.get(one, "")) for one in made)
        open_ += [m["one"] for m in scaled if m and _is_power(m["other"])]
    return known


def _by_rounded(f: FloatFlow, said: str) -> bool:
    """Whether it is a product with a quotient, or with a constant that is not held exactly."""
    m = PRODUCT.match(said)
    if not m:
        return False
    sides = (m["other"],) if m["how"] == "div" else (m["one"], m["other"])
    return any(not _is_exact(s) if not s.startswith("%") else
               _is_quotient(f, s) for s in sides)  # fmt: skip


def _is_quotient(f: FloatFlow, value: str) -> bool:
    """Whether it is a quotient that may be rounded: no power of two is what it is divided by.

    That of a fraction's digits (``s = x / 1000.0; s - floor(s)``) is asked by no whole number.
    """
    origins = [f.defined.get(one, "") for one in f.all_origins([value])]
    differs = any(said.startswith("fsub ") for said in origins)
    divided = [m["other"] for said in origins if (m := PRODUCT.match(said)) and m["how"] == "div"]
    return any(by.startswith("%") or not (differs or _is_power(by)) for by in divided)


def _is_power(constant: str) -> bool:
    """Whether it is a power of two.

    >>> _is_power("0x4130000000000000"), _is_power("1.000000e+02"), _is_power("%scale")
    (True, False, False)
    """
    value = None if constant.startswith("%") else _number(constant)
    return value is not None and math.frexp(abs(value))[0] == 0.5


def _is_exact(constant: str) -> bool:
    """Whether it is a whole number or a power of two.

    >>> _is_exact("1.000000e+02"), _is_exact("0x3FB999999999999A"), _is_exact("5.000000e-01")
    (True, False, True)
    """
    value = _number(constant)
    return value is None or value.is_integer() or math.frexp(abs(value))[0] in (0.0, 0.5)


def _number(constant: str) -> float | None:
    """A constant of LLVM's text; None if it is any other value."""
    try:
        if constant.startswith("0x"):
            return float(struct.unpack(">d", bytes.fromhex(constant[2:].zfill(16)[-16:]))[0])
        return float(constant)
    except (ValueError, struct.error):
        return None
