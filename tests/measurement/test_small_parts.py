"""Parts that every reader stands on, each to the last field."""

from __future__ import annotations

import gzip
import math
from datetime import date

import polars as pl
import pytest

from rheostat.core.jobs import Column, Moment, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.checks import (
    MOST,
    MOST_COUNT,
    MOST_INSTANT,
    ROW,
    as_jobs,
    drop_impossible,
    impossible,
    note_rows,
    null_notes,
)
from rheostat.measurement.counters.rates import Cells, cleaned, described
from rheostat.measurement.fetch.whole import why_not_whole
from rheostat.measurement.lines import LONGEST, Records, raw_lines, whole
from rheostat.measurement.repairs import (
    complete_only,
    known_runtime,
    per_node_power,
    per_node_requests,
)
from rheostat.measurement.runs.mapping import ColumnSource, Mapped, load_mapping
from rheostat.measurement.tables import read_table, rows_said, with_numbers
from tests.measurement.exactly import refused, written

# --- rows that cannot be -----------------------------------------------------------------------


def test_a_note_counts_rows_and_lists_twenty():
    assert note_rows("x", range(21)) == Note("x", tuple(range(20)), 21, dropped=False)
    assert note_rows("x", [3], dropped=True) == Note("x", (3,), 1, dropped=True)


@pytest.mark.parametrize(("name", "most"), [
    ("runtime_s", 1e11), ("power_w", 1e12), ("energy_j", 1e21), ("frequency_hz", 1e12),
    ("memory_b", 1e21), ("nodes", 1e12), ("submit_s", 1e15), ("instructions_per_s", 1e24),
    ("memory_read_b_per_s", 1e21),
])  # fmt: skip
def test_a_value_beyond_every_machine_costs_the_row_its_place(name, most):
    from rheostat.measurement.counters.rates import COUNTERS

    columns = [COUNTERS[name]] if name in COUNTERS else []
    frame = pl.DataFrame({name: [0.0, most, 1.01 * most], ROW: [7, 8, 9]})
    kept, notes = drop_impossible(frame, columns)
    assert kept[name].to_list() == [0.0, most]
    unit = {"runtime_s": "s", "power_w": "W", "energy_j": "J", "frequency_hz": "Hz",
            "memory_b": "B", "nodes": "", "submit_s": "s", "instructions_per_s": "1/s",
            "memory_read_b_per_s": "B/s"}[name]  # fmt: skip
    said = f"{name} is beyond {most:g} {unit}".rstrip()
    assert notes == [Note(said, (9,), 1, dropped=True)]
    assert (MOST_INSTANT, MOST_COUNT, MOST["Hz"]) == (1e15, 1e12, 1e12)


@pytest.mark.parametrize("name", ["nodes", "power_w", "ipc", "frequency_hz", "memory_alloc_b"])
def test_what_is_counted_is_not_negative(name):
    from rheostat.measurement.counters.rates import COUNTERS

    columns = [COUNTERS[name]] if name in COUNTERS else []
    kept, notes = drop_impossible(pl.DataFrame({name: [-0.5, 0.0, 0.5], ROW: [4, 5, 6]}), columns)
    assert kept[name].to_list() == [0.0, 0.5]
    assert notes == [Note(f"{name} is negative", (4,), 1, dropped=True)]


