"""Graphs of JAX functions, PyTorch modules and ONNX files, beside what the libraries count."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheostat.core.graph import Graph
from rheostat.errors import DataError
from rheostat.measurement.graphs import from_onnx
from rheostat.measurement.graphs.aten_costs import aten_cost
from rheostat.measurement.graphs.from_jax import from_jax
from rheostat.measurement.graphs.from_onnx import read_onnx
from rheostat.measurement.graphs.from_torch import from_torch
from rheostat.measurement.graphs.graph_costs import total_costs
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.graphs.hlo.hlo_types import BITS, HloType
from rheostat.measurement.graphs.read_graph import open_graph, read_graph


def run_of(graph: Graph, amount: str) -> float:
    return float(np.nansum(graph.numpy(amount) * graph.numpy("times")))


# --- JAX: XLA's own cost analysis is the truth --------------------------------------------------


def _functions() -> dict[str, Any]:
    jax = pytest.importorskip("jax")
    jnp, lax, shape = jax.numpy, jax.lax, jax.ShapeDtypeStruct
    line, square = shape((16,), "float32"), shape((8, 8), "float32")
    image, kernel = shape((2, 9, 9, 4), "float32"), shape((3, 3, 2, 6), "float32")

    def convolved(x: Any, k: Any) -> Any:
        names = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(
            x,
            k,
            (2, 1),
            "SAME",
            rhs_dilation=(1, 2),
            dimension_numbers=names,
            feature_group_count=2,
        )

    def pooled(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME").sum()

    return {
        "sort and cumulate": (lambda x: jnp.cumsum(jnp.sort(x)), line),
        "spectrum": (lambda x: jnp.abs(jnp.fft.fft(x)), line),
        "functions": (lambda x: jnp.tanh(x) + jax.nn.gelu(x) ** 2.5 + jnp.arctan2(x, x), line),
        "gradient of a convolution": (
            jax.grad(lambda x, k: convolved(x, k).sum(), (0, 1)), image, kernel),
        "gradient of pooling": (jax.grad(pooled), image),
        "choice": (lambda x: lax.cond(x.sum() > 0, jnp.negative, lambda a: a @ a, x), square),
        "whole numbers": (lambda x: x.astype("int32") // 3 + jnp.argmax(x), line),
        "softmax": (jax.grad(lambda x: jnp.take(jax.nn.log_softmax(x @ x), jnp.arange(3)).sum()),
                    square),
        "scatter": (lambda x: x.at[jnp.array([1, 2])].add(1.0)[1:7], line),
        "a product of four": (lambda x: jnp.einsum("ij,jk,lk,lm->im", x, x, x, x), square),
    }  # fmt: skip


FUNCTIONS = (
    "sort and cumulate", "spectrum", "functions", "gradient of a convolution", "choice",
    "gradient of pooling", "whole numbers", "softmax", "scatter", "a product of four",
)  # fmt: skip


@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_jax_function_costs_what_xla_says_before_and_after_optimisation(what: str) -> None:
    jax = pytest.importorskip("jax")
    function, *args = _functions()[what]
    lowered = jax.jit(function).lower(*args)
    compiled = lowered.compile()
    module = compiled.runtime_executable().hlo_modules()[0]
    made = from_hlo(module.to_string())
    count = sum(i.opcode.name != "" for c in module.computations() for i in c.instructions())
    assert len(made) == count
    for graph, truth in ((from_jax(function, *args), lowered), (made, compiled)):
        said = truth.cost_analysis()
        assert run_of(graph, "flops") == pytest.approx(said.get("flops", 0.0), rel=1e-6)
        assert run_of(graph, "transcendentals") == said.get("transcendentals", 0.0)


def test_a_scan_counts_each_turn_where_xla_counts_one() -> None:
    jax = pytest.importorskip("jax")
    shape = jax.ShapeDtypeStruct((6, 6), "float32")

    def loop(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (jax.numpy.tanh(c @ c), c.sum()), x, None, length=7)

    lowered = jax.jit(loop).lower(shape)
    graphs = (from_jax(loop, shape), from_hlo(lowered.compile().as_text()))
    assert [run_of(g, "transcendentals") for g in graphs] == [7 * 36, 7 * 36]
    products = [g.nodes.filter(g.nodes["opcode"] == "dot") for g in graphs]
    assert [(p["flops"] * p["times"]).to_list() for p in products] == [[7 * 2 * 6**3]] * 2
    assert not any(g.notes for g in graphs)


# --- rules: closed forms, without the library ---------------------------------------------------

QUERY, KEY, VALUE = (HloType("f32", (2, 3, *of)) for of in ((7, 4), (5, 4), (5, 6)))
IMAGE, KERNEL = HloType("f32", (2, 3, 4, 4)), HloType("f32", (3, 5, 3, 3))
SPREAD = HloType("f32", (2, 5, 9, 9))
"""Each of 4 x 4 places by 2, with 3 x 3 weights: all of them meet the result."""
VECTOR = HloType("f32", (100,))


@pytest.mark.parametrize(("name", "result", "given", "args", "flops"), [
    ("scaled_dot_product_attention", HloType("f32", (2, 3, 7, 6)), (QUERY, KEY, VALUE), (),
     2 * 3 * 7 * 5 * (2 * 4 + 4 + 2 * 6)),
    ("dot", HloType("f32", ()), (VECTOR, VECTOR), (), 200),
    ("vdot", HloType("f32", ()), (VECTOR, VECTOR), (), 200),
    ("hardswish", VECTOR, (VECTOR,), (), 100),
    ("affine_grid_generator", HloType("f32", (2, 5, 5, 2)), (HloType("f32", (2, 2, 3)),), (), 600),
    ("affine_grid_generator_backward", HloType("f32", (2, 2, 3)),
     (HloType("f32", (2, 5, 5, 2)),), (), 600),
    ("sort", VECTOR, (VECTOR,), (), 700),
    ("_softmax_backward_data", VECTOR, (VECTOR, VECTOR), (), 400),
    ("convolution", SPREAD, (IMAGE, KERNEL),
     (None, None, None, [2, 2], [0, 0], [1, 1], True, [0, 0], 1), 2 * 2 * 16 * 9 * 3 * 5),
])  # fmt: skip
def test_an_operation_of_torch_costs_its_closed_form(name, result, given, args, flops) -> None:
    assert aten_cost(name, result, given, args, pointwise=False).flops == flops


SCALED = (HloType("f32", ()), HloType("u8", ()))


@pytest.mark.parametrize(("name", "result", "given", "attributes", "flops"), [
    ("MatMul", HloType("f32", (7, 6)), (HloType("f32", (7, 4)), HloType("f32", (4, 6))), {},
     2 * 7 * 4 * 6),
    ("MaxPool", HloType("f32", (1, 3, 4, 4)), (IMAGE,), {"kernel_shape": [2, 3]}, 5 * 48),
    ("Softmax", VECTOR, (VECTOR,), {}, 400),
    ("LSTM", HloType("f32", (9, 2, 3, 5)), (HloType("f32", (9, 3, 4)), HloType("f32", (2, 20, 4)),
     HloType("f32", (2, 20, 5))), {}, 2 * 9 * 3 * 2 * 20 * (4 + 5)),
    ("Einsum", HloType("f32", (2, 7, 5)), (HloType("f32", (2, 5, 3)), HloType("f32", (7, 3))),
     {"equation": b"bct, dt -> bdc"}, 2 * 2 * 5 * 3 * 7),
    ("Einsum", HloType("f32", (5, 3)), (HloType("f32", (5,)), HloType("f32", (3,))),
     {"equation": b"a,b->ab"}, 15),
    ("ConvTranspose", SPREAD, (IMAGE, KERNEL), {"strides": [2, 2]}, 2 * 2 * 16 * 9 * 3 * 5),
    ("QLinearMatMul", HloType("u8", (7, 6)), (HloType("u8", (7, 4)), *SCALED,
     HloType("s8", (4, 6)), *SCALED, *SCALED), {}, 2 * 7 * 4 * 6 + 2 * 42),
    ("QLinearConv", HloType("u8", (2, 6, 1, 1)), (HloType("u8", (2, 3, 2, 2)), *SCALED,
     HloType("s8", (6, 3, 2, 2)), *SCALED, *SCALED, HloType("s32", (6,))), {},
     2 * 2 * 6 * 3 * 4 + 3 * 12),
    ("DynamicQuantizeLinear", HloType("u8", (100,)), (VECTOR,), {}, 400),
])  # fmt: skip
def test_an_operation_of_onnx_costs_its_closed_form(name, result, given, attributes, flops) -> None:
    assert from_onnx.RULES[name](result, given, attributes).flops == flops


def test_types_of_onnx_are_those_of_their_names() -> None:
    onnx = pytest.importorskip("onnx")
    odd = {"float": "f32", "double": "f64", "bool": "pred", "bfloat16": "bf16",
           "float4e2m1": "f4e2m1fn", "float8e8m0": "f8e8m0fnu"}  # fmt: skip
    for code, ours in from_onnx.DTYPES.items():
        theirs = onnx.TensorProto.DataType.Name(code).lower()
        short = re.sub("^float", "f", re.sub("^int", "s", re.sub("^uint", "u", theirs)))
        assert ours == odd.get(theirs, short.replace("complex", "c"))


def test_an_element_has_as_many_bits_as_its_name_says() -> None:
    for name, bits in BITS.items():
        number = re.match(r"(?:bf|[sufc])(\d+?)(?=e\d|$)", name)
        assert bits == (int(number[1]) if number else 8 if name == "pred" else 0)


# --- PyTorch: its own counter is the truth for products ----------------------------------------


def _net(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    body = (nn.Conv2d(3, 8, 3, stride=2, padding=0), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 3 * 3, 10), nn.LayerNorm(10),
            nn.Softmax(-1))  # fmt: skip
    return nn.Sequential(*body), torch.zeros(4, 3, 15, 15)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [False, True])
def test_a_module_costs_what_torch_counts_for_products_and_convolutions(training: bool) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    net, x = _net(torch)
    graph = from_torch(net, x, training=training)
    with FlopCounterMode(display=False) as counter:
        out = net(x)
        if training:
            out.mean().backward()
    heavy = graph.nodes.filter(graph.nodes["op_class"].is_in(["matmul", "convolution"]))
    biases = heavy.filter(heavy["opcode"].is_in(["aten.addmm", "aten.convolution"]))
    added = sum(int(np.prod(shape)) for shape in biases["shape"].to_list())
    added += (8 * 4 * 7 * 7 - 8) * training  # the gradient of the convolution's bias
    assert heavy["flops"].sum() - added == counter.get_total_flops()
    parameters = sum(p.numel() for p in net.parameters())
    assert total_costs(graph)["parameters"] == parameters
    assert not graph.notes


@pytest.mark.filterwarnings("ignore")
def test_a_step_updates_every_parameter_and_a_meta_module_will_do() -> None:
    torch = pytest.importorskip("torch")
    net, x = _net(torch)
    graph = from_torch(net.to("meta"), x.to("meta"), training=True, name="step")
    assert {"aten.add", "aten.sub", "aten.mul"} <= set(graph.nodes["opcode"])
    ends = graph.nodes.filter(graph.out_degree() == 0)
    updates = ends.filter(ends["opcode"] == "aten.sub")["shape"].to_list()
    assert sorted(updates) == sorted(list(p.shape) for p in net.parameters())


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_a_module_that_decides_by_values_is_refused(training: bool) -> None:
    torch = pytest.importorskip("torch")

    class ByValue(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: Any) -> Any:
            return self.scale * x.exp() if x.sum() > 0 else x

    with pytest.raises(DataError, match="depend on values"):
        from_torch(ByValue(), torch.zeros(3), training=training)


# --- ONNX -----------------------------------------------------------------------------------


def _model(onnx: Any) -> Any:
    h, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = [onnx.numpy_helper.from_array(np.zeros(s, "f4"), n)
               for n, s in (("k", (4, 3, 3, 3)), ("b", (4,)), ("w", (4, 10)))]  # fmt: skip
    nodes = [
        h.make_node("Conv", ["x", "k", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        h.make_node("Sigmoid", ["c"], ["r"]),
        h.make_node("GlobalAveragePool", ["r"], ["p"]),
        h.make_node("Flatten", ["p"], ["q"]),
        h.make_node("Gemm", ["q", "w"], ["y"]),
    ]
    x = h.make_tensor_value_info("x", kind, ["N", 3, 8, 8])
    y = h.make_tensor_value_info("y", kind, ["N", 10])
    return h.make_model(h.make_graph(nodes, "g", [x], [y], weights))


def test_an_onnx_model_has_the_costs_of_its_sizes(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    file = tmp_path / "m.onnx"
    onnx.save(_model(onnx), file)
    one, many = read_onnx(file), read_onnx(file, sizes={"N": 32})
    meeting = (2 + 3 + 3 + 3) ** 2
    per_image = 2 * 3 * 4 * meeting + 4 * 4 * 4 + (64 - 4) + 2 * 4 * 10
    assert (run_of(one, "flops"), run_of(many, "flops")) == (per_image, 32 * per_image)
    assert run_of(many, "transcendentals") == 32 * 4 * 4 * 4
    assert total_costs(one)["parameters"] == 4 * 27 + 4 + 40
    assert "open sizes count as 1: N" in one.notes[0].message
    assert not many.notes
    with pytest.raises(DataError, match="names of open sizes, got M"):
        read_onnx(file, sizes={"M": 1})


def test_a_damaged_onnx_model_is_refused(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    whole = _model(onnx).SerializeToString()
    for cut in (b"abc", whole[: len(whole) // 2], b"\x08\x00" * 40):
        (tmp_path / "m.onnx").write_bytes(cut)
        with pytest.raises(DataError, match="expected an ONNX model"):
            read_graph(tmp_path / "m.onnx")


# --- functions by name ---------------------------------------------------------------------------

MODULE = """
def step():
    import jax
    x = jax.ShapeDtypeStruct((2, 3), "float32")
    return (lambda a: a @ a.T), x

def odd():
    return 3
"""


def test_a_function_is_named_as_module_and_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jax")
    (tmp_path / "own_nets.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert run_of(open_graph("own_nets:step"), "flops") == 2 * 2 * 2 * 3
    for name, said in (
        ("odd", "got int"),
        ("none", "function none in module own_nets"),
        ("step:more", "no such file"),
    ):
        with pytest.raises(DataError, match=said):
            open_graph(f"own_nets:{name}")
