"""FLOPs, transcendentals and bytes of one instruction, by the rules of XLA's HloCostAnalysis.

A fused multiply-add is two operations; a transcendental function is one transcendental and no
FLOP; moving data costs bytes alone.  What a function that is applied (of a reduction, a scatter)
costs is charged to the instruction that applies it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rheostat.measurement.graphs.hlo.hlo_instruction import HloInstruction
from rheostat.measurement.graphs.hlo.hlo_opcodes import OPCODES
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.hlo.hlo_window import ConvolutionLabels, read_window

FMA = 2
NO_WORK = re.compile(r"Sharding|SPMD|sdy|annotate|x64|Slice|Pad|ConsumeOperand|AllocateBuffer")
"""Calls into libraries that only say where data lie."""
FREE = ("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "call", "while",
        "conditional", "after-all", "add-dependency", "domain", "opt-barrier", "async-start",
        "optimization-barrier", "async-update", "async-done")  # fmt: skip
_CONTRACTED = re.compile(r'"lhs_contracting_dimensions":\[([^\]]*)\]')


@dataclass(frozen=True)
class HloCost:
    """Of one execution."""

    flops: float = 0.0
    transcendentals: float = 0.0
    bytes: float = 0.0

    def times(self, count: float) -> HloCost:
        """So many executions."""
        return HloCost(self.flops * count, self.transcendentals * count, self.bytes * count)

    def __add__(self, other: HloCost) -> HloCost:
        return HloCost(self.flops + other.flops, self.transcendentals + other.transcendentals,
                       self.bytes + other.bytes)  # fmt: skip


Applied = Callable[[str], HloCost]


def compute(made: HloInstruction, types: Sequence[HloType], applied: Applied) -> HloCost:
    """FLOPs and transcendentals.

    Parameters
    ----------
    made : HloInstruction
        The instruction.
    types : sequence of HloType
        Of its operands.
    applied : callable
        The cost of one application of a computation, by name.

    Returns
    -------
    HloCost
        NaN FLOPs for a call into a library that is not known; bytes 0.
    """
    elements = float(made.type.elements)
    kind = OPCODES.get(made.opcode)
    if made.opcode in ("map", "reduce", "reduce-window", "scatter", "select-and-scatter"):
        return _applying(made, types, applied)
    if made.opcode == "rng-bit-generator":
        return HloCost(transcendentals=float(sum(p.elements for p in made.type.parts) or elements))
    if kind == "transcendental":
        return HloCost(transcendentals=elements)
    if kind == "elementwise":
        return HloCost(elements)
    return HloCost(FLOPS[made.opcode](made, types)) if made.opcode in FLOPS else HloCost()


def _applying(made: HloInstruction, types: Sequence[HloType], applied: Applied) -> HloCost:
    once = applied(made.computations("to_apply")[0]) if "to_apply" in made.attributes else HloCost()
    if made.opcode == "map":
        return once.times(made.type.elements)
    if made.opcode == "reduce":
        return once.times(max(0, types[0].elements - made.type.elements))
    if made.opcode == "scatter":
        return once.times(types[-1].elements)
    window = math.prod(s.size for s in read_window(made.window))
    if made.opcode == "reduce-window":
        return once.times((window - 1) * made.type.elements)
    select, scatter = (applied(made.computations(a)[0]) for a in ("select", "scatter"))
    source = types[1].elements
    return select.times(source * (window - 1)) + scatter.times(source)


def _dot(made: HloInstruction, types: Sequence[HloType]) -> float:
    if "lhs_contracting_dims" not in made.attributes:
        return float(FMA * made.type.elements)
    over = math.prod(types[0].dims[i] for i in made.integers("lhs_contracting_dims"))
    return float(FMA * made.type.elements * over)


def _convolution(made: HloInstruction, types: Sequence[HloType]) -> float:
    return convolution_flops(made, types[0], types[1], made.type)


def is_depthwise(made: HloInstruction, types: Sequence[HloType]) -> bool:
    """Whether each group of a convolution has one channel, or of its gradient by the filter."""
    if "dim_labels" not in made.attributes or len(types) < 2:
        return False
    labels = ConvolutionLabels.of(made.attributes["dim_labels"])
    features, batches = (int(made.attributes.get(f"{kind}_group_count", "1"))
                         for kind in ("feature", "batch"))  # fmt: skip
    if features > 1:
        return types[1].dims[labels.kernel.index("i")] == 1
    return batches > 1 and types[0].dims[labels.input.index("b")] == batches


def convolution_flops(
    made: HloInstruction, given: HloType, kernel: HloType, result: HloType
) -> float:
    """Multiply-adds of kernel elements that meet an input element, not its padding, times 2."""
    labels = ConvolutionLabels.of(made.attributes["dim_labels"])
    sides = read_window(made.window)
    sizes = {c: given.dims[i] for i, c in enumerate(labels.input)}
    features = int(made.attributes.get("feature_group_count", "1"))
    batches = int(made.attributes.get("batch_group_count", "1"))
    valid = math.prod(s.valid(sizes[c]) for c, s in zip(labels.space, sides, strict=True))
    out = result.dims[labels.output.index("f")]
    return float(FMA * (sizes["f"] // features) * out * (sizes["b"] // batches) * valid)


def _custom(made: HloInstruction, types: Sequence[HloType]) -> float:
    target = made.attributes.get("custom_call_target", "").strip('"')
    result = made.type.parts[0] if made.type.parts else made.type
    if "conv" in target.lower() and "dim_labels" in made.attributes and len(types) > 1:
        a, b = types[0], types[1]
        if "BackwardInput" in target:
            return convolution_flops(made, result, b, a)
        if "BackwardFilter" in target:
            return convolution_flops(made, a, result, b)
        return convolution_flops(made, a, b, result)
    over = _CONTRACTED.search(made.attributes.get("backend_config", "").replace("\\", ""))
    if over is not None and types:
        places = [int(v.strip('"')) for v in over[1].split(",") if v]
        return float(FMA * result.elements * math.prod(types[0].dims[p] for p in places))
    return 0.0 if NO_WORK.search(target) else math.nan


def _sort(made: HloInstruction, types: Sequence[HloType]) -> float:
    return float(types[0].elements * log2_up(types[0].elements))


def _fft(made: HloInstruction, types: Sequence[HloType]) -> float:
    per_element = math.prod(max(0, n.bit_length() - 1) for n in made.integers("fft_length"))
    return float(FMA * 4 * per_element * types[0].elements)


def _cholesky(made: HloInstruction, types: Sequence[HloType]) -> float:
    return types[0].elements * types[0].dims[-1] / 3.0


def _triangular(made: HloInstruction, types: Sequence[HloType]) -> float:
    return float(FMA * types[0].dims[-1] * types[1].elements)


def _each_part(made: HloInstruction, types: Sequence[HloType]) -> float:
    return float(sum(p.elements for p in made.type.parts) or made.type.elements)


def log2_up(count: int) -> int:
    """The smallest power of two, as exponent, that is not below.

    >>> [log2_up(n) for n in (1, 2, 3, 8)]
    [0, 1, 2, 3]
    """
    return max(0, count - 1).bit_length()


FLOPS: dict[str, Callable[[HloInstruction, Sequence[HloType]], float]] = {
    "dot": _dot, "ragged-dot": _dot, "scaled-dot": _dot, "convolution": _convolution,
    "custom-call": _custom, "custom-call-start": _custom, "sort": _sort, "fft": _fft,
    "cholesky": _cholesky,
    "triangular-solve": _triangular, "all-reduce": _each_part,
    "all-reduce-start": _each_part, "reduce-scatter": _each_part,
}  # fmt: skip


def moved(made: HloInstruction, types: Sequence[HloType]) -> float:
    """Bytes read and written; a slice reads what it gives, an update what it replaces."""
    if made.opcode in FREE:
        return 0.0
    if made.opcode in ("slice", "dynamic-slice", "gather"):
        return 2 * made.type.size_b + sum(t.size_b for t in types[1:])
    if made.opcode == "dynamic-update-slice":
        return 2 * types[1].size_b + sum(t.size_b for t in types[2:])
    if made.opcode == "scatter":
        half = len(types) // 2
        return 3 * sum(t.size_b for t in types[half + 1 :]) + types[half].size_b
    return made.type.size_b + sum(t.size_b for t in types)
