"""Requests by the names of OpenTelemetry's conventions for generative models."""

from __future__ import annotations

import json

import pytest

from rheostat.measurement.serving.recorded_requests import is_record, read_recorded

ROW = {"start_time": "2025-11-01T00:00:00.5+00:00", "gen_ai.usage.input_tokens": 510,
       "gen_ai.usage.output_tokens": 51, "gen_ai.server.time_to_first_token": 0.03,
       "gen_ai.client.operation.duration": 0.53}  # fmt: skip


def test_spans_of_requests_are_a_record_of_when_they_were_answered(tmp_path):
    path = tmp_path / "spans.jsonl"
    later = ROW | {"start_time": "2025-11-01T00:00:01.5+00:00"}
    path.write_text("".join(f"{json.dumps(row)}\n" for row in (ROW, later)))
    assert is_record(path)
    frame = read_recorded(path).frame
    wanted = {"prompt_tokens": 510, "output_tokens": 51}
    assert {n: frame[n][0] for n in wanted} == wanted
    first, last = (frame[n] - frame["submit_s"] for n in ("start_s", "end_s"))
    assert first.to_list() == pytest.approx([0.03, 0.03], abs=1e-6)
    assert last.to_list() == pytest.approx([0.53, 0.53], abs=1e-6)
    assert frame["submit_s"].diff()[1] == pytest.approx(1.0)
