"""Tables of measured runs: mapped, known, or guessed - and everything guessed is said."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest

from rheostat.core.jobs import Moment
from rheostat.core.texts.formulas import without_formulas
from rheostat.errors import DataError
from rheostat.measurement.read import read
from rheostat.measurement.runs import read_runs
from rheostat.measurement.runs.header_units import split_unit


@pytest.fixture
def csv(tmp_path):
    def write(text, name="runs.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_units_in_names_are_turned_into_ours(csv):
    jobs = read_runs(csv("hosts,wall_min,power_kW,core_freq_GHz,mem_GiB\n2,1.5,0.9,2.4,4\n"
                         "4,1,1.7,2.4,4\n"))  # fmt: skip
    one = jobs.frame.row(0, named=True)
    assert one["nodes"] == 2
    assert one["runtime_s"] == 90
    assert one["power_w"] == 900
    assert one["frequency_hz"] == 2.4e9
    assert one["memory_b"] == 4 * 2**30
    assert "runtime_s = wall_min x 60" in next(
        n.message for n in jobs.notes if "guessed" in n.message
    )


def test_start_and_end_tell_the_run_time(csv):
    jobs = read_runs(csv("app,nodes,start,end,power_kW\na,1,100,160,1\nb,2,50,20,1\nc,1,5,,1\n"))
    assert jobs.frame["runtime_s"].to_list() == [60.0, None]  # b ended before it started
    said = [(n.message, n.rows) for n in jobs.notes]
    assert ("runtime_s is end_s less start_s", ()) in said
    assert ("end before start", (1,)) in said
    days = "2026-01-01T00:00:00,2026-01-01T00:10:00"
    (timed,) = read_runs(csv(f"app,start_time,end_time\na,{days}\n")).frame["runtime_s"]
    assert timed == 600


def test_brackets_clocks_and_lone_quantities(csv):
    jobs = read_runs(
        csv("Wall time (min),GPU power [W],cap_W,gpu_std_W\n2,400,500,3\n1,500,600,4\n")
    )
    assert jobs.frame["runtime_s"].to_list() == [120, 60]
    assert jobs.frame["power_w"].to_list() == [400, 500]
    assert jobs.frame["cap_w"].to_list() == [500, 600]
    clock = read_runs(csv("nodes,elapsed\n1,01:30:00\n2,1-00:00:01\n3,never\n"))
    assert clock.frame["runtime_s"].to_list() == [5400.0, 86401.0, None]
    two = read_runs(csv("nodes,wall_s,cpu_power_W,gpu_power_W\n1,1,2,3\n"))
    assert "power_w" not in two.columns  # which one? the reader does not choose


def test_a_minimum_is_not_minutes(csv):
    jobs = read_runs(csv("runtime_s,rt_spread_min,rt_spread_max\n5,1,2\n6,1,2\n"))
    assert jobs.frame["rt_spread_min"].to_list() == [1, 1]


def test_a_mapping_wins_over_a_guess_and_flags_over_the_file(csv, tmp_path):
    path = csv("t,e,cpu_W,dram_W,size,wall_s\n10,1,5,6,3,99\n20,2,5,6,3,99\n")
    toml = tmp_path / "map.toml"
    toml.write_text(
        '[columns]\nruntime_s = "wall_s"\npower_w = ["cpu_W", "dram_W"]\n'
        'energy_j = {from = "e", scale = 3.6e6}\n[known]\nsize = "end"\n[drop]\ncolumns = ["t"]\n'
    )
    jobs = read_runs(path, map=toml)
    assert jobs.frame.row(0, named=True)["runtime_s"] == 99
    assert jobs.frame["power_w"].to_list() == [11, 11]
    assert jobs.frame["energy_j"].to_list() == [3.6e6, 7.2e6]
    assert jobs.schema["size"].known is Moment.END
    assert "t" not in jobs.columns
    flags = read_runs(path, map=toml, columns={"runtime_s": "t"}, known={"size": "submit"})
    assert flags.frame["runtime_s"].to_list() == [10, 20]
    assert flags.schema["size"].known is Moment.SUBMIT


def test_what_looks_measured_counts_as_known_at_the_end(csv):
    jobs = read_runs(csv("runtime_s,optimizer,tile,mflops,temp_max,throttled\n"
                         "5,adam,16,1.5,54,true\n6,adam,16,2.5,54,true\n7,sgd,32,9.1,55,false\n"
                         "8,sgd,32,9.2,55,false\n"))  # fmt: skip
    known = {c: jobs.schema[c].known.name for c in jobs.columns}
    assert known == {"runtime_s": "END", "optimizer": "SUBMIT", "tile": "SUBMIT",
                     "mflops": "END", "temp_max": "END", "throttled": "END"}  # fmt: skip


def test_the_measured_tables(shared_data):
    runs = shared_data / "runs"
    spec = read(runs / "spechpc2021_likwid" / "spechpc_likwid_runs.csv")
    raw = pl.read_csv(runs / "spechpc2021_likwid" / "spechpc_likwid_runs.csv",
                      infer_schema_length=None)  # fmt: skip
    assert len(spec) == 5291
    assert spec.frame["runtime_s"].equals(raw["rt_unhalted_max"].rename("runtime_s"))
    total = (raw["power_pkg_W"] + raw["power_dram_W"]).fill_null(np.nan).to_numpy()
    np.testing.assert_allclose(spec.numpy("power_w"), total)
    assert "file" not in spec.columns
    lulesh = read(runs / "lulesh_likwid" / "lulesh_omp.csv")
    assert len(lulesh) == 1412
    close = lulesh.numpy("power_w") * lulesh.numpy("runtime_s") / lulesh.numpy("energy_j")
    assert np.sum(np.abs(close - 1) > 0.1) <= 1
    assert set(lulesh.frame["frequency_hz"].drop_nulls()) >= {1.0e9, 2.4e9}
    zeus = read(runs / "zeus_nsdi23" / "summary_power_v100.csv")
    assert len(zeus) == 476
    assert {"batch_size", "cap_w", "runtime_s", "power_w", "app", "optimizer"} <= set(zeus.columns)
    early = zeus.known_at(Moment.SUBMIT).columns
    assert {"batch_size", "cap_w"} <= set(early)
    assert "power_w" not in early


def test_real_job_tables_without_power(shared_data):
    jobs = read(shared_data / "jobs" / "m100_gridpilot" / "m100_real_jobs_jan2022.parquet")
    assert len(jobs) == 1994
    limit, runtime = jobs.numpy("time_limit_s"), jobs.numpy("runtime_s")
    assert np.mean(runtime <= limit + 120) > 0.9  # minutes in the file: runs end by their limit
    assert jobs.schema["nodes_alloc"].known is Moment.START
    assert jobs.frame["censored"].sum() == (jobs.frame["state"] != "COMPLETED").sum()
    eagle = read(shared_data / "jobs" / "nrel_eagle_sample" / "sample_eagle_data.csv")
    assert len(eagle) == 1000
    wall = eagle.numpy("end_s") - eagle.numpy("start_s")
    assert np.mean(np.abs(wall - eagle.numpy("runtime_s")) < 2) > 0.99


class TestBadInput:
    def test_rows_of_another_length_are_noted(self, csv):
        jobs = read_runs(csv("nodes,runtime_s\n1,5\n2\n3,4,5\n4,6\n"))
        note = next(n for n in jobs.notes if n.dropped)
        assert note.rows == (1, 2)
        assert jobs.frame["nodes"].to_list() == [1, 4]

    def test_negative_durations_are_noted_with_their_rows(self, csv):
        jobs = read_runs(csv("nodes,runtime_s\n1,5\n2,-5\n-3,5\n"))
        gone = {n.message: n.rows for n in jobs.notes if n.dropped}
        assert gone == {"runtime_s is negative": (1,), "nodes is negative": (2,)}

    def test_a_few_cells_that_are_no_numbers_are_null_and_noted(self, csv):
        body = "".join(f"{i},{i}.5\n" for i in range(1, 20))
        jobs = read_runs(csv(f"nodes,runtime_s\n{body}20,crashed\n"))
        assert jobs.frame["runtime_s"].to_list()[-1] is None
        assert next(n for n in jobs.notes if "not a number" in n.message).rows == (19,)

    def test_jobs_that_have_yet_to_run_have_a_number_and_ask_for_something(self, csv):
        jobs = read_runs(csv(b"job_id,app,nodes\n7,cfd,4\n8,md,2\n"))
        assert jobs.frame["nodes"].to_list() == [4, 2]
        assert "runtime_s" not in jobs.columns

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (b"", "empty"),
            (b"\n \n", "no text"),
            (b"nodes,runtime_s\n", "no row that fits"),
            (b"a,a,runtime_s\n1,2,3\n", "column a comes twice"),
            (b"1,2,3\n4,5,6\n", "expected column names"),
            (b"job_id,user\n1,ann\n", r"found no runtime"),
            (b"nodes,app\n4,cfd\n", r"found no runtime"),
            (b"user,note\nann,hi\n", r"found no runtime.*present: user, note.*map them"),
            (b"nodes,runtime_s\n1,\xff\xfe\n", r"line 2 is not utf-8 \(byte 0xff\)"),
            (b"nodes,runtime_s\n1," + b"9" * 10_000_000 + b"\n", r"line 2 is 10,000,003 bytes"),
        ],
    )
    def test_files_that_cannot_be_read_are_one_clear_error(self, csv, text, said):
        with pytest.raises(DataError, match=said):
            read_runs(csv(text))

    def test_amounts_that_are_text_are_named_with_their_row(self, csv):
        text = "nodes,power_W,runtime_s\n1,a,5\n2,b,6\ntwo,c,7\n"
        with pytest.raises(DataError, match=r"power_w is 'a' in row 0.*nodes is 'two' in row 2"):
            read_runs(csv(text), columns={"power_w": "power_W"})

    def test_mapped_columns_that_are_not_there_are_all_named(self, csv):
        with pytest.raises(DataError, match=r"column p is missing.*column q is missing.*present"):
            read_runs(csv("a\n1\n"), columns={"runtime_s": "q", "power_w": "p"})

    def test_a_wrong_mapping_file_is_named(self, csv, tmp_path):
        path = csv("runtime_s\n1\n")
        (tmp_path / "m.toml").write_text("[colums]\nx = 1\n[known]\na = 'later'\n")
        with pytest.raises(DataError, match=r"\[colums\] is not.*known.a: expected submit"):
            read_runs(path, map=tmp_path / "m.toml")
        (tmp_path / "m.toml").write_text("= broken")
        with pytest.raises(DataError, match="expected TOML, got"):
            read_runs(path, map=tmp_path / "m.toml")

    def test_another_encoding_can_be_given(self, csv):
        path = csv("app,runtime_s\nÅke,5\nÅke,6\n".encode("latin-1"))
        assert read_runs(path, encoding="latin-1").frame["app"].to_list() == ["Åke", "Åke"]

    def test_gzip_and_semicolons(self, csv):
        path = csv(gzip.compress(b"nodes;runtime_s\n1;5\n2;6\n"), "runs.csv.gz")
        assert read(path).frame["runtime_s"].to_list() == [5, 6]


@pytest.mark.parametrize("value", ["inf", "-inf", "1e308", "1e999", "-7"])
@pytest.mark.parametrize("name", ["runtime_s", "power_w", "energy_j", "nodes", "gpu_cap_w",
                                  "instructions_per_s", "ipc", "package_power_w"])  # fmt: skip
def test_a_value_that_cannot_be_costs_its_row_and_is_named(tmp_path, name, value):
    path = tmp_path / "runs.csv"
    rows = [f"a,{k},{k}\n" for k in range(1, 6)] + [f"a,6,{value}\n"]
    path.write_text(
        f"app,{'runtime_s' if name != 'runtime_s' else 'power_w'},{name}\n" + "".join(rows)
    )
    jobs = read_runs(path)
    assert len(jobs) == 5
    (gone,) = [n for n in jobs.notes if n.dropped]
    assert gone.rows == (5,)
    assert gone.message.startswith(f"{name} is ")


def test_an_infinite_cell_of_an_unknown_column_is_not_known_and_named(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("runtime_s,odd\n1,1.5\n2,inf\n3,nan\n")
    jobs = read_runs(path)
    assert jobs.frame["odd"].to_list() == [1.5, None, None]
    assert "infinite, taken as not known: odd 1" in [n.message for n in jobs.notes]


def test_decimal_commas_are_read_where_a_cell_shows_that_they_are(csv):
    jobs = read_runs(
        csv("App;GPUs;Elapsed [s];Avg. power [W]\na;1;1621,5;1,250\nb;2;98,25;1,400\n")
    )
    assert jobs.frame["runtime_s"].to_list() == [1621.5, 98.25]
    assert jobs.frame["power_w"].to_list() == [1.25, 1.4]
    assert any("decimal ones" in n.message and "Avg. power" in n.message for n in jobs.notes)


def test_points_beside_decimal_commas_are_those_of_thousands(csv):
    """1.540 W beside 412 W made runs of 4 nodes a hundred times thriftier than those of 2."""
    jobs = read_runs(
        csv("nodes;wall_s;power_W;gflops\n1;3.612;412;12,5\n4;1.012;1.540;44,6\n8;598;3.020;75,5\n")
    )
    assert jobs.frame["runtime_s"].to_list() == [3612, 1012, 598]
    assert jobs.frame["power_w"].to_list() == [412, 1540, 3020]
    assert any("those of thousands" in n.message and "wall_s" in n.message for n in jobs.notes)
    small = read_runs(csv("nodes;wall_s;share\n1;3.612;0,5\n2;0.812;0,4\n"))
    assert small.frame["runtime_s"].to_list() == [3.612, 0.812]


def test_a_comma_that_may_be_one_of_thousands_is_left_and_said(csv):
    table = csv("app;wall_s;flops\na;10;1,250\nb;20;1,400\n")
    jobs = read_runs(table)
    assert jobs.frame["flops"].to_list() == ["1,250", "1,400"]
    assert any("thousands" in n.message and "flops" in n.message for n in jobs.notes)


def test_a_text_that_is_no_time_is_named_and_a_column_of_them_is_refused(csv):
    rows = "".join(f"a,{t}\n" for t in ("0:10", "20 ticks", "1:30"))
    jobs = read_runs(csv(f"app,runtime_s\n{rows}"))
    assert jobs.frame["runtime_s"].to_list() == [10.0, None, 90.0]
    (said,) = (n for n in jobs.notes if "'20 ticks'" in n.message)
    assert said.rows == (1,)
    with pytest.raises(DataError, match="'20 ticks' in runtime_s is no time, nor is any other"):
        read_runs(csv("app,runtime_s,power_w\na,20 ticks,5\nb,30 ticks,6\n"))


@pytest.mark.parametrize(("name", "ours"), [
    ("wall_us", ("wall", "_s", "s", 1e-6)), ("wall_ms", ("wall", "_s", "s", 1e-3)),
    ("wall_secs", ("wall", "_s", "s", 1.0)), ("wall_seconds", ("wall", "_s", "s", 1.0)),
    ("Wall time (min)", ("Wall_time", "_s", "s", 60.0)), ("time_mins", ("time", "_s", "s", 60.0)),
    ("time_minutes", ("time", "_s", "s", 60.0)), ("wall_h", ("wall", "_s", "s", 3600.0)),
    ("wall_Hours", ("wall", "_s", "s", 3600.0)), ("power_kW", ("power", "_w", "W", 1e3)),
    ("power_mW", ("power", "_w", "W", 1e-3)), ("power_MW", ("power", "_w", "W", 1e6)),
    ("power_watts", ("power", "_w", "W", 1.0)), ("energy_joules", ("energy", "_j", "J", 1.0)),
    ("energy_kJ", ("energy", "_j", "J", 1e3)), ("energy_Wh", ("energy", "_j", "J", 3600.0)),
    ("energy_kWh", ("energy", "_j", "J", 3.6e6)), ("clock_kHz", ("clock", "_hz", "Hz", 1e3)),
    ("clock_MHz", ("clock", "_hz", "Hz", 1e6)), ("clock_Hz", ("clock", "_hz", "Hz", 1.0)),
    ("memory_GiB", ("memory", "_b", "B", 2.0**30)),
    ("memory_MiB", ("memory", "_b", "B", 2.0**20)),
    ("power_min", ("power_min", "", "", 1.0)), ("flops_per_s", ("flops_per_s", "", "1/s", 1.0)),
])  # fmt: skip
def test_a_unit_in_a_name_is_its_factor(name, ours) -> None:
    assert split_unit(name) == ours


GERMAN = "Knoten;Laufzeit (min);Leistung (kW);Energie (kWh)\n1;60,5;0,4;0,4033\n2;31,5;0,8;0,42\n"


def test_minutes_in_brackets_are_minutes_in_any_language(csv):
    """``Laufzeit (min)`` was taken for a minimum, so that a minute counted as a second."""
    columns = {"nodes": "Knoten", "runtime_s": "Laufzeit (min)", "power_w": "Leistung (kW)",
               "energy_j": "Energie (kWh)"}  # fmt: skip
    jobs = read_runs(csv(GERMAN), columns=columns)
    guessed = read_runs(csv(GERMAN)).frame.select(jobs.columns)
    assert guessed.drop("power_w").equals(jobs.frame.drop("power_w"))
    assert guessed["power_w"].to_list() == pytest.approx([1451880 / 3630, 800.0])  # finer than kW
    assert jobs.frame["runtime_s"].to_list() == [3630.0, 1890.0]
    assert jobs.frame["energy_j"].to_list() == pytest.approx([1451880.0, 1512000.0])
    assert "is the unit of one of them another" not in str(jobs.notes)


def test_energy_that_is_not_power_times_runtime_is_noted(csv):
    jobs = read_runs(csv("nodes,runtime_s,power_w,energy_j\n1,60,100,360000\n2,30,200,360000\n"))
    assert "energy_j is 60 times power_w x runtime_s in the median row" in str(jobs.notes)


def test_a_row_whose_energy_cannot_be_its_power_times_its_runtime_has_neither(csv):
    """One reading in watt-hours among kilowatt-hours made a mean of 12 MJ [0, 24], unsaid."""
    jobs = read_runs(csv("cap_w,time_s,energy_kJ,power_W\n200,100,20,200\n200,101,20.2,200\n"
                         "300,80,24,300\n300,80.5,24150,300\n"))  # fmt: skip
    assert jobs.frame["energy_j"].to_list() == [20e3, 20.2e3, 24e3, None]
    assert jobs.frame["power_w"].to_list() == [200.0, 200.0, 300.0, None]
    said = next(n for n in jobs.notes if "one of them is wrong, both are out" in n.message)
    assert (said.count, said.rows) == (1, (3,))
    two = read_runs(csv("n,time_s,energy_J,power_W\n1,10,1e6,100\n2,10,1000,100\n"))
    assert two.frame["energy_j"].to_list() == [None, 1000.0]


def test_few_tasks_of_arrays_among_many_jobs_keep_their_numbers(csv):
    """Fewer than a tenth of the jobs were of arrays: their identifiers were lost as no numbers."""
    rows = [f"{4000 + i},a,1,60" for i in range(40)] + ["4005_1,a,1,60", "4005_[3-9],a,1,60"]
    jobs = read_runs(csv("\n".join(["job_id,app,nodes,runtime_s", *rows, ""])))
    assert jobs.frame["job_id"].to_list()[-3:] == ["4039", "4005_1", "4005_[3-9]"]
    assert "not a number" not in str(jobs.notes)


def test_a_table_of_another_language_is_told_how_to_name_its_columns(csv):
    with pytest.raises(DataError, match=r"--column runtime_s=THEIRS.*in Python"):
        read_runs(csv("Csomópontok;Futásidő (min)\n1;60,5\n2;31,5\n"))
    with pytest.raises(DataError, match="iconv -f cp1252 -t utf-8"):
        read_runs(csv("Länge;Zeit\n1;2\n".encode("cp1252")))


def test_the_power_of_one_node_is_not_that_of_the_job(csv):
    for name in ("power_per_node_w", "node_power_w", "avg_power_per_node_w"):
        jobs = read_runs(csv(f"app,nodes,time_s,{name}\na,1,100,300\na,4,30,310\n"))
        assert jobs.frame["power_w"].to_list() == [300.0, 1240.0]
        assert "power_w is power_per_node_w times nodes" in str(jobs.notes)
    whole = read_runs(csv("nodes,time_s,power_w,node_power_w\n4,30,1000,310\n"))
    assert whole.frame["power_w"].to_list() == [1000]


def test_no_power_and_no_energy_is_a_reading_that_failed(csv):
    jobs = read_runs(csv("nodes,time_s,power_w,energy_j\n1,100,0,0\n4,30,1000,30000\n"))
    assert jobs.frame["energy_j"].to_list() == [None, 30000]
    assert jobs.frame["power_w"].to_list() == [None, 1000]
    said = {n.message: n.rows for n in jobs.notes}
    assert said["energy_j is 0, which no run takes: not known"] == (0,)


def test_rows_listed_twice_are_noted_and_stay(csv):
    jobs = read_runs(csv("app,nodes,time_s\na,1,100.25\na,2,60\na,1,100.25\n"))
    assert len(jobs) == 3
    (said,) = [n for n in jobs.notes if "equal to an earlier row" in n.message]
    assert said.rows == (2,)


def test_the_unicode_text_of_a_spreadsheet_is_read_and_what_is_no_text_refused(tmp_path):
    file = tmp_path / "t.csv"
    for encoding in ("utf-16", "utf-16-be"):
        text = "Kerne\tLaufzeit (s)\n1\t2,5\n2\t1,25\n"
        file.write_bytes(("\ufeff" * (encoding != "utf-16") + text).encode(encoding))
        assert read_runs(file).frame["runtime_s"].to_list() == [2.5, 1.25]
    for content in (b"\xff\0\n" * 9, b"\xff\xfe\0\xd8a"):
        file.write_bytes(content)
        with pytest.raises(DataError, match="it is no text: expected a CSV") as told:
            read_runs(file)
        assert str(told.value).count("it is") == 1


def test_names_that_a_spreadsheet_would_run_are_marked_in_files_and_read_as_they_were(tmp_path):
    apps = ["=cmd|' /C calc'!A0", "+1+1", "-O3", "@x", "'quoted'", "-5.0", "lbm"]
    table = pl.DataFrame({"app": apps, "nodes": range(7), "runtime_s": [1.0] * 7})
    without_formulas(table).write_csv(tmp_path / "t.csv")
    written = [line.split(",")[0] for line in (tmp_path / "t.csv").read_text().splitlines()[1:]]
    assert not any(w[0] in "=+@-" and w != "-5.0" for w in written)
    assert read_runs(tmp_path / "t.csv").frame["app"].to_list() == apps


def test_a_clock_that_was_put_back_costs_times_and_no_row(csv):
    """On 2026-10-25 Berlin's clock goes from 03:00 back to 02:00."""
    rows = "job,nodes,start,end,energy\n" + "".join(
        f"{job},2,2026-10-25T{start},2026-10-25T{end},{energy}\n"
        for job, start, end, energy in (
            (1, "01:00:00", "01:30:00", "850"),
            (2, "02:50:00", "02:10:00", "2.70K"),
            (3, "09:00:00", "07:30:00", "1.20M"),
        )
    )
    jobs = read_runs(csv(rows))
    assert jobs.frame["job_id"].to_list() == [1, 2]
    assert jobs.frame["runtime_s"].to_list() == [1800.0, None]
    assert jobs.frame["energy_j"].to_list() == [850.0, 2700.0]
    said = {n.message.partition(":")[0]: n.rows for n in jobs.notes}
    assert said["times run backwards by up to an hour, as where a clock was put back"] == (1,)
    assert said["end before start"] == (2,)
    assert "energy: cells as sacct writes ConsumedEnergy" in str(jobs.notes)


