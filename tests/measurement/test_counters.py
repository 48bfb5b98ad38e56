"""Counters of four tools come out as the same rates, and what was not counted is null."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.counters import read_likwid, read_papi, read_pcm, read_perf
from rheostat.measurement.read import guess_format, read
from rheostat.testing.readers import check_reader

PCM = (
    "System,,,,,,,Socket0,,,Proc Energy (Joules),,\n"
    "Date,Time,EXEC,IPC,CFREQ,L3MISS,READ,EXEC,IPC,C0res%,SKT0,SKT1,\n"
    "2024-01-01,23:59:59.500,0.5,1.2,2.1,3,4,9,9,90,50,60,\n"
    "2024-01-01,00:00:00.000,0.5,1.2,2.1,3,4,9,9,90,50,60,\n"
    "2024-01-01,00:00:00.500,0.4,1.0,2.0,2,5\n"
    "2024-01-01,00:00:01.500,0.4,1.0,2.0,2,8,9,9,80,100,120,\n"
)
PERF_I = (
    "# started on Mon\n"
    "0.100,200000,,instructions:u,100000000,100.00,,\n"
    "0.100,<not counted>,,LLC-load-misses,0,0.00,,\n"
    "0.100,12.50,Joules,power/energy-pkg/,100000000,100.00,,\n"
    "0.300,800000,,instructions:u,200000000,45.00,,\n"
    "0.300,4000,,LLC-load-misses,200000000,45.00,,\n"
    "0.300,25.00,Joules,power/energy-pkg/,200000000,100.00,,\n"
)
PERF_TEXT = """
 Performance counter stats for './app':

     2,000,000,000      instructions              #    1.25  insn per cycle   (83.20%)
   <not supported>      LLC-load-misses
          1,600.50 msec task-clock                #    3.201 CPUs utilized

       0.500000000 seconds time elapsed
"""
PERF_TEXT_I = """# started on Thu Oct  1 10:00:00 2026

#           time             counts unit events
     0.100000000            200,000      instructions:u            #    1.20  insn per cycle
     0.100000000      <not counted>      LLC-load-misses
     0.100000000              12.50 Joules power/energy-pkg/
     0.300000000            800,000      instructions:u                        (45.00%)
     0.300000000              4,000      LLC-load-misses                       (45.00%)
     0.300000000              25.00 Joules power/energy-pkg/