def test_times_in_the_wrong_order_cost_a_row_its_place_once():
    frame = pl.DataFrame({
        "submit_s": [0.0, -5.0, 5.0, 9.0, None], "start_s": [0.0, 1.0, 4.0, 9.0, 1.0],
        "end_s": [0.0, 2.0, 3.0, 8.0, 1.0], "runtime_s": [0.0, -1.0, 1.0, 1.0, 1.0],
        ROW: [0, 1, 2, 3, 4]})  # fmt: skip
    kept, notes = drop_impossible(frame)
    assert kept["submit_s"].to_list() == [0.0, None]
    assert [(n.message, n.rows) for n in notes] == [
        ("runtime_s is negative", (1,)), ("start before submission", (2,)),
        ("end before start", (3,))]  # fmt: skip
    odd = pl.DataFrame({"odd": [-1e99], "app": ["x"], ROW: [0]})
    assert (impossible(odd), drop_impossible(odd)[1], drop_impossible(odd)[0].columns) == (
        [], [], ["odd", "app"])  # fmt: skip
    own = Column("odd", "W", Moment.END)
    assert [reason for reason, _ in impossible(odd, [own])] == [
        "odd is negative", "odd is beyond 1e+12 W"]  # fmt: skip
    cold = pl.DataFrame({"wait_s": [-1.0], ROW: [0]})
    assert len(drop_impossible(cold)[0]) == 1


def test_nan_is_not_known_and_infinity_of_nobody_neither():
    frame = pl.DataFrame({"a": [1.0, math.nan, math.inf], "n": [1, 2, None], "b": [1.0, 2.0, 3.0],
                          ROW: [0, 1, 2]})  # fmt: skip
    jobs = as_jobs(frame, notes=[Note("own")])
    assert jobs.frame["a"].to_list() == [1.0, None, None]
    assert [n.message for n in jobs.notes] == [
        "own", "infinite, taken as not known: a 1", "not known (null): a 2, n 1"]  # fmt: skip
    assert null_notes(pl.DataFrame({"a": [1]})) == []


# --- lines and tables --------------------------------------------------------------------------


def test_records_are_numbered_without_blanks_comments_and_headers(tmp_path):
    text = (b"head\r\n\n; n\xe4me\n one \n  \n" + b"x" * LONGEST + b"\n" + b"y" * (LONGEST + 1)
            + b"\n\xff\nlast")  # fmt: skip
    file = tmp_path / "x"
    file.write_bytes(text)
    records = Records(file, comment=";", header=1)
    assert [(row, line[:5]) for row, line in records] == [
        (-1, "head"), (0, " one "), (1, "xxxxx"), (4, "last")]  # fmt: skip
    assert records.comments == ["; n�me"]
    assert records.notes == [
        Note("line longer than 1,000,000 bytes", (2,), 1, dropped=True),
        Note("line is not utf-8; pass encoding= if you know it", (3,), 1, dropped=True),
    ]
    plain = Records(file, encoding="latin-1")
    assert [row for row, _ in plain] == [0, 1, 2, 3, 5, 6]
    packed = tmp_path / "x.gz"
    packed.write_bytes(gzip.compress(text))
    assert whole(packed) == text
    assert list(raw_lines(packed)) == list(raw_lines(file))
    packed.write_bytes(gzip.compress(text)[:-5])
    with pytest.raises(DataError, match="the gzip file is damaged or cut off: "):
        whole(packed)


def test_a_table_by_hand_is_all_or_nothing(tmp_path):
    assert read_table(written(tmp_path / "a.csv", "node,w\nn1,5\n")).rows() == [("n1", 5)]
    pl.DataFrame({"a": []}).write_parquet(tmp_path / "b")
    refused(lambda: read_table(tmp_path / "b"), "has columns but no rows")
    with pytest.raises(DataError, match=r"row has not 2 cells: row 2$"):
        read_table(written(tmp_path / "c.csv", "node,w\nn1,5\nn2,5,6\nn3,1\n"))
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "d")
    assert read_table(tmp_path / "d").rows() == [(1,)]
    assert [rows_said([2, 3]), rows_said([1, 2, 3, 4, 5]), rows_said([4], 9, most=1)] == [
        "rows 2, 3", "rows 1, 2, 3, 4, 5", "rows 4 and 8 more"]  # fmt: skip


