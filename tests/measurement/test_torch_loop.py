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

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(50, 8), nn.Linear(8, 50, bias=False)
        self.head.weight = self.words.weight
    def forward(self, x): return self.head(self.words(x))

def tied(bs=4): return Tied(), torch.zeros(bs, 3, dtype=torch.int64)

def tied_loop(bs=4):
    model = Tied()
    optimizer = torch.optim.AdamW(model.parameters())
    model.cuda()(torch.zeros(bs, 3, dtype=torch.int64, device="cuda")).mean().backward()
    optimizer.step()

def frozen(bs=4):
    model = Kept()
    model.layers[0].requires_grad_(False)
    return model, torch.randn(bs, 8)

def adapted(bs=4):
    base, adapter = nn.Linear(8, 32, bias=False), nn.Linear(8, 32, bias=False)
    base.requires_grad_(False)
    optimizer, x = torch.optim.AdamW(adapter.parameters()), torch.randn(bs, 8)
    (base(x) + adapter(x)).pow(2).mean().backward()
    optimizer.step()

def all_frozen(bs=4): return Kept().requires_grad_(False), torch.randn(bs, 8)

def with_optimizer(make):
    def run(bs=4):
        model = Kept()
        optimizer = make(model.parameters())
        model(torch.randn(bs, 8)).mean().backward()
        optimizer.step()
    return run

rms = with_optimizer(lambda p: torch.optim.RMSprop(p, momentum=0.5))
factored = with_optimizer(lambda p: torch.optim.Adafactor(p))

def sparse(bs=4):
    words = nn.Embedding(1000, 8, sparse=True)
    optimizer = torch.optim.SparseAdam(words.parameters())
    words(torch.zeros(bs, 3, dtype=torch.int64)).pow(2).mean().backward()
    optimizer.step()

def looked_for(bs=4):
    model = Kept()
    x = torch.randn(bs, 8)
    optimizer = torch.optim.SGD(model.parameters())
    rows = torch.where(x.sum(1) > 0)[0]
    if len(rows):
        model(x[rows][x[:, 0] > 0]).mean().backward()
    optimizer.step()

def chosen(bs=4):
    model = Kept()
    if model(torch.randn(bs, 8)).mean() > 0:
        raise ValueError("never")

def stacked(bs=4):
    import copy
    layer = nn.Linear(8, 8)
    model = nn.Sequential(*[copy.deepcopy(layer) for _ in range(3)], layer)
    optimizer = torch.optim.SGD(model.parameters())
    model(torch.randn(bs, 8)).mean().backward()
    optimizer.step()

def searched(bs=4):
    model = Kept()
    optimizer = torch.optim.LBFGS(model.parameters())
    def loss():
        optimizer.zero_grad()
        out = model(torch.randn(bs, 8)).mean()
        out.backward()
        return out
    return optimizer.step(loss).item()

def closed(bs=4):
    model = Kept()
    optimizer = torch.optim.SGD(model.parameters())
    def loss():
        out = model(torch.randn(bs, 8)).mean()
        out.backward()
        return out
    return optimizer.step(loss).item()

def on_a_gpu(bs=4):
    torch.cuda.set_device(0)
    data = torch.utils.data.TensorDataset(torch.randn(64, 8).pin_memory())
    begun = torch.cuda.Event(enable_timing=True)
    for (x,) in torch.utils.data.DataLoader(data, bs, num_workers=2, pin_memory=True):
        begun.record()
        ready_optimizer.zero_grad()
        ready(x.cuda(non_blocking=True)).mean().backward()
        ready_optimizer.step()
    torch.cuda.synchronize()

ready = Kept().to("cuda")
ready_optimizer = torch.optim.SGD(ready.parameters())

def aligned(bs=4):
    model = nn.Linear(8, 12)
    optimizer = torch.optim.SGD(model.parameters())
    scores = model(torch.randn(20, bs, 8)).log_softmax(-1)
    sizes = torch.full((bs,), 20), torch.full((bs,), 5)
    nn.functional.ctc_loss(scores, torch.ones(bs, 5).long(), *sizes).backward()
    optimizer.step()
    return scores.detach().numpy().sum(), scores.tolist()[0]

