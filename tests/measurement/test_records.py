"""Runs as JSON: a list of objects or one a line, told apart from sacct and from damaged text."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta

import polars as pl
import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read

ROWS = [
    {"app": "x", "nodes": n, "runtime (min)": t, "power": p, "ok": True, "tags": ["a"]}
    for n, t, p in ((1, 100, "300 W"), (2, 55, "0.6kW"), (4, 30, None))
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_lists_and_lines_are_the_same_table(tmp_path, listed, packed):
    text = json.dumps(ROWS, indent=1) if listed else "\n".join(map(json.dumps, ROWS))
    path = tmp_path / "runs.json"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert guess_format(path) == "runs"
    jobs = read(path)
    assert jobs.frame.select("nodes", "runtime_s", "power_w").rows() == [
        (1, 6000.0, 300.0), (2, 3300.0, 600.0), (4, 1800.0, None)]  # fmt: skip
    assert jobs.frame["ok"].to_list() == [True] * 3
    assert any("tags" in n.message for n in jobs.notes)


def test_rows_that_are_no_object_are_noted_by_their_number(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"nodes": 1, "runtime_s": 9}\n[3]\n{"nodes": 2, "runtime\n{"nodes": 4}\n')
    jobs = read(path)
    assert jobs.frame.select("nodes", "runtime_s").rows() == [(1, 9), (4, None)]
    (note,) = [n for n in jobs.notes if n.dropped]
    assert (note.rows, note.count) == ((1, 2), 2)


@pytest.mark.parametrize(
    "text",
    ['[{"nodes": 1, "runtime_s": 9}, {"no', "[1, 2]", "[]",
     '{"nodes": 1, "runtime_s": 1e999}'],
)  # fmt: skip
def test_damaged_json_is_one_error(tmp_path, text):
    path = tmp_path / "runs.json"
    path.write_text(text)
    with pytest.raises(DataError):
        read(path, "runs")


@pytest.mark.parametrize("rows", ["[%s, %s]", "%s\n%s"])
def test_what_python_writes_for_no_number_is_no_value(tmp_path, rows):
    path = tmp_path / "runs.json"
    first = '{"nodes": 1, "runtime_s": 9, "request_rate": Infinity}'
    path.write_text(rows % (first, '{"nodes": 2, "runtime_s": NaN, "request_rate": 4}'))
    jobs = read(path)
    assert jobs.frame.select("runtime_s", "request_rate").rows() == [(9, None), (None, 4)]
    assert any(n.message.endswith("Infinity, NaN") and n.count == 2 for n in jobs.notes)


def test_durations_of_parquet_are_seconds(tmp_path):
    path = tmp_path / "runs.parquet"
    spans = [timedelta(seconds=90), None]
    pl.DataFrame({"nodes": [1, 2], "elapsed": spans, "power_w": [3.0, 4.0]}).write_parquet(path)
    assert read(path).frame["runtime_s"].to_list() == [90.0, None]


def test_quantities_that_are_objects_keep_their_names_and_units(tmp_path):
    """`mean` and `value` alone were columns, and what they were of was lost."""
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(
        f'{{"config": {{"nodes": {n}}}, "runtime": {{"mean": {100 / n}, "std": 1}}, '
        f'"energy": {{"value": {30 + n}, "unit": "kJ"}}}}\n' for n in (1, 2, 4)))  # fmt: skip
    runs = read(file).frame
    assert runs["runtime_s"].to_list() == [100, 50, 25]
    assert runs["energy_j"].to_list() == [31_000, 32_000, 34_000]
    assert runs["runtime_std"].to_list() == [1, 1, 1]
