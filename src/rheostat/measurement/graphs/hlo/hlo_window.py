"""Windows of convolutions and pooling: sizes, what comes out, and positions inside the input."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.measurement.graphs.hlo.hlo_text import HloError

_KEYS = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")
_LABELS = re.compile(r"([bf\d?]+)_([io\d?]+)->([bf\d?]+)")


@dataclass(frozen=True)
class WindowSide:
    """One dimension of a window."""

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    lhs_dilate: int = 1
    rhs_dilate: int = 1

    def positions(self, length: int) -> int:
        """How many positions the window takes over an input of this length."""
        base = (length - 1) * self.lhs_dilate + 1 if length else 0
        reach = (self.size - 1) * self.rhs_dilate + 1
        return max(0, (base + self.low + self.high - reach) // self.stride + 1)

    def valid(self, length: int) -> int:
        """Pairs of a position and a kernel element that meet an element of the input."""
        offsets = np.arange(self.size) * self.rhs_dilate - self.low
        positions = self.positions(length)
        if self.lhs_dilate == 1:
            first = np.maximum(-(offsets // self.stride), 0)
            last = np.minimum((length - 1 - offsets) // self.stride, positions - 1)
            return int(np.maximum(last - first + 1, 0).sum())
        at = np.arange(positions) * self.stride
        return sum(self._meeting(at + offset, length) for offset in offsets.tolist())

    def _meeting(self, place: NDArray[np.int64], length: int) -> int:
        """Places of a stretched input that hold one of its elements, not what lies between."""
        inside = (place >= 0) & (place < length * self.lhs_dilate)
        return int((inside & (place % self.lhs_dilate == 0)).sum())


def read_window(text: str) -> tuple[WindowSide, ...]:
    """The sides of ``{size=3x3 stride=2x2 pad=0_1x0_1}``, outermost first.

    >>> read_window("{size=3 pad=1_1}")[0].positions(8), read_window("{size=3 pad=1_1}")[0].valid(8)
    (8, 22)
    """
    given = dict(part.partition("=")[::2] for part in text.strip("{}").split())
    odd = [k for k in given if k not in _KEYS]
    if odd:
        raise HloError(f"expected a window of {', '.join(_KEYS)}, got {odd[0]}")
    values = {k: v.split("x") for k, v in given.items()}
    count = len(values.get("size", []))
    if any(len(v) != count for v in values.values()):
        raise HloError(f"expected a window with {count} sides in each part, got {text[:80]}")
    return tuple(_side({k: v[i] for k, v in values.items()}) for i in range(count))


def _side(given: dict[str, str]) -> WindowSide:
    low, _, high = given.get("pad", "0_0").partition("_")
    sizes = [int(given.get(k, "1")) for k in ("size", "stride", "lhs_dilate", "rhs_dilate")]
    if min(sizes) < 1:
        raise HloError(f"expected sizes and steps of a window from 1, got {min(sizes)}")
    return WindowSide(sizes[0], sizes[1], int(low), int(high), sizes[2], sizes[3])


@dataclass(frozen=True)
class ConvolutionLabels:
    """Places of batch, features and space in the input, the kernel and the result."""

    input: str
    kernel: str
    output: str

    @classmethod
    def of(cls, text: str) -> ConvolutionLabels:
        """From ``b01f_01io->b01f``."""
        match = _LABELS.fullmatch(text)
        if match is None:
            raise HloError(f"expected dim_labels as b01f_01io->b01f, got {text[:40]!r}")
        return cls(match[1], match[2], match[3])

    @property
    def space(self) -> str:
        """Digits of the spatial dimensions, in order."""
        return "".join(sorted(c for c in self.output if c.isdigit()))