def critic(bs=4, rounds=2, idle=False):
    net, made = Kept(), Kept()
    of_net = torch.optim.SGD(net.parameters(), lr=0.1)
    of_made = torch.optim.Adam(made.parameters())
    for _ in range(rounds):
        for _ in range(3):
            net(made(torch.randn(bs, 8)).detach()).mean().backward()
            of_net.step()
        if not idle:
            net(made(torch.randn(bs, 8))).mean().backward()
            of_made.step()

def one_alone(bs=4): return critic(bs, 20, True)

class Multiplied(torch.optim.Optimizer):
    def __init__(self, params): super().__init__(params, {})
    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            if p.grad is not None and p.ndim == 2:
                p.add_(p.grad @ p.grad.T @ p.grad)

def multiplied(bs=4, kind=Multiplied):
    net = Kept()
    optimizer = kind(net.parameters())
    net(torch.randn(bs, 8)).mean().backward()
    optimizer.step()

def plain(bs=4): return multiplied(bs, torch.optim.Adam)

def written_over(bs=4):
    model = Kept()
    optimizer = torch.optim.SGD(model.parameters())
    model(torch.randn(bs, 8).mul_(2).add_(1)).mean().backward()
    optimizer.step()
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
    assert parts.count("aten.add_") - whole.count("aten.add_") == 4
    shared = 4 * (STATE + WIDTH)
    assert products(steps("accumulated")) == pytest.approx(products(steps("inside")), abs=shared)


def test_what_is_no_step_is_told_apart(steps):
    for name, word in (("nothing", "expected a module or function and its inputs"),
                       ("labelled", "give what its forward takes, each by itself")):  # fmt: skip
        with pytest.raises(DataError, match=word):
            steps(name)


WEIGHTS_B = 4 * (2 * WIDTH * STATE + WIDTH + STATE)


def test_gradients_of_all_parts_are_one_array_a_parameter(steps):
    """At the update: all gradients once, two numbers kept for each and one of the step's own."""
    for name in ("inside", "accumulated"):
        made = step_memory(steps(name).graph, "adamw")
        steps_count = 4 * 4  # a counter for each parameter
        assert made.gradients_b == WEIGHTS_B
        assert made.optimizer_b - 3 * WEIGHTS_B == pytest.approx(steps_count, abs=steps_count)


def test_frozen_weights_are_parameters_that_no_optimiser_keeps_numbers_of(steps):
    """They were called data."""
    step = steps("adapted")
    memory = step_memory(step.graph, step.optimizer)
    assert memory.parameters_b == 2 * 8 * 32 * 4
    assert memory.data_b == 4 * 8 * 4
    assert memory.optimizer_b < memory.parameters_b * 2


def test_a_parameter_of_two_layers_is_one(steps):
    """In a module that is emptied, and in one that goes to a device after its optimiser."""
    for name in ("tied", "tied_loop"):
        opcodes = steps(name).graph.nodes["opcode"].to_list()
        assert opcodes.count("weight") == 1
        assert sum(code.endswith("-update") for code in opcodes) == 1
        assert step_memory(steps(name).graph).parameters_b == 4 * 50 * 8


def test_what_is_frozen_has_no_gradient_and_no_state(steps):
    made = steps("frozen")
    trained = 4 * (WIDTH * STATE + WIDTH)
    assert made.graph.nodes["opcode"].to_list().count("sgd-update") == 2
    memory = step_memory(made.graph, "momentum")
    assert (memory.parameters_b, memory.optimizer_b) == (WEIGHTS_B, trained)
    with pytest.raises(DataError, match="got none with requires_grad"):
        steps("all_frozen")


def test_an_optimiser_without_a_rule_keeps_what_its_own_code_keeps(steps):
    rows_and_columns = 4 * (2 * (STATE + WIDTH) + STATE + WIDTH)
    for name, kind, kept in (("rms", "RMSprop", 2 * WEIGHTS_B),
                             ("factored", "Adafactor", rows_and_columns)):  # fmt: skip
        made = steps(name)
        more = ", and by the products of matrices in its code" * (kind == "Adafactor")
        assert [f"an update of {kind} is timed as one of adam{more}"] == [
            n.message for n in made.graph.notes]  # fmt: skip
        state = made.graph.nodes.filter(made.graph.nodes["opcode"] == "state")["shape"][0][0]
        assert state == pytest.approx(kept, abs=16)
        assert step_memory(made.graph, made.optimizer).optimizer_b >= state


