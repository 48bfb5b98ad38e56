"""Types of HLO values: ``f32[16,32]{1,0}``, ``(f32[], s32[4])``, ``f32[<=8,?]``, ``token[]``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from rheostat.measurement.graphs.hlo.hlo_text import HloError

BITS = {
    "pred": 8, "token": 0, "opaque": 0, "tuple": 0, "c64": 64, "c128": 128, "bf16": 16,
    **{f"{kind}{bits}": bits for kind in "su" for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{f"f{bits}": bits for bits in (16, 32, 64)},
    **{f"f8{form}": 8 for form in ("e5m2", "e4m3", "e4m3fn", "e4m3b11fnuz", "e5m2fnuz",
                                   "e4m3fnuz", "e3m4", "e8m0fnu")},
    "f4e2m1fn": 4,
}  # fmt: skip
"""Bits of an element in memory."""
MOST_DIGITS = 18
"""Of the count of numbers in an array: more is no program but a damaged size."""
COMPLEX = {"c64": "f32", "c128": "f64"}
_ARRAY = re.compile(r"(\w+)\[((?:(?:<=)?\d+|\?|, *)*)\](\{[^{}]*\})?")
COMMENT = re.compile(r"/\*index=\d+\*/")


@dataclass(frozen=True)
class HloType:
    """An array (``dtype``, ``dims``) or a tuple (``parts``); a dimension of unknown size is -1."""

    dtype: str
    dims: tuple[int, ...] = ()
    parts: tuple[HloType, ...] = ()

    @property
    def elements(self) -> int:
        """Elements of an array; of a tuple, of its first part."""
        if self.dtype == "tuple":
            return self.parts[0].elements if self.parts else 0
        return math.prod(max(d, 1) for d in self.dims)

    @property
    def size_b(self) -> float:
        """Bytes; of a tuple, of all its parts."""
        if self.dtype == "tuple":
            return sum(p.size_b for p in self.parts)
        return self.elements * BITS[self.dtype] / 8

    def __str__(self) -> str:
        if self.dtype == "tuple":
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.dtype}[{','.join('?' if d < 0 else str(d) for d in self.dims)}]"


def read_type(text: str, at: int = 0) -> tuple[HloType, int]:
    """The type that begins at ``at``, and where it ends; HloError says what stands there instead.

    >>> read_type("f32[2,<=3]{1,0} dot(")
    (HloType(dtype='f32', dims=(2, 3), parts=()), 15)
    >>> str(read_type("(bf16[], /*index=1*/s4[?])")[0])
    '(bf16[], s4[?])'
    """
    if text[at : at + 1] == "(":
        return _tuple(text, at + 1)
    match = _ARRAY.match(text, at)
    if match is None or match[1] not in BITS:
        raise HloError(f"expected a type as f32[2,3]{{1,0}}, got {text[at : at + 30]!r}")
    sizes = [d.strip() for d in match[2].split(",")] if match[2].strip() else []
    if not all(sizes):
        raise HloError(f"expected sizes as [2,3], got [{match[2]}]")
    dims = tuple(-1 if d == "?" else int(d.removeprefix("<=")[: MOST_DIGITS + 1]) for d in sizes)
    if math.prod(max(d, 1) for d in dims) >= 10**MOST_DIGITS:
        raise HloError(f"expected fewer than 1e{MOST_DIGITS} numbers, got [{match[2][:60]}]")
    _check_layout(match[3], len(dims))
    return HloType(match[1], dims), match.end()


def _check_layout(layout: str | None, rank: int) -> None:
    """An order of dimensions, if there is one, names each once."""
    order = layout[1:-1].partition(":")[0] if layout else ""
    if order and sorted(order.split(",")) != sorted(str(i) for i in range(rank)):
        raise HloError(f"expected a layout of {rank} dimensions, got {layout}")


def _tuple(text: str, at: int) -> tuple[HloType, int]:
    parts: list[HloType] = []
    while True:
        at = _skip(text, at)
        if text[at : at + 1] == ")":
            return HloType("tuple", (), tuple(parts)), at + 1
        if parts:
            if text[at : at + 1] != ",":
                raise HloError(f"expected , or ) in a tuple type, got {text[at : at + 30]!r}")
            at = _skip(text, at + 1)
        part, at = read_type(text, at)
        parts.append(part)


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] == " " or text.startswith("/*", at):
        comment = COMMENT.match(text, at)
        if text[at] == "/" and comment is None:
            return at
        at = comment.end() if comment else at + 1
    return at
