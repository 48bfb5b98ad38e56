"""A step as it is trained: loops, checkpoints, mixed precision, optimisers, on any device."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs.step_source import open_step
from rheostat.prediction.step_cost.step_memory import step_memory

torch = pytest.importorskip("torch")
WIDTH, STATE = 8, 16
CODE = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

def layers(): return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8))

class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = layers()
    def forward(self, x): return self.layers(x).sin()

class Again(Kept):
    def forward(self, x): return checkpoint(self.layers, x, use_reentrant=False).sin()

class Half(Kept):
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.float16):
            return super().forward(x)

def kept(bs=4): return Kept(), torch.randn(bs, 8)
def again(bs=4): return Again(), torch.randn(bs, 8)
def half(bs=4): return Half(), torch.randn(bs, 8)
def labelled(bs=4): return Kept(), torch.randn(bs, 8), torch.randn(bs)
def nothing(bs=4): return torch.randn(3)

outside = Kept()
their_optimizer = torch.optim.SGD(outside.parameters(), lr=0.1, momentum=0.9)

def loop(bs=4):
    print("a step")
    their_optimizer.zero_grad()
    outside(torch.randn(bs, 8)).mean().backward()
    their_optimizer.step()

def inside(bs=4, parts=1, device="cuda"):
    model = Kept().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(parts):
        with torch.autocast(device, dtype=torch.float16):
            loss = model(torch.randn(bs // parts, 8, device=device)).mean()
        (loss / parts).backward()
    optimizer.step()
    return float(loss) + loss.item()

def accumulated(bs=4): return inside(bs, 2)
"""


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    file = tmp_path_factory.mktemp("loops") / "loops_of_steps.py"
    file.write_text(CODE)
    return lambda name, batch=4: open_step(f"{file}:{name}", batch)


def products(step) -> float:
    nodes = step.graph.nodes
    return float(nodes.filter(nodes["op_class"] == "matmul")["flops"].sum())


def test_what_is_checkpointed_is_computed_once_more_as_far_as_it_is_needed(steps):
    """The first layer and not the last, whose result nobody takes."""
    more = products(steps("again")) - products(steps("kept"))
    assert more == 4 * STATE * (2 * WIDTH + 1)


def test_autocast_says_that_products_go_in_16_bits(steps):
    assert [steps(s).bits for s in ("kept", "loop", "half", "inside")] == [32, 32, 16, 16]
    assert any("16 bits" in note for note in steps("half").notes)


def test_a_function_that_trains_is_the_module_with_its_optimiser(steps, capsys):
    """Models made outside or inside, on a device that is not there, are the same step."""
    module = steps("kept")
    weights = 4 * (2 * WIDTH * STATE + WIDTH + STATE)
    for name, optimizer in (("loop", "momentum"), ("inside", "adamw")):
        made = steps(name)
        assert products(made) == products(module)
        assert (made.optimizer, made.batch, made.framework) == (optimizer, 4, "torch")
        opcodes = made.graph.nodes["opcode"].to_list()
        assert opcodes.count(f"{optimizer}-update") == opcodes.count("weight") == 4
        assert step_memory(made.graph, optimizer).parameters_b == weights
    assert torch.randn(2).tolist() != [1.0, 1.0]
    assert float(torch.tensor(3.0)) == torch.tensor(3.0).item() == 3.0
    assert capsys.readouterr().out == ""


def test_gradients_accumulate_over_parts_of_a_batch(steps):
    """As many products as the batch at once, and a sum more for each parameter."""
    whole, parts = (steps(s).graph.nodes["opcode"].to_list() for s in ("inside", "accumulated"))
    assert parts.count("adamw-update") == whole.count("adamw-update") == 4
    assert parts.count("aten.add") - whole.count("aten.add") >= 4
    shared = 4 * (STATE + WIDTH)
    assert products(steps("accumulated")) == pytest.approx(products(steps("inside")), abs=shared)


def test_what_is_no_step_is_told_apart(steps):
    for name, word in (("nothing", "expected a module or function and its inputs"),
                       ("labelled", "give what its forward takes, without labels")):  # fmt: skip
        with pytest.raises(DataError, match=word):
            steps(name)
