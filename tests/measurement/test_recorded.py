"""Recorded requests in the formats of benchmarks and of request logs, in any unit."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.errors import DataError
from rheostat.measurement.serving.recorded_requests import read_recorded
from rheostat.measurement.serving.traffic import read_traffic

REQUESTS = [(0.0, 0.25, 1.5, 100, 20), (0.5, 0.75, 2.5, 30, 5), (2.0, 2.5, 4.0, 9, 40)]
"""Came, first token, last token (s), tokens of prompt and answer."""
T0 = 1_714_557_600


def _vllm(rows):
    gaps = [[(e - f) / (o - 1)] * (o - 1) for _, f, e, _, o in rows]
    return [{"model_id": "m", "num_prompts": len(rows), "output_throughput": 9.0,
             "input_lens": [r[3] for r in rows], "output_lens": [r[4] for r in rows],
             "ttfts": [f - s for s, f, *_ in rows], "itls": gaps,
             "start_times": [T0 + r[0] for r in rows], "errors": [""] * len(rows)}]  # fmt: skip


def _aiperf(rows):
    ns = 10**9
    made = [{"metadata": {"request_start_ns": T0 * ns + int(s * ns), "benchmark_phase": "profiling",
                          "request_end_ns": T0 * ns + int(e * ns)},
             "metrics": {"time_to_first_token": {"value": (f - s) * 1e3, "unit": "ms"},
                         "request_latency": {"value": (e - s) * 1e3, "unit": "ms"},
                         "input_sequence_length": {"value": p, "unit": "tokens"},
                         "output_sequence_length": {"value": o, "unit": "tokens"}},
             "error": None} for s, f, e, p, o in rows]  # fmt: skip
    return [{**made[0], "metadata": {**made[0]["metadata"], "benchmark_phase": "warmup"}}, *made]


def _usage(rows):
    return [{"created": T0 + s, "latency": e - s, "ttft": f - s, "response": {
        "id": "x", "usage": {"prompt_tokens": p, "completion_tokens": o}}}
        for s, f, e, p, o in rows]  # fmt: skip


FORMATS = {
    "vllm bench serve --save-detailed": _vllm,
    "aiperf": _aiperf,
    "OpenAI-style, usage and latency": _usage,
    "LLMServingSim": lambda rows: [
        {"arrival_time": T0 + s, "queued_ts": 70.0 + s, "first_token_ts": 70.0 + f,
         "last_token_ts": 70.0 + e, "input_toks": p, "output_toks": o} for s, f, e, p, o in rows],
    "milliseconds": lambda rows: [
        {"arrival_ms": s * 1e3, "ttft_ms": (f - s) * 1e3, "ttlt_ms": (e - s) * 1e3, "input_len": p,
         "output_len": o} for s, f, e, p, o in rows],
    "nanoseconds": lambda rows: [
        {"requestStartNs": int(s * 1e9), "firstTokenNs": int(f * 1e9), "endNs": int(e * 1e9),
         "promptTokens": p, "completionTokens": o} for s, f, e, p, o in rows],
    "milliseconds since 1970, durations without a unit": lambda rows: [
        {"timestamp": (T0 + s) * 1e3, "ttft": (f - s) * 1e4, "e2e_latency": (e - s) * 1e4,
         "num_prompt_tokens": p, "num_output_tokens": o} for s, f, e, p, o in rows],
    "ISO 8601": lambda rows: [
        {"submitted_at": f"2024-05-01T10:00:{s:06.3f}Z", "first_token_at":
         f"2024-05-01T10:00:{f:06.3f}+00:00", "completed_at": f"2024-05-01T12:00:{e:06.3f}+02:00",
         "prompt_len": p, "generated_tokens": o} for s, f, e, p, o in rows],
    "time per token": lambda rows: [
        {"request_ts": s, "ttft_s": f - s, "tpot_ms": (e - f) * 1e3 / (o - 1), "isl": p,
         "osl": o} for s, f, e, p, o in rows],
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_what_others_record_says_the_same(name, tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, FORMATS[name](REQUESTS))))
    jobs = read_recorded(file)
    times = 10.0 if "without a unit" in name else 1.0
    rows = [(s, s + (f - s) * times, s + (e - s) * times, p, o) for s, f, e, p, o in REQUESTS]
    names = ("submit_s", "start_s", "end_s", "prompt_tokens", "output_tokens")
    for column, values in zip(names, zip(*rows, strict=True), strict=True):
        assert jobs.frame[column].to_list() == pytest.approx(values, abs=1e-6)
    said = [n.message for n in jobs.notes if "taken as" in n.message]
    assert len(said) == 2 * ("without a unit" in name)
    trace = read_traffic(file).frame
    assert trace.equals(jobs.frame.select("submit_s", "prompt_tokens", "output_tokens"))


def test_a_table_is_read_as_json_lines_are(tmp_path):
    rows = pl.DataFrame(FORMATS["milliseconds"](REQUESTS))
    rows.write_csv(tmp_path / "log.csv")
    rows.write_parquet(tmp_path / "log.parquet")
    read = [read_recorded(tmp_path / f"log.{kind}").frame for kind in ("csv", "parquet")]
    assert read[0].equals(read[1])
    assert read[0]["end_s"].to_list() == pytest.approx([1.5, 2.5, 4.0])


def test_failed_requests_are_left_out_and_counted(tmp_path):
    result = _vllm(REQUESTS)[0]
    result["errors"][1] = "Traceback: connection reset"
    result["output_lens"][2] = 0
    (tmp_path / "r.json").write_text(json.dumps(result))
    jobs = read_recorded(tmp_path / "r.json")
    assert (len(jobs), [n.rows for n in jobs.notes[:2]]) == (1, [(1,), (2,)])
    rows = [{**r, "success": k > 0} for k, r in enumerate(FORMATS["milliseconds"](REQUESTS))]
    (tmp_path / "l.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert len(read_recorded(tmp_path / "l.jsonl")) == 2


def test_an_answer_after_more_than_a_week_is_none(tmp_path):
    rows = FORMATS["milliseconds"](REQUESTS)
    rows[1]["ttlt_ms"] = 1e300
    (tmp_path / "l.jsonl").write_text("\n".join(map(json.dumps, rows)))
    jobs = read_recorded(tmp_path / "l.jsonl")
    assert (len(jobs), jobs.notes[0].rows) == (2, (1,))


def test_without_first_tokens_whole_answers_are_known(tmp_path):
    rows = [{k: v for k, v in r.items() if k != "ttft_ms"}
            for r in FORMATS["milliseconds"](REQUESTS)]  # fmt: skip
    (tmp_path / "l.jsonl").write_text("\n".join(map(json.dumps, rows)))
    jobs = read_recorded(tmp_path / "l.jsonl")
    assert "start_s" not in jobs.columns
    assert "whole answers alone" in jobs.notes[-1].message


def test_all_sent_at_once_need_no_times(tmp_path):
    result = _vllm(REQUESTS)[0] | {"request_rate": "inf"}
    del result["start_times"]
    (tmp_path / "r.json").write_text(json.dumps(result))
    assert read_recorded(tmp_path / "r.json").frame["submit_s"].to_list() == [0.0] * 3


def _changed(**changes):
    result = _vllm(REQUESTS)[0] | changes
    return json.dumps({k: v for k, v in result.items() if v is not None})


REFUSED = {
    "a summary": (_changed(ttfts=None), "save-detailed"),
    "no moments": (_changed(start_times=None, request_rate=4.0), "start_times"),
    "lists of different lengths": (_changed(ttfts=[1.0]), r"lists of one length, got \[1, 3\]"),
    "two runs": (_changed() + "\n" + _changed(), "one run of a benchmark, got 2"),
    "genai-perf": (json.dumps({"experiments": [{"requests": []}]}), "aiperf"),
    "seconds or milliseconds": (
        "arrival,latency,input_len,output_len\n0,70,9,100\n1,70,9,100\n", "seconds or milli"),
    "nothing": ("", "the file is empty"),
    "invalid UTF-8": (b'{"ttfts": "\xff\xfe"}', "expected a record of requests"),
    "NaN": ('{"arrival_s": NaN, "latency_s": 1, "isl": 4, "osl": 5}', "record of requests"),
    "negative tokens": ("submit_s,end_s,prompt_tokens,output_tokens\n0,1,-5,5\n", "no row was"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_used_is_one_clear_error(what, tmp_path):
    content, said = REFUSED[what]
    file = tmp_path / "log.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=said):
        read_recorded(file)


def _log(tmp_path, **more):
    """Twelve requests 300 ms apart that take 2 s each, moments without a unit in ms."""
    rows = [{"timestamp": 300 * k, "input_length": 600, "output_length": 9, "ttft_ms": 90,
             "e2e_latency_ms": 2000, **more} for k in range(12)]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return read_recorded(path)


def test_moments_beside_block_hashes_are_milliseconds_as_in_their_traces(tmp_path):
    jobs = _log(tmp_path, hash_ids=[1, 2])
    assert jobs.frame["submit_s"].to_list()[:2] == [0.0, 0.3]
    assert jobs.frame["end_s"][1] == 2.3
    assert any("taken as ms" in n.message for n in jobs.notes)


def test_a_server_that_seconds_leave_idle_is_noted_with_the_other_unit(tmp_path):
    (said,) = [n.message for n in _log(tmp_path).notes if "as s" in n.message]
    assert "0.0067 requests run at once; as ms it would be 6.7: if so name it timestamp_ms" in said
