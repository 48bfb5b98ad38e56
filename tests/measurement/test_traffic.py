"""Traces of requests: three ways to write them, and rows that are none."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.errors import DataError
from rheostat.measurement.serving.traffic import read_traffic


def test_instants_and_milliseconds_become_seconds_from_the_first_request(tmp_path):
    azure = tmp_path / "a.csv"
    rows = ["2023-11-16 18:15:50.9951690,396,109", "2023-11-16 18:15:46.6805900,374,44"]
    azure.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]))
    jobs = read_traffic(azure)
    assert jobs.frame["submit_s"].to_list() == pytest.approx([0.0, 4.314579])
    assert jobs.frame["output_tokens"].to_list() == [44, 109]
    mooncake = tmp_path / "m.parquet"
    pl.DataFrame({"timestamp": [1000, 3500], "input_length": [7, 8], "output_length": [1, 2]}
                 ).write_parquet(mooncake)  # fmt: skip
    assert read_traffic(mooncake).frame["submit_s"].to_list() == [0.0, 2.5]


def test_own_names_and_rows_that_are_no_request(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("t,prompt_tokens,output_tokens\n0,5,5\n1,0,5\n2,5,inf\n,5,5\n4,5,5\n")
    jobs = read_traffic(file, columns={"submit_s": "t"})
    assert jobs.frame["submit_s"].to_list() == [0.0, 4.0]
    assert (jobs.notes[0].rows, jobs.notes[0].count) == ((1, 2, 3), 3)
    with pytest.raises(DataError, match="no column submit_s"):
        read_traffic(file)


@pytest.mark.parametrize("times", [
    ("2024-05-01T10:00:00Z", "2024-05-01T10:00:02.5Z"),
    ("2024-05-01T10:00:00.5+02:00", "2024-05-01T08:00:03+00:00"),
    ("2024-05-01 10:00:00", "2024-05-01 10:00:02.500"), ("1714557600", "1714557602.5"),
])  # fmt: skip
def test_moments_as_texts_become_seconds(tmp_path, times):
    file = tmp_path / "t.csv"
    rows = [f"{t},5,5" for t in times]
    file.write_text("\n".join(["submit_s,prompt_tokens,output_tokens", *rows]))
    assert read_traffic(file).frame["submit_s"].to_list() == pytest.approx([0.0, 2.5])


def test_a_log_of_requests_with_times_and_usage_is_a_trace(tmp_path):
    times = [1764000000, "2025-11-24T16:00:01.500Z", "2025-11-24T17:00:03+01:00", "soon"]
    asked = [{"messages": [{"role": "user", "content": "hi"}], "timestamp": t,
              "usage": {"prompt_tokens": 12, "completion_tokens": 40}} for t in times]  # fmt: skip
    no_answer = {**asked[0], "usage": {"prompt_tokens": 12}}
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, [*asked, no_answer])))
    jobs = read_traffic(file)
    assert jobs.frame["submit_s"].to_list() == [0.0, 1.5, 3.0]
    assert jobs.frame["prompt_tokens"].to_list() == [12, 12, 12]
    assert sorted(n.count for n in jobs.notes) == [1, 1]


def test_milliseconds_under_the_name_of_seconds_are_refused(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("submit_s,prompt_tokens,output_tokens\n1714557600000,5,5\n")
    with pytest.raises(DataError, match=r"expected seconds.*divide by 1000"):
        read_traffic(file)


def test_the_public_traces_are_read_whole(shared_data):
    azure = read_traffic(shared_data / "llm/azure_llm_2023/AzureLLMInferenceTrace_conv.csv")
    assert (len(azure), len(azure.notes)) == (19_366, 0)
    assert len(read_traffic(shared_data / "llm/mooncake/conversation_trace.parquet")) == 12_031


def test_recorded_requests_are_in_order_of_time(tmp_path):
    from rheostat.measurement.serving.recorded_requests import read_recorded

    file = tmp_path / "r.jsonl"
    keys = ("queued_ts", "first_token_ts", "last_token_ts", "input_toks", "output_toks")
    rows = [(12, 13, 15, 9, 3), (10, 11, 14, 9, 3), (11, 9, 8, 9, 3)]
    file.write_text("\n".join(json.dumps(dict(zip(keys, r, strict=True))) for r in rows))
    jobs = read_recorded(file)
    assert jobs.frame["submit_s"].to_list() == [0.0, 2.0]
    assert jobs.frame["end_s"].to_list() == [4.0, 5.0]
    assert jobs.notes[0].count == 1
    (tmp_path / "t.csv").write_text("submit_s,prompt_tokens,output_tokens\n0,1,1\n")
    with pytest.raises(DataError, match="no column end_s"):
        read_recorded(tmp_path / "t.csv")


EDGES = {
    "answered at once": ("5,5,5,1,1", True), "ends before it starts": ("5,7,6,1,1", False),
    "starts before it comes": ("5,4,6,1,1", False), "no prompt": ("5,6,7,0,1", False),
    "no answer": ("5,6,7,1,0", False), "no end": ("5,6,inf,1,1", False),
    "came at no time": ("inf,inf,inf,1,1", False), "unknown": ("5,,7,1,1", False),
    "words": ("5,6,7,x,1", False),
}  # fmt: skip


@pytest.mark.parametrize("what", EDGES)
def test_a_recorded_request_has_lengths_and_moments_in_order(what, tmp_path):
    from rheostat.measurement.serving.recorded_requests import read_recorded

    row, kept = EDGES[what]
    head, usual = "submit_s,start_s,end_s,prompt_tokens,output_tokens\n", "1,2,3,1,1\n"
    (tmp_path / "t.csv").write_text(f"{head}{usual}{row}\n")
    jobs = read_recorded(tmp_path / "t.csv")
    assert len(jobs) == 1 + kept
    assert [(n.count, n.dropped) for n in jobs.notes] == ([] if kept else [(1, True)])
    (tmp_path / "t.csv").write_text(f"{head}{row}\n")
    if kept:
        assert read_recorded(tmp_path / "t.csv").frame["end_s"].to_list() == [0.0]
    else:
        with pytest.raises(DataError, match="no row was answered after it came"):
            read_recorded(tmp_path / "t.csv")


@pytest.mark.parametrize("names", [
    ("timestamp", "prompt_tokens", "completion_tokens"), ("submit_s", "prompt_tokens",
     "output_tokens"), ("timestamp", "input_length", "output_length"),
])  # fmt: skip
def test_what_a_trace_says_beside_lengths_is_kept_whatever_the_names(tmp_path, names):
    path = tmp_path / "t.jsonl"
    rows = [{**dict(zip(names, (k, 300, 20), strict=True)), "finish_reason": reason,
             "block_hashes": [7, k], "cached_tokens": 16 * k}
            for k, reason in enumerate(("stop", "tool_calls", None))]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = read_traffic(path).frame
    assert made["tool_calls"].to_list() == [False, True, False]
    assert made["prefix_blocks"].to_list() == [[7, 0], [7, 1], [7, 2]]
    assert made["cached_tokens"].to_list() == [0, 16, 32]
