"""The one door to graphs: files of any kind, graphs that a table names, functions."""

from __future__ import annotations

import gzip
import json

import pytest

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.graphs.read_graph import from_function, graphs_of, open_graph, read_graph
from tests.measurement.exactly import refused, written
from tests.measurement.small_graphs import X, module

RECORD = {"nodes": [["kParameter", "f32", [4], 0], ["kNegate", "f32", [4], 0]], "edges": [[0, 1]],
          "unodes": [["kParameter", "f32", [4], 0]], "uedges": []}  # fmt: skip
HLO = module(X, "ROOT y = f32[4] negate(x)")


def test_a_graph_is_read_from_any_of_its_files(tmp_path):
    lines = ["{}", json.dumps(RECORD), "odd"]
    records = written(tmp_path / "r.jsonl", "\n".join(lines))
    assert len(read_graph(f"{records}#1")) == 2
    assert len(read_graph(f"{records}#1", optimised=False)) == 1
    refused(
        lambda: read_graph(f"{records}#3"), "expected a record in row 3, got the end of the file"
    )
    with pytest.raises(DataError, match=r"r.jsonl#2: is no JSON: "):
        read_graph(f"{records}#2")
    written(tmp_path / "a#1", HLO)
    assert len(read_graph(tmp_path / "a#1")) == 2
    packed = tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + HLO.encode()))
    assert read_graph(packed).name == str(packed)
    advice = "expected a model of ONNX or torch.export, which may leave sizes open"
    refused(lambda: read_graph(packed, sizes={"N": 1}), advice)
    (tmp_path / "c").write_bytes(HLO.encode() + b"// x\n// \xff")
    refused(lambda: read_graph(tmp_path / "c"), "line 8: expected UTF-8, got byte 0xff",
            "the text is damaged: write it anew")  # fmt: skip
    late = written(tmp_path / "d", "/" * 4090 + HLO)
    with pytest.raises(DataError, match="expected HLO text, ONNX"):
        read_graph(late)


def test_the_graphs_that_a_table_names_are_read_once(tmp_path):
    written(tmp_path / "r.jsonl", "\n".join([json.dumps(RECORD)] * 2))
    written(tmp_path / "m.txt", HLO)
    names = ["r.jsonl#1", None, "m.txt", "r.jsonl#0", "r.jsonl#1"]
    made = graphs_of(table({"graph": names}), tmp_path)
    assert [(k, g.name, len(g)) for k, g in made.items()] == [
        ("r.jsonl#1", "r.jsonl#1", 2), ("m.txt", str(tmp_path / "m.txt"), 2),
        ("r.jsonl#0", "r.jsonl#0", 2)]  # fmt: skip
    before = graphs_of(table({"graph": names}), tmp_path, optimised=False)
    assert len(before["r.jsonl#0"]) == 1
    with pytest.raises(DataError, match="column graph is missing"):
        graphs_of(table({"a": [1]}), tmp_path)


NETS = """
import math
def step(): return (lambda: 1,)
def none(): return ()
def number(): return 3
def uncalled(): return (3, 4)
def asking(size, *, depth, odd=1): return (lambda: 1,)
def failing():
    return math.sqrt(-1)
plain = 3
"""
RETURNS = "expected a function without arguments that returns (step, *arguments), got "
ADVICE = "write `def step(): return model, torch.empty(8, 3, 224, 224)` and name that"


def test_a_function_returns_a_step_and_its_arguments(tmp_path, monkeypatch):
    written(tmp_path / "graph_nets.py", NETS)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, kind in (("none", "tuple"), ("number", "int"), ("uncalled", "tuple"),
                       ("plain", "a int"),
                       ("asking", "one that asks for size, depth")):  # fmt: skip
        refused(lambda name=name: from_function(f"graph_nets:{name}"), RETURNS + kind, ADVICE)
    refused(lambda: open_graph("graph_nets:odd"),
            "expected a function odd in module graph_nets, got none")  # fmt: skip
    with pytest.raises(DataError, match=r"raised ValueError: .*graph_nets.py, line 9\)"):
        open_graph("graph_nets:failing")
    written(tmp_path / "graph_broken.py", "x = (")
    with pytest.raises(DataError, match="raised SyntaxError"):
        open_graph("graph_broken:x")
    with pytest.raises(DataError, match=r"expected module:function, got No module"):
        open_graph("no_such_module:odd")
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a:b", HLO)
    assert len(open_graph("a:b")) == 2
    refused(lambda: open_graph("a:b", {"N": 1}),
            "expected a model of ONNX or torch.export, which may leave sizes open")  # fmt: skip
    with pytest.raises(DataError, match="no such file"):
        open_graph("no-name")


@pytest.mark.filterwarnings("ignore")
def test_a_module_named_for_a_function_is_told_what_to_write(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    text = (
        "import torch\nmodel = torch.nn.Linear(2, 2)\ndef step(): return model, torch.empty(3, 2)"
    )
    written(tmp_path / "graph_train.py", text)
    monkeypatch.syspath_prepend(str(tmp_path))
    refused(lambda: open_graph("graph_train:model"), RETURNS + "a Linear", ADVICE)
    assert len(open_graph("graph_train:step")) > 3
