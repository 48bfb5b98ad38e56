"""ONNX models as graphs of operations; shapes come from ONNX's own inference, nothing runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from rheostat._optional import require
from rheostat.core.graph import Graph
from rheostat.core.jobs import Note
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.hlo.hlo_window import WindowSide
from rheostat.measurement.graphs.op_rows import OpCost, OpRows, convolved_flops, product_flops

_WORDS = {
    "elementwise": "Abs Add And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Clip Div "
    "Equal Floor Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less "
    "LessOrEqual Max Mean Min Mod Mul Neg Not Or PRelu Reciprocal Relu Round Shrink Sign Softsign "
    "Sub Sum ThresholdedRelu Where Xor QuantizeLinear DequantizeLinear Cast CastLike",
    "transcendental": "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Pow Sigmoid Sin Sinh "
    "Sqrt Tan Tanh Celu Elu Selu Gelu Mish Softplus Swish RandomNormal RandomNormalLike "
    "RandomUniform RandomUniformLike Bernoulli",
    "reduction": "ArgMax ArgMin CumSum CumProd GlobalAveragePool GlobalMaxPool ReduceL1 ReduceL2 "
    "ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare TopK",
    "normalization": "BatchNormalization LayerNormalization InstanceNormalization LRN "
    "GroupNormalization RMSNormalization LpNormalization MeanVarianceNormalization",
    "data_movement": "Identity Concat Split Transpose Pad Tile Expand Slice Upsample Resize Range "
    "DepthToSpace SpaceToDepth Constant ConstantOfShape EyeLike Trilu Dropout Compress",
    "free": "Reshape Flatten Squeeze Unsqueeze Shape Size",
    "gather_scatter": "Gather GatherElements GatherND Scatter ScatterElements ScatterND OneHot "
    "NonZero",
}
KINDS = {name: kind for kind, names in _WORDS.items() for name in names.split()}
PER_VALUE = {"elementwise": 1.0, "normalization": 7.0}
"""FLOPs of a value of the result."""
DTYPES = {1: "f32", 2: "u8", 3: "s8", 4: "u16", 5: "s16", 6: "s32", 7: "s64", 9: "pred",
          10: "f16", 11: "f64", 12: "u32", 13: "u64", 14: "c64", 15: "c128", 16: "bf16",
          17: "f8e4m3fn", 18: "f8e4m3fnuz", 19: "f8e5m2", 20: "f8e5m2fnuz", 21: "u4", 22: "s4",
          23: "f4e2m1fn", 24: "f8e8m0fnu"}  # fmt: skip
"""ONNX's numbers of types; another one (text) has no size."""
Given = Sequence[HloType]
Rule = Callable[[HloType, Given, Mapping[str, Any]], OpCost]

MOST_OPERATIONS = 1_000_000
"""Of a graph with its functions put in."""


def read_onnx(path: str | Path, *, sizes: Mapping[str, int] | None = None) -> Graph:
    """The graph in an ONNX file.

    Parameters
    ----------
    path : path
        The model; weights in other files are not needed.
    sizes : mapping, optional
        Sizes that the model leaves open, as ``{"N": 32}``.

    Returns
    -------
    Graph
        Opcode ``weight`` for initial values that are not whole numbers.

    Raises
    ------
    MissingExtra
        ONNX is not installed.
    DataError
        The file is no such model, or damaged.

    Notes
    -----
    A size that stays open counts as 1, and a note names it.
    """
    onnx = require("onnx", extra="graphs")
    inliner = require("onnx.inliner", extra="graphs")
    decode = require("google.protobuf.message", extra="graphs").DecodeError
    file = ordinary_file(path)
    wrong = (decode, onnx.checker.ValidationError, onnx.shape_inference.InferenceError,
             ValueError, TypeError, RuntimeError)  # fmt: skip
    try:
        model = onnx.load(file, load_external_data=False)
        onnx.checker.check_model(model)
        _set_sizes(model, sizes or {})
        _check_functions(model)
        model = onnx.shape_inference.infer_shapes(
            inliner.inline_local_functions(model), data_prop=True
        )
    except wrong as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        problem = f"expected an ONNX model, got {type(error).__name__}: {said}"
        raise DataError(str(file), [problem, "the file is damaged: export it anew"]) from error
    return _OnnxReader(onnx, str(file)).graph(model.graph)


def open_sizes(path: Path) -> list[str]:
    """Names of sizes that the inputs of a model leave open, the first size of each input alone."""
    onnx = require("onnx", extra="graphs")
    decode = require("google.protobuf.message", extra="graphs").DecodeError
    try:
        model = onnx.load(ordinary_file(path), load_external_data=False)
    except decode as error:
        problem = f"expected an ONNX model, got {type(error).__name__}: {str(error)[:200]}"
        raise DataError(str(path), [problem, "the file is damaged: export it anew"]) from error
    firsts = [v.type.tensor_type.shape.dim[:1] for v in model.graph.input]
    return sorted({d.dim_param for dims in firsts for d in dims if d.dim_param})


