"""Parts of reading graphs against plain loops and closed forms: windows, recurrence, wrappings."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat import save
from rheostat.core.graph import op_graph
from rheostat.errors import DataError, MissingExtra
from rheostat.measurement.graphs import step_source
from rheostat.measurement.graphs.aten_costs import aten_cost
from rheostat.measurement.graphs.from_torch import _size, result_type
from rheostat.measurement.graphs.graph_costs import costs_by_class, total_costs
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.hlo.hlo_window import WindowSide, read_window
from rheostat.measurement.graphs.op_rows import OpCost, OpRows
from rheostat.measurement.graphs.read_graph import read_graph
from rheostat.measurement.graphs.recurrent_rows import add_recurrent
from rheostat.measurement.graphs.value_sizes import AT_MOST
from rheostat.measurement.graphs.xla_programs import _unwrapped, hlo_text_of

SMALL = st.integers(1, 4)


@settings(max_examples=200, deadline=None)
@given(side=st.builds(WindowSide, SMALL, SMALL, st.integers(-2, 4), st.integers(-2, 4), SMALL,
                      SMALL), length=st.integers(0, 9))  # fmt: skip
def test_a_window_takes_the_positions_and_meets_the_elements_that_a_loop_counts(
    side, length
) -> None:
    """The stretched and padded input is written out, True where an element stands."""
    base = [i % side.lhs_dilate == 0 for i in range((length - 1) * side.lhs_dilate + 1)]
    cells = [False] * side.low + base[-min(side.low, 0) :] + [False] * side.high
    cells = cells[: len(cells) + min(side.high, 0)] if side.high < 0 else cells
    reach = (side.size - 1) * side.rhs_dilate + 1
    begins = range(0, len(cells) - reach + 1, side.stride)
    if len(base) + min(side.low, 0) + min(side.high, 0) < 0:
        return  # more is cut away than is there
    assert side.positions(length) == len(begins)
    meeting = sum(cells[b + k * side.rhs_dilate] for b in begins for k in range(side.size))
    assert side.valid(length) == meeting


def test_a_window_is_read_side_by_side() -> None:
    text = "{size=3x5 stride=1x2 pad=0_1x2_3 lhs_dilate=1x4 rhs_dilate=2x1}"
    assert read_window(text) == (WindowSide(3, 1, 0, 1, 1, 2), WindowSide(5, 2, 2, 3, 4, 1))
    assert read_window("{}") == ()


@pytest.mark.parametrize("back", [False, True])
def test_a_recurrent_layer_is_a_product_of_all_steps_and_one_of_each(back) -> None:
    """Two layers of an LSTM, 7 steps of 3 sequences, 5 numbers in and 2 of state; the second
    gives 1 number by a projection."""
    x, state = HloType("f32", (7, 3, 5)), HloType("f32", (2, 3, 2))
    weights = [HloType("f32", d) for d in ((8, 5), (8, 2), (8,), (8,), (8, 2), (8, 2), (1, 2))]
    lists = [[None] * 2, [None] * len(weights)]
    given = [*[HloType("f32", (9,))] * back, x, state, state, *weights]
    rows = OpRows()
    rows.add("input", OpCost("parameter_constant", bytes=0.0), x)
    name = "recurrent_backward" if back else "recurrent"
    add_recurrent(rows, name, given, [None, *lists], [0])

    def product(code, m, n, k, times=1.0):
        return (code, "matmul", 2.0 * m * n * k, 4.0 * (m * k + k * n + m * n), 0.0, times)

    wanted = []
    for width in (5, 2):
        numbers = 7 * 3 * 8
        wanted += [
            product("recurrent-input", 21, 8, width), product("recurrent-state", 3, 8, 2, 7.0),
            ("recurrent-gates", "elementwise", 2.0 * numbers, 12.0 * numbers, 1.25 * numbers, 1.0),
        ]  # fmt: skip
        if back:
            wanted += [product("recurrent-weights", 8, width, 21),
                       product("recurrent-weights", 8, 2, 21)]  # fmt: skip
    wanted.append(product("recurrent-state", 3, 1, 2, 7.0))
    names = ("opcode", "op_class", "flops", "bytes", "transcendentals", "times")
    assert [tuple(r[n] for n in names) for r in rows.rows[1:]] == wanted
    assert rows.edges == [(0, i + 1) for i in range(len(wanted))]
    assert all(r["shape"] == [0] for r in rows.rows[1:])


def field(content: bytes) -> bytes:
    """A protobuf field of that content: its tag, its size in sevens of bits, and itself."""
    size, digits = len(content), b""
    while True:
        size, low = size >> 7, size & 0x7F
        digits += bytes([low | (0x80 if size else 0)])
        if not size:
            return b"\x0a" + digits + content


@pytest.mark.parametrize("length", [3, 127, 128, 300, 20_000])
def test_a_module_is_taken_out_of_what_wraps_it(length) -> None:
    inside = bytes(i % 251 for i in range(length))
    assert _unwrapped(field(inside)) == inside
    more = field(inside) + b"x" * (length - 10 if length > 10 else 0)
    assert _unwrapped(more) == (inside if 2 * length > len(more) else more)
    longer = field(inside) + b"x" * (length + 1)
    assert _unwrapped(longer) == longer  # what is the smaller part is a field of a module
    assert _unwrapped(field(inside)[:-1]) == field(inside)[:-1]
    assert _unwrapped(b"\x12" + field(inside)[1:]) == b"\x12" + field(inside)[1:]


def test_an_empty_program_is_itself() -> None:
    assert [_unwrapped(c) for c in (b"", b"\x0a", b"\x0a\x00")] == [b"", b"\x0a", b"\x0a\x00"]


def test_rows_move_their_operands_and_results_unless_it_is_said() -> None:
    rows = OpRows()
    one = rows.add("input", OpCost("parameter_constant", bytes=0.0), HloType("f32", (4, 2)))
    two = rows.add("add", OpCost("elementwise", 8.0), HloType("bf16", (4, -2)), [one, one], 3.0)
    assert (one, two, rows.edges) == (0, 1, [(0, 1), (0, 1)])
    assert rows.rows[1]["bytes"] == 32.0 + 32.0 + rows.types[1].size_b
    assert (rows.rows[0]["bytes"], rows.rows[1]["shape"]) == (0.0, [4, 0])
    assert (rows.rows[0]["times"], rows.rows[1]["times"]) == (1.0, 3.0)
    odd = rows.add("magic", OpCost("other", float("nan")), HloType("f32", ()), [two])
    (note,) = rows.graph("g").notes
    assert (note.rows, note.count) == ((odd,), 1)
    assert note.message.endswith("not in the totals: magic")


def test_costs_are_those_of_what_runs_and_inputs_are_what_nothing_makes() -> None:
    names = ("opcode", "op_class", "shape", "flops", "bytes", "times")
    rows = [("weight", "parameter_constant", [3, 4], 0.0, 0.0, 1.0),
            ("input", "parameter_constant", [], 0.0, 0.0, 1.0),
            ("parameter", "parameter_constant", [5], 0.0, 0.0, 0.0),  # of what never runs
            ("parameter", "parameter_constant", [7], 0.0, 0.0, 1.0),  # takes what another makes
            ("dot", "matmul", [2], 10.0, 5.0, 3.0), ("magic", "other", [2], np.nan, 4.0, 2.0),
            ("view", "data_movement", [2], 0.0, 0.0, 1.0)]  # fmt: skip
    nodes = {n: [r[i] for r in rows] for i, n in enumerate(names)}
    nodes |= {"dtype": ["f32"] * 7, "fused": [False] * 7, "transcendentals": [1.0] * 7}
    graph = op_graph("g", nodes, np.array([[0, 3], [4, 3], [0, 4]]).T)
    made = total_costs(graph)
    assert made == {"nodes": 7, "edges": 3, "flops": 30.0, "bytes": 23.0, "transcendentals": 9.0,
                    "inputs": 2, "input_elements": 13, "parameters": 12}  # fmt: skip
    table = costs_by_class(graph)
    by = dict(zip(table["op_class"], table["intensity"], strict=True))
    assert by["matmul"] == 2.0
    assert by["data_movement"] is None
    assert dict(zip(table["op_class"], table["count"], strict=True))["parameter_constant"] == 4
    plain = op_graph("g", nodes | {"opcode": ["x"] * 7}, np.zeros((2, 0), dtype=np.int64))
    assert total_costs(plain)["parameters"] is None


def test_a_step_is_called_with_the_batch_that_it_takes() -> None:
    def plain():
        return "m", 1

    def named(batch_size, more=3, *rest, **others):
        return "m", batch_size, more

    def default(bs=8, batch=4):
        return "m", bs, batch

    def lacking(data, batch_size):
        return data

    class Whole:
        example_input_array = (5, 6)

    for thing, batch, wanted, told in (
        (plain, None, ("m", 1), False), (plain, 9, ("m", 1), False),
        (named, None, ("m", 32, 3), False), (named, 9, ("m", 9, 3), True),
        (default, None, ("m", 8, 4), False), (default, 9, ("m", 8, 9), True),
        ((1, 2), 9, (1, 2), False), (7, None, (7,), False), ((), None, ((),), False),
    ):  # fmt: skip
        call, taken, own = step_source._call(thing, batch, "here")
        assert (call(), taken) == (wanted, told)
        assert own == {named: batch or 32, default: batch or 4}.get(thing)
    made = step_source._call(Whole, None, "here")[0]()
    assert (type(made[0]), made[1:]) == (Whole, (5, 6))
    Whole.example_input_array = 5
    assert step_source._call(Whole, None, "here")[0]()[1:] == (5,)
    with pytest.raises(DataError, match="batch_size or of nothing, got data"):
        step_source._call(lacking, None, "here")


def test_an_error_of_ours_in_the_code_of_a_step_is_said_as_it_is(tmp_path) -> None:
    code = "from rheostat.errors import DataError\nraise DataError('my table', ['so it is'])\n"
    (tmp_path / "steps.py").write_text(code)
    with pytest.raises(DataError, match=r"my table.*so it is"):
        step_source._module("steps.py:step", str(tmp_path / "steps.py"), "steps")
    (tmp_path / "other.py").write_text("x = 1\nraise SystemExit('stop')\n")
    with pytest.raises(DataError, match=r"raised SystemExit: stop .*line 2"):
        step_source._module("other.py:step", str(tmp_path / "other.py"), "other")
    with pytest.raises(DataError, match="got no file"):
        step_source._module("none.py:step", str(tmp_path / "none.py"), "none")


@pytest.mark.parametrize(("window", "positions"), [([2], 8), ([2, 3, 4], 24)])
def test_a_pool_in_three_dimensions_reduces_its_window(window, positions) -> None:
    out = HloType("f32", (2, 5))
    for name in ("max_pool3d_with_indices", "avg_pool3d"):
        cost = aten_cost(name, out, [HloType("f32", (2, 99))], [None, window], pointwise=False)
        assert (cost.op_class, cost.flops) == ("reduction", 10.0 * (positions - 1))


def test_a_result_without_a_shape_is_opaque_and_of_several_the_first_that_is_there_counts() -> None:
    torch = pytest.importorskip("torch")
    for value in (None, 3, "text", [None, None], (), [7, torch.empty(2)]):
        assert result_type(value, set()) == HloType("opaque")
    for value in (torch.empty(2, 3), [torch.empty(2, 3)], ([None, torch.empty(2, 3)], 5)):
        assert result_type(value, set()) == HloType("f32", (2, 3))


def test_a_step_of_jax_is_a_function_and_its_arguments(tmp_path) -> None:
    jax = pytest.importorskip("jax")
    (tmp_path / "steps_of_jax.py").write_text("""
