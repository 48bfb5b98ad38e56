"""Request logs of LiteLLM, Langfuse and BurstGPT by the names they have."""

from __future__ import annotations

import json

import pytest

from rheostat.measurement.serving.recorded_requests import read_recorded
from rheostat.measurement.serving.serving_names import in_our_names
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.prediction.serving_law.configurations import BYTES, precision_of

START = "2026-10-01T00:00:0{}.{}Z"


def observation(i: int, **more) -> dict:
    return {
        "id": f"o{i}", "startTime": START.format(i, "000"), "endTime": START.format(i + 2, "000"),
        "completionStartTime": START.format(i, "250"), "level": "DEFAULT",
        "usage": {"input": 100 + i, "output": 50, "total": 150 + i}, **more,
    }  # fmt: skip


@pytest.mark.parametrize("page", [True, False])
def test_langfuse_says_first_tokens_and_lengths(tmp_path, page) -> None:
    rows = [observation(0), observation(1), observation(2, level="ERROR"),
            observation(3, input="a prompt", output="an answer")]  # fmt: skip
    text = json.dumps({"data": rows, "meta": {"page": 1}}) if page else "\n".join(
        json.dumps(r) for r in rows)  # fmt: skip
    (tmp_path / "o.json").write_text(text)
    log = read_recorded(tmp_path / "o.json")
    assert log.frame["prompt_tokens"].to_list() == [100, 101, 103]
    assert log.frame["output_tokens"].to_list() == [50, 50, 50]
    assert (log.numpy("start_s") - log.numpy("submit_s")).tolist() == pytest.approx([0.25] * 3)
    assert [(n.message, n.count) for n in log.notes if n.count] == [("the request failed", 1)]


def test_litellm_says_first_tokens_and_failures(tmp_path) -> None:
    head = "startTime,endTime,completionStartTime,prompt_tokens,completion_tokens,status"
    rows = [f"{START.format(i, '000')},{START.format(i + 1, '000')},{START.format(i, '100')},9,"
            f"{30 if s == 'success' else 0},{s}"
            for i, s in enumerate(("success", "failure", "success"))]  # fmt: skip
    (tmp_path / "spend.csv").write_text("\n".join([head, *rows]) + "\n")
    log = read_recorded(tmp_path / "spend.csv")
    assert (log.numpy("start_s") - log.numpy("submit_s")).tolist() == pytest.approx([0.1, 0.1])
    assert [(n.message, n.count) for n in log.notes if n.count] == [("the request failed", 1)]


def test_burstgpt_is_a_trace(tmp_path) -> None:
    (tmp_path / "b.csv").write_text(
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "1.5,ChatGPT,72,21,93,Conversation log\n3.5,GPT-4,9,0,9,API log\n"
        "4.0,GPT-4,10,5,15,API log\n"
    )
    trace = read_traffic(tmp_path / "b.csv")
    assert trace.frame.select("submit_s", "prompt_tokens", "output_tokens").rows() == [
        (0.0, 72.0, 21.0), (2.5, 10.0, 5.0)]  # fmt: skip


def test_cells_say_their_unit_and_methods_their_bits() -> None:
    import polars as pl

    cells = pl.DataFrame({"TPOT": ["25.10 ms", "OOM", "0.02 s"]})
    assert in_our_names(cells)["itl_s"].to_list() == [pytest.approx(0.0251), None, 0.02]
    bare = in_our_names(pl.DataFrame({"TPOT": ["25.10", "24"]}))
    assert "itl_s" not in bare.columns
    scales = 2 / 128  # a number of 16 bits for 128 weights, and their zero
    for name in ("awq", "awq-int4", "gptq", "GPTQ-Int4", "w4a16"):
        assert BYTES[precision_of(name)] == pytest.approx(0.5 + 2 * scales)
    assert {BYTES[precision_of(name)] for name in ("int4", "nf4", "4bit")} == {0.5}
    assert BYTES[precision_of("gptq-int8")] == BYTES[precision_of("w8a8")] == 1.0
    assert precision_of("awq5") not in BYTES
