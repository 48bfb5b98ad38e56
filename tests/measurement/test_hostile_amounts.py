"""Amounts and names from files of others that once filled the memory, hung, or moved a terminal."""

from __future__ import annotations

import io
import time

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from rheostat.core.report import Grid, Report, Section
from rheostat.core.series import Series
from rheostat.errors import DataError
from rheostat.explanation.formats.text import show
from rheostat.measurement.commands import command
from rheostat.measurement.serving.runs import read_serving


def test_a_program_that_prints_without_end_is_stopped_and_its_output_is_not_kept() -> None:
    assert command._finished("yes", 0.5) == (None, "")
    status, text = command._finished("head -c 3000000 /dev/zero | tr '\\0' x; echo last", 60.0)
    assert (status, len(text), text[-5:]) == (0, command.KEPT_B, "last\n")


def test_a_program_that_leaves_another_one_with_its_output_does_not_outlive_the_time() -> None:
    begun = time.monotonic()
    assert command._finished("setsid sleep 20 & echo done", 0.5) == (None, "")
    assert time.monotonic() - begun < 19


def test_a_series_that_repeats_too_often_is_refused_with_the_number() -> None:
    fast = Series.of({"from_s": [0, 1e-6], "value": [1, 2], "repeat_s": 2e-6})
    with pytest.raises(DataError, match=r"2e-06 s gives 1e\+09 changes of a value in 1000"):
        fast.changes(0.0, 1000.0)
    slow = Series.of({"from_s": [0, 5], "value": [1, 2], "repeat_s": 10})
    assert slow.changes(0.0, 20.0).tolist() == [5, 10, 15, 20]


def test_rows_that_no_deployment_has_are_left_out_by_name(tmp_path) -> None:
    frame = pl.DataFrame({
        "gpu_model": ["H100"] * 5, "gpus": [1.0, 0.0, 1e308, 1, 1], "app": ["m"] * 5,
        "batch_cap": [8.0, 8, 8, np.inf, 8], "params": [8e9, 8e9, 8e9, 8e9, 1e308],
        "itl_s": [0.01] * 5, "energy_per_token_j": [0.5] * 5,
    })  # fmt: skip
    frame.write_csv(tmp_path / "t.csv")
    runs = read_serving(tmp_path / "t.csv")
    assert runs.frame["gpus"].to_list() == [1.0]
    assert [n.message.split(" is ")[0] for n in runs.notes if n.dropped] == [
        "gpus", "batch_cap", "params"]  # fmt: skip


def test_names_move_no_cursor_of_a_terminal() -> None:
    bad = "app\x1b[2J\x1b]0;title\x07"
    out = io.StringIO()
    report = Report(bad, [Section(bad, (bad,), Grid((bad, "n"), ((bad, 1),)))], {}, (bad,))
    show(report, Console(file=out, force_terminal=True, width=100))
    assert bad not in out.getvalue()
    assert "\x1b]" not in out.getvalue()
    assert "\x1b[2J" not in out.getvalue()
    assert r"app\x1b[2J" in out.getvalue()


def test_functions_that_call_one_another_twice_are_counted_before_they_are_put_in(tmp_path) -> None:
    onnx = pytest.importorskip("onnx")
    from rheostat.measurement.graphs.from_onnx import read_onnx

    helper, doubling = onnx.helper, []
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    for k in range(40):
        inner = ("Relu", "") if k == 0 else (f"f{k - 1}", "f")
        nodes = [helper.make_node(inner[0], [a], [b], domain=inner[1])
                 for a, b in (("x", "y"), ("y", "z"))]  # fmt: skip
        doubling.append(helper.make_function("f", f"f{k}", ["x"], ["z"], nodes, opsets))
    ends = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2]) for n in ("a", "b")]
    graph = helper.make_graph([helper.make_node("f39", ["a"], ["b"], domain="f")], "g",
                              ends[:1], ends[1:])  # fmt: skip
    model = helper.make_model(graph, functions=doubling, opset_imports=opsets, ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(DataError, match=r"its functions hold 1.1e\+12 operations"):
        read_onnx(tmp_path / "m.onnx")
