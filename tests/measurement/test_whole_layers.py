"""Attention and recurrent layers stay whole in a traced step, and count what arithmetic says."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.measurement.graphs.aten_costs import aten_cost
from rheostat.measurement.graphs.from_torch import from_torch
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.op_rows import OpRows
from rheostat.measurement.graphs.recurrent_rows import add_recurrent
from rheostat.measurement.graphs.step_source import open_step
from rheostat.measurement.graphs.whole_layers import _run

torch = pytest.importorskip("torch")
flex_attention = pytest.importorskip("torch.nn.attention.flex_attention").flex_attention
STEPS, BATCH, WIDTH, STATE = 7, 3, 8, 16


def products(graph) -> float:
    nodes = graph.nodes.filter(graph.nodes["op_class"] == "matmul")
    return float((nodes["flops"] * nodes["times"]).sum())


def step(module, *inputs):
    return from_torch(module, *inputs, training=True, optimizer="sgd")


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize(("layers", "sides"), [(1, 1), (2, 2)])
def test_a_recurrent_step_multiplies_each_weight_thrice_with_each_item(
    kind, gates, layers, sides
) -> None:
    layer = getattr(torch.nn, kind)(WIDTH, STATE, layers, bidirectional=sides == 2)
    graph = step(layer, torch.randn(STEPS, BATCH, WIDTH))
    weights = sum(p.numel() for p in layer.parameters() if p.dim() == 2)
    assert weights == layers * sides * gates * STATE * STATE + sides * gates * STATE * (
        WIDTH + (layers - 1) * sides * STATE)  # fmt: skip
    assert products(graph) == 3 * 2 * STEPS * BATCH * weights
    assert not np.isnan(graph.numpy("flops")).any()
    assert not graph.notes
    each = graph.nodes.filter(graph.nodes["opcode"] == "recurrent-state")
    assert each["times"].to_list() == [STEPS] * (2 * layers * sides)


def test_batch_first_projections_and_packed_sequences_are_counted() -> None:
    layer = torch.nn.LSTM(WIDTH, STATE, batch_first=True)
    plain = products(step(layer, torch.randn(BATCH, STEPS, WIDTH)))
    assert plain == products(step(torch.nn.LSTM(WIDTH, STATE), torch.randn(STEPS, BATCH, WIDTH)))
    narrow = torch.nn.LSTM(WIDTH, STATE, proj_size=4)
    forward_and_state = 2 * 2 * STEPS * BATCH * 4 * STATE
    weights = 4 * STATE * (WIDTH + 4)
    assert products(step(narrow, torch.randn(STEPS, BATCH, WIDTH))) == (
        3 * 2 * STEPS * BATCH * weights + forward_and_state
    )


class Attended(torch.nn.Module):
    """Attention of what one layer makes, to itself."""

    def __init__(self, *, same: bool) -> None:
        super().__init__()
        self.same = same
        self.layer = torch.nn.Linear(WIDTH, WIDTH if same else 3 * WIDTH, bias=False)

    def forward(self, x):
        made = self.layer(x)
        parts = (made,) * 3 if self.same else made.chunk(3, -1)
        return torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)


@pytest.mark.parametrize("same", [False, True])
def test_attention_and_its_gradients_take_seven_products_of_scores(same) -> None:
    graph = step(Attended(same=same), torch.randn(BATCH, STEPS, WIDTH))
    nodes = graph.nodes
    scores = BATCH * STEPS * STEPS
    forward = nodes.filter(nodes["opcode"] == "aten.attention")["flops"].item()
    back = nodes.filter(nodes["opcode"] == "aten.attention_backward")["flops"].item()
    assert forward == scores * (2 * 2 * WIDTH + 4)
    assert back == scores * (5 * 2 * WIDTH + 8)


class Grouped(torch.nn.Module):
    """Four heads of queries to two of keys, by either function of PyTorch."""

    def __init__(self, *, flexible: bool) -> None:
        super().__init__()
        self.query, self.key = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.flexible = flexible

    def forward(self, x):
        query, key = self.query(x), self.key(x)
        each = [v.unflatten(-1, (-1, WIDTH)).transpose(1, 2) for v in (query, key, key)]
        plain = torch.nn.functional.scaled_dot_product_attention
        return (flex_attention if self.flexible else plain)(*each, enable_gqa=True)


@pytest.mark.parametrize("flexible", [False, True])
def test_heads_that_share_keys_are_attended_in_one_piece(flexible) -> None:
    nodes = step(Grouped(flexible=flexible), torch.randn(BATCH, STEPS, WIDTH)).nodes
    forward = nodes.filter(nodes["opcode"] == "aten.attention")["flops"].item()
    assert forward == BATCH * 4 * STEPS * STEPS * (2 * 2 * WIDTH + 4)


LOOP = """
import torch
from torch.nn.attention.flex_attention import flex_attention
def step():
    layer = torch.nn.Linear(16, 16, False).cuda()
    optimizer = torch.optim.SGD(layer.parameters())
    query = layer(torch.randn(2, 1, 32, 16, device="cuda"))
    flex_attention(query, query, query, score_mod=lambda score, b, h, i, j: score + i - j).sum(
    ).backward()
    optimizer.step()
