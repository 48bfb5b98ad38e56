"""Tables as others write them: their separators, their names, their units; asked in their words."""

import json

import pytest

from rheostat.cli import run
from rheostat.measurement.read import guess_format, read

CORE, MEMORY = (0.6, 0.9, 1.2, 1.5), (810, 2505)


def cost(core, memory, work):
    return work * (0.3 + 0.9 / core + 300 / memory), 40 + 120 * core + 0.03 * memory


@pytest.fixture
def table(tmp_path):
    """An index without a name, semicolons, decimal commas, runtime in ms, clocks in MHz and GHz."""
    lines = [";gpu;benchmark;coreF;mem_mhz;time_ms;power"]
    for work, name in ((100, "cutcp"), (300, "lbm")):
        for core in CORE:
            for memory in MEMORY:
                t, p = cost(core, memory, work)
                row = [len(lines) - 1, "GTX980", name, core, memory, 1000 * t, p]
                lines.append(";".join(str(v).replace(".", ",") for v in row))
    path = tmp_path / "theirs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def knobs(core=CORE, memory=MEMORY):
    values = (",".join(map(str, v)) for v in (core, memory))
    return [w for k, v in zip(("coreF", "mem_mhz"), values, strict=True)
            for w in ("--knob", f"{k}={v}")]  # fmt: skip


def test_a_complete_table_is_asked_in_its_own_words(table, capsys):
    assert run(["front", str(table), "--where", "benchmark=lbm", *knobs(), "--json"]) == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)["front"]
    true = {(c, m): cost(c, m, 300) for c in CORE for m in MEMORY}
    assert {r["evidence"] for r in rows} == {"measured"}
    for r in rows:
        t, p = true[r["coreF"], r["mem_mhz"]]
        assert r["runtime_s"] == pytest.approx(t, rel=1e-5)
        beaten = any(u <= t and u * q <= t * p and (u, q) != (t, p) for u, q in true.values())
        assert r["on_front"] == (not beaten)
    assert "commas read as decimal ones: coreF, time_ms, power" in err


def test_the_same_column_is_ours_where_no_knob_asks_for_theirs(table):
    ours, theirs = read(table), read(table, options={"keep": ["mem_mhz"]})
    assert ours.frame["mem_hz"].to_list()[:2] == [810e6, 2505e6]
    assert theirs.frame["mem_mhz"].to_list()[:2] == [810, 2505]
    assert theirs.schema["mem_mhz"].unit == ""
    assert "mem_hz" not in theirs.columns


def test_a_semicolon_begins_a_comment_or_a_header(table, tmp_path):
    assert guess_format(table) == "runs"
    trace = tmp_path / "trace"
    trace.write_text("; Version: 2.2; UnixStartTime: 0\n" + " ".join(["1"] * 18) + "\n")
    assert guess_format(trace) == "swf"


