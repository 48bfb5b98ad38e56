"""Columns of requests that are named by hand keep the unit of their name, and may be divided."""

from __future__ import annotations

import pytest

from rheostat.measurement.serving.recorded_requests import read_recorded
from rheostat.measurement.serving.requests import read_requests
from rheostat.measurement.serving.traffic import read_traffic

AFTER_S = [0.0, 0.25, 4.0]


def trace(tmp_path, heading, scale, more=""):
    rows = "".join(f"{t / scale:g},900,20{more}\n" for t in AFTER_S)
    (file := tmp_path / "trace.csv").write_text(f"{heading},prompt_tokens,output_tokens\n{rows}")
    return file


@pytest.mark.parametrize(
    ("heading", "scale", "named"),
    [
        ("came_ms", 1e-3, "came_ms"),
        ("came_us", 1e-6, "came_us"),
        ("came", 1e-3, "came/1000"),
        ("came", 1e-3, "came*1e-3"),
        ("came_ms", 1e-3, "came_ms/1000"),
        ("came", 60.0, "came*60"),
        ("came_s", 1.0, "came_s"),
        ("came", 1.0, "came"),
    ],
)
def test_times_of_a_trace_are_in_the_unit_that_is_said(heading, scale, named, tmp_path):
    file = trace(tmp_path, heading, scale)
    assert read_traffic(file, columns={"submit_s": named}).numpy("submit_s") == pytest.approx(
        AFTER_S
    )


def test_a_guess_says_by_what_it_is_multiplied(tmp_path):
    jobs = read_traffic(trace(tmp_path, "arrival_ms", 1e-3))
    assert [n.message for n in jobs.notes] == ["guessed: submit_s = arrival_ms x 0.001"]
    jobs = read_traffic(trace(tmp_path, "arrival_time", 1.0))
    assert "(without a unit in its name: seconds)" in jobs.notes[0].message


def test_moments_of_the_calendar_stay_moments(tmp_path):
    file = tmp_path / "trace.csv"
    rows = "".join(f"2026-03-01T10:00:0{s},900,20\n" for s in (0, 2, 4))
    file.write_text(f"came,prompt_tokens,output_tokens\n{rows}")
    assert read_traffic(file, columns={"submit_s": "came"}).numpy("submit_s").tolist() == [0, 2, 4]


def test_records_and_texts_of_requests_do_alike(tmp_path):
    file = tmp_path / "record.csv"
    file.write_text("came_ms,gone_ms,prompt_tokens,output_tokens\n500,2500,9,30\n1500,4500,9,30\n")
    named = {"submit_s": "came_ms", "end_s": "gone_ms"}
    jobs = read_recorded(file, columns=named)
    assert (jobs.numpy("end_s") - jobs.numpy("submit_s")).tolist() == [2.0, 3.0]
    (file := tmp_path / "texts.csv").write_text(
        "came_ms,prompt,output_tokens\n500,ah,3\n1500,o,3\n"
    )
    jobs = read_requests(file, columns={"submit_s": "came_ms"})
    assert jobs.numpy("submit_s")[1] - jobs.numpy("submit_s")[0] == 1.0


def test_times_since_the_request_before_are_summed_up(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("inter_arrival_ms,prompt_tokens,output_tokens\n0,9,2\n250,9,2\n750,9,2\n")
    jobs = read_traffic(file, columns={"submit_s": "inter_arrival_ms"})
    assert jobs.numpy("submit_s").tolist() == [0.0, 0.25, 1.0]
    assert any("summed up" in n.message for n in jobs.notes)
    assert not any(
        "summed up" in n.message for n in read_traffic(trace(tmp_path, "arrival_ms", 1e-3)).notes
    )


def test_what_is_not_named_by_hand_is_known_by_its_name(tmp_path):
    file = trace(tmp_path, "arrived_at", 1.0)
    file.write_text(file.read_text().replace("output_tokens", "made"))
    jobs = read_traffic(file, columns={"output_tokens": "made"})
    assert jobs.numpy("submit_s").tolist() == AFTER_S