"""


def test_a_loop_with_flexible_attention_needs_no_gpu(tmp_path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    nodes = open_step(f"{tmp_path}/loop.py:step").graph.nodes
    assert nodes.filter(nodes["opcode"] == "aten.attention")["flops"].item() == 2 * 32**2 * 68


class Solved(torch.nn.Module):
    """Least squares of what a layer makes: PyTorch knows no sizes without values there."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.linalg.lstsq(self.layer(x), x)[0]


def test_least_squares_are_read_and_counted() -> None:
    graph = step(Solved(), torch.randn(2, 6, 3))
    solved = graph.nodes.filter(graph.nodes["opcode"] == "aten.linalg_lstsq")
    assert solved["flops"].item() == 2 * (2 * 6 * 9 - 2 * 27 / 3 + 4 * 6 * 3 * 3)
    assert not np.isnan(graph.numpy("flops")).any()


def test_what_pytorch_has_is_restored() -> None:
    before = torch.nn.functional.scaled_dot_product_attention, torch.nn.modules.rnn._VF
    with pytest.raises(Exception, match="expected a module"):
        step(torch.nn.LSTM(WIDTH, STATE), torch.randn(STEPS, BATCH, WIDTH + 1))
    assert (torch.nn.functional.scaled_dot_product_attention, torch.nn.modules.rnn._VF) == before


X, IN, TURNED = HloType("f32", (7, 3, 8)), HloType("f32", (64, 8)), HloType("f32", (64, 16))
SQUARE = HloType("f32", (2, 6, 6))