def _check_functions(model: Any) -> None:
    """Functions that call functions twice each are 2^n operations once they are put in."""
    sizes: dict[tuple[str, str], int] = {}
    bodies = {(f.domain, f.name): f.node for f in model.functions}

    def size(nodes: Any, depth: int) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in bodies and key not in sizes:
                if depth > len(bodies):
                    raise ValueError(f"the function {node.op_type} calls itself")
                sizes[key] = size(bodies[key], depth + 1)
            total += sizes.get(key, 1)
        return total

    if (total := size(model.graph.node, 0)) > MOST_OPERATIONS:
        limit = f"expected at most {MOST_OPERATIONS:,}"
        raise ValueError(f"its functions hold {total:.3g} operations; {limit}")


def _set_sizes(model: Any, sizes: Mapping[str, int]) -> None:
    """Every open size of an input that has a name among ``sizes`` gets it."""
    used = set()
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in sizes:
                used.add(dim.dim_param)
                dim.dim_value = int(sizes[dim.dim_param])
    if missing := sorted(set(sizes) - used):
        raise DataError("sizes", [f"expected names of open sizes, got {', '.join(missing)}"])


class _OnnxReader:
    def __init__(self, onnx: Any, name: str) -> None:
        self._onnx, self._name = onnx, name
        self._rows = OpRows()
        self._types: dict[str, HloType] = {}
        self._open: set[str] = set()
        self._nested: set[str] = set()

    def graph(self, graph: Any) -> Graph:
        self._add(graph, {})
        notes = []
        if self._open:
            said = ", ".join(sorted(self._open))
            notes.append(Note(f"open sizes count as 1: {said}"))
        if self._nested:
            said = f"bodies of {', '.join(sorted(self._nested))} count once"
            notes.append(Note(said))
        return self._rows.graph(self._name, notes)

    def _add(self, graph: Any, outer: Mapping[str, int]) -> None:
        """Initial values, inputs and nodes, in the order they have to stand in."""
        places = dict(outer)
        for value in (*graph.value_info, *graph.input, *graph.output):
            self._types[value.name] = self._value_type(value)
        for tensor in graph.initializer:
            type_ = HloType(DTYPES.get(tensor.data_type, "opaque"), tuple(tensor.dims))
            opcode = "constant" if type_.dtype[0] in "sup" or not type_.dims else "weight"
            places[tensor.name] = self._put_in(tensor.name, opcode, type_)
        for value in graph.input:
            if value.name not in places:
                places[value.name] = self._put_in(value.name, "input", self._types[value.name])
        for node in graph.node:
            self._node(node, places)

    def _put_in(self, name: str, opcode: str, type_: HloType) -> int:
        self._types[name] = type_
        return self._rows.add(opcode, OpCost("parameter_constant", bytes=0.0), type_)

    def _node(self, node: Any, places: dict[str, int]) -> None:
        operands = [places[n] for n in node.input if n in places]
        if missing := [n for n in node.input if n and n not in places]:
            problem = f"{node.op_type} takes {missing[0]}, which nothing before it gives"
            raise DataError(self._name, [problem, "the file is damaged: export it anew"])
        attributes = {a.name: self._onnx.helper.get_attribute_value(a) for a in node.attribute}
        result = self._types.get(node.output[0] if node.output else "", HloType("opaque"))
        given = [self._rows.types[i] for i in operands]
        inner = [a for a in attributes.values() if isinstance(a, self._onnx.GraphProto)]
        try:
            cost = OpCost("control", bytes=0.0) if inner else onnx_cost(
                node.op_type, result, given, attributes)  # fmt: skip
        except (IndexError, KeyError, ValueError, TypeError, ZeroDivisionError):
            cost = OpCost("other", math.nan)
        here = self._rows.add(node.op_type, cost, result, operands)
        places |= dict.fromkeys(node.output, here)
        for body in inner:
            self._nested.add(node.op_type)
            self._add(body, places)

    def _value_type(self, value: Any) -> HloType:
        tensor = value.type.tensor_type
        dims = tuple(self._size(d) for d in tensor.shape.dim)
        return HloType(DTYPES.get(tensor.elem_type, "opaque"), dims)

    def _size(self, dim: Any) -> int:
        if dim.HasField("dim_value"):
            return int(dim.dim_value)
        self._open.add(dim.dim_param or "a size without a name")
        return 1


