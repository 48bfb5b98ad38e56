"""Forms in which people keep runs, each with the same three runs in it."""

# ruff: noqa: E501 - texts of tables

import json
from pathlib import Path

import pytest

import rheostat as rh
from rheostat import read
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.read import guess_format

RUNS = [{"nodes": 1, "time_s": 100.0, "energy_kJ": 50}, {"nodes": 2, "time_s": 55.0, "energy_kJ": 56},
        {"nodes": 4, "time_s": 31.0, "energy_kJ": 64}]  # fmt: skip
EXPECTED = [(1, 100.0, 50e3), (2, 55.0, 56e3), (4, 31.0, 64e3)]
COLUMNS = {k: [r[k] for r in RUNS] for k in RUNS[0]}
DOCUMENTS = {
    "under a key": {"results": RUNS},
    "beside others": {"meta": {"host": "n1", "total_energy_kJ": 170}, "runs": RUNS},
    "deep": {"app": "lbm", "data": {"measurements": [
        {"config": {"nodes": r["nodes"]}, "metrics": {"time_s": r["time_s"],
                                                      "energy_kJ": r["energy_kJ"]}} for r in RUNS]}},
    "by name": {f"run{i}": r for i, r in enumerate(RUNS)},
    "columns": COLUMNS,
    "pandas split": {"columns": [*COLUMNS], "index": [0, 1, 2],
                     "data": [[*r.values()] for r in RUNS]},
    "pandas columns": {k: dict(zip("012", v, strict=True)) for k, v in COLUMNS.items()},
    "pandas table": {"schema": {"fields": [{"name": k} for k in COLUMNS]}, "data": RUNS},
    "units apart": {"units": {"time": "s", "energy": "kJ"}, "data": [
        {"nodes": r["nodes"], "time": r["time_s"], "energy": r["energy_kJ"]} for r in RUNS]},
    "beside the machine": {"hosts": [{"name": "n1"}, {"name": "n2"}], "runs": RUNS},
}  # fmt: skip
TEXTS = {
    "pairs": "".join(f"nodes={r['nodes']} time={r['time_s']} energy={r['energy_kJ']}kJ\n" for r in RUNS),
    "pairs in a log": "2026-05-01 12:00 INFO start\n" + "".join(
        f"2026-05-01 12:00 INFO done: nodes={r['nodes']} time={r['time_s']} s energy={r['energy_kJ']} kJ\n"
        for r in RUNS),
    "pairs with colons": "".join(
        f"nodes: {r['nodes']}, time: {r['time_s']} s, energy: {r['energy_kJ']} kJ\n" for r in RUNS),
    "blocks": "\n".join("".join(f"{k}: {v}\n" for k, v in r.items()) for r in RUNS),
    "groups of headings": "Setting,Result,\nnodes,time_s,energy_kJ\n1,100,50\n2,55,56\n4,31,64\n",
    "quantities above": ",Time,,Energy,\nnodes,mean [s],std,mean [kJ],std\n1,100,1,50,1\n2,55,1,56,1\n"
                        "4,31,1,64,1\n",
    "units below": "nodes,Time,,Energy,\n,[s],stdev,[kJ],stdev\n1,100,1,50,1\n2,55,1,56,1\n4,31,1,64,1\n",
    "spreads": "nodes,time,energy\n1,100.0 ± 0.4 s,50 ± 2 kJ\n2,55.0 s ± 1 %,56 kJ\n4,31.0 s,64 kJ\n",
    "spreads in brackets": "nodes,time_s,energy_kJ\n1,100.0(4),50 (2)\n2,55.0,56 (2)\n4,31.0(3),64 (1)\n",
}  # fmt: skip


def rows_of(path: Path) -> list[tuple]:
    return read(path).frame.select("nodes", "runtime_s", "energy_j").rows()