@pytest.mark.parametrize(("name", "given", "args", "flops"), [
    ("mkldnn_rnn_layer", (X, IN, TURNED), (), 2 * 21 * 64 * 24),
    ("mkldnn_rnn_layer_backward", (X, IN, TURNED), (), 4 * 21 * 64 * 24),
    ("_cudnn_rnn", (X, IN, TURNED, X), (), 2 * 21 * 64 * 24),
    ("addmv", (HloType("f32", (5,)), HloType("f32", (5, 9)), HloType("f32", (9,))), (), 2 * 45 + 5),
    ("linalg_inv_ex", (SQUARE,), (), 2 * 2 * 6**3),
    ("linalg_qr", (SQUARE,), (), 2 * 6**3 * 8 / 3),
    ("linalg_qr", (HloType("f32", (2, 3, 6)),), (), 2 * (4 * 6 * 9 - 4 * 27 / 3)),
    ("linalg_cholesky_ex", (SQUARE,), (), 2 * 6**3 / 3),
    ("linalg_lu_factor_ex", (SQUARE,), (), 2 * 6**3 * 2 / 3),
    ("linalg_solve_triangular", (SQUARE,), (), 2 * 6**3),
    ("linalg_lu_solve", (SQUARE,), (), 2 * 2 * 6**3),
    ("_linalg_solve_ex", (SQUARE, SQUARE), (), 2 * (2 / 3 + 2) * 6**3),
    ("_linalg_slogdet", (SQUARE,), (), 2 * 6**3 * 2 / 3),
    ("_linalg_eigh", (SQUARE,), (), 2 * 9 * 6**3),
    ("_linalg_svd", (HloType("f32", (2, 3, 6)),), (), 2 * (6 * 6 * 9 + 20 * 27)),
    ("linalg_eig", (SQUARE,), (), 2 * 25 * 6**3),
    ("linalg_matrix_exp", (SQUARE,), (), 2 * 5 * 2 * 6**3),
    ("linalg_pinv", (SQUARE,), (), 2 * (26 + 2) * 6**3),
    ("linalg_lstsq", (HloType("f32", (2, 6, 3)), HloType("f32", (2, 6, 4))), (),
     2 * (2 * 6 * 9 - 2 * 27 / 3 + 4 * 6 * 3 * 4)),
    ("linalg_householder_product", (SQUARE, HloType("f32", (2, 6))), (), 2 * 6**3 * 4 / 3),
    ("polar", (SQUARE,), (), 2 * 72),
    ("linalg_cross", (SQUARE, SQUARE), (), 3 * 72),
    ("renorm", (SQUARE,), (), 3 * 72),
    ("histc", (SQUARE,), (), 2 * 72),
    ("searchsorted", (HloType("f32", (8,)), SQUARE), (), 8 * 3),
    ("bucketize", (SQUARE, HloType("f32", (8,))), (), 72 * 3),
    ("_unique2", (HloType("f32", (8,)),), (), 8 * 3),
    ("_pdist_forward", (HloType("f32", (4, 5)),), (), 3 * 20 * 5),
    ("_pdist_backward", (HloType("f32", (6,)), HloType("f32", (4, 5))), (), 4 * 6 * 5),
    ("_cdist_backward", (HloType("f32", (4, 3)), HloType("f32", (4, 5))), (), 4 * 12 * 5),
    ("_trilinear", (HloType("f32", (5, 3)), HloType("f32", (4, 3, 7)), HloType("f32", (5, 7))),
     (None, None, None, [1, 3], [0], [1, 2], [2, 3]), 3 * 5 * 4 * 3 * 7),
    ("grid_sampler_3d", (HloType("f32", (4, 8)),), (), 16 * 32),
    ("_cdist_forward", (HloType("f32", (4, 5)),), (), 3 * 20 * 5),
    ("_fft_r2c", (HloType("f32", (4, 8)),), (None, [1]), 5 * 32 * 3 / 2),
    ("_fft_c2c", (HloType("c64", (4, 1)),), (None, [1]), 5 * 4),
    ("upsample_linear1d", (HloType("f32", (4, 8)),), (), 4 * 32),
    ("upsample_bicubic2d_backward", (HloType("f32", (4, 8)),), (), 32 * 32),
    ("upsample_trilinear3d", (HloType("f32", (4, 8)),), (), 16 * 32),
    ("grid_sampler_2d", (HloType("f32", (4, 8)),), (), 8 * 32),
    ("grid_sampler_2d_backward", (HloType("f32", (4, 8)),), (), 16 * 32),
    ("_fft_c2c", (HloType("c64", (4, 8)),), (None, [1]), 5 * 32 * 3),
    ("upsample_bilinear2d", (HloType("f32", (4, 8)),), (), 8 * 32),
])  # fmt: skip
def test_rules_of_layers_are_their_closed_forms(name, given, args, flops) -> None:
    result = given[0]
    assert aten_cost(name, result, given, args, pointwise=False).flops == pytest.approx(flops)


def test_gates_move_two_numbers_in_and_one_out_and_are_kept_for_the_way_back() -> None:
    rows, state = OpRows(), HloType("f32", (1, 3, 16))
    add_recurrent(rows, "recurrent", (X, state, IN, TURNED), ([0], [1, 2]), ())
    nodes = rows.graph("layer").nodes
    gates = nodes.filter(nodes["opcode"] == "recurrent-gates")
    assert gates["bytes"].to_list() == [3 * 4 * 7 * 3 * 64]
    weights = [torch.empty(64, 8), torch.empty(64, 16), torch.empty(64)] * 2
    made = _run(torch.empty(7, 3, 8), [torch.empty(2, 3, 16)] * 2, weights, 2)
    assert [tuple(x.shape) for x in made] == [(7, 3, 32), (2, 3, 16), (2, 3, 16), (7 * 3, 2 * 64)]


@pytest.mark.parametrize(("asked", "batch", "has"), [
    ("bs=4", None, 4), ("bs=4", 6, 6), ("bs", None, 32), ("bs", 6, 6), ("", None, 4), ("", 6, 6),
])  # fmt: skip
def test_the_batch_is_what_was_asked_for_else_the_steps_own(tmp_path, asked, batch, has) -> None:
    size = "bs" if asked else "4"
    lines = [
        "import torch",
        f"def step({asked}): return torch.nn.Linear(8, 2, False), torch.randn({size}, 8)",
    ]
    (tmp_path / "linear.py").write_text("\n".join(lines))
    made = open_step(f"{tmp_path}/linear.py:step", batch)
    assert made.batch == has
    assert made.graph.nodes["flops"].max() == 2 * has * 8 * 2
    changed = [note for note in made.notes if "instead of" in note]
    assert len(changed) == (not asked and batch is not None)