def test_columns_of_numbers_are_checked_at_once_whatever_stands_in_them():
    odd = {"far": [1.0, 1e308], "list": [[1], [2]], "day": [None, date(2024, 1, 1)],
           "text": ["4", "2024-01-0"], "less": [1, -1], "part": [0.5, 1.0]}  # fmt: skip
    with pytest.raises(DataError) as told:
        with_numbers(pl.DataFrame(odd), "x.csv", counts=("text", "less", "part", "absent"),
                     numbers=("far", "list", "day"))  # fmt: skip
    assert list(told.value.problems) == [
        "far: expected numbers, got 1e+308 in row 2",
        "list: expected numbers, got [1] in row 1",
        "day: expected numbers, got datetime.date(2024, 1, 1) in row 2",
        "text: expected whole numbers from 0, got '2024-01-0' in row 2",
        "less: expected whole numbers from 0, got -1 in row 2",
        "part: expected whole numbers from 0, got 0.5 in row 1",
    ]
    fine = pl.DataFrame({"n": ["4", None], "x": [math.nan, -0.5], "other": ["a", "b"]})
    made = with_numbers(fine, "x.csv", counts=["n"], numbers=["x"])
    assert made.rows() == [(4, None, "a"), (None, -0.5, "b")]
    assert list(made.schema.values()) == [pl.Int64, pl.Float64, pl.String]