def test_seconds_that_run_backwards_are_no_clock(csv):
    jobs = read_runs(csv("job,nodes,start_s,end_s\n1,2,900,300\n2,2,900,1000\n"))
    assert jobs.frame["job_id"].to_list() == [2]


def test_numbers_by_thousands_are_told_what_to_do(csv):
    with pytest.raises(DataError, match="expected a number; write decimals with a point"):
        read_runs(csv('app,nodes,runtime_s,energy_j\na,1,24,"39,024"\n'))
    with pytest.raises(DataError, match="'24,154' in runtime_s is no time; write decimals with"):
        read_runs(csv('app,nodes,runtime_s,power_w\na,1,"24,154",900\na,32,1928,9000\n'))


@pytest.mark.parametrize(
    ("rows", "kilojoules"),
    [
        ('1,03:51:29,"7,524"\n4,00:59:12,"6,247"\n', [7524.0, 6247.0]),  # .5 W as decimals
        ('1,600,"90,120"\n4,160,"97,250"\n', None),  # 150 W or 150 kW
        ('1,600,"5,097"\n4,160,9322\n', [5097.0, 9322.0]),  # beside a number of thousands
    ],
)
def test_thousands_are_told_by_the_watts_that_a_run_draws(csv, rows, kilojoules):
    file = csv(f"gpus,runtime_s,energy_kj\n{rows}")
    jobs = read_runs(file)
    if kilojoules is None:
        assert "energy_j" not in jobs.columns
        assert "may be a decimal or thousands" in str(jobs.notes)
    else:
        assert jobs.frame["energy_j"].to_list() == [1e3 * e for e in kilojoules]
        assert "separators of thousands left out" in str(jobs.notes)


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (('"24,154"', "928"), [24154.0, 928.0]),  # whole numbers below a thousand have no comma
        (('"24,154"', "928.5"), [24154.0, 928.5]),  # a point is the decimal sign
    ],
)
def test_thousands_that_can_be_nothing_else_are_read(csv, cells, seconds):
    big, small = cells
    jobs = read_runs(csv(f"app,nodes,runtime_s,power_w\na,1,{big},900\na,32,{small},9000\n"))
    assert jobs.frame["runtime_s"].to_list() == seconds
    assert "separators of thousands left out: runtime_s" in str(jobs.notes)


