"""Steps as strangers write them: scripts with options, loops of several steps, batches by name."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs.from_torch import from_torch
from rheostat.measurement.graphs.step_source import open_step
from rheostat.prediction.step_cost.device_law import Work
from rheostat.prediction.step_cost.sheet_forecast import forecast_step
from rheostat.prediction.step_cost.step_memory import step_memory

torch = pytest.importorskip("torch")
CODE = """
import argparse
import copy
from dataclasses import dataclass
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)
    def forward(self, x): return self.two(torch.relu(self.one(x)))

class Sized(Net):
    def __init__(self, width): super().__init__()

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bs", type=int, default=6)
    rows = parser.parse_args().bs
    model = Net().to("cuda" if torch.cuda.is_available() else "cpu")
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(rows, 8)).mean().backward()
        optimizer.step()

def once(bs=6):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(bs, 8)).mean().backward()
    optimizer.step()

def compiled(bs=6):
    model = torch.compile(Net())
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(bs, 8)).mean().backward()
    optimizer.step()

def compiled_module(bs=6): return torch.compile(Net()), torch.randn(bs, 8)
def module(bs=6): return [Net(), torch.randn(bs, 8)]

def by_two_passes(bs=6, up=True):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(bs, 8)
    if up:
        model(x).mean().backward()
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad / (p.grad.norm() + 1e-12))
        model.zero_grad()
    model(x).mean().backward()
    optimizer.step()

def by_one_pass(bs=6): by_two_passes(bs, False)

class Drawn(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.utils.parametrizations.weight_norm(nn.Linear(8, 4))
        self.back = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
    def forward(self, x):
        return self.back(torch.distributions.Normal(self.net(x), 1.0).rsample())

def drawn(bs=6): return Drawn(), torch.randn(bs, 8)

def with_a_teacher(bs=6):
    model, x = Drawn().back, torch.randn(bs, 4)
    teacher = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (model(x) - teacher(x)).mean().backward()
    optimizer.step()

def causal(bs=6):
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)
    return Causal(net), torch.randn(bs, 5, 8)

class Causal(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x):
        return self.net(x, mask=nn.Transformer.generate_square_subsequent_mask(5))

@dataclass
class Output:
    loss: object
    logits: object

class ByName(Net):
    def forward(self, inputs=None, labels=None):
        logits = super().forward(inputs)
        return Output(nn.functional.cross_entropy(logits, labels), logits)

def by_name(bs=6): return ByName(), {"inputs": torch.randn(bs, 8), "labels": torch.zeros(bs).long()}

class Masked(Net):
    def forward(self, x, *, mask=None, scale=1.0): return super().forward(x) * mask * scale

def masked(bs=6): return Masked(), torch.randn(bs, 8), {"mask": torch.ones(bs, 4), "scale": 2.0}

class MakesItsOwn(Net):
    def forward(self, x): return super().forward(x) + torch.zeros(4)

def makes_its_own(bs=6): return MakesItsOwn(), torch.randn(bs, 8)

class Routed(Net):
    def forward(self, x):
        rows, = torch.where(x[:, 0] > 0)
        return torch.zeros(len(x), 4).index_add(0, rows, super().forward(x[rows]))

def routed(bs=6): return Routed(), torch.randn(bs, 8)

def scaled(bs=6):
    model, scaler = Net(), torch.amp.GradScaler("cpu")
    optimizer = torch.optim.Adam(model.parameters())
    scaler.scale(model(torch.randn(bs, 8)).mean()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()

class Waves(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8, dtype=torch.cfloat))
    def forward(self, x): return torch.cdist((torch.fft.fft(x) @ self.w).real, x)

def waves(bs=40): return Waves(), torch.randn(bs, 8)

def loaded(bs=6):
    from torch.utils.data import DataLoader, TensorDataset
    data = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=bs, shuffle=True)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    model(next(iter(data))[0]).mean().backward()
    optimizer.step()

def truncated(bs=6):
    model = Net()
    nn.init.trunc_normal_(model.one.weight, std=0.02)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(bs, 8)).mean().backward()
    optimizer.step()

def wide(bs=2048): return nn.Linear(4096, 4096), torch.randn(bs, 4096)
def rounded(bs=2048):
    torch.set_float32_matmul_precision("high")
    return wide(bs)

class Both(Net):
    def forward(self, x, y): return super().forward(x + y)

def both(bs=6): return Both(), torch.randn(bs, 8), torch.randn(bs, 8)
def in_one(bs=6): return Both(), (torch.randn(bs, 8), torch.randn(bs, 8))