def test_the_end_of_an_archive_is_checked(tmp_path):
    import io
    import zipfile

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.txt", "text" * 99)
    frame = io.BytesIO()
    pl.DataFrame({"a": range(99)}).write_parquet(frame)
    for name, content, word in (
        ("g", gzip.compress(b"abc" * 999), "gzip"),
        ("z", made.getvalue(), "zip"),
        ("p", frame.getvalue(), "parquet"),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        assert why_not_whole(file) == ""
        file.write_bytes(content[:-12])
        assert word in why_not_whole(file)
    bad = bytearray(made.getvalue())
    bad[40] ^= 1
    (tmp_path / "z").write_bytes(bytes(bad))
    assert why_not_whole(tmp_path / "z") == "the zip file is damaged: a.txt"
    inner = bytearray(frame.getvalue())
    inner[20] ^= 255
    (tmp_path / "p").write_bytes(bytes(inner))
    assert len(why_not_whole(tmp_path / "p")) <= 300
    said = "is no gzip, zip or parquet file, so that its end cannot be checked"
    assert why_not_whole(written(tmp_path / "t", "PAR text")) == said


# --- mappings and repairs ----------------------------------------------------------------------


def test_where_a_column_comes_from():
    of = ColumnSource.of
    assert of("runtime_s", "wall_min") == ColumnSource(("wall_min",), 60.0, False)
    assert of("runtime_s", ["wall_min", "run_min"]).scale == 60.0
    said = "runtime_s: expected columns of one unit in a sum, got wall_min, run_s"
    refused(lambda: of("runtime_s", ["wall_min", "run_s"]),
            f"{said}: convert one of them, or state a scale")  # fmt: skip
    assert of("runtime_s", {"from": ["wall_min", "run_s"], "scale": 3}).scale == 3.0
    assert of("tile", "wall_min").scale == 1.0
    assert of("a", {"from": "x", "scale": 2, "inverse": True}) == ColumnSource(("x",), 2.0, True)
    assert of("runtime_s", {"from": ["wall_min"]}) == ColumnSource(("wall_min",), 60.0, False)
    assert ColumnSource(("a",)) == ColumnSource(("a",), 1.0, False)
    for odd in ([], ["a", 3], {"scale": 2}):
        refused(lambda odd=odd: of("x", odd), f"x: expected a column name, got {odd!r}")


def test_a_mapping_in_full_and_two_of_them(tmp_path):
    text = '[columns]\na = "x"\n[known]\nb = "End"\n[drop]\ncolumns = ["z"]\n'
    one = load_mapping(written(tmp_path / "m.toml", text))
    assert (dict(one.columns), dict(one.known), one.drop, one.name) == (
        {"a": ColumnSource(("x",))},
        {"b": Moment.END},
        ("z",),
        str(tmp_path / "m.toml"),
    )
    with pytest.raises(DataError) as error:
        Mapped.of({"odd": 1, "known": {"k": "late"}})
    assert (error.value.problems, "mapping" in str(error.value)) == (
        ("[odd] is not a table of a mapping", "known.k: expected submit, start or end, got 'late'"),
        True)  # fmt: skip
    with pytest.raises(DataError, match="file"):
        Mapped.of({"odd": 1}, "file")
    other = Mapped({"a": ColumnSource(("y",)), "c": ColumnSource(("w",))},
                   {"b": Moment.SUBMIT, "c": Moment.START}, ("q",), "two")  # fmt: skip
    both = one.over(other)
    assert ({k: s.columns for k, s in both.columns.items()}, both.drop, both.name) == (
        {"a": ("x",), "c": ("w",)}, ("z", "q"), one.name)  # fmt: skip
    assert (dict(both.known), Mapped().over(other).name) == (
        {"b": Moment.END, "c": Moment.START}, "two")  # fmt: skip
    kept = both.keeping(["x", "v"], ["x", "v"])
    assert {k: s.columns for k, s in kept.columns.items()} == {
        "c": ("w",), "x": ("x",), "v": ("v",)}  # fmt: skip
    assert (kept.known["x"], kept.known["b"]) == (Moment.SUBMIT, Moment.END)


def test_named_repairs_say_what_they_did():
    jobs = table({
        "censored": [True, False, None], "runtime_s": [0.0, 0.5, None], "nodes": [0, 1, 4],
        "cores": [8, 8, 8], "power_w": [5.0, 6.0, 8.0]})  # fmt: skip
    done = complete_only(jobs)
    assert (done.frame["cores"].len(), done.frame["censored"].to_list()) == (2, [False, None])
    assert done.notes[0].message == "complete_only: left out 1 censored rows of 3"
    power = per_node_power(jobs)
    assert power.frame["power_per_node_w"].to_list() == [None, 6.0, 2.0]
    assert power.notes[0].message == "per_node_power: power_per_node_w is power_w over nodes"
    received = table({"nodes": [1], "nodes_alloc": [2], "power_w": [8.0]})
    assert per_node_power(received).frame["power_per_node_w"].to_list() == [4.0]
    asked = per_node_requests(jobs)
    assert asked.frame["cores_per_node"].to_list() == [None, 8.0, 2.0]
    assert ("cores" in asked.columns, asked.schema["cores_per_node"].known) == (
        False,
        Moment.SUBMIT,
    )
    assert asked.notes[0].message == "per_node_requests: cores became amounts per node"
    known = known_runtime(jobs)
    assert known.frame["runtime_s"].to_list() == [0.5]
    assert known.notes[0].message == "known_runtime: left out 2 rows of 3 without runtime"
    bare = table({"a": [1]})
    for repair, column in ((complete_only, "censored"), (per_node_power, "power_w"),
                           (per_node_requests, "nodes"), (known_runtime, "runtime_s")):  # fmt: skip
        with pytest.raises(DataError, match=f"column {column} is missing"):
            repair(bare)


# --- counters ----------------------------------------------------------------------------------


def test_cells_that_hold_no_count_are_shown():
    cells = Cells()
    values = [
        cells.number(c) for c in ("0", " 0.5 ", None, "1e30", "9e29", -0.5, "y" * 30, *"abcd")
    ]
    assert values[:2] == [0.0, 0.5]
    assert values[4] == 9e29
    assert all(math.isnan(values[k]) for k in (2, 3, 5, 6, 7))
    said = f"None, 1e30, -0.5, {'y' * 20}, a"
    what = "8 cells hold no count (negative, infinite or no number), null: "
    assert cells.notes == [Note(what + said, count=8)]
    assert Cells().notes == []
    assert (cleaned("/"), cleaned("A.b")) == ("event", "a_b")
    a, b, c, d = described(["runtime_s", "ipc", "odd_per_s", "odd"])
    assert (a.unit, b.meaning[:12], c.unit, d.unit, d.known) == (
        "s", "instructions", "1/s", "", Moment.END)  # fmt: skip
