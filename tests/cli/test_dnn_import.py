"""``rheostat dnn import`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rheostat as rh
from rheostat.cli import run

STEP = """HloModule step

ENTRY main {
  x = f32[8,4]{1,0} parameter(0)
  w = f32[4,2]{1,0} parameter(1)
  h = f32[8,2]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT y = f32[8,2]{1,0} tanh(h)
}
"""


@pytest.fixture
def step(tmp_path: Path) -> str:
    (tmp_path / "step.hlo").write_text(STEP)
    return str(tmp_path / "step.hlo")


def test_costs_are_printed_by_class_with_their_sum(
    step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dnn", "import", step, step]) == 0
    printed = capsys.readouterr()
    first, second = printed.out.split("\n\n")
    assert first.strip() == second.strip()
    rows = [line.split("\t") for line in first.splitlines()]
    assert [r[0] for r in rows] == [
        "op_class", "matmul", "transcendental", "parameter_constant", "all"]  # fmt: skip
    assert rows[-1][0] == "all"
    assert [float(v) for v in rows[-1][1:5]] == [4, 128, 128 + 32 + 64 + 2 * 64, 16]
    assert "2 inputs of 40 numbers" in printed.err


def test_a_graph_is_kept_opened_and_read_again(
    step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = str(tmp_path / "kept.rheo")
    assert run(["dnn", "import", step, "-o", kept, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["schema"], said["graphs"][0]["flops"]) == ("rheostat.dnn-import/1", 128.0)
    graph = rh.load(kept)
    assert (len(graph), graph.edges.tolist()) == (4, [[0, 1, 2], [2, 2, 3]])
    assert run(["dnn", "import", kept, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == said


def test_a_saved_model_of_another_kind_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    past = rh.table({"nodes": [1, 2, 4] * 9, "runtime_s": [8.0, 4.0, 2.0] * 9})
    model = rh.Surrogate("forest", targets=("runtime_s",)).fit(past)
    assert run(["dnn", "import", str(rh.save(model, tmp_path / "m.rheo"))]) == 1
    said = capsys.readouterr().err
    assert "expected a graph of operations (rheostat dnn import --out), got a surrogate (" in said


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [(["--size", "N=4"], 1, "expected a model of ONNX"), (["--size", "N=x"], 2, "whole number"),
     (["nowhere.hlo"], 1, "no such file"), (["no_module:step"], 1, "expected module:function")],
)  # fmt: skip
def test_what_does_not_fit_is_one_message(
    step: str, more: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dnn", "import", step, *more]) == code
    assert message in capsys.readouterr().err


def test_two_graphs_do_not_go_into_one_file(step: str, tmp_path: Path) -> None:
    assert run(["dnn", "import", step, step, "--out", str(tmp_path / "k")]) == 2