def covariance(bs=6):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    torch.cov(model(torch.randn(bs, 8)).T).pow(2).sum().backward()
    optimizer.step()

def wrong(bs=6): return Net(), torch.randn(bs, 9)
def ends(bs=6): raise SystemExit("no GPU")
"""


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    file = tmp_path_factory.mktemp("strange") / "strange_steps.py"
    file.write_text(CODE)
    return lambda name: open_step(f"{file}:{name}")


def codes(step) -> list[str]:
    return step.graph.nodes["opcode"].to_list()


def test_a_script_with_options_of_its_own_takes_its_defaults_and_one_of_its_steps(strange):
    once, main = strange("once"), strange("main")
    assert (once.batch, main.batch) == (6, None)
    assert codes(main).count("adam-update") == 4
    assert step_memory(main.graph, "adam") == step_memory(once.graph, "adam")
    (note,) = main.graph.notes
    assert "what comes behind the first step is left out" in note.message
    assert not once.graph.notes


def test_one_tuple_of_all_inputs_is_taken_apart(strange):
    one, both = strange("in_one"), strange("both")
    assert codes(one) == codes(both)
    assert one.batch == both.batch == 6


def test_a_covariance_asks_for_no_numbers(strange):
    """PyTorch compares its weights, of which there are none."""
    of_one = strange("covariance").graph.nodes.filter(opcode="aten.mm")["flops"].sum()
    plain = strange("once").graph.nodes.filter(opcode="aten.mm")["flops"].sum()
    assert of_one - plain == 3 * 2 * 4 * 4 * 6  # rows against rows, and their gradient twice


def test_weights_that_are_drawn_until_they_lie_within_bounds_need_no_numbers(strange):
    """As torchvision's and timm's transformers begin."""
    assert codes(strange("truncated")) == codes(strange("once"))


PASS = 2 * 6 * (2 * 8 * 16 + 3 * 16 * 4) + 6 * (16 + 4)
"""Products of `Net` and their biases, forward and back: its input has no gradient."""


def products(graph) -> float:
    return graph.nodes.filter(op_class="matmul")["flops"].sum()


@pytest.mark.parametrize(("name", "passes"), [("by_one_pass", 1), ("by_two_passes", 2)])
def test_what_changes_parameters_in_place_is_no_part_of_their_making(strange, name, passes):
    assert products(strange(name).graph) == passes * PASS


def test_distributions_masks_and_copies_ask_for_no_numbers(strange):
    drawn, taught = strange("drawn").graph, strange("with_a_teacher").graph
    assert products(drawn) == 2 * 6 * (2 * 8 * 4 + 3 * 4 * 8) + 6 * (4 + 8)
    assert not drawn.notes
    norm = drawn.nodes.filter(opcode="aten._weight_norm_interface")
    assert norm.select("op_class", "flops").rows() == [("normalization", 3.0 * 32)]
    assert products(taught) == 2 * 6 * 4 * 8 * 3 + 2 * 6 * 8  # back by the weights alone
    assert "aten.attention" in codes(strange("causal"))


def test_products_that_the_code_lets_be_rounded_to_tf32_are_faster_and_nothing_stays(strange):
    plain, rounded = strange("wide"), strange("rounded")
    assert codes(plain) == codes(rounded)
    assert (plain.framework, rounded.framework) == ("torch", "torch with TF32")
    assert any("TF32" in note for note in rounded.notes)
    assert strange("wide").framework == "torch"
    slow, fast = (
        forecast_step(s.graph, "A100", "sgd", framework=s.framework) for s in (plain, rounded)
    )
    assert fast.parts_s["products"] < slow.parts_s["products"] / 4  # 156 for 19.5 TFLOP/s


def test_what_a_compiler_would_fuse_is_taken_as_it_is_written(strange):
    assert codes(strange("compiled")) == codes(strange("once"))
    assert codes(strange("compiled_module")) == codes(strange("module"))


def test_a_batch_by_name_is_given_by_name_and_its_loss_is_the_loss(strange):
    made = strange("by_name")
    assert (made.batch, codes(made).count("sgd-update")) == (6, 4)
    assert {"aten.nll_loss_forward", "aten._log_softmax"} <= set(codes(made))
    assert not made.graph.notes


def test_what_stands_behind_the_inputs_by_name_is_given_by_name(strange):
    made = strange("masked")
    assert (made.batch, codes(made).count("aten.mul")) == (6, 4)  # and their gradients


def test_arrays_that_a_module_makes_are_where_its_parameters_are(strange):
    made, plain = codes(strange("makes_its_own")), codes(strange("module"))
    assert made.count("aten.zeros") == 1
    assert len(made) == len(plain) + 2  # and the sum


def test_rows_that_values_choose_are_as_many_as_there_can_be(strange):
    made, plain = strange("routed"), strange("module")
    products = [g.graph.nodes.filter(g.graph.nodes["op_class"] == "matmul")["flops"].to_list()
                for g in (made, plain)]  # fmt: skip
    assert sorted(products[0]) == sorted(products[1])
    (note,) = made.graph.notes
    assert (
        note.message
        == "sizes that depend on values are taken as large as they can be: aten.nonzero"
    )


class Experts(torch.nn.Module):
    """Each of 8 rows goes to the best of 4 layers, or to the two best."""

    def __init__(self, chosen) -> None:
        super().__init__()
        self.router, self.chosen = torch.nn.Linear(16, 4), chosen
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 32) for _ in range(4))

    def forward(self, x):
        scores, made = self.router(x), x.new_zeros(len(x), 32)
        for number, layer in enumerate(self.layers):
            rows = self.chosen(scores, number)
            if rows is not None:
                made = made.index_add(0, rows, layer(x[rows]))
        return made


def masked(scores, number):
    mask = (scores.topk(2, dim=-1)[1] == number).any(-1)
    return mask.nonzero()[:, 0] if mask.any() else None


def one_hot(scores, number):
    best = torch.nn.functional.one_hot(scores.softmax(-1).topk(2).indices, 4)
    return torch.where(best.permute(2, 1, 0)[number])[1]


@pytest.mark.parametrize(("chosen", "each"), [
    (lambda scores, number: torch.where(scores.argmax(dim=1) == number)[0], 1),
    (lambda scores, number: torch.where(scores.max(1)[1].view(-1, 2) == number)[0], 1),
    (masked, 2), (one_hot, 2),
])  # fmt: skip
def test_experts_share_the_rows_that_a_router_gives_them(chosen, each):
    graph = from_torch(Experts(chosen), torch.empty(8, 16), training=True, optimizer="sgd")
    nodes = graph.nodes.filter(graph.nodes["op_class"] == "matmul")
    rows = sum(f / (2 * 16 * 32) for f in nodes["flops"].to_list() if f > 8 * 16 * 4 * 2)
    assert rows == pytest.approx(2 * 8 * each, rel=0.1)  # forward, and gradients of weights
    assert "shared evenly among the classes: aten.nonzero" in graph.notes[-1].message


def test_a_scaled_loss_is_unscaled_once_and_the_step_is_taken(strange):
    made, once = strange("scaled"), strange("once")
    assert codes(made).count("adam-update") == codes(once).count("adam-update") == 4
    unscaled = made.graph.nodes.filter(made.graph.nodes["opcode"].str.contains("unscale"))
    weights = 8 * 16 + 16 + 16 * 4 + 4
    assert unscaled["flops"].to_list() == [weights]
    assert unscaled["bytes"].to_list() == [2 * 4 * weights]
    assert not made.graph.notes


def test_complex_numbers_and_distances_have_rules(strange):
    """As in XLA a complex product counts as one; the time is that of four."""
    step = strange("waves").graph
    assert not step.notes
    nodes = {n: f for n, f in step.nodes.select("opcode", "flops").rows() if n == "aten.mm"
             or "dist" in n}  # fmt: skip
    assert nodes == {"aten.mm": 2 * 40 * 8 * 8, "aten._euclidean_dist": 2 * 40 * 40 * (8 + 2)}
    products = Work.of(step).flops[Work.of(step).kind == 0].tolist()
    assert products.count(4 * 2 * 40 * 8 * 8) == 2  # of the weight's gradient, too
    assert 2 * 40 * 40 * 10 in products


def test_a_loader_that_shuffles_gives_its_batches(strange):
    made = strange("loaded")
    products = made.graph.nodes.filter(made.graph.nodes["opcode"] == "aten.addmm")
    assert products["shape"].to_list() == [[6, 16], [6, 4]]


@pytest.mark.parametrize(("name", "words"), [
    ("Sized", "expected a class of batch_size or of nothing, got width"),
    ("wrong", r"strange_steps.py, line \d+\)$"), ("ends", "raised SystemExit: no GPU"),
])  # fmt: skip
def test_what_goes_wrong_is_told_with_its_line(strange, name, words):
    with pytest.raises(DataError, match=words):
        strange(name)


def test_a_file_without_a_name_asks_for_one(tmp_path):
    file = tmp_path / "train.py"
    file.write_text("import torch\n")
    with pytest.raises(DataError, match=r"expected a function or class of it, as .*train.py:step"):
        open_step(str(file))
