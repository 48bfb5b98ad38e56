"""Requests and traffic to the last field: texts, lengths, times, rows at the edge."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.core.jobs import Note
from rheostat.measurement.serving.prompt_text import prompt_text
from rheostat.measurement.serving.recorded_requests import read_recorded
from rheostat.measurement.serving.requests import LONGEST as LONGEST_PROMPT
from rheostat.measurement.serving.requests import read_requests
from rheostat.measurement.serving.traffic import read_traffic
from tests.measurement.exactly import refused, written


@pytest.mark.parametrize(("given", "text"), [
    ({"prompt": "a"}, "a"), ({"instruction": "a", "input": "b"}, "a\nb"), ({}, None),
    ({"messages": [{"content": [{"text": "a"}, "b", 3, {"i": 1}]}, "x", {"content": 4}]}, "a\nb"),
    ({"messages": "no list", "prompt": "a"}, "a"), ({"messages": []}, None),
    ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
                   {"role": "user", "content": "b"}, {"role": "tool", "content": "t"}]},
     "b\ns\x1ea\x1et"),
    ({"prompt": "cut \ud83d off"}, "cut ? off"),
])  # fmt: skip
def test_the_text_of_a_request(given, text):
    assert prompt_text(given) == text


@pytest.mark.parametrize(("given", "length", "when"), [
    ({"output_tokens": 0.5}, 0.5, None), ({"usage": {"output_tokens": 2}}, 2.0, None),
    ({"usage": {"completion_tokens": 3, "output_tokens": 2}, "timestamp": 4}, 3.0, 4.0),
    ({"output_tokens": 7, "usage": {"completion_tokens": 3}, "submit_s": 2, "created": 5},
     7.0, 2.0),
    ({"completion_tokens": 57}, 57.0, None), ({"generated_tokens": 8, "answer": "a"}, 8.0, None),
    ({"output_tokens": True, "answer": "a b"}, 2.0, None),
    ({"output_tokens": "7", "completion": "a b c", "created": "x"}, 3.0, None),
    ({"usage": 5, "output": "a"}, 1.0, None), ({"answer": "明日 Tokyo は"}, 4.0, None),
    ({"choices": [{"text": "a b"}]}, 2.0, None),
    ({"choices": [{"message": {"content": None, "tool_calls": [
        {"function": {"arguments": '{"city": "Rome"}'}}, {}]}}]}, 2.0, None),
])  # fmt: skip
def test_the_length_and_the_time_of_a_request(tmp_path, given, length, when):
    jobs = read_requests(written(tmp_path / "r", json.dumps({"prompt": "p", **given})))
    row = jobs.frame.row(0, named=True)
    assert (row["prompt"], row["output_tokens"], row.get("submit_s")) == ("p", length, when)


def test_lengths_that_are_counted_here_are_noted(tmp_path):
    rows = [{"prompt": "p", "answer": "a b"}, {"prompt": "q\ud83d", "output_tokens": 3}]
    jobs = read_requests(written(tmp_path / "r", "\n".join(map(json.dumps, rows))))
    said = "the length of the answer is not stated: its words are counted"
    assert jobs.notes == (Note(said, count=1),)
    assert jobs.frame["prompt"].to_list() == ["p", "q?"]


def test_a_table_of_requests_keeps_tokens_and_times_and_notes_rows(tmp_path):
    head = "prompt,prompt_tokens,output_tokens,submit_s,more\n"
    rows = [
        f"{'p' * n},3,{length},1.5,x"
        for n, length in (
            (1, 0.5),
            (LONGEST_PROMPT, 1),
            (LONGEST_PROMPT + 1, 1),
            (1, 0),
            (1, "inf"),
            (1, "y"),
        )
    ]
    jobs = read_requests(written(tmp_path / "r", head + "\n".join(rows) + "\n"))
    assert jobs.columns == ("prompt", "prompt_tokens", "output_tokens", "submit_s")
    assert jobs.frame["output_tokens"].to_list() == [0.5, 1.0]
    said = "no prompt of 1 to 1,000,000 characters, or no length of an answer above 0"
    assert jobs.notes == (Note(said, (2, 3, 4, 5), 4, dropped=True),)
    refused(lambda: read_requests(written(tmp_path / "r", "a,b\n1,2\n")),
            "found no column prompt and no output_tokens: name them, --column "
            "prompt=THEIRS; it has a, b")  # fmt: skip
    refused(lambda: read_requests(written(tmp_path / "r", "prompt,output_tokens\np,0\n")),
            "no row has a prompt and a length of its answer above 0")  # fmt: skip


def test_traffic_keeps_blocks_of_prompts_and_the_order_of_arrival(tmp_path):
    rows = [(2500, 7, 1, [1, 2]), (500, 1, 9, [3]), (2500, 8, 2, [])]
    frame = pl.DataFrame(rows, schema=["timestamp", "input_length", "output_length", "hash_ids"],
                         orient="row")  # fmt: skip
    frame.write_ndjson(tmp_path / "m.jsonl")
    jobs = read_traffic(tmp_path / "m.jsonl")
    names = ("submit_s", "prompt_tokens", "output_tokens", "prefix_blocks")
    assert jobs.frame.select(names).rows() == [
        (0.0, 1.0, 9.0, [3]), (2.0, 7.0, 1.0, [1, 2]), (2.0, 8.0, 2.0, [])]  # fmt: skip
    assert jobs.notes == ()
    none = "submit_s,prompt_tokens,output_tokens\n1,0,5\n"
    refused(lambda: read_traffic(written(tmp_path / "t", none)),
            "no row has a time and lengths of 1 or more whole tokens")  # fmt: skip
    refused(lambda: read_traffic(written(tmp_path / "t", "submit_s,a\n1,0\n")),
            "found no column prompt_tokens and no output_tokens: name them, --column "
            "prompt_tokens=THEIRS; it has submit_s, a")  # fmt: skip
    own = "submit_s,prompt_tokens,output_tokens,prefix_blocks\n3,1,1,x\n5,0.5,1,x\ninf,1,1,x\n"
    jobs = read_traffic(written(tmp_path / "t", own))
    assert jobs.frame.rows() == [(0.0, 1.0, 1.0)]
    said = "no time, or a length below 1 or not whole"
    assert jobs.notes == (Note(said, (1, 2), 2, dropped=True),)


def test_instants_are_read_to_the_microsecond(tmp_path):
    head = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    times = ("2024-05-10 00:00:00.0000010+00:00", "2024-05-10 00:00:01.5000029")
    file = written(tmp_path / "a.csv", head + "".join(f"{t},3,4\n" for t in times))
    gap = read_traffic(file).frame["submit_s"][1]
    assert gap == pytest.approx(1.500001, abs=4e-7)


def test_a_record_of_requests_counts_from_the_first_and_notes_rows(tmp_path):
    head = "t,start_s,end_s,prompt_tokens,output_tokens\n"
    file = written(tmp_path / "r.csv", head + "9,9,9,1,1\n8,7,9,1,1\n5,6,8,2,3\n")
    jobs = read_recorded(file, columns={"submit_s": "t"})
    assert jobs.frame.rows() == [(0.0, 2.0, 3.0, 1.0, 3.0), (4.0, 1.0, 1.0, 4.0, 4.0)]
    said = "not answered within a week after it came, or lengths below 1"
    assert jobs.notes == (Note(said, (1,), 1, dropped=True),)
    refused(lambda: read_recorded(written(tmp_path / "u", "start_s,end_s\n1,2\n")),
            "found no column submit_s and no prompt_tokens and no output_tokens: name them, "
            "--column submit_s=THEIRS; it has start_s, end_s")  # fmt: skip


@pytest.mark.parametrize(
    ("header", "first", "said"),
    [("timestamp_s,prompt_tokens,output_tokens", "4.5", "submit_s = timestamp_s"),
     ("arrival_time,input_len,completion_tokens", "4.5", "seconds)"),
     ("request_ts_ms,num_input_tokens,osl", "4500", "output_tokens = osl")],
)  # fmt: skip
def test_a_trace_by_the_names_of_a_log_is_read_and_said(tmp_path, header, first, said):
    path = tmp_path / "trace.csv"
    later = str(float(first) * 3)
    path.write_text(f"{header}\n{first},100,7\n{later},200,9\n")
    jobs = read_traffic(path)
    assert jobs.frame.rows() == [(0.0, 100.0, 7.0), (9.0, 200.0, 9.0)]
    assert any(said in note.message for note in jobs.notes)