"""
LIKWID = """--------------------------------------------------------------------------------
CPU name:\tIntel Xeon
Region compute, Group 1: MEM_DP
+-----------------------------------+--------------+--------------+
|               Metric              | HWThread 0   | HWThread 1   |
+-----------------------------------+--------------+--------------+
|        Runtime (RDTSC) [s]        |       2.0    |       2.5    |
|            Clock [MHz]            |    2400.0    |    2000.0    |
|              CPI                  |       0.5    |       1.5    |
|            Power [W]              |     150.0    |       0      |
|         Power DRAM [W]            |      20.0    |       0      |
|  Memory bandwidth [MBytes/s]      |   50000.0    |       0      |
+-----------------------------------+--------------+--------------+
"""
LIKWID_CSV = (
    "STRUCT,Info,3\nCPU name:,Xeon,\nTABLE,Group 1 Metric,ENERGY,2\n"
    "Metric,HWThread 0,HWThread 1,\nRuntime (RDTSC) [s],2.0,2.5,\nPower [W],150,0,\n"
    "TABLE,Group 1 Metric STAT,ENERGY,2\nMetric,Sum,Min,Max,Avg\n"
    "Runtime (RDTSC) [s] STAT,4.5,2.0,2.5,2.25\nPower [W] STAT,150,0,150,75\n"
)
PAPI = (
    '{"papi_version": "7.0", "cpu_info": "Some CPU", "threads": {"0": {"regions": {"0": {"name": '
    '"solve", "parent_region_id": "-1", "cycles": "100", "real_time_nsec": "2000000000", '
    '"PAPI_TOT_INS": "400", "PAPI_L3_TCM": "8"}}}, "1": {"regions": {"0": {"name": "solve", '
    '"cycles": "60", "real_time_nsec": "1000000000", "PAPI_TOT_INS": "200", "PAPI_L3_TCM": "2"}, '
    '"1": {"name": "empty", "real_time_nsec": "0", "PAPI_TOT_INS": "0"}}}}}'
)


def file(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_pcm_takes_the_system_sums_sockets_and_divides_by_the_interval(tmp_path):
    jobs = check_reader(read_pcm, file(tmp_path, "pcm.csv", PCM), rows=4)
    assert jobs.numpy("span_s") == pytest.approx([0.5, 0.5, 1.0])  # past midnight, over a cut row
    assert jobs.numpy("package_power_w") == pytest.approx([220, 220, 220])
    assert jobs.numpy("memory_read_b_per_s") == pytest.approx([8e9, 8e9, 8e9])
    assert jobs.numpy("exec_share").tolist() == [0.5, 0.5, 0.4]  # not the socket's 9
    assert jobs.numpy("llc_misses_per_s")[0] == pytest.approx(6e6)


def test_a_total_of_pcm_is_not_added_to_its_sockets(tmp_path):
    text = (
        "System,,,,System Pack C-States,Proc Energy (Joules),\n"
        "Date,Time,EXEC,CFREQ,Proc Energy (Joules),SKT0,SKT1\n"
        "2024-01-01,00:00:00.000,1,2,110,50,60\n2024-01-01,00:00:01.000,1,2,110,50,60\n"
    )
    assert read_pcm(file(tmp_path, "p.csv", text)).numpy("package_power_w").tolist() == [110, 110]


def test_perf_intervals_become_rates_and_uncounted_events_are_null(tmp_path):
    jobs = check_reader(read_perf, file(tmp_path, "perf.csv", PERF_I), rows=2)
    assert jobs.numpy("instructions_per_s") == pytest.approx([2e6, 4e6])
    assert jobs.numpy("package_power_w") == pytest.approx([125, 125])
    misses = jobs.numpy("llc_misses_per_s")
    assert np.isnan(misses[0])
    assert misses[1] == pytest.approx(2e4)
    assert any("45 % of the time" in n.message for n in jobs.notes)
    assert any("LLC-load-misses: not counted" in n.message for n in jobs.notes)


def test_perf_text_and_json_agree_with_what_is_written(tmp_path):
    jobs = read_perf(file(tmp_path, "perf.txt", PERF_TEXT))
    assert jobs.numpy("instructions_per_s")[0] == pytest.approx(4e9)
    assert jobs.frame["llc_misses_per_s"].to_list() == [None]
    assert jobs.numpy("busy_cores")[0] == pytest.approx(3.201)
    line = '{"interval": 0.5, "counter-value": "100.0", "unit": "", "event": "cycles"}\n'
    assert read_perf(file(tmp_path, "p.json", line)).numpy("cycles_per_s").tolist() == [200.0]


def test_perf_text_of_intervals_is_what_its_csv_is(tmp_path):
    text, csv = (read_perf(file(tmp_path, "perf.txt", t)) for t in (PERF_TEXT_I, PERF_I))
    assert text.frame.equals(csv.frame)
    assert text.notes == csv.notes
    bare = PERF_TEXT_I.partition("\n\n")[2]
    assert read(file(tmp_path, "perf.txt", bare)).frame.equals(csv.frame)


def test_perf_text_of_sockets_adds_them_up(tmp_path):
    text = """#           time socket cpus             counts unit events
     2.000000000 S0        1              10.00 Joules power/energy-pkg/
     2.000000000 S1        1              20.00 Joules power/energy-pkg/
     2.000000000 S0       16     12,000,000,000      instructions
     2.000000000 S1       16      4,000,000,000      instructions