@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_document_around_runs_is_their_table(form, tmp_path):
    (file := tmp_path / "runs.json").write_text(json.dumps(DOCUMENTS[form], indent=1))
    assert rows_of(file) == EXPECTED


@pytest.mark.parametrize("form", TEXTS)
def test_a_text_of_runs_is_their_table(form, tmp_path):
    (file := tmp_path / "runs.txt").write_text(TEXTS[form])
    assert rows_of(file) == EXPECTED


def test_a_large_document_is_told_by_its_beginning(tmp_path):
    rows = [{**r, "remark": "x" * 300} for r in RUNS for _ in range(300)]
    (file := tmp_path / "a.json").write_text(json.dumps({"meta": {"app": "lbm"}, "runs": rows}))
    assert len(read(file)) == 900
    many = {k: v * 9000 for k, v in COLUMNS.items()}
    (file := tmp_path / "b.json").write_text(json.dumps(many))
    assert len(read(file)) == 27000


def test_runs_of_several_programs_under_their_names_keep_these(tmp_path):
    (file := tmp_path / "runs.json").write_text(json.dumps({"lbm": RUNS, "wrf": RUNS[:2]}))
    assert read(file).frame["app"].to_list() == ["lbm"] * 3 + ["wrf"] * 2
    (file := tmp_path / "two.json").write_text(
        json.dumps({"a": RUNS, "b": [{"x": 1, "power_w": 2}] * 2})
    )
    with pytest.raises(DataError, match="several tables of runs, got a, b"):
        read(file)


def test_a_run_with_a_list_of_its_steps_stays_one_run(tmp_path):
    run = {"nodes": 4, "time_s": 9.0, "energy_J": 800, "steps": [{"ms": 1}, {"ms": 2}]}
    (file := tmp_path / "run.json").write_text(json.dumps(run))
    assert read(file).frame.select("nodes", "runtime_s").rows() == [(4, 9.0)]


def test_the_log_of_a_scheduler_stays_one(tmp_path):
    (file := tmp_path / "jobs.json").write_text(
        json.dumps({"meta": {}, "errors": [], "jobs": [{}]})
    )
    assert guess_format(file) == "sacct-json"


def test_pairs_within_cells_are_no_lines_of_pairs(tmp_path):
    (file := tmp_path / "runs.csv").write_text(
        "nodes,args,time_s\n1,a=1 time=2,9\n2,a=1 time=3,5\n"
    )
    assert read(file).frame["runtime_s"].to_list() == [9, 5]


def test_headings_in_a_comment_that_is_not_the_last_are_found(tmp_path):
    (file := tmp_path / "osu.txt").write_text(
        "\n# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n# Datatype: MPI_CHAR.\n"
        "1                       1.31\n2                       1.30\n1024                    2.11\n"
    )
    frame = read(file).frame
    assert frame["Size"].to_list() == [1, 2, 1024]
    assert frame["runtime_s"].to_list() == pytest.approx([1.31e-6, 1.30e-6, 2.11e-6])


def test_words_for_what_was_not_measured_leave_a_column_of_numbers(tmp_path):
    (file := tmp_path / "runs.csv").write_text(
        "nodes,batch,time_s,energy_kJ\n1,8,OOM,OOM\n1,4,100,50\n2,8,55,-\n4,4,did not run,n.a.\n"
        "4,8,timeout,N/A\n8,8,20,80\n"
    )
    runs = read(file)
    assert runs.frame["energy_j"].to_list() == [None, 50e3, None, None, None, 80e3]
    assert runs.frame["state"].to_list() == ["OOM", None, None, None, "TIMEOUT", None]
    said = {n.message: n.rows for n in runs.notes}
    assert said["time_s: not a number, null: OOM, did not run, timeout"] == (0, 3, 4)
    assert said["energy_kJ: not a number, null: OOM, n.a."] == (0, 3)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("JOBID   USER    STAT  QUEUE      FROM_HOST\n1004    u1   RUN   normal   a\n", "bjobs"),
     ("Job id            Name             User    Time Use S Queue\n---- --- ---\n", "qstat"),
     ("NAME    COMPLETIONS   DURATION   AGE\npi      1/1           27s        3h\n", "kubectl get"),
     ("  JOBID PARTITION  NAME  USER ST  TIME  NODES NODELIST(REASON)\n 1 b s a R 1:02 4 n1\n", "squeue"),
     ("PSU1 Power | 120.000 | Watts | ok | na | na\nFan | 3000.0 | RPM | ok | na | na\n",
      "ipmitool sensor")],
)  # fmt: skip
def test_a_list_of_the_moment_is_named_with_what_to_export(text, kind, tmp_path):
    (file := tmp_path / "list.txt").write_text(text)
    with pytest.raises(FileKindError, match=f"list of this moment by {kind}: .* Export "):
        read(file)


