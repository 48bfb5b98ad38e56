"""HLO text: the forms XLA writes, their costs and loops, and what is wrong in a damaged one."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.graph import Graph
from rheostat.errors import DataError
from rheostat.measurement.graphs.graph_costs import costs_by_class, total_costs
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.graphs.hlo.hlo_window import WindowSide
from rheostat.measurement.graphs.read_graph import graphs_of, read_graph
from rheostat.measurement.read import read


def entry(*lines: str, head: str = "", name: str = "m") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule {name}\n\n{head}\n\nENTRY e {{\n{body}\n}}\n"


def run_of(graph: Graph, amount: str) -> float:
    return float(np.nansum(graph.numpy(amount) * graph.numpy("times")))


def flops(*lines: str, head: str = "") -> float:
    return run_of(from_hlo(entry(*lines, head=head)), "flops")


ADD = "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}"
X = "x = f32[4,8]{1,0} parameter(0)"


def test_a_product_costs_two_operations_a_pair() -> None:
    w = "w = f32[3,8,5]{2,1,0} parameter(1)"
    y = "y = f32[3,4,8]{2,1,0} parameter(0)"
    dims = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}"
    made = f"ROOT d = f32[3,4,5]{{2,1,0}} dot(y, w), {dims}, rhs_contracting_dims={{1}}"
    assert flops(y, w, made) == 2 * 3 * 4 * 5 * 8


def test_a_convolution_costs_what_meets_the_image_not_the_padding() -> None:
    x = "x = f32[2,5,5,3]{3,2,1,0} parameter(0)"
    k = "k = f32[3,3,3,7]{3,2,1,0} parameter(1)"
    made = ("ROOT c = f32[2,3,3,7]{3,2,1,0} convolution(x, k), window={size=3x3 stride=2x2 "
            "pad=1_1x1_1}, dim_labels=b01f_01io->b01f")  # fmt: skip
    meeting = (2 + 3 + 2) ** 2
    assert flops(x, k, made) == 2 * 2 * 3 * 7 * meeting


@settings(deadline=None, max_examples=200)
@given(
    st.integers(1, 9), *[st.integers(1, 4)] * 2, *[st.integers(0, 3)] * 2, *[st.integers(1, 3)] * 2
)
def test_meetings_are_those_that_counting_one_by_one_gives(
    length: int, size: int, stride: int, low: int, high: int, stretch: int, spread: int
) -> None:
    side = WindowSide(size, stride, low, high, stretch, spread)
    inputs = {low + i * stretch for i in range(length)}
    reached = [p * stride + k * spread for p in range(side.positions(length)) for k in range(size)]
    assert side.valid(length) == sum(r in inputs for r in reached)
    whole = low + (length - 1) * stretch + 1 + high
    assert max(reached, default=0) < max(whole, 1)


def test_a_reduction_applies_its_function_once_less_than_it_has_numbers() -> None:
    made = "ROOT r = f32[4]{0} reduce(x, z), dimensions={1}, to_apply=add"
    assert flops(X, "z = f32[] constant(0)", made, head=ADD) == 4 * 7


def test_what_a_fusion_computes_and_what_it_moves() -> None:
    inner = (" %p = f32[4,8]{1,0} parameter(0)", " %e = f32[4,8]{1,0} exponential(%p)",
             " ROOT %m = f32[4,8]{1,0} multiply(%e, %p)")  # fmt: skip
    head = "\n".join(["f (p: f32[4,8]) -> f32[4,8] {", *inner, "}"])
    graph = from_hlo(entry(X, "ROOT y = f32[4,8]{1,0} fusion(x), kind=kLoop, calls=f", head=head))
    assert (run_of(graph, "flops"), run_of(graph, "transcendentals")) == (32, 32)
    assert run_of(graph, "bytes") == 2 * 4 * 8 * 4
    fusion = graph.nodes.row(graph.nodes["opcode"].index_of("fusion"), named=True)
    assert (fusion["op_class"], fusion["fused"]) == ("transcendental", False)
    assert graph.nodes["fused"].to_list() == [True, True, True, False, False]


def test_a_fusion_that_takes_a_slice_reads_the_slice() -> None:
    head = "f {\n p = f32[4,8]{1,0} parameter(0)\n ROOT s = f32[1,8]{1,0} slice(p), slice={[0:1], [0:8]}\n}"  # noqa: E501
    graph = from_hlo(entry(X, "ROOT y = f32[1,8]{1,0} fusion(x), kind=kLoop, calls=f", head=head))
    assert run_of(graph, "bytes") == 2 * 8 * 4


LOOP = """body {{
  p = (s32[], f32[4]{{0}}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant({step})
  next = s32[] add(i, one)
  v = f32[4]{{0}} get-tuple-element(p), index=1
  w = f32[4]{{0}} multiply(v, v)
  ROOT t = (s32[], f32[4]{{0}}) tuple(next, w)
}}

condition {{
  p = (s32[], f32[4]{{0}}) parameter(0)
  unused = f32[4]{{0}} get-tuple-element(p), index=1
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant({end})
  ROOT c = pred[] compare(i, n), direction={direction}
}}"""


def looped(start: str, more: str = "", **counts: object) -> Graph:
    made = f"ROOT r = (s32[], f32[4]{{0}}) while(t), condition=condition, body=body{more}"
    given = ("x = f32[4]{0} parameter(0)", start, "t = (s32[], f32[4]{0}) tuple(i, x)")
    return from_hlo(entry(*given, made, head=LOOP.format(**counts)))


@pytest.mark.parametrize(
    ("start", "step", "end", "direction", "trips"),
    [(0, 1, 7, "LT", 7), (0, 1, 7, "LE", 8), (3, 2, 10, "LT", 4), (9, -1, 0, "GT", 9),
     (5, 1, 5, "LT", 0), (0, 1, 10**6, "LT", 10**6)],
)  # fmt: skip
def test_a_counted_loop_runs_as_often_as_its_counter_says(
    start: int, step: int, end: int, direction: str, trips: int
) -> None:
    graph = looped(f"i = s32[] constant({start})", step=step, end=end, direction=direction)
    product = graph.nodes.filter(graph.nodes["opcode"] == "multiply")
    assert product["times"].to_list() == [trips]
    assert run_of(graph, "flops") == trips * (4 + 1) + (trips + 1)


def test_a_loop_that_data_end_counts_once_and_says_so() -> None:
    graph = looped("i = s32[] parameter(1)", step=1, end=7, direction="LT")
    assert graph.nodes.filter(graph.nodes["opcode"] == "multiply")["times"].to_list() == [1]
    assert "loop r runs as often as data say" in graph.notes[0].message


def test_what_xla_knows_of_a_loop_is_believed() -> None:
    known = ', backend_config={"known_trip_count":{"n":"5"},"known_init_step":{"init":"0"}}'
    graph = looped("i = s32[] parameter(1)", known, step=1, end=7, direction="LT")
    assert graph.nodes.filter(graph.nodes["opcode"] == "multiply")["times"].to_list() == [5]


def test_of_two_branches_the_dearer_counts() -> None:
    head = ("cheap {\n a = f32[4,4]{1,0} parameter(0)\n ROOT n = f32[4,4]{1,0} negate(a)\n}\n\n"
            "dear {\n a = f32[4,4]{1,0} parameter(0)\n ROOT n = f32[4,4]{1,0} dot(a, a), "
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}")  # fmt: skip
    lines = ("p = pred[] parameter(0)", "x = f32[4,4]{1,0} parameter(1)")
    new = "ROOT c = f32[4,4]{1,0} conditional(p, x, x), branch_computations={cheap, dear}"
    old = "ROOT c = f32[4,4]{1,0} conditional(p, x, x), true_computation=dear, false_computation=cheap"  # noqa: E501
    assert flops(*lines, new, head=head) == flops(*lines, old, head=head) == 2 * 64


def test_a_call_into_a_library_is_unknown_not_free() -> None:
    graph = from_hlo(entry(X, 'ROOT y = f32[4,8]{1,0} custom-call(x), custom_call_target="mine"'))
    assert np.isnan(graph.numpy("flops")[1])
    assert "not known" in graph.notes[0].message
    assert total_costs(graph)["flops"] == 0.0


def test_products_by_a_library_are_counted_from_their_configuration() -> None:
    w = "w = f32[8,5]{1,0} parameter(1)"
    made = ('ROOT y = (f32[4,5]{1,0}, s8[64]{0}) custom-call(x, w), custom_call_target="__cublas$'
            'gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{'
            '"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}')  # fmt: skip
    assert flops(X, w, made) == 2 * 4 * 5 * 8


OLD = """HloModule cluster_0__XlaCompiledKernel, is_scheduled=true

%region (Arg_0.1: f32[], Arg_1.1: f32[]) -> f32[] {
  %Arg_0.1 = f32[] parameter(0), metadata={op_type="Sum" op_name="gradient_tape/Sum"}
  %Arg_1.1 = f32[] parameter(1)
  ROOT %add.1 = f32[] add(f32[] %Arg_0.1, f32[] %Arg_1.1)
}

ENTRY %main.9 (arg0.1: bf16[2,3], arg1.2: f8e4m3fn[2], arg2: s4[6]) -> (f32[2], /*index=1*/f32[]) {
  %arg0.1 = bf16[2,3]{1,0:T(8,128)(2,1)S(1)} parameter(0), sharding={devices=[2,1]<=[2]}
  %arg1.2 = f8e4m3fn[2]{0} parameter(1)
  %arg2 = s4[6]{0:E(4)} parameter(2)
  %c = c64[] constant((1, -2))
  %token = token[] after-all()
  %convert.1 = f32[2,3]{1,0} convert(bf16[2,3]{1,0} %arg0.1)
  %constant.2 = f32[2]{0} constant({1, 2.5e-3})
  %constant.3 = f32[2,2]{1,0} constant({ { 1, nan }, /*i0=1*/
    { -inf, 0x1p-3 } })
  %constant.4 = f32[] constant(0)
  %reduce.1 = f32[2]{0} reduce(f32[2,3]{1,0} %convert.1, f32[] %constant.4), dimensions={1}, to_apply=%region
  %add.9 = f32[2]{0} add(f32[2]{0} %reduce.1, f32[2]{0} %constant.2)
  ROOT %tuple.1 = (f32[2]{0}, /*index=1*/f32[]) tuple(f32[2]{0} %add.9, /*index=1*/f32[] %constant.4)
}
"""  # noqa: E501


FORMS = """HloModule forms_spmd, is_scheduled=true, num_partitions=2, input_output_alias={ {0}: (0, {}, may-alias) }

%add_F32.v3 (lhs: f32[], rhs: f32[]) -> f32[] {
  %lhs = f32[] parameter(0)
  %rhs = f32[] parameter(1)
  ROOT %add = f32[] add(%lhs, %rhs)
}, execution_thread="main"

wrapped {
  p = f32[8,4]{1,0} parameter(0)
  ROOT all = f32[8,4]{1,0} all-to-all(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}
}

same {
  y = f32[] parameter(0)
  ROOT copy = f32[] copy(y)
}

ENTRY %Entry (p0: f32[8,4], p1: (f32[], (f32[2]))) -> f32[8,4] {
  %p0 = f32[8,4]{1,0:T(8,128)} parameter(0), parameter_replication={true}, origin={{"v1"}}
  %p1 = (f32[], (f32[2]{0})) parameter(1), sharding={{manual}, {maximal device=0}}
  %s = f32[] get-tuple-element(%p1), index=0
  %token = token[] after-all()
  %recv = (f32[], u32[]{:S(2)}, token[]) recv(%token), channel_id=15, is_host_transfer=true
  %recv-done = (f32[], token[]) recv-done(%recv), channel_id=15
  %send = (f32[], u32[], token[]) send(%s, %token), channel_id=16, control-predecessors={%recv}
  %scalar-window = f32[] reduce-window(%s, %s), to_apply=%add_F32.v3
  %lit = f32[4]{0} custom-call(%s), custom_call_target="Sharding", literal=( s32[4]{0} {4, 128}, pred[] 1 ), metadata={op_name="\\"it\\'s {not\\" a (problem" profile_type={1}}, backend_config={key: "value"}
  %composite = f32[] call(%s), to_apply=same, is_composite=true, frontend_attributes={composite.attributes={n = 1 : i32, t = dense<1> : tensor<i32>},composite.name="a.b"}
  %which = s32[] constant(1)
  %branch = f32[] conditional(%which, %s, %composite, %s), branch_computations={%same, %same, %same}
  %started = ((f32[8,4]{1,0}), f32[8,4]{1,0}, s32[]) async-start(%p0), async_execution_thread="other", calls=wrapped
  %updated = ((f32[8,4]{1,0}), f32[8,4]{1,0}, s32[]) async-update(%started)
  %finished = f32[8,4]{1,0} async-done(%updated)
  %sugar = ((f32[8,4]{1,0}), f32[8,4]{1,0}, s32[]) custom-call-start(%p0), custom_call_target="foo"
  %sweet = f32[8,4]{1,0} custom-call-done(%sugar)
  %reduced = f32[8,4]{1,0} all-reduce(%finished), channel_id=2, replica_groups=[1,2]<=[2], use_global_device_ids=true, to_apply=%add_F32.v3
  %gathered = f32[16,4]{1,0} all-gather(%reduced), dimensions={0}
  %domain = f32[] domain(%s), domain={kind="sharding", entry={maximal device=0}, exit={}}
  %rng = f32[8]{0} rng(%s, %domain), distribution=rng_uniform
  %bits = (u64[2]{0}, u32[3,5]{1,0}) rng-bit-generator(%state), algorithm=rng_three_fry
  ROOT %out = f32[8,4]{1,0} add(%reduced, %sweet)
}
"""  # noqa: E501


def test_tokens_threads_wrapped_calls_sharding_and_nested_attributes() -> None:
    text = FORMS.replace(
        "  %bits", "  %state = u64[2]{0} rng-get-and-update-state(), delta=4\n  %bits"
    )
    graph = from_hlo(text)
    assert len(graph) == 3 + 2 + 2 + 24
    assert run_of(graph, "flops") == 32 + 32, "an all-reduce and a sum"
    assert run_of(graph, "transcendentals") == 8 + 2 + 2 + 15
    assert [n.count for n in graph.notes] == [1], "the call into a library"
    with pytest.raises(DataError, match="above, got state"):
        from_hlo(FORMS)


def test_the_text_of_older_releases_with_types_comments_and_small_formats() -> None:
    graph = from_hlo(OLD)
    assert graph.name == "cluster_0__XlaCompiledKernel"
    assert len(graph) == 3 + 12 - 2, "all but two constants that nothing uses"
    assert run_of(graph, "flops") == 6 + 4 + 2
    sizes = dict(zip(graph.nodes["dtype"], graph.nodes["shape"].to_list(), strict=True))
    assert (sizes["bf16"], sizes["s4"], sizes["f8e4m3fn"]) == ([2, 3], [6], [2])


def test_dynamic_sizes_count_with_their_bound() -> None:
    lines = ("x = f32[<=8,?]{1,0} parameter(0)", "ROOT y = f32[<=8,?]{1,0} negate(x)")
    graph = from_hlo(entry(*lines))
    assert graph.nodes["shape"].to_list()[0] == [8, 0]
    assert run_of(graph, "flops") == 8


def test_edges_lead_through_calls() -> None:
    head = "f {\n p = f32[4,8]{1,0} parameter(0)\n ROOT n = f32[4,8]{1,0} negate(p)\n}"
    graph = from_hlo(entry(X, "ROOT y = f32[4,8]{1,0} call(x), to_apply=f", head=head))
    assert sorted(map(tuple, graph.edges.T.tolist())) == [(0, 1), (1, 3), (2, 0), (2, 3)]


def test_costs_by_class_add_up_to_the_total() -> None:
    graph = from_hlo(OLD)
    table, total = costs_by_class(graph), total_costs(graph)
    assert table["count"].sum() == total["nodes"]
    assert table["flops"].sum() == total["flops"]
    assert (total["inputs"], total["input_elements"]) == (3, 14)


SOLVE = "lower=true, left_side=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE"


@pytest.mark.parametrize(("given", "made", "cost"), [
    ("a = f32[2,6,6]{2,1,0} parameter(0)", "f32[2,6,6]{2,1,0} cholesky(a), lower=true",
     2 * 6**3 / 3),
    ("a = f32[5,5]{1,0} parameter(0)\n  b = f32[5,3]{1,0} parameter(1)",
     f"f32[5,3]{{1,0}} triangular-solve(a, b), {SOLVE}", 2 * 5 * 5 * 3),
])  # fmt: skip
def test_equations_cost_what_xla_says(given: str, made: str, cost: float) -> None:
    assert flops(given, f"ROOT s = {made}") == cost


ROWS = "i = s32[3,1]{1,0} parameter(1)"
TAKEN = ("gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
         "index_vector_dim=1, slice_sizes={1,8}")  # fmt: skip
AT = "i = s32[] parameter(1)"
ENDS = "i = f32[] parameter(1)"


@pytest.mark.parametrize(("index", "made", "dims", "wrong", "said"), [
    (ROWS, TAKEN, "3,8", "3,7", "as the result"),
    (ROWS, TAKEN, "3,8", "3,8,1", "expected offsets"),
    (AT, "dynamic-slice(x, i, i), dynamic_slice_sizes={2,8}", "2,8", "2,7", "as the result"),
    (ENDS, "clamp(i, x, i)", "4,8", "4,7", "as the result"),
])  # fmt: skip
def test_what_is_taken_has_the_size_that_was_asked_for(index, made, dims, wrong, said) -> None:  # type: ignore[no-untyped-def]
    layout = {n: "{" + ",".join(map(str, range(n - 1, -1, -1))) + "}" for n in (2, 3)}
    graph = from_hlo(entry(X, index, f"ROOT y = f32[{dims}]{layout[2]} {made}"))
    assert graph.nodes["shape"].to_list()[-1] == [int(d) for d in dims.split(",")]
    with pytest.raises(DataError, match=said):
        from_hlo(entry(X, index, f"ROOT y = f32[{wrong}]{layout[wrong.count(',') + 1]} {made}"))


def test_a_slice_beyond_its_array_is_refused() -> None:
    made = "ROOT y = f32[5,8]{1,0} dynamic-slice(x, i, i), dynamic_slice_sizes={5,8}"
    with pytest.raises(DataError, match="a slice inside"):
        from_hlo(entry(X, AT, made))


WRONG = {
    "no module": ("ENTRY e {\n}\n", "line 1: expected HloModule"),
    "no entry": ("HloModule m\n", "one ENTRY computation"),
    "cut off": (entry(X)[:-3], "closing brace|ROOT"),
    "no root": (entry(X), "one ROOT in e"),
    "unknown name": (entry(X, "ROOT y = f32[4,8]{1,0} negate(z)"), "line 7: .*above, got z"),
    "unknown opcode": (entry(X, "ROOT y = f32[4,8]{1,0} nagete(x)"), "an opcode of HLO.*'nagete'"),
    "another shape": (entry(X, "ROOT y = f32[4,9]{1,0} negate(x)"), r"f32\[4,8\] as the result"),
    "another type": (entry(X, "ROOT y = f64[4,8]{1,0} negate(x)"), r"got f64\[4,8\]"),
    "no type": (entry(X, "ROOT y = g32[4,8]{1,0} negate(x)"), "expected a type"),
    "a name twice": (entry(X, X, "ROOT y = f32[4,8]{1,0} negate(x)"), "got x again"),
    "no such computation": (entry(X, "ROOT y = f32[4,8]{1,0} call(x), to_apply=f"), "got f"),
    "a layout of another rank": (entry(X, "ROOT y = f32[4,8]{0} negate(x)"), "a layout of 2"),
    "a parameter left out": (entry("ROOT x = f32[] parameter(1)"), "expected parameters 0 to 0"),
    "a literal of another size": (entry("ROOT x = f32[3] constant({1, 2})"), "3 numbers.*got 2"),
    "a size of a galaxy": (entry(f"ROOT x = f32[{10**9},{10**9}] parameter(0)"), "fewer than 1e18"),
    "a size without end": (entry(f"ROOT x = f32[{'9' * 5000}] parameter(0)"), "fewer than 1e18"),
    "an open bracket": (entry("ROOT x = f32[] constant(1"), "closing bracket|opening bracket"),
    "calls itself": (
        entry(X, "ROOT y = f32[4,8]{1,0} call(x), to_apply=e"), "calls itself"),
    "a table with a gap": (entry(X, "ROOT y = f32[4,8]{1,0} negate(x)").replace(
        "\n\n", "\nFileNames\n1 a\n3 c\n\n", 1), "row 2 of a table"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_with_its_line(what: str) -> None:
    text, said = WRONG[what]
    with pytest.raises(DataError, match=said) as error:
        from_hlo(text)
    assert "line " in str(error.value)


def test_a_file_may_be_packed_and_another_kind_is_named(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "m.hlo.gz").write_bytes(gzip.compress(OLD.encode()))
    assert len(read_graph(tmp_path / "m.hlo.gz")) == 13
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"expected HLO text.*text that begins with 'a,b'"):
        read_graph(tmp_path / "t.csv")


@pytest.mark.slow
def test_the_recorded_graphs_cost_what_xla_says(shared_data) -> None:  # type: ignore[no-untyped-def]
    """FLOPs within 2e-7, transcendentals exactly, bytes within 4e-4; every 25th, or all of them."""
    every = 1 if os.environ.get("RHEOSTAT_FUZZ") else 25
    folder = shared_data / "dnn" / "hlo_cpu"
    jobs = read(folder / "hlo_cpu_measured.jsonl.gz")
    jobs = jobs.rows(np.arange(len(jobs)) % every == 0)
    for row, graph in zip(
        jobs.frame.rows(named=True), graphs_of(jobs, folder).values(), strict=True
    ):
        total = total_costs(graph)
        assert total["flops"] == pytest.approx(row["flops"], rel=2e-7)
        assert total["transcendentals"] == row["transcendentals"]
        assert total["bytes"] == pytest.approx(row["bytes_accessed"], rel=4e-4)
        assert not graph.notes
