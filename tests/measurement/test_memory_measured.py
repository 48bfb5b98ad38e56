"""Memory of steps beside what PyTorch holds while it runs them, array by array."""

from __future__ import annotations

import weakref

import pytest

from rheostat.measurement.graphs.step_source import open_step
from rheostat.prediction.step_cost.step_memory import CONTEXT_B, WORKSPACE_B, step_memory

torch = pytest.importorskip("torch")
CODE = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

class Block(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.one, self.two, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 256), nn.GELU(), nn.Linear(256, width))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2)
                   for p in self.qkv(self.one(x)).split(d, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.two(x))

class Words(nn.Module):
    def __init__(self, again=False):
        super().__init__()
        self.words, self.head = nn.Embedding(500, 64), nn.Linear(64, 500, bias=False)
        self.blocks, self.again = nn.ModuleList(Block() for _ in range(3)), again
        self.head.weight = self.words.weight

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.again else block(x)
        return {"logits": self.head(x)}

def training(model, data, kind, parts=1, few=False):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = kind(trained, lr=1e-3, foreach=True)

    def step(batch_size=16):
        optimizer.zero_grad()
        for _ in range(parts):
            x = data(batch_size // parts)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=few):
                y = model(x)
            y = y["logits"].float() if isinstance(y, dict) else y
            target = torch.zeros(y.shape[:-1], dtype=torch.int64).flatten()
            F.cross_entropy(y.flatten(0, -2), target).backward()
        optimizer.step()
    step.optimizer, step.model = optimizer, model
    return step

def words(n): return torch.randint(0, 500, (n, 32))
def photos(n): return torch.randn(n, 3, 32, 32)

def photo_net():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(True), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(True), nn.Flatten(),
        nn.Linear(32 * 256, 10))

plain = training(Words(), words, torch.optim.AdamW)
again = training(Words(True), words, torch.optim.Adam)
few_bits = training(Words(), words, torch.optim.AdamW, few=True)
wide = nn.Sequential(nn.Linear(64, 2048), nn.ReLU(), nn.Linear(2048, 64))
parts = training(wide, lambda n: torch.randn(n, 64), torch.optim.AdamW, 4)
momentum = training(photo_net(), photos, lambda p, **k: torch.optim.SGD(p, momentum=0.9, **k))
frozen_net = photo_net()
frozen_net[:8].requires_grad_(False)
frozen = training(frozen_net, photos, torch.optim.RMSprop)
"""
NAMES = ("plain", "again", "few_bits", "parts", "momentum", "frozen")


@pytest.fixture(scope="module")
def measured_steps(tmp_path_factory):
    file = tmp_path_factory.mktemp("measured") / "steps_measured.py"
    file.write_text(CODE)
    return file


def arrays(value) -> list:
    return [v for v in torch.utils._pytree.tree_leaves(value) if isinstance(v, torch.Tensor)]


def bytes_of(value) -> int:
    return sum(v.numel() * v.element_size() for v in arrays(value))


class Held(torch.utils._python_dispatch.TorchDispatchMode):
    """Most bytes of arrays that were made inside and live."""

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[int, int] = {}
        self.most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = {v.untyped_storage()._cdata for v in arrays((args, kwargs))}
        made = func(*args, **(kwargs or {}))
        for storage in (v.untyped_storage() for v in arrays(made)):
            if storage._cdata not in before | set(self.live):
                self.live[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, self.live.pop, storage._cdata, None)
        self.most = max(self.most, sum(self.live.values()))
        return made


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_memory_by_part_is_what_a_step_holds(measured_steps, name):
    """Libraries left out; the update of all parameters together, as on a GPU."""
    code: dict = {}
    exec(measured_steps.read_text(), code)
    step = code[name]
    step()
    for p in step.model.parameters():
        p.grad = None
    with Held() as held:
        step()
    parameters, state = bytes_of(list(step.model.parameters())), step.optimizer.state
    kept = bytes_of(list(state.values()))
    opened = open_step(f"{measured_steps}:{name}")
    made = step_memory(opened.graph, opened.optimizer)
    assert made.parameters_b == parameters
    ours = made.peak_b - CONTEXT_B - WORKSPACE_B
    assert ours == pytest.approx(parameters + kept + held.most, rel=0.02)
