"""Steps as strangers write them: scripts with options, loops of several steps, batches by name."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs.step_source import open_step
from rheostat.prediction.step_cost.sheet_forecast import forecast_step
from rheostat.prediction.step_cost.step_memory import step_memory

torch = pytest.importorskip("torch")
CODE = """
import argparse
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

@dataclass
class Output:
    loss: object
    logits: object

class ByName(Net):
    def forward(self, inputs=None, labels=None):
        logits = super().forward(inputs)
        return Output(nn.functional.cross_entropy(logits, labels), logits)

def by_name(bs=6): return ByName(), {"inputs": torch.randn(bs, 8), "labels": torch.zeros(bs).long()}

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


def test_weights_that_are_drawn_until_they_lie_within_bounds_need_no_numbers(strange):
    """As torchvision's and timm's transformers begin."""
    assert codes(strange("truncated")) == codes(strange("once"))


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