def test_a_step_ends_when_every_optimiser_has_stepped(steps):
    """Three updates of a critic and one of what it judges; what never steps is not waited for."""
    more = "it updates the same parameters again: what comes behind the first step is left out"
    for name, updates, weights in (("critic", (12, 4), 8), ("one_alone", (4, 0), 4)):
        graph = steps(name).graph
        codes = graph.nodes["opcode"].to_list()
        assert tuple(codes.count(f"{kind}-update") for kind in ("sgd", "adam")) == updates
        assert codes.count("state") == sum(updates[1:]) // 4 + 1
        assert [n.message for n in graph.notes] == [more]
        assert codes.count("weight") >= weights


def test_products_in_the_code_of_an_optimiser_count(steps):
    """Of a 16 x 8 and an 8 x 16 gradient with itself, and of that with the gradient."""
    made, plain = steps("multiplied"), steps("plain")
    assert products(made) - products(plain) == 4 * 16 * 16 * 8 + 4 * 8 * 8 * 16
    (note,) = made.graph.notes
    assert note.message.endswith("as one of adam, and by the products of matrices in its code")


def test_a_sparse_gradient_has_the_rows_that_were_looked_up(steps):
    graph = steps("sparse").graph
    update = graph.nodes.filter(graph.nodes["opcode"] == "adam-update")
    assert update["bytes"].to_list() == [7 * 4 * 12 * 8]
    gradient = graph.edges[0][
        graph.edges[1] == graph.nodes["opcode"].to_list().index("adam-update")
    ]
    assert graph.nodes["shape"].to_list()[gradient[1]] == [12, 8]
    assert not graph.notes[1:]  # all operations are known


def test_sizes_that_depend_on_values_are_the_largest_and_choices_are_refused(steps):
    (note,) = steps("looked_for").graph.notes
    said = "sizes that depend on values are taken as large as they can be: aten.nonzero"
    assert note.message == said
    assert products(steps("looked_for")) == products(steps("closed"))
    with pytest.raises(DataError, match=r"loops_of_steps.py, line \d+.*depends on values"):
        steps("chosen")


def test_layers_that_were_copied_have_parameters_of_their_own(steps):
    made = steps("stacked")
    assert made.graph.nodes["opcode"].to_list().count("weight") == 8
    assert step_memory(made.graph, "sgd").parameters_b == 4 * 4 * (8 * 8 + 8)


def test_a_loss_that_the_optimiser_asks_for_is_computed_once(steps):
    plain, searched = steps("closed"), steps("searched")
    assert products(plain) == products(searched) > 0
    for made, kind in ((plain, "sgd"), (searched, "adam")):
        assert made.graph.nodes["opcode"].to_list().count(f"{kind}-update") == 4
    assert not plain.graph.notes
    assert "LBFGS computes its loss as often as values say: it is counted once" in [
        n.message for n in searched.graph.notes]  # fmt: skip


def test_what_code_asks_of_a_gpu_needs_none(steps):
    """Models that lie there while the file is read, pinned memory, workers, events."""
    made = steps("on_a_gpu")
    assert products(made) == products(steps("closed"))
    assert "more" not in made.notes
    assert torch.utils.data.DataLoader._get_iterator.__module__ == "torch.utils.data.dataloader"
    assert torch.cuda.synchronize.__module__ == "torch.cuda"


def test_alignments_have_scores_for_each_step_label_and_blank(steps):
    nodes = steps("aligned").graph.nodes
    scores, values = 20 * 4 * (2 * 5 + 1), 20 * 4 * 12
    flops = {n: f for n, f in nodes.select("opcode", "flops").rows() if "ctc" in n}
    assert flops == {"aten._ctc_loss": 7 * scores,
                     "aten._ctc_loss_backward": 8 * scores + 2 * values}  # fmt: skip
    assert not steps("aligned").graph.notes


def test_what_is_written_in_place_takes_no_memory_of_its_own(steps):
    codes = steps("written_over").graph.nodes["opcode"].to_list()
    assert {"aten.mul_", "aten.add_"} <= set(codes)