def test_readings_of_ipmitool_are_samples(tmp_path):
    text = "".join(
        f"    Instantaneous power reading:  {w} Watts\n    Minimum during sampling period: 9 Watts\n"
        f"    Average power reading over sample period: 210 Watts\n"
        f"    IPMI timestamp:   Fri May  1 12:00:{10 * i:02d} 2026\n"
        for i, w in enumerate((220, 240, 260))
    )
    (file := tmp_path / "dcmi.txt").write_text(text)
    assert read(file).frame.select("runtime_s", "energy_j").rows() == [(20.0, 4800.0)]
    (file := tmp_path / "pdsh.txt").write_text(
        "".join(f"{n}: {line}\n" for n in ("n1", "n2") for line in text.splitlines())
    )
    assert read(file).frame["device"].to_list() == ["n1", "n2"]


SACCT = ("JobID|JobName|User|State|Submit|Start|End|NNodes|NCPUS|ElapsedRaw|ConsumedEnergyRaw\n"
         "7|x|u|COMPLETED|2026-05-01T10:00:00|2026-05-01T10:00:00|2026-05-01T10:01:00|1|8|60|900\n"
         )  # fmt: skip
DCGM = "".join(f"2026/11/03 23:58:{30 + i}.000, 0, A100, 93.00 W\n" for i in range(9))


