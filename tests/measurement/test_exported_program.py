"""Programs of ``torch.export``: the operations of their JSON are read, and nothing in them runs."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import re
import time
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs.exported_program import DTYPES, FORMATS
from rheostat.measurement.graphs.from_torch import from_torch
from rheostat.measurement.graphs.read_graph import read_graph
from rheostat.measurement.graphs.step_source import open_step
from tests.broken_contents import broken_json

pytestmark = pytest.mark.filterwarnings("ignore")
torch = pytest.importorskip("torch")


def _net() -> tuple[Any, Any]:
    nn = torch.nn
    body = (nn.Conv2d(3, 8, 3, stride=2, padding=0), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 3 * 3, 10), nn.LayerNorm(10),
            nn.Softmax(-1))  # fmt: skip
    return nn.Sequential(*body), torch.zeros(4, 3, 15, 15)


def test_numbers_stand_for_the_types_and_formats_that_pytorch_writes_them_for() -> None:
    written = pytest.importorskip("torch._export.serde.serialize")
    for ours, theirs in ((DTYPES, written._TORCH_TO_SERIALIZE_DTYPE),
                         (FORMATS, written._TORCH_TO_SERIALIZE_MEMORY_FORMAT)):  # fmt: skip
        names = {int(number): str(kind).removeprefix("torch.") for kind, number in theirs.items()}
        assert {k: names.get(k, name) for k, name in ours.items()} == ours
        assert ours.keys() >= names.keys()


def test_an_exported_program_is_read_and_a_damaged_one_refused(tmp_path: Path) -> None:
    net, x = _net()
    file = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net, (x,)), file)
    assert read_graph(file).nodes.rows() == from_torch(net, x).nodes.rows()
    whole = file.read_bytes()
    for cut in (whole[: len(whole) // 2], b"no zip at all"):
        file.write_bytes(cut)
        with pytest.raises(DataError, match=r"expected a program of torch\.export"):
            read_graph(file)


def test_an_open_batch_is_the_one_asked_for(tmp_path: Path) -> None:
    net, x = _net()
    file = tmp_path / "net.pt2"
    sizes = ({0: torch.export.Dim("batch", min=2, max=64)},)
    torch.export.save(torch.export.export(net, (x,), dynamic_shapes=sizes), file)
    asked, traced = open_step(str(file), 32), from_torch(net, torch.zeros(32, 3, 15, 15))
    assert asked.graph.nodes.rows() == traced.nodes.rows()
    assert (asked.batch, asked.graph.notes) == (32, ())
    (said,) = asked.notes
    assert re.fullmatch(r"its open sizes s\d+ are taken as the batch of 32", said)
    (note,) = read_graph(file).notes
    assert note.message.startswith("sizes that are left open are taken as traced")
    for size, why in (
        ({"N": 3}, "a size N, where s"),
        ({said.split()[3]: 65}, "up to 64"),
    ):
        with pytest.raises(DataError, match=why):
            read_graph(file, sizes=size)
    closed = tmp_path / "closed.pt2"
    torch.export.save(torch.export.export(net, (x,)), closed)
    (said,) = open_step(str(closed), 32).notes
    assert "--batch-size says which it was" in said


def test_layers_that_a_gpu_runs_in_one_piece_are_not_taken_apart(tmp_path: Path) -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.LSTM(6, 4, batch_first=True, bidirectional=True)

        def forward(self, x: Any) -> Any:
            y, _ = self.layer(x)
            return torch.nn.functional.scaled_dot_product_attention(y, y, y, is_causal=True)

    file = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Net().eval(), (torch.zeros(3, 50, 6),)), file)
    nodes = read_graph(file).nodes
    assert len(nodes) < 60
    products = nodes.filter(pl.col("op_class") == "matmul")
    flops = (products["flops"] * products["times"]).sum()
    assert flops == pytest.approx(2 * 3 * 50 * 2 * 16 * (6 + 4) + 4 * 3 * 50 * 50 * 8, rel=0.1)


class Strange:
    """A pickle of it makes a file where it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def _rewritten(file: Path, change: Any) -> Path:
    """The zip, each member's bytes changed."""
    with zipfile.ZipFile(file) as old:
        members = {i.filename: old.read(i) for i in old.infolist()}
    other = file.with_name("other.pt2")
    with zipfile.ZipFile(other, "w") as new:
        for name, data in members.items():
            new.writestr(name, change(name, data))
    return other


def test_nothing_in_an_exported_program_runs(tmp_path: Path) -> None:
    """Pickles beside the program, expressions that PyTorch evaluates, names of other functions."""
    net, x = _net()
    file, mark = tmp_path / "net.pt2", tmp_path / "ran"
    batch = {0: torch.export.Dim("batch", min=2, max=64)}
    torch.export.save(torch.export.export(net, (x,), dynamic_shapes=(batch,)), file)
    evil = pickle.dumps(Strange(mark))
    code = f'__import__("pathlib").Path({str(mark)!r}).touch()'

    def changed(name: str, data: bytes) -> bytes:
        if not name.endswith("models/model.json"):
            return data if "config" in name or "version" in name else evil
        return re.sub(rb'"expr_str": "[^"]*"', b'"expr_str": ' + json.dumps(code).encode(), data)

    graph = read_graph(_rewritten(file, changed))
    assert graph.nodes["opcode"].to_list() == read_graph(file).nodes["opcode"].to_list()
    assert not mark.exists()
    for target in ("torch.os.mkdir", "torch.ops.aten.from_file.default", "builtins.eval",
                   "torch.ops.aten.__class__.mro", "torch.ops.load_library.a.b",
                   "torch.ops.higher_order.cond"):  # fmt: skip
        named = _rewritten(file, lambda name, data, target=target: data.replace(
            b"torch.ops.aten.relu.default", target.encode()))  # fmt: skip
        with pytest.raises(DataError, match=r"is not read|no operation of ATen that is read"):
            read_graph(named)


def test_a_program_that_would_take_for_ever_is_refused(tmp_path: Path) -> None:

    class Apart(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return [part + 1 for part in x.unbind(0)]

    file = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Apart(), (torch.zeros(7, 3),)), file)
    assert read_graph(file).nodes["opcode"].to_list().count("aten.add") == 7
    larger = _rewritten(file, lambda _, data: data.replace(b'"as_int": 7', b'"as_int": 700000000'))
    with pytest.raises(DataError, match="over 700,000,000 steps, at most 65,536 are read"):
        read_graph(larger)


def test_blocks_without_gradients_or_in_half_precision_count_as_what_is_in_them(
    tmp_path: Path,
) -> None:

    class Blocks(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                y = x @ x
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return y @ y

    file, x = tmp_path / "net.pt2", torch.zeros(4, 4)
    torch.export.save(torch.export.export(Blocks(), (x,)), file)
    products = read_graph(file).nodes.filter(pl.col("opcode") == "aten.mm")
    assert products["dtype"].to_list() == ["f32", "bf16"]


def test_a_program_whose_json_was_changed_is_read_or_refused_in_one_message(tmp_path: Path) -> None:
    net, x = _net()
    file = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net, (x,)), file)
    for seed in (*range(8), int(time.strftime("%Y%m%d"))):
        print("seed", seed)
        rng = random.Random(seed)

        def changed(name: str, data: bytes, rng: random.Random = rng) -> bytes:
            program = name.endswith("model.json")
            return json.dumps(broken_json(json.loads(data), rng)).encode() if program else data

        other = _rewritten(file, changed)
        with contextlib.suppress(DataError):
            read_graph(other)