def test_a_comma_that_may_be_a_decimal_is_not_taken_for_thousands(csv):
    with pytest.raises(DataError, match="write decimals with a point"):
        read_runs(csv('app,nodes,runtime_s,power_w\na,1,"1,154",900\na,32,"2,928",9000\n'))


def test_a_zone_tells_run_times_over_a_change_of_the_clock(tmp_path):
    """Six hours on the clock that was put back are seven; which 02:30 it was is not known."""
    path = tmp_path / "jobs.csv"
    rows = ("23:00:00,2026-10-25 05:00:00", "23:30:00,2026-10-25 02:10:00")
    lines = [f"{i},2026-10-24 {r},2,5e6" for i, r in enumerate(rows)]
    path.write_text("\n".join(["job_id,start,end,nodes,energy_j", *lines, ""]))
    there = read_runs(path, zone="Europe/Berlin")
    assert there.frame["runtime_s"].to_list() == [7 * 3600.0, None]
    assert any("shows twice" in n.message and n.rows == (1,) for n in there.notes)
    plain = read_runs(path)
    assert plain.frame["runtime_s"].to_list() == [6 * 3600.0, 9600.0]
    assert any("is an hour off" in n.message for n in plain.notes)


@pytest.mark.parametrize(("heading", "cells", "ours", "values"), [
    ("energy_MJ", ["2.5", "3"], "energy_j", [2.5e6, 3e6]),
    ("Energy (kJ)", ["2'668.7", "72'791.1"], "energy_j", [2668700.0, 72791100.0]),
    ("Walltime (s)", ["17\u2019237", "665"], "runtime_s", [17237.0, 665.0]),
    ("Wall clock [hh:mm:ss]", ["00:01:40", "01:00:00"], "runtime_s", [100.0, 3600.0]),
    ("run_id", ["1", "2"], "job_id", [1, 2]),
])  # fmt: skip
def test_headings_and_numbers_of_other_sites_are_read(tmp_path, heading, cells, ours, values):
    file = tmp_path / "runs.csv"
    times = "" if ours == "runtime_s" else ";runtime_s"
    rows = [f"{cell};{n}{';100' if times else ''}" for n, cell in enumerate(cells, 1)]
    file.write_text("\n".join([f"{heading};nodes{times}", *rows]))
    assert read(file, "runs").frame[ours].to_list() == values