"""
    jobs = read(file(tmp_path, "perf.txt", text))
    assert jobs.numpy("package_power_w").tolist() == [15.0]
    assert jobs.numpy("instructions_per_s").tolist() == [8e9]


def test_perf_without_a_time_is_refused_with_the_remedy(tmp_path):
    path = file(tmp_path, "perf.csv", "200,,instructions,1000,100.00,,\n")
    with pytest.raises(DataError, match=r"duration_time .*: --option runtime_s=12.5"):
        read_perf(path)
    assert read_perf(path, runtime_s=2.0).numpy("instructions_per_s").tolist() == [100.0]


@pytest.mark.parametrize("lines", [
    "8000.0,msec,task-clock:u,8000,100.00,{use},CPUs utilized\n200,,instructions,9,100.00,,\n",
    '{{"counter-value": "8000.0", "unit": "msec", "event": "task-clock", "metric-value": "{use}", '
    '"metric-unit": "CPUs utilized"}}\n{{"counter-value": "200", "event": "instructions"}}\n',
])  # fmt: skip
def test_perf_tells_the_elapsed_time_by_the_processors_in_use(tmp_path, lines):
    """8 s of processors at 4 in use are 2 s; at 0 in use nothing follows; a time given counts."""
    path = file(tmp_path, "perf.csv", lines.format(use="4.000"))
    jobs = read_perf(path)
    assert jobs.numpy("span_s").tolist() == [2.0]
    assert jobs.numpy("instructions_per_s").tolist() == [100.0]
    assert any("divided by its CPUs utilized (4)" in n.message for n in jobs.notes)
    given = read_perf(path, runtime_s=1.0)
    assert given.numpy("instructions_per_s").tolist() == [200.0]
    assert not any("utilized" in n.message for n in given.notes)
    with pytest.raises(DataError, match="tells no elapsed time"):
        read_perf(file(tmp_path, "none.csv", lines.format(use="0.000")))


def test_likwid_sums_sockets_averages_clocks_of_threads_that_ran(tmp_path):
    jobs = check_reader(read_likwid, file(tmp_path, "likwid.txt", LIKWID), rows=1)
    row = jobs.frame.row(0, named=True)
    assert row["region"] == "compute"
    assert row["package_power_w"] == 150
    assert row["memory_b_per_s"] == pytest.approx(5e10)
    assert (row["span_s"], row["core_hz"], row["ipc"]) == (2.5, 2.2e9, 1.0)


def test_likwid_takes_its_own_statistics(tmp_path):
    row = read_likwid(file(tmp_path, "likwid.csv", LIKWID_CSV)).frame.row(0, named=True)
    assert (row["span_s"], row["package_power_w"]) == (2.5, 150)


def test_papi_adds_threads_and_takes_the_longest_time(tmp_path):
    jobs = check_reader(read_papi, file(tmp_path, "rank.json", PAPI), rows=2)
    row = jobs.frame.row(0, named=True)
    assert (row["region"], row["span_s"]) == ("solve", 2.0)
    assert (row["instructions_per_s"], row["llc_misses_per_s"]) == (300.0, 5.0)


@pytest.mark.parametrize(
    ("name", "text"),
    [("pcm", PCM), ("perf", PERF_I), ("perf", PERF_TEXT), ("perf", PERF_TEXT_I),
     ("likwid", LIKWID), ("likwid", LIKWID_CSV), ("papi", PAPI)],
)  # fmt: skip
def test_the_format_is_guessed(tmp_path, name, text):
    path = file(tmp_path, "some.txt", text)
    assert guess_format(path) == name
    assert set(read(path, options={"app": "bt"}).frame["app"]) == {"bt"}


@pytest.mark.parametrize("reader", [read_pcm, read_perf, read_likwid, read_papi])
def test_another_file_is_an_error_that_says_what_was_expected(tmp_path, reader):
    with pytest.raises(DataError):
        reader(file(tmp_path, "x.csv", "a,b\n1,2\n"))


RUN = "1000,,instructions,1000,100.00,,\n50.0,Joules,power/energy-pkg/,1000,100.00,,\n"
TOOK = "{}000000000,ns,duration_time,1000,100.00,,\n"


@pytest.mark.parametrize("head", ["", "# started on Mon Nov  3 10:00:00 2025\n\n"])
def test_perf_recordings_appended_are_runs_of_their_own(tmp_path, head):
    """``perf stat --append``: adding them up would tell twice the power of one."""
    text = head + RUN + TOOK.format(2) + head + RUN + TOOK.format(5)
    jobs = check_reader(read_perf, file(tmp_path, "perf.csv", text), rows=2)
    assert jobs.numpy("package_power_w").tolist() == [25.0, 10.0]
    assert jobs.numpy("span_s").tolist() == [2.0, 5.0]
    assert jobs.frame["run_id"].to_list() == ["perf-1", "perf-2"]
    assert any("2 recordings one after the other" in n.message for n in jobs.notes)
    with pytest.raises(DataError, match="holds 2 recordings, and runtime_s is of one"):
        read_perf(file(tmp_path, "perf.csv", text), runtime_s=3.0)


def test_perf_recordings_of_other_events_are_runs_of_their_own(tmp_path):
    one, other = "# started on Mon\n100,,cycles,9,100.00,,\n", "# started on Tue\n" + RUN
    text = one + TOOK.format(1) + other + TOOK.format(2)
    jobs = read_perf(file(tmp_path, "perf.csv", text))
    assert jobs.frame["cycles_per_s"].to_list() == [100.0, None]
    assert jobs.frame["package_power_w"].to_list() == [None, 25.0]


def test_perf_intervals_appended_and_texts_appended_do_not_add_up(tmp_path):
    jobs = read_perf(file(tmp_path, "perf.csv", PERF_I + PERF_I))
    assert jobs.numpy("package_power_w") == pytest.approx([125.0] * 4)
    assert jobs.numpy("span_s") == pytest.approx([0.1, 0.2] * 2)
    jobs = read_perf(file(tmp_path, "perf.txt", PERF_TEXT + PERF_TEXT))
    assert jobs.numpy("instructions_per_s") == pytest.approx([4e9, 4e9])


def test_perf_events_of_one_meaning_are_not_added_up(tmp_path):
    """cache-misses holds LLC-load-misses already; user and kernel are parts of one."""
    lines = [f"{n},,{e},1,100.00,," for n, e in
             ((8, "cache-misses"), (3, "LLC-load-misses"), (5, "instructions:u"),
              (2, "instructions:k"), (9, "branches"), (4, "branches:u"))]  # fmt: skip
    row = read_perf(file(tmp_path, "p.csv", "\n".join(lines)), runtime_s=1.0).frame.row(
        0, named=True
    )
    assert (row["llc_misses_per_s"], row["llc_load_misses_per_s"]) == (8.0, 3.0)
    assert row["instructions_per_s"] == 7.0
    assert (row["branches_per_s"], row["branches_u_per_s"]) == (9.0, 4.0)


def test_perf_lines_that_hold_no_count_are_counted(tmp_path):
    text = RUN + TOOK.format(2) + "abc,,cycles,9,100.00,,\n{broken\n0.1,S0,1,no,Joules,x,1,100,,\n"
    notes = [n.message for n in read_perf(file(tmp_path, "perf.csv", text)).notes]
    assert "3 lines that hold no count of perf are left out" in notes


ODD = ["inf", "-inf", "1e308", "-5"]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize(
    ("reader", "text", "was"),
    [
        (read_perf, PERF_I, "200000"),
        (read_perf, PERF_I, "25.00,J"),
        (read_pcm, PCM, ",4,9,9,90"),
        (read_pcm, PCM, "100,120"),
        (read_likwid, LIKWID, "150.0"),
        (read_likwid, LIKWID_CSV, "150,0,150"),
        (read_papi, PAPI, '"400"'),
        (read_papi, PAPI, '"1000000000"'),
    ],
)
def test_a_count_that_cannot_be_is_noted_and_never_taken(tmp_path, reader, text, was, value):
    """Infinite, 1e308 and negative counts: the row goes, with its reason."""
    digits = "".join(c for c in was if c.isdigit() or c == ".") if '"' in was else ""
    odd = was.replace(digits, value) if digits else was.replace(was.strip(",").split(",")[0], value)
    path = file(tmp_path, "x.txt", text.replace(was, odd, 1))
    try:
        jobs = reader(path)
    except DataError:
        return
    known = reader(file(tmp_path, "y.txt", text))
    assert [n.message for n in jobs.notes] != [n.message for n in known.notes]
    for name in jobs.columns:
        if jobs.frame[name].dtype.is_numeric():
            found = jobs.numpy(name)
            assert not np.isinf(found).any(), name
            assert not (found < 0).any(), name
            assert not (found > 1e30).any(), name