def onnx_cost(name: str, result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    """Class and costs of one ONNX operation.

    Parameters
    ----------
    name : str
        As ``Conv``.
    result : HloType
        Of its first result.
    given : sequence of HloType
        Of what it takes.
    attributes : mapping
        Its attributes.

    Returns
    -------
    OpCost
        NaN FLOPs where there is no rule.
    """
    if name in RULES:
        return RULES[name](result, given, attributes)
    elements, kind = float(result.elements), KINDS.get(name)
    if kind == "free":
        return OpCost("data_movement", bytes=0.0)
    if kind == "transcendental":
        return OpCost(kind, transcendentals=elements)
    if kind == "reduction":
        return OpCost(kind, float(max(given[0].elements - result.elements, 0)))
    if kind is None:
        return OpCost("other", math.nan)
    return OpCost(kind, PER_VALUE.get(kind, 0.0) * elements)


def _product(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    return OpCost("matmul", product_flops(result, given[0].dims[-1]))


def _gemm(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    over = given[0].dims[0 if attributes.get("transA") else 1]
    biased = float(result.elements) if len(given) > 2 else 0.0
    return OpCost("matmul", product_flops(result, over) + biased)


def _sides(
    given: HloType, kernel: Sequence[int], attributes: Mapping[str, Any]
) -> list[WindowSide]:
    count = len(kernel)
    steps = attributes.get("strides") or [1] * count
    gaps = attributes.get("dilations") or [1] * count
    pads = list(attributes.get("pads") or [0] * 2 * count)
    auto = attributes.get("auto_pad", b"NOTSET").decode()
    if auto.startswith("SAME"):
        for i, (k, s, d) in enumerate(zip(kernel, steps, gaps, strict=True)):
            length = given.dims[2 + i]
            whole = max(0, (-(-length // s) - 1) * s + (k - 1) * d + 1 - length)
            low = whole // 2 if auto == "SAME_UPPER" else whole - whole // 2
            pads[i], pads[count + i] = low, whole - low
    return [WindowSide(k, s, pads[i], pads[count + i], 1, d)
            for i, (k, s, d) in enumerate(zip(kernel, steps, gaps, strict=True))]  # fmt: skip


def _convolution(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    sides = _sides(given[0], given[1].dims[2:], attributes)
    biased = float(result.elements) if len(given) > 2 else 0.0
    return OpCost("convolution", convolved_flops(given[0], given[1], result, sides) + biased,
                  depthwise=attributes.get("group", 1) > 1 and given[1].dims[1] == 1)  # fmt: skip


def _transposed(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    image, kernel = given[:2]
    sides = _sides(result, kernel.dims[2:], attributes)
    turned = HloType(result.dtype, (result.dims[0], kernel.dims[0], *result.dims[2:]))
    plain = HloType(kernel.dtype, (image.dims[1], kernel.dims[1], *kernel.dims[2:]))
    return OpCost("convolution", convolved_flops(turned, plain, image, sides),
                  depthwise=attributes.get("group", 1) > 1 and kernel.dims[1] == 1)  # fmt: skip


def _quantised(rule: Rule) -> Rule:
    """Of whole numbers, each of which has a scale and a zero behind it; scaled anew at the end."""

    def cost(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
        known = rule(result, [given[0], given[3], *given[8:]], attributes)
        return replace(known, flops=known.flops + 2.0 * result.elements)

    return cost


def _ranged(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    """The least and the greatest of all, then a scale and a zero for each."""
    return OpCost("elementwise", 4.0 * result.elements)


def _pooling(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    return OpCost("reduction", (math.prod(attributes["kernel_shape"]) - 1.0) * result.elements)


def _softmax(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    return OpCost("normalization", 4.0 * result.elements, float(result.elements))


def _recurrent(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    """``(input, weights, weights of the state, ...)``: each step of each sequence meets each."""
    steps = given[0].elements / given[0].dims[-1]
    return OpCost("matmul", 2.0 * steps * (given[1].elements + given[2].elements))


def _einsum(result: HloType, given: Given, attributes: Mapping[str, Any]) -> OpCost:
    """A product for all sizes that are named, and a sum where one is gone; none of ``...``."""
    left, _, out = attributes["equation"].decode().replace(" ", "").partition("->")
    words = left.split(",")
    if any(len(w) != len(g.dims) or "." in w for w, g in zip(words, given, strict=True)):
        return OpCost("matmul", math.nan)
    sizes = dict(zip("".join(words), chain.from_iterable(g.dims for g in given), strict=True))
    each = 1.0 + bool(set(sizes) - set(out))
    return OpCost("matmul", each * max(len(words) - 1, 1) * math.prod(sizes.values()))


RULES: dict[str, Rule] = {
    "MatMul": _product, "MatMulInteger": _product, "Gemm": _gemm, "Conv": _convolution,
    "ConvInteger": _convolution, "ConvTranspose": _transposed, "MaxPool": _pooling,
    "QLinearConv": _quantised(_convolution), "QLinearMatMul": _quantised(_product),
    "DynamicQuantizeLinear": _ranged,
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent), "Einsum": _einsum,
    "AveragePool": _pooling, "LpPool": _pooling, "Softmax": _softmax, "LogSoftmax": _softmax,
}  # fmt: skip