def test_a_quantity_that_is_text_is_told(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("nodes;runtime_s;Energy (kJ)\n1;10;much\n2;6;more\n")
    said = [n.message for n in read(file, "runs").notes]
    assert "Energy (kJ) holds text, not numbers: not read as energy_j" in said


def test_ends_in_a_language_that_is_not_known_are_no_failures(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("nodes;runtime_s;state\n1;10;lokið\n2;6;lokið\n4;5;FAILED\n")
    runs = read(file, "runs")
    assert runs.frame["censored"].to_list() == [None, None, True]
    assert any("state 'lokið' 2 x: no end that is known" in n.message for n in runs.notes)


def test_an_exit_status_in_words_is_the_end_of_a_job(tmp_path):
    file = tmp_path / "jobs.csv"
    file.write_text("Local Job ID,Nodes,Exit Status,Wall Time (Hours),Submit Time (Timestamp)\n"
                    "1,2,COMPLETED,1.5,1788003334\n2,2,FAILED,0.1,1788003363\n")  # fmt: skip
    runs = read(file, "runs").frame
    assert runs["state"].to_list() == ["COMPLETED", "FAILED"]
    assert runs["censored"].to_list() == [False, True]
    assert runs["submit_s"].to_list() == [1788003334.0, 1788003363.0]


def test_headers_of_other_languages_are_quantities(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("ノード数,実行時間,消費電力量(kWh),終了状態\n1,02:00:09,0.76,正常終了\n"
                    "2,01:00:00,0.75,異常終了\n")  # fmt: skip
    runs = read(file, "runs").frame
    assert runs["runtime_s"].to_list() == [7209.0, 3600.0]
    assert runs["energy_j"].to_list() == pytest.approx([0.76 * 3.6e6, 0.75 * 3.6e6])
    assert runs["censored"].to_list() == [False, True]


def test_headers_with_units_in_other_languages(tmp_path):
    file = tmp_path / "runs.csv"
    headings = {"Knooppunten;Looptijd (uur)": 3600.0, "Knoten;Laufzeit [Std]": 3600.0,
                "noder;körtid (minuter)": 60.0, "nodi;Durata (secondi)": 1.0}  # fmt: skip
    for names, factor in headings.items():
        file.write_text(f"{names}\n1;2,5\n2;1,5\n")
        runs = read(file, "runs").frame
        assert runs["nodes"].to_list() == [1, 2]
        assert runs["runtime_s"].to_list() == [2.5 * factor, 1.5 * factor]


def test_words_for_ends_in_other_languages_and_runs_that_were_cut_short(tmp_path):
    file = tmp_path / "runs.csv"
    runs = "".join(f"{n};{100 - n},5;{{}}\n" for n in range(1, 6))
    words = {"Zustand": ("fertig", "abgebrochen"), "état": ("Terminé", "échoué"),
             "estado": ("completado", "fallido"), "stato": ("completato", "interrotto"),
             "toestand": ("voltooid", "mislukt")}  # fmt: skip
    for name, (good, bad) in words.items():
        text = f"nodes;runtime_s;{name}\n{runs.format(*[good] * 5)}9;3,1;{bad}\n"
        file.write_text(text, encoding="utf-8")
        assert read(file, "runs").frame["censored"].to_list() == [False] * 5 + [True], name
    file.write_text(f"nodes;runtime_s;state\n{runs.format(*['kész'] * 5)}9;3,1;hiba\n")
    jobs = read(file, "runs")
    assert jobs.frame["censored"].to_list() == [None] * 5 + [True]
    assert any("state 'hiba' is no end" in n.message and n.rows == (5,) for n in jobs.notes)
    file.write_text(f"nodes;runtime_s;allapot\n{runs.format(*['kész'] * 5)}9;3,1;hiba\n")
    (asked,) = (n for n in read(file, "runs").notes if "--column state='allapot'" in n.message)
    assert "allapot 'hiba': far shorter" in asked.message
    assert asked.rows == (5,)
    file.write_text(f"nodes;runtime_s;compiler\n{runs.format(*['icx'] * 5)}9;60,1;gcc\n")
    assert not any("far shorter" in n.message for n in read(file, "runs").notes)


def test_accounting_of_several_schedulers_is_known_by_its_names(csv):
    sge = ("qname,owner,jobname,jobnumber,qsub_time,start_time,end_time,slots,cpu,ru_wallclock\n"
           + "".join(f"all.q,ana,blast,7,09/{d}/2026 10:00:00,09/{d}/2026 10:05:00,"
                     f"09/{d}/2026 11:05:00,4,{d}.5,3600\n" for d in ("01", "13")))  # fmt: skip
    lsf = ("JOBID,USER,QUEUE,STAT,SLOTS,NEXEC_HOST,SUBMIT_TIME,START_TIME,FINISH_TIME,RUN_TIME\n"
           "7,ana,all.q,DONE,4,1,1788256800,1788257100,1788260700,3600 second(s)\n")  # fmt: skip
    pbs = ("Job ID,User,Queue,qtime,start,end,Resource_List.nodect,Resource_List.ncpus,"
           "Resource_List.walltime,resources_used.walltime\n"
           "7,ana,all.q,2026-09-01 10:00:00,2026-09-01 10:05:00,2026-09-01 11:05:00,1,4,02:00:00,"
           "01:00:00\n")  # fmt: skip
    flux = ("id,username,status,nnodes,t_submit,t_run,t_cleanup,runtime\n"
            "7,ana,COMPLETED,1,1788256800.0,1788257100.0,1788260700.0,3600.0\n")  # fmt: skip
    zulu = ("JobId,user_name,time_submit,time_start,time_end,num_nodes,num_nodes_req\n"
            "7,ana,2026-09-01T10:00:00Z,2026-09-01T10:05:00Z,2026-09-01T11:05:00Z,"
            "1,2\n")  # fmt: skip
    logs = {"sge": sge, "lsf": lsf, "pbs": pbs, "flux": flux, "zulu": zulu}
    read = {name: read_runs(csv(text)).frame for name, text in logs.items()}
    for name, frame in read.items():
        got = frame.row(0, named=True)
        assert (got["user"], got["runtime_s"]) == ("ana", 3600.0), name
        assert [got[k] for k in ("submit_s", "start_s", "end_s")] == [
            1788256800.0, 1788257100.0, 1788260700.0], name  # fmt: skip
    assert read["sge"].row(1, named=True)["cores"] == read["lsf"]["cores"][0] == 4
    assert read["sge"]["cpu"].to_list() == [1.5, 13.5]
    assert read["pbs"].select("nodes", "cores", "time_limit_s").row(0) == (1, 4, 7200.0)
    assert read["zulu"].select("nodes", "nodes_requested").row(0) == (1, 2)


def test_the_order_of_day_and_month_is_that_in_which_a_table_is_one_stretch(csv):
    head = "nodes,runtime_s,start_time\n"
    told = read_runs(csv(head + "1,5,13/09/2026 10:00:00\n1,5,02/09/2026 10:00:00\n"))
    assert [t / 86400 // 1 for t in told.frame["start_s"]] == [20709, 20698]
    guessed = read_runs(csv(head + "1,5,09/01/2026 10:00\n1,5,09/12/2026 10:00\n"))
    assert [t / 86400 // 1 for t in guessed.frame["start_s"]] == [20697, 20708]
    said = [n.message for n in guessed.notes if "month first" in n.message]
    assert said
    assert "write them as 2026" in said[0]
    points = read_runs(csv(head + "1,5,1.9.2026 10:00:00\n1,5,12.9.2026 10:00:00\n"))
    assert points.frame["start_s"].to_list() == guessed.frame["start_s"].to_list()
    assert not any("read day first" in n.message for n in points.notes)
    words = read_runs(csv(head + "1,5,Tue Sep  1 10:00:00 2026\n1,5,Sat Sep 12 10:00:00 2026\n"))
    assert words.frame["start_s"].to_list() == guessed.frame["start_s"].to_list()


def test_one_time_of_any_name_beside_measured_energy_is_the_run_time(csv):
    text = "solver,{},energy_J\ncg,1.5,500\ngmres,2.5,800\n"
    jobs = read_runs(csv(text.format("solve_s")))
    assert jobs.frame["runtime_s"].to_list() == [1.5, 2.5]
    assert any("runtime_s = solve_s" in n.message for n in jobs.notes)
    for other in ("idle_s", "setup_s", "ttft_s", "submit_s"):
        assert (
            read_runs(csv(text.format(other))).frame.get_column("runtime_s", default=None) is None
        )


def test_a_knob_of_cells_with_one_unit_stays_in_it(csv):
    path = csv("SM Clock,Elapsed,Avg Power\n900 MHz,57 s,186 W\n1110 MHz,48 s,243 W\n")
    kept = read_runs(path, keep=("SM Clock",))
    assert kept.frame["SM Clock"].to_list() == [900, 1110]
    assert any("cells in MHz, and so are its values in --knob" in n.message for n in kept.notes)
    assert read_runs(path).frame["frequency_hz"].to_list() == [900e6, 1110e6]


@pytest.mark.parametrize(("header", "factor"), [
    ("mem_req_GB", 1e9), ("mem_gb", 1e9), ("ReqMem_MB", 1e6), ("memory (GiB)", 2.0**30),
    ("Requested memory [KiB]", 2.0**10), ("memory in GB", 1e9), ("ReqMemMB", 1e6),
    ("Memory / TiB", 2.0**40), ("mem_bytes", 1.0),
])  # fmt: skip
def test_memory_asked_for_is_read_under_any_usual_name(csv, header, factor):
    rows = "".join(f"j{i},{i},{10 + i},{i + 1}\n" for i in range(4))
    jobs = read_runs(csv(f"job_id,submit_s,runtime_s,{header}\n{rows}"))
    assert jobs.frame["memory_b"].to_list() == [factor * (i + 1) for i in range(4)]


def test_memory_without_a_unit_and_memory_that_was_used_are_not_memory_asked_for(csv):
    rows = "".join(f"j{i},{10 + i},{i + 1},{2.5 * i}\n" for i in range(4))
    jobs = read_runs(csv(f"job_id,runtime_s,mem,max_mem_GB\n{rows}"))
    assert "memory_b" not in jobs.columns
    assert "mem: of what unit? write it in its name, as mem_GiB" in str(jobs.notes)
    cells = read_runs(csv("job_id,runtime_s,ReqMem\na,10,16G\nb,11,4000M\nc,12,0\n"))
    assert cells.frame["memory_b"].to_list() == [16 * 2.0**30, 4000 * 2.0**20, None]


def test_small_mw_is_not_taken_for_megawatts(csv):
    path = csv("app,runtime_s,power_mw\na,10,250000\nb,20,240000\n")
    jobs = read_runs(path)
    assert "power_w" not in jobs.columns
    assert "power_mw: mW or MW? write which in its name" in str(jobs.notes)
    with pytest.raises(DataError, match="mw of power_mw may be milli or mega: state a scale"):
        read_runs(path, columns={"power_w": "power_mw"})


def test_a_time_asked_for_is_not_taken_for_the_run_time_that_start_and_end_tell(csv):
    """``duration`` of Flux is the limit; its ``state`` says INACTIVE of all, ``result`` how."""
    head = "id,t_submit,t_run,t_cleanup,state,nnodes,result,duration"
    rows = "".join(f"{i},{i},{10 + i},{70 + i},INACTIVE,2,{'FAILED' if i == 3 else 'COMPLETED'},120"
                   "\n" for i in range(6))  # fmt: skip
    jobs = read_runs(csv(f"{head}\n{rows}"))
    assert jobs.frame["runtime_s"].to_list() == [60.0] * 6
    assert jobs.frame["censored"].to_list() == [i == 3 for i in range(6)]
    assert "2 times end_s less start_s in the median row" in str(jobs.notes)


def test_the_word_none_is_a_setting_among_words_and_nothing_among_numbers(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("solver,size,runtime_s\nnone,none,3\njacobi,4,2\nNone,8,5\n")
    runs = read(file, "runs").frame
    assert runs["solver"].to_list() == ["none", "jacobi", None]
    assert runs["size"].to_list() == [None, 4, 8]


def test_milliseconds_since_1970_are_milliseconds(tmp_path):
    file = tmp_path / "jobs.json"
    file.write_text('[{"jobId": "7", "nodeCount": 2, "startTime": 1788000000000, '
                    '"endTime": 1788000060500, "jobState": "COMPLETED"}]')  # fmt: skip
    job = read(file, "runs").frame.to_dicts()[0]
    assert (job["job_id"], job["nodes"], job["state"]) == (7, 2, "COMPLETED")
    assert (job["start_s"], job["runtime_s"]) == (1788000000.0, 60.5)


def test_counters_of_jobs_without_a_meter_are_a_table(tmp_path):
    file = tmp_path / "counters.csv"
    file.write_text("app,freq_GHz,instructions_per_s\nk1,1.5,4e10\n")
    assert read(file, "runs").frame["instructions_per_s"].to_list() == [4e10]


def test_the_note_on_dates_with_a_zone_has_no_factor(csv):
    jobs = read_runs(csv("id,submit_time,runtime_s\n1,2026-03-02T00:00:58+02:00,65\n"))
    assert jobs.frame["submit_s"].to_list() == [1772402458.0]
    assert jobs.notes[0].message == "guessed: submit_s = submit_time"
    assert jobs.notes[1].message == "guessed to be known before a run: id, submit_s"


def test_the_energy_of_an_epoch_goes_with_the_time_of_an_epoch(csv):
    jobs = read_runs(csv("cap_w,epoch_time_s,energy_per_epoch_kJ\n150,412,58.1\n250,296,67.8\n"))
    assert jobs.frame["energy_j"].to_list() == [58_100, 67_800]
    assert jobs.frame["runtime_s"].to_list() == [412, 296]
    whole = read_runs(csv("cap_w,epoch_time_s,wall_s,energy_per_epoch_kJ\n150,412,900,58.1\n"))
    assert "energy_j" not in whole.columns


@pytest.mark.parametrize("named", ["elapsed_s", "runtime_s/steps", "runtime_s*2"])
def test_a_column_that_another_one_is_named_over_gives_way(named, tmp_path):
    (file := tmp_path / "runs.csv").write_text("steps,runtime_s,elapsed_s\n2,9,18\n4,7,14\n")
    jobs = read_runs(file, columns={"runtime_s": named})
    assert jobs.frame["runtime_s"].to_list() == ([4.5, 1.75] if "/" in named else [18.0, 14.0])