@pytest.mark.parametrize(
    ("text", "format"),
    [(SACCT, "sacct"), ("timestamp, index, name, power.draw [W]\n" + DCGM, "power-samples"),
     ("".join(json.dumps(r) + "\n" for r in RUNS), "runs"), (json.dumps({"results": RUNS}), "runs")],
)  # fmt: skip
def test_a_byte_order_mark_changes_nothing(text, format, tmp_path):
    (plain := tmp_path / "plain.txt").write_bytes(text.encode())
    (marked := tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert guess_format(marked) == guess_format(plain) == format
    assert read(marked).frame.equals(read(plain).frame)


def test_a_clock_beside_watts_and_a_counter_is_of_samples(tmp_path):
    (file := tmp_path / "plug.csv").write_text(
        "Time,Power (W),Total energy (kWh)\n"
        + "".join(
            f"09/14/2026 11:15:{k:02d} AM,{60 + k},{812.4 + k / 1e3}\n" for k in range(0, 60, 5)
        )
    )
    runs = read(file)
    assert runs.frame.select("runtime_s", "energy_j").rows() == [(55.0, 55 * 87.5)]
    assert any("counts on: not used beside Power" in n.message for n in runs.notes)


def test_a_gap_leaves_what_is_known_around_it(tmp_path):
    clock = [*range(30), *range(60, 90)]
    (file := tmp_path / "power.csv").write_text(
        "time_s,power_W\n" + "".join(f"{t},100\n" for t in clock)
    )
    runs = read(file)
    assert runs.frame.get_column("energy_j", default=None) is None
    said = next(n.message for n in runs.notes if "without samples" in n.message)
    assert "5800 J, 100 W in the other 58 s" in said
    assert "8900 J with a straight line" in said


def test_a_size_that_is_the_same_in_all_rows_is_known_before_they_run(tmp_path):
    (file := tmp_path / "runs.csv").write_text("size_GB,nodes,time_s\n4.7,1,9\n4.7,2,5\n")
    assert read(file).schema["size_b"].known is rh.Moment.SUBMIT


def test_a_table_of_speeds_alone_is_told_what_to_type(tmp_path):
    (file := tmp_path / "bw.txt").write_text(
        "# Size      Bandwidth (MB/s)\n1   3.52\n2    7.10\n4   14\n"
    )
    with pytest.raises(DataError, match=r"a speed\? --column runtime_s='1/Bandwidth \(MB/s\)'"):
        read(file)
    times = read(file, options={"columns": {"runtime_s": "1/Bandwidth (MB/s)"}}).frame["runtime_s"]
    assert times.to_list() == pytest.approx([1 / 3.52, 1 / 7.1, 1 / 14])


@pytest.mark.parametrize("tag", ["[2026-03-01 10:00:00]", "[INFO]", "[12.5] [node01]"])
def test_a_log_with_brackets_before_its_lines_is_no_json(tmp_path, tag):
    file = tmp_path / "runs.log"
    lines = [
        f"{tag} run finished: nodes={n} time={t} s power=345 W" for n, t in ((1, 252), (2, 132))
    ]
    file.write_text("\n".join(lines) + "\n")
    assert read(file).frame["runtime_s"].to_list() == [252.0, 132.0]


def test_damaged_json_is_still_told_as_json(tmp_path):
    (file := tmp_path / "runs.json").write_text('[ {"nodes": 1, "time_s": 9} {"nodes": 2}]')
    with pytest.raises(DataError, match="list of objects as JSON"):
        read(file, "runs")


def _each(row: str, head: str = "", end: str = "") -> str:
    rows = [row.format(n=n, s=s, kj=kj) for n, s, kj in ((1, 90, 20), (2, 50, 24), (4, 30, 28))]
    return "\n".join([head, *rows, end]) + "\n"


LAID_OUT = {
    "yaml": _each("- nodes: {n}  # of 8\n  time_s: {s}\n  energy_kj: {kj}"),
    "yaml below a name": _each("  - nodes: {n}\n    time_s: {s}\n    energy_kj: {kj}", "runs:"),
    "latex": _each(
        r"{n} & ${s}$ & \textbf{{{kj}}} \\ \hline",
        "\\begin{table}\\centering\n\\begin{tabular}{rrr}\n\\toprule\n"
        r"nodes & time (s) & energy (kJ) \\" + "\n\\midrule",
        "\\bottomrule\n\\end{tabular}\n\\caption{Runs & more}\n\\end{table}",
    ),
}


@pytest.mark.parametrize("form", LAID_OUT)
def test_lists_of_yaml_and_tables_of_latex_are_read_as_rows(tmp_path, form):
    (file := tmp_path / "runs").write_text(LAID_OUT[form].lstrip("\n"))
    jobs = read(file)
    assert jobs.frame.select("nodes", "runtime_s", "energy_j").rows() == [
        (1, 90.0, 20e3), (2, 50.0, 24e3), (4, 30.0, 28e3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [
        "- config: {nodes: 1}\n  result: {time_s: 9, energy_kj: 2}\n",
        "- config:\n    nodes: 1\n  time_s: 9\n  energy_kj: 2\n",
        "- app: lbm\n  runs:\n  - nodes: 1\n    time_s: 9\n",
    ],
)
def test_yaml_of_mappings_in_mappings_is_named_with_what_makes_it_json(tmp_path, rows):
    (file := tmp_path / "runs.yaml").write_text(rows * 3)
    with pytest.raises(FileKindError, match=r"YAML list.*yaml\.safe_load.*< FILE > runs\.json"):
        read(file)
