"""``simulate`` and ``compare --policies``: tables, documents, files, and errors before any work."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from rheostat.cli import run
from rheostat.core.vocabulary import table
from rheostat.measurement.job_logs.swf import write_swf
from rheostat.measurement.synthetic.world import World

PROCS = 16


def write(path, seed, n=250):
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 250 * n, n)).astype(float)
    run_s = rng.integers(1, 4000, n).astype(float)
    columns = {
        "job_id": np.arange(100, 100 + n),
        "submit_s": submit,
        "runtime_s": run_s,
        "cores": rng.integers(1, PROCS + 1, n),
        "time_limit_s": run_s * rng.integers(1, 4, n),
        "user": [str(u) for u in rng.integers(1, 9, n)],
    }
    write_swf(table(columns), path, [f"MaxProcs: {PROCS}"])
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write(tmp_path_factory.mktemp("trace") / "site.swf", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("traces")
    for seed, name in enumerate(("one", "two", "three")):
        write(path / f"{name}.swf", seed)
    return path


def told(capsys, *argv):
    capsys.readouterr()
    code = run([str(a) for a in argv])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_json_has_an_object_per_policy_and_what_the_engine_did(trace, capsys):
    code, out, _ = told(capsys, "simulate", trace, "--policy", "easy", "--policy", "sjf+easy",
                        "--json")  # fmt: skip
    value = json.loads(out)
    assert code == 0
    assert value["schema"] == "rheostat.simulate/1"
    assert list(value["policies"]) == ["easy", "sjf+easy"]
    assert value["engine"]["jobs_per_cpu_s"] > 0
    assert value["engine"]["clairvoyant"] is False
    assert value["policies"]["easy"]["paired"] is None
    pair = value["policies"]["sjf+easy"]["paired"]
    assert pair["against"] == "easy"
    assert pair["wait_s"]["low"] <= pair["wait_s"]["difference"] <= pair["wait_s"]["high"]
    for name in ("by_size", "by_length", "by_user"):
        assert sum(g["jobs"] for g in value["policies"]["easy"][name]) == 250
    assert value["policies"]["sjf+easy"]["gains"]["users"] == 8


@pytest.mark.parametrize("flag", [["--semantics", "cqsim"], ["--estimates", "perfect"]])
def test_plans_that_know_the_future_say_so_everywhere(trace, capsys, flag):
    value = json.loads(told(capsys, "simulate", trace, *flag, "--json")[1])
    assert value["engine"]["clairvoyant"] is True
    assert value["policies"]["easy"]["clairvoyant"] is True


def test_what_becomes_of_overdue_jobs_is_a_switch_and_is_said(trace, capsys):
    def run(*flags):
        value = json.loads(told(capsys, "simulate", trace, *flags, "--json")[1])
        return value["planning"]["overdue"], value["policies"]["easy"]["wait_s"]["mean"]

    assert run() == run("--overdue", "past")
    assert [run("--overdue", how)[0] for how in ("now", "extend")] == ["now", "extend"]
    assert run("--estimates", "last2") == run("--estimates", "last2", "--overdue", "extend")
    assert run("--estimates", "last2", "--overdue", "past")[1] != run("--estimates", "last2")[1]


def test_a_table_in_a_pipe_has_base_units_and_one_line_per_policy(trace, capsys):
    out = told(capsys, "simulate", trace, "--policy", "fcfs", "--policy", "easy")[1]
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert [r["policy"] for r in rows] == ["fcfs", "easy"]
    assert float(rows[0]["wait"]) >= float(rows[1]["wait"])
    assert rows[0]["wait change"] == ""
    assert -1 < float(rows[1]["wait change_low"]) <= float(rows[1]["wait change"]) < 0


def test_on_a_terminal_the_table_is_words_within_the_width(trace, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "90")
    out = told(capsys, "simulate", trace, "--policy", "easy", "--policy", "saf+easy")[1]
    assert "250 jobs on 16 processors." in out
    assert "Planned with what was known at submission only." in out
    assert "Job by job against easy" in out
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in out.splitlines()) <= 90


def test_schedules_are_one_file_per_policy_with_the_numbers_of_the_trace(trace, capsys, tmp_path):
    told(capsys, "simulate", trace, "--schedule", tmp_path / "deep" / "one.csv")
    one = pl.read_csv(tmp_path / "deep" / "one.csv")
    assert one.columns == ["job_id", "submit_s", "start_s", "end_s", "procs"]
    assert one["job_id"].to_list() == list(range(100, 350))
    assert all(t.is_integer() for t in one.dtypes)
    policies = ["--policy", "easy", "--policy", "sjf+easy"]
    err = told(capsys, "simulate", trace, *policies, "--schedule", tmp_path / "all.csv")[2]
    assert pl.read_csv(tmp_path / "all.easy.csv").equals(one)
    assert (tmp_path / "all.sjf+easy.csv").exists()
    assert "all.sjf+easy.csv" in err


def test_the_same_seed_gives_the_same_bytes(trace, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    pages = []
    for _ in range(2):
        flags = ["--policy", "easy", "--policy", "fcfs", "--seed", "3"]
        told(capsys, "simulate", trace, *flags, "--html", tmp_path / "a.html")
        pages.append((tmp_path / "a.html").read_bytes())
    assert pages[0] == pages[1]
    assert len(pages[0]) < 2.5e6
    assert b"Gantt chart" in pages[0]


def test_a_policy_that_is_named_twice_is_run_once(trace, capsys):
    out = told(capsys, "simulate", trace, "--policy", "easy", "--policy", "easy", "--json")[1]
    assert list(json.loads(out)["policies"]) == ["easy"]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["simulate"], 2, "Missing argument"),
        (["simulate", "nowhere.swf"], 1, "nowhere.swf: no such file"),
        (["simulate", "{trace}", "--policy", "best"], 1, "policy best: expected one of: fcfs"),
        (["simulate", "{trace}", "--policy", "sjf+magic"], 1, "expected easy or conservative"),
        (["simulate", "{trace}", "--semantics", "a", "--ties", "b"], 1, "ties: expected one of"),
        (["simulate", "{trace}", "--overdue", "soon"], 1, "overdue: expected one of past, now, ex"),
        (["compare", "--policies", "easy", "--traces", "{folder}", "--overdue", "soon"], 1,
         "overdue: expected one of past, now, ex"),
        (["simulate", "{trace}", "--estimates", "guess"], 1, "estimates guess: expected user"),
        (["compare"], 2, "Missing argument 'FILE'"),
        (["compare", "--policies", "easy"], 2, "takes its traces from --traces"),
        (["compare", "--policies", "bad,worse", "--traces", "{folder}"], 1, "policy bad: expected"),
        (["compare", "--policies", "easy", "--traces", "nowhere"], 1, "neither a file nor a"),
        (["compare", "--policies", "easy", "--traces", "{folder}", "--fitted", "easy=x"], 1,
         "trace x is not among one, three, two"),
        (["compare", "--policies", "easy", "--traces", "{folder}", "--fitted", "sjf=one"], 1,
         "policy sjf is not among easy"),
        (["compare", "--policies", "easy", "--traces", "{folder}", "--dask", "local", "--slurm",
          "q"], 1, "give one of them"),
        (["compare", "--policies", "easy", "--traces", "{folder}", "--test-fraction", "2"], 2,
         "--test-fraction"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(argv, code, said, trace, folder, capsys):
    named = [a.format(trace=trace, folder=folder) for a in argv]
    found, out, err = told(capsys, *named)
    assert found == code
    assert said in " ".join(re.sub(r"[│╭╮╰╯─]", "", err).split())
    assert not out


@pytest.mark.parametrize(("early", "late"), [(0, 1), (0, 9), (2, 7)])
def test_a_trace_without_later_jobs_is_refused_with_what_to_do(early, late, tmp_path, capsys):
    path = tmp_path / "together.csv"
    jobs = early + late
    rows = [f"{k},{0 if k < early else 500},60,2,90" for k in range(jobs)]
    path.write_text("\n".join(["job_id,submit_s,runtime_s,cores,time_limit_s", *rows]) + "\n")
    argv = ["compare", "--policies", "easy", "--traces", path, "--machine", 8]
    argv += ["--heuristics", "easy,sjf+easy", "--processes", 1]
    code, _, err = told(capsys, *argv)
    assert code == 1
    assert f"{late} of {jobs} jobs): give --test-fraction 1" in err
    assert told(capsys, *argv, "--test-fraction", 1)[0] == 0


def compare(folder, *more):
    return ["compare", "--policies", "saf+easy,easy", "--heuristics", "easy,sjf+easy",
            "--traces", folder, "--processes", 1, *more]  # fmt: skip


def test_policies_on_traces_are_judged_and_nothing_is_claimed_that_fails(folder, capsys, tmp_path):
    page = tmp_path / "c.html"
    code, out, _ = told(capsys, *compare(folder, "--json", "--html", page))
    value = json.loads(out)
    assert code == 0
    assert value["schema"] == "rheostat.compare-policies/1"
    assert set(value["traces"]) == {"one", "two", "three"}
    assert set(value["policies"]) == {"saf+easy", "easy"}
    easy = value["policies"]["easy"]
    assert easy["whole"]["ratio"] >= 1
    assert easy["claim"] is None
    assert {g["gate"] for g in easy["gates"]} == {"unseen", "better", "later", "max wait", "known"}
    assert "every run" in page.read_text().lower()


def test_in_a_pipe_every_run_is_a_line_and_claims_go_to_stderr(folder, capsys):
    _, out, err = told(capsys, *compare(folder))
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert len(rows) == 3 * 3
    assert {r["policy"] for r in rows} == {"saf+easy", "easy", "sjf+easy"}
    assert re.search(
        r"easy: \d[\d.]* times the slowdown of the best simple order, no claim. Failed", err
    )


def test_what_the_log_records_is_a_row_of_the_comparison(tmp_path, capsys):
    log = World(0, n_apps=4, n_users=12).jobs(120)
    log.write_parquet(tmp_path / "log.parquet")
    out = told(capsys, *compare(tmp_path))[1]
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert [r["policy"] for r in rows] == ["as logged", "saf+easy", "easy", "sjf+easy"]
    waits = log.numpy("start_s") - log.numpy("submit_s")
    assert float(rows[0]["wait"]) == pytest.approx(waits.mean())


def test_a_fitted_policy_is_judged_on_the_other_traces(folder, capsys):
    out = told(capsys, *compare(folder, "--fitted", "saf+easy=one,two.swf", "--json"))[1]
    mine = json.loads(out)["policies"]["saf+easy"]
    assert mine["fitted_on"] == ["one", "two"]
    assert list(mine["unseen"]["by_trace"]) == ["three"]
    assert mine["whole"]["traces"] == 3


def test_results_are_kept_and_a_second_run_says_the_same(folder, capsys, tmp_path):
    kept = tmp_path / "runs.jsonl"
    first = told(capsys, *compare(folder, "--results", kept, "--json"))[1]
    size = kept.stat().st_size
    again = told(capsys, *compare(folder, "--results", kept, "--json", "--processes", 2))[1]
    assert first == again
    assert kept.stat().st_size == size


@pytest.mark.slow
def test_a_later_start_loads_nothing_that_only_compiling_or_drawing_needs(trace):
    """The engine comes from disk; half of what a start would cost is loading numba's compiler."""
    compiling, drawing = ["scipy.linalg", "numba.typed.typeddict"], ["rich", "plotly", "jinja2"]
    heavy = [*compiling, *drawing, "sklearn", "torch"]
    code = (
        "import sys; from rheostat.cli import run; "
        f"run(['simulate', {str(trace)!r}, '--policy', 'easy', '--policy', 'sjf+easy']); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    for _ in range(2):  # the first may have to compile
        argv = [sys.executable, "-c", code]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_help_lists_every_order_and_orders_says_what_each_means(capsys):
    from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS

    words = re.sub(r"[^\w:]+", " ", told(capsys, "simulate", "--help")[1]).split()
    assert [name for name in PRIORITY_FUNCTIONS if name not in words] == []
    code, out, _ = told(capsys, "simulate", "--orders")
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert code == 0
    assert {r["order"]: r["meaning"] for r in rows} == {
        o.name: o.meaning for o in PRIORITY_FUNCTIONS.values()
    }


def test_ours_and_easy_stand_in_one_table_under_one_convention(trace, capsys):
    def easy(*flags):
        value = json.loads(told(capsys, "simulate", trace, "--policy", "easy", *flags, "--json")[1])
        return value["planning"]["overdue"], value["policies"]["easy"]["wait_s"]

    beside = easy("--policy", "agent:ours")
    assert beside == easy("--overdue", "extend")
    assert beside == easy("--policy", "agent:ours", "--overdue", "extend")
    assert easy("--policy", "agent:ours", "--overdue", "past") == easy()


def test_a_machine_on_which_nobody_waits_is_told(trace, capsys):
    page = trace.with_name("w.html")
    code, _, err = told(capsys, "simulate", trace, "--machine", "65536", "--html", page)
    assert code == 0
    assert err.count("Nobody waits, whatever the policy") == 1
    value = json.loads(told(capsys, "simulate", trace, "--machine", "65536", "--json")[1])
    assert value["nobody_waits"].startswith("Nobody waits, whatever the policy: of 65,536")
    assert page.read_text().count("Nobody waits, whatever") == 1
    assert json.loads(told(capsys, "simulate", trace, "--json")[1])["nobody_waits"] is None


def test_the_log_is_a_row_where_waits_are_recorded(tmp_path, capsys):
    log = World(0, n_apps=4, n_users=12).jobs(120)
    log.write_parquet(tmp_path / "log.parquet")
    code, out, err = told(capsys, "simulate", tmp_path / "log.parquet")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert [r["policy"] for r in rows] == ["as logged", "easy"]
    waits = log.numpy("start_s") - log.numpy("submit_s")
    assert float(rows[0]["wait"]) == pytest.approx(waits.mean())
    assert "no machine given" in err


def test_a_pipe_says_how_near_the_simulation_is_to_the_log(tmp_path, capsys):
    """A log whose waits are those of EASY itself is one that the simulation may speak for."""
    trace, starts = write(tmp_path / "site.swf", 5), tmp_path / "starts.csv"
    run(["simulate", str(trace), "--policy", "easy", "--schedule", str(starts)])
    code, out, err = told(capsys, "simulate", starts, "--policy", "easy", "--machine", PROCS)
    assert code == 0
    assert "close to the log" not in out
    assert "Against the waits logged, easy is close to the log" in " ".join(err.split())
