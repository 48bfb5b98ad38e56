"""The type that an instruction must have, from its operands and attributes.

None where XLA's rule does not follow from the text; a dtype ``?`` fits any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from rheostat.measurement.graphs.hlo.hlo_instruction import HloInstruction
from rheostat.measurement.graphs.hlo.hlo_text import HloError
from rheostat.measurement.graphs.hlo.hlo_types import COMPLEX, HloType
from rheostat.measurement.graphs.hlo.hlo_window import ConvolutionLabels, read_window

Types = Sequence[HloType]
_SAME = (
    "abs ceil floor negate not sign popcnt count-leading-zeros clz cbrt cosine erf exponential "
    "exponential-minus-one log log-plus-one logistic rsqrt sine sqrt tan tanh round-nearest-afz "
    "round-nearest-even copy reverse cholesky reduce-precision all-reduce collective-permute "
    "collective-broadcast optimization-barrier opt-barrier while domain add-dependency"
)
_BINARY = (
    "add and atan2 divide maximum minimum multiply or power remainder shift-left "
    "shift-right-arithmetic shift-right-logical subtract xor"
)
_SLICE = re.compile(r"\[(\d+):(\d+)(?::(\d+))?\]")
_PADDING = re.compile(r"(-?\d+)_(-?\d+)(?:_(\d+))?")
OPERANDS = {**dict.fromkeys(_SAME.split(), 1), **dict.fromkeys(_BINARY.split(), 2)}
for _op in ("add-dependency", "after-all", "all-reduce", "domain", "optimization-barrier",
            "collective-permute", "collective-broadcast"):  # fmt: skip
    OPERANDS.pop(_op, None)


def infer(made: HloInstruction, types: Types) -> HloType | None:
    """The type of the result.

    Raises `HloError` where operands or attributes are wrong, and what Python raises on those that
    are absent or no numbers.
    """
    wanted = OPERANDS.get(made.opcode)
    if wanted is not None and len(types) != wanted:
        raise HloError(f"expected {wanted} operands of {made.opcode}, got {len(types)}")
    rule = RULES.get(made.opcode)
    return rule(made, types) if rule is not None else None


def _first(made: HloInstruction, types: Types) -> HloType | None:
    if made.opcode == "abs" and types[0].dtype in COMPLEX:
        return HloType(COMPLEX[types[0].dtype], types[0].dims)
    if len(types) > 1 and made.opcode not in ("add-dependency", "domain"):
        return HloType("tuple", (), tuple(types))
    return types[0]


def _equal(what: str, types: Types) -> None:
    for other in types[1:]:
        if len(other.dims) != len(types[0].dims) or any(
            a != b and a >= 0 and b >= 0 for a, b in zip(other.dims, types[0].dims, strict=True)
        ):
            raise HloError(f"expected operands of {what} of one shape, got {types[0]} and {other}")


def _binary(made: HloInstruction, types: Types) -> HloType:
    _equal(made.opcode, types)
    if types[0].dtype != types[1].dtype:
        raise HloError(f"expected operands of one type, got {types[0]} and {types[1]}")
    return types[0]


def _compare(made: HloInstruction, types: Types) -> HloType:
    _binary(made, types[:2])
    if made.attributes["direction"] not in ("EQ", "NE", "GE", "GT", "LE", "LT") or len(types) != 2:
        got = made.attributes["direction"]
        raise HloError(f"expected 2 operands and a direction as LT, got {len(types)} and {got}")
    return HloType("pred", types[0].dims)


def _select(made: HloInstruction, types: Types) -> HloType:
    if types[0].dtype != "pred" or len(types) != 3:
        raise HloError(f"expected select of pred and two values, got {', '.join(map(str, types))}")
    _binary(made, types[1:])
    if types[0].dims:
        _equal(made.opcode, types)
    return types[1]


def _clamp(made: HloInstruction, types: Types) -> HloType:
    if len(types) != 3:
        raise HloError(f"expected 3 operands of clamp, got {len(types)}")
    return types[1]


def _dims(made: HloInstruction, types: Types) -> HloType:
    return HloType("?", types[0].dims)


def _broadcast(made: HloInstruction, types: Types) -> HloType:
    places = made.integers("dimensions")
    if [made.type.dims[p] for p in places] != list(types[0].dims) and -1 not in types[0].dims:
        raise HloError(f"expected {types[0]} at dimensions {set(places)} of {made.type}")
    return HloType(types[0].dtype, made.type.dims)


def _reshape(made: HloInstruction, types: Types) -> HloType:
    if types[0].elements != made.type.elements and -1 not in types[0].dims + made.type.dims:
        raise HloError(f"expected {types[0].elements} elements, got {made.type}")
    return HloType(types[0].dtype, made.type.dims)


def _bitcast(made: HloInstruction, types: Types) -> HloType | None:
    if types[0].size_b != made.type.size_b and -1 not in types[0].dims + made.type.dims:
        raise HloError(f"expected {types[0].size_b:g} bytes as {types[0]} has, got {made.type}")
    return None


def _transpose(made: HloInstruction, types: Types) -> HloType:
    order = made.integers("dimensions")
    if sorted(order) != list(range(len(types[0].dims))):
        raise HloError(f"expected an order of {len(types[0].dims)} dimensions, got {order}")
    return HloType(types[0].dtype, tuple(types[0].dims[p] for p in order))


def _slice(made: HloInstruction, types: Types) -> HloType:
    parts = _SLICE.findall(made.attributes["slice"])
    dims = tuple(math.ceil((int(b) - int(a)) / int(s or 1)) for a, b, s in parts)
    if len(dims) != len(types[0].dims) or any(
        int(b) > d >= 0 for (_, b, _), d in zip(parts, types[0].dims, strict=True)
    ):
        raise HloError(f"expected a slice inside {types[0]}, got {made.attributes['slice']}")
    return HloType(types[0].dtype, dims)


def _concatenate(made: HloInstruction, types: Types) -> HloType:
    (along,) = made.integers("dimensions")
    rest = [HloType("?", t.dims[:along] + t.dims[along + 1 :]) for t in types]
    _equal(made.opcode, rest)
    dims = list(types[0].dims)
    dims[along] = sum(t.dims[along] for t in types)
    return HloType(types[0].dtype, tuple(dims))


def _pad(made: HloInstruction, types: Types) -> HloType:
    sides = [_PADDING.fullmatch(p) for p in made.attributes["padding"].split("x")]
    if len(sides) != len(types[0].dims) or not all(sides):
        raise HloError(f"expected padding of {types[0]}, got {made.attributes['padding']}")
    dims = tuple(
        d + int(m[1]) + int(m[2]) + max(d - 1, 0) * int(m[3] or 0)
        for m, d in zip(sides, types[0].dims, strict=True)
        if m is not None
    )
    return HloType(types[0].dtype, dims)


def _reduce(made: HloInstruction, types: Types) -> HloType:
    gone = made.integers("dimensions")
    values = types[: len(types) // 2]
    if not values or len(types) % 2 or any(g >= len(values[0].dims) for g in gone):
        raise HloError(f"expected values and initial values over dimensions {gone}, "
                         f"got {', '.join(map(str, types))}")  # fmt: skip
    _equal(made.opcode, values)
    kept = tuple(d for i, d in enumerate(values[0].dims) if i not in gone)
    parts = tuple(HloType(v.dtype, kept) for v in values)
    return parts[0] if len(parts) == 1 else HloType("tuple", (), parts)


def _reduce_window(made: HloInstruction, types: Types) -> HloType:
    sides = read_window(made.window)
    values = types[: len(types) // 2]
    if len(sides) != len(values[0].dims) or len(types) % 2:
        raise HloError(f"expected a window over {values[0]}, got {made.window}")
    dims = tuple(s.positions(d) for s, d in zip(sides, values[0].dims, strict=True))
    parts = tuple(HloType(v.dtype, dims) for v in values)
    return parts[0] if len(parts) == 1 else HloType("tuple", (), parts)


def _dot(made: HloInstruction, types: Types) -> HloType:
    sides = []
    for side, type_ in zip(("lhs", "rhs"), types, strict=True):
        batch = made.optional(f"{side}_batch_dims")
        over = made.optional(f"{side}_contracting_dims")
        free = [d for i, d in enumerate(type_.dims) if i not in (*batch, *over)]
        sides.append(([type_.dims[i] for i in batch], [type_.dims[i] for i in over], free))
    (batch_l, over_l, free_l), (batch_r, over_r, free_r) = sides
    if batch_l != batch_r or over_l != over_r:
        raise HloError(f"expected equal contracted sizes, got {types[0]} and {types[1]}")
    return HloType("?", (*batch_l, *free_l, *free_r))


def _convolution(made: HloInstruction, types: Types) -> HloType:
    labels = ConvolutionLabels.of(made.attributes["dim_labels"])
    sides = read_window(made.window)
    kernel = {c: types[1].dims[i] for i, c in enumerate(labels.kernel)}
    given = {c: types[0].dims[i] for i, c in enumerate(labels.input)}
    groups = int(made.attributes.get("feature_group_count", "1"))
    batches = int(made.attributes.get("batch_group_count", "1"))
    if len(types) != 2 or given["f"] != kernel["i"] * groups or len(sides) != len(labels.space):
        raise HloError(f"expected a kernel and window that fit {types[0]}, got {types[1]} and "
                         f"{made.window}")  # fmt: skip
    if [s.size for s in sides] != [kernel[c] for c in labels.space]:
        raise HloError(f"expected a window of the kernel {types[1]}, got "
                         f"{made.window}")  # fmt: skip
    out = {"b": given["b"] // batches, "f": kernel["o"]}
    out |= {c: s.positions(given[c]) for c, s in zip(labels.space, sides, strict=True)}
    return HloType("?", tuple(out[c] for c in labels.output))


def _dynamic_slice(made: HloInstruction, types: Types) -> HloType:
    sizes = made.integers("dynamic_slice_sizes")
    if any(s > d >= 0 for s, d in zip(sizes, types[0].dims, strict=True)):
        raise HloError(f"expected a slice inside {types[0]}, got {sizes}")
    return HloType(types[0].dtype, sizes)


def _update_slice(made: HloInstruction, types: Types) -> HloType:
    if len(types) < 2 or any(u > d >= 0 for u, d in zip(types[1].dims, types[0].dims, strict=True)):
        raise HloError(f"expected an update inside {types[0]}, got {types[1]}")
    return types[0]


def _gather(made: HloInstruction, types: Types) -> HloType:
    offsets, sizes = made.integers("offset_dims"), made.integers("slice_sizes")
    vector = int(made.attributes["index_vector_dim"])
    gone = {*made.integers("collapsed_slice_dims"), *made.optional("operand_batching_dims")}
    kept = iter([s for i, s in enumerate(sizes) if i not in gone])
    indices = iter([d for i, d in enumerate(types[1].dims) if i != vector])
    rank = len(made.type.dims)
    dims = tuple(next(kept if i in offsets else indices, -2) for i in range(rank))
    if -2 in dims or next(kept, None) is not None or next(indices, None) is not None:
        raise HloError(f"expected offsets {offsets} and slices {sizes} to make {made.type}")
    return HloType(types[0].dtype, dims)


def _scatter(made: HloInstruction, types: Types) -> HloType:
    if len(types) % 2 == 0:
        raise HloError(
            f"expected values, indices and updates of scatter, got {len(types)} operands"
        )
    values = tuple(types[: len(types) // 2])
    return values[0] if len(values) == 1 else HloType("tuple", (), values)


def _sort(made: HloInstruction, types: Types) -> HloType:
    made.integers("dimensions")
    _equal(made.opcode, types)
    return types[0] if len(types) == 1 else HloType("tuple", (), tuple(types))


def _tuple(made: HloInstruction, types: Types) -> HloType:
    return HloType("tuple", (), tuple(types))


def _element(made: HloInstruction, types: Types) -> HloType:
    return types[0].parts[int(made.attributes["index"])]


def _select_scatter(made: HloInstruction, types: Types) -> HloType:
    sides = read_window(made.window)
    made.attributes["select"], made.attributes["scatter"]
    dims = tuple(s.positions(d) for s, d in zip(sides, types[0].dims, strict=True))
    if len(types) != 3 or dims != types[1].dims:
        raise HloError(f"expected a source of sizes {dims}, got {types[1]}")
    return types[0]


def _triangular(made: HloInstruction, types: Types) -> HloType:
    return types[1]


def _constant(made: HloInstruction, types: Types) -> HloType | None:
    """A literal has as many numbers as its type, unless it is left out as ``{...}``."""
    text = re.sub(r"/\*.*?\*/", "", made.literal)
    if "..." in text or made.type.dtype in ("tuple", "token", "opaque") or '"' in text:
        return None
    count = len([v for v in re.split(r"[{},\s]+", re.sub(r"\([^()]*\)", "c", text)) if v])
    if count != made.type.elements and made.type.dims.count(0) == 0:
        raise HloError(f"expected {made.type.elements} numbers in a constant, got {count}")
    return None


def _parts(made: HloInstruction, types: Types) -> HloType | None:
    if not types:
        raise HloError(f"expected an operand of {made.opcode}, got none")
    return None


RULES: dict[str, Callable[[HloInstruction, Types], HloType | None]] = {
    **dict.fromkeys(_SAME.split(), _first),
    **dict.fromkeys(_BINARY.split(), _binary),
    "compare": _compare, "select": _select, "clamp": _clamp,
    "convert": _dims, "stochastic-convert": _dims, "is-finite": _dims, "real": _dims,
    "imag": _dims, "complex": _dims,
    "broadcast": _broadcast, "reshape": _reshape, "bitcast": _bitcast,
    "transpose": _transpose, "slice": _slice, "concatenate": _concatenate, "pad": _pad,
    "reduce": _reduce, "reduce-window": _reduce_window, "select-and-scatter": _select_scatter,
    "dot": _dot, "convolution": _convolution,
    "dynamic-slice": _dynamic_slice, "dynamic-update-slice": _update_slice,
    "gather": _gather, "scatter": _scatter, "sort": _sort, "triangular-solve": _triangular,
    "tuple": _tuple, "get-tuple-element": _element, "constant": _constant,
    "all-gather": _parts, "reduce-scatter": _parts,
}  # fmt: skip