def test_whole_and_broken_numbers_are_one_knob(tmp_path, capsys):
    table = tmp_path / "runs.csv"
    table.write_text("clock_ghz,runtime_s,power_w\n1,9,10\n1.5,6,14\n2,5,19\n")
    for values in ("1,1.5,2", "1..2/0.5"):
        assert run(["front", str(table), "--knob", f"clock_ghz={values}", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["front"]
        assert [(r["clock_ghz"], r["runtime_s"]) for r in rows] == [(1, 9), (1.5, 6), (2, 5)]


CRASHED = """nodes,walltime,energy_kwh,exit code
1,35 s,0.002,137
1,33 s,0.002,137
2,00:40:10,0.31,0
2,39m50s,0.30,0
4,00:21:00,0.33,0
4,0:20:50,0.33,0
"""


def test_a_run_that_ended_with_an_error_is_no_fast_run(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    path.write_text(CRASHED)
    jobs = read(path)
    assert jobs.frame["runtime_s"].to_list() == [35.0, 33.0, 2410.0, 2390.0, 1260.0, 1250.0]
    assert jobs.cut_off.tolist() == [True, True, False, False, False, False]
    (note,) = [n for n in jobs.notes if "counts as unfinished" in n.message]
    assert (note.rows, note.count, note.dropped) == ((0, 1), 2, False)
    assert run(["front", str(path), "--knob", "nodes=1,2,4", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["front"]
    assert [s["evidence"] for s in settings] == ["none", "measured", "measured"]


def test_cells_that_say_their_unit(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(
        "nodes,elapsed,power,freq,input\n1,2h,350 W,1.4 GHz,2h\n2,1h05m,0.72 kW,900MHz,1h\n"
        "4,,1.5kW,1.4 GHz,2h\n"
    )
    frame = read(path).frame
    assert frame["runtime_s"].to_list() == [7200.0, 3900.0, None]
    assert frame["power_w"].to_list() == [350.0, 720.0, 1500.0]
    assert frame["frequency_hz"].to_list() == [1.4e9, 9e8, 1.4e9]
    assert frame["input"].to_list() == ["2h", "1h", "2h"]


def test_cells_of_two_kinds_stay_text(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("nodes,wall_s,cap\n1,9,300 W\n2,5,full\n")
    assert read(path).frame["cap"].to_list() == ["300 W", "full"]


def test_a_table_without_a_value_is_told_and_a_column_without_one_is_a_number(tmp_path, capsys):
    path = tmp_path / "empty.csv"
    path.write_text("app,nodes,runtime_s,power_w\n,,,\n,,,\n")
    assert run(["read", str(path)]) == 1
    assert "no cell has a value; present: app, nodes" in capsys.readouterr().err
    path.write_text("app,nodes,runtime_s,power_w\na,,9,\nb,,8,\n")
    held = read(path).frame
    assert held["nodes"].dtype.is_numeric()
    assert held["power_w"].null_count() == 2


def written(tmp_path, text):
    path = tmp_path / "theirs.csv"
    path.write_text(text)
    return str(path)


def test_a_column_that_may_be_what_is_missing_is_named(tmp_path, capsys):
    energy = "app,nodes,runtime_s,host_energy_j,card_energy_j\na,1,9,90,9\na,2,5,100,10\n"
    path = written(tmp_path, energy)
    assert run(["front", path, "--knob", "nodes=1,2"]) == 1
    said = capsys.readouterr().err
    assert "is it host_energy_j or card_energy_j?" in said
    hint = "energy_j=host_energy_j+card_energy_j"
    assert f"--column {hint}" in said
    assert run(["front", path, "--knob", "nodes=1,2", "--column", hint]) == 0
    capsys.readouterr()
    path = written(tmp_path, "app,gpus,samples_per_s,power_w\na,1,100,350\na,2,180,600\n")
    assert run(["front", path, "--knob", "gpus=1,2"]) == 0
    assert "--column runtime_s=1/samples_per_s is taken" in capsys.readouterr().err
    hint = "runtime_s=1/samples_per_s"
    assert run(["front", path, "--knob", "gpus=1,2", "--column", hint]) == 0


@pytest.mark.parametrize("ask", ["front", "next"])
def test_a_table_of_weak_scaling_is_not_compared_without_a_word(tmp_path, ask, capsys):
    grown = "".join(f"w,{n},{n * 1000},{100 + n},{n * 30}\n" for n in (1, 2, 4))
    path = written(tmp_path, "app,nodes,cells,runtime_s,energy_kj\n" + grown)
    asked = [ask, path, "--knob", "nodes=1,2,4,8"]
    assert run(asked) == 2
    said = capsys.readouterr().err
    assert "cells differs between the settings (1,000, 2,000, 4,000)" in said
    typed = ["--column", "runtime_s=runtime_s/cells", "--column", "energy_j=energy_kj/cells"]
    assert " ".join(typed) in said
    assert run([*asked, *typed]) == 0
    capsys.readouterr()
    if ask == "front":
        assert run([*asked, "--known", "cells=end"]) == 0