import jax.numpy as jnp
def product(): return jnp.dot, jnp.ones((3, 5)), jnp.ones((5, 7))
def sized(batch_size=4): return jnp.dot, jnp.ones((batch_size, 5)), jnp.ones((5, 7))
def doubled(): return lambda x: x + x, jnp.ones((3, 5))
def alone(): return jnp.dot
def data(): return 3, 4
given = (jnp.dot, jnp.ones((3, 5)), jnp.ones((5, 7)))
numbers = (3, 4)
""")
    assert jax
    source = f"{tmp_path}/steps_of_jax.py:"
    for name, batch, rows in (("product", None, 3), ("given", None, 3), ("sized", 6, 6)):
        made = step_source.open_step(source + name, batch)
        assert (made.batch, made.optimizer, made.framework) == (batch, "", "jax")
        assert "taken as the whole step" in made.notes[0]
        assert total_costs(made.graph)["flops"] == 2 * rows * 5 * 7
    assert total_costs(step_source.open_step(source + "doubled").graph)["flops"] == 15
    for name, got in (("alone", "function|PjitFunction"), ("data", "int"), ("numbers", "int")):
        with pytest.raises(DataError, match=f"a module or function and its inputs, got ({got})"):
            step_source.open_step(source + name)
    with pytest.raises(DataError, match="expected a step absent, got a file with jnp, product"):
        step_source.open_step(source + "absent")
    for name in ("product", "given"):
        with pytest.raises(DataError, match="expected a step that takes batch_size"):
            step_source.open_step(source + name, 6)


def test_a_size_left_open_is_what_was_traced_with_and_else_the_most_it_can_be():
    class Open:
        def __init__(self, hint):
            bounds = SimpleNamespace(bound_sympy=lambda _: SimpleNamespace(upper=12))
            self.node = SimpleNamespace(hint=hint, shape_env=bounds, expr=None)

        def __str__(self):
            return f"s{self.node.hint}"

    for size, wanted, names in (
        (7, 7, set()),
        (Open(5.0), 5, {"s5.0"}),
        (Open(None), 12, {f"sNone{AT_MOST}"}),
    ):
        names_of = set()
        assert _size(size, names_of) == wanted
        assert names_of == names


def test_a_saved_graph_is_read_by_its_content_whatever_it_is_called(tmp_path) -> None:
    rows = OpRows()
    one = rows.add("dot", OpCost("matmul", 10.0), HloType("f32", (2, 3)), [])
    rows.add("neg", OpCost("elementwise", 6.0), HloType("f32", (2, 3)), [one])
    graph = rows.graph("g")
    for name in ("step.graph", "step"):
        save(graph, tmp_path / name)
        made = read_graph(tmp_path / name)
        assert made.nodes.equals(graph.nodes)
        assert made.edges.tolist() == graph.edges.tolist()


def test_without_jax_its_programs_are_refused_with_the_extra_that_reads_them(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtra, match=r"jax is not installed.*\[graphs\]"):
        hlo_text_of(b"", "step.pb", stable=False)
