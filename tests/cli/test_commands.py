"""Exit codes, one JSON document, results on stdout alone, tables as TSV in pipes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys

import polars as pl
import pytest
from typer.main import get_command

from rheostat.cli import run
from rheostat.cli.app import app
from rheostat.core.jobs import JobTable

JOB = "1000490"
WITHOUT_DOCUMENT = {
    "budget run", "budget restore", "budget slurm", "budget demo", "network serve",
}  # fmt: skip
TREE = get_command(app).commands
COMMANDS = {f"{n} {k}" for n, group in TREE.items() for k in getattr(group, "commands", {})}
COMMANDS |= {name for name, command in TREE.items() if not hasattr(command, "commands")}


def told(capsys, *argv):
    """(exit code, stdout, stderr) of a command."""
    capsys.readouterr()
    code = run([str(a) for a in argv])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.fixture
def front(log, model):
    return ["front", log, "--job", JOB, "--model", model, "--knob", "nodes=1..64"]


@pytest.mark.parametrize("name", sorted(COMMANDS - WITHOUT_DOCUMENT))
def test_every_command_has_help(name, capsys):
    code, out, _ = told(capsys, *name.split(), "--help")
    assert code == 0
    assert name in out
    assert "--json" in out


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["front"], 2, "Missing argument"),
        (["front", "x.csv", "--nonsense"], 2, "No such option"),
        (["nonsense"], 2, "No such command"),
        (["demo", "--jobs", "3"], 2, "200"),
        (["read", "no_such_file.parquet"], 1, "no_such_file.parquet"),
        (["predict", "no_such.csv", "--model", "no_such.rheo"], 1, "no_such"),
        (["--version"], 0, ""),
    ],
)
def test_exit_codes(argv, code, message, capsys):
    found, out, err = told(capsys, *argv)
    assert found == code
    assert message in err
    assert not (code and out)


def test_no_feasible_setting_is_exit_3_and_names_the_nearest(front, capsys):
    code, _, err = told(capsys, *front, "--within", "deadline=1s")
    assert code == 3
    assert re.search(r"no setting meets .* nearest is nodes=\d+", err)
    code, out, _ = told(capsys, *front, "--within", "deadline=1s", "--json")
    value = json.loads(out)
    assert code == 3
    assert value["feasible"] is False
    assert value["choice"] is None
    assert set(value["nearest"]) == {"nodes"}


def test_front_json_is_one_document_with_intervals(front, capsys):
    code, out, _ = told(capsys, *front, "--json")
    value = json.loads(out)
    assert code == 0
    assert value["schema"] == "rheostat.front/1"
    entry = next(e for e in value["front"] if e["on_front"])
    low, high = entry["intervals"]["energy_j"]
    assert low < high
    assert {"nodes", "runtime_s", "energy_j", "power_w", "probability", "support"} <= set(entry)
    assert value["choice"]["setting"]["nodes"] in {e["nodes"] for e in value["front"]}
    assert value["because"]["rule"] == "knee of the front"


def test_front_in_a_pipe_is_tab_separated_in_base_units(front, capsys):
    _, out, err = told(capsys, *front)
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert {"nodes", "runtime_s", "runtime_s_low", "energy_j_high", "on_front"} <= set(rows[0])
    assert sum(r["chosen"] == "True" for r in rows) == 1
    assert "asked for" in err


def test_same_seed_same_bytes(front, capsys):
    first = told(capsys, *front, "--json")[1]
    assert first == told(capsys, *front, "--json")[1]


def test_a_job_is_forecast_from_runs_that_had_ended_before_it(log, capsys, tmp_path):
    """Changing what happened later changes nothing."""
    jobs = JobTable.read_parquet(log)
    when = jobs.job(1000300).frame["submit_s"][0]
    later = jobs.frame["end_s"] > when
    poisoned = jobs.with_columns(
        (), runtime_s=pl.when(later).then(1e9).otherwise(pl.col("runtime_s"))
    )
    poisoned.write_parquet(tmp_path / "later.parquet")
    ask = ["--job", "1000300", "--kind", "lightgbm", "--knob", "nodes=1..8", "--json"]
    assert (
        told(capsys, "front", log, *ask)[1]
        == told(capsys, "front", tmp_path / "later.parquet", *ask)[1]
    )


def test_decide_advises_every_job_and_writes_all_formats(log, model, capsys, tmp_path):
    for name in ("a.csv", "a.parquet", "a.json", "a.tsv"):
        code, out, err = told(capsys, "decide", log, "--model", model, "--out", tmp_path / name)
        assert code == 0
        assert name in err
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert len(rows) == 500
    assert pl.read_csv(tmp_path / "a.csv").height == 500
    assert JobTable.read_parquet(tmp_path / "a.parquet").schema["energy_j_advised"].unit == "J"
    assert len(json.loads((tmp_path / "a.json").read_text())["jobs"]) == 500


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_jobs_that_have_yet_to_run_teach_nothing(command, tmp_path, capsys):
    waiting = tmp_path / "waiting.csv"
    rows = "".join(f"{i},cfd,{3600 * i},4\n" for i in range(60))
    waiting.write_text(f"job_id,app,submit_s,nodes\n{rows}")
    code, out, err = told(capsys, command, waiting)
    assert (code, out) == (1, "")
    assert "yet to run" in err


def test_decide_asks_the_log_and_saves_energy_at_a_tenth_more_runtime(log, capsys):
    code, out, err = told(capsys, "decide", log, "--json")
    value = json.loads(out)
    assert code == 0
    assert "Can this log answer?" in err
    assert value["rule"] == "least energy"
    assert value["constraints"] == ["at most 1.1 times the runtime as requested"]
    assert value["advised_settings_ran"] is False
    (varied,) = value["identification"]["variation"]
    assert 0 < varied["two_settings"] <= 1
    assert 0 <= varied["within"] <= 1
    assert 0 < value["accuracy"]["runtime_s"]["error"] < 1
    assert sum(value["evidence"].values()) == value["counts"]["advised"] > 0
    for job in value["jobs"]:
        if job["status"] == "advised":
            assert job["runtime_s_change"] <= 0.1
            assert job["energy_j_change"] <= 0
            shown = job["power_w_advised"] * job["runtime_s_advised"]
            assert shown == pytest.approx(job["energy_j_advised"], rel=1e-6)
    wider = json.loads(told(capsys, "decide", log, "--slowdown", "50", "--json")[1])
    assert "1.5 times" in wider["constraints"][0]


def test_decide_json_counts_add_up(log, model, capsys):
    _, out, _ = told(capsys, "decide", log, "--model", model, "--within", "slowdown=1.1", "--json")
    value = json.loads(out)
    assert value["schema"] == "rheostat.decide/1"
    assert sum(value["counts"].values()) == len(value["jobs"]) == 500
    for job in value["jobs"]:
        if job["status"] == "advised" and job["runtime_s_change"] is not None:
            assert job["runtime_s_change_low"] <= 0.1 + 1e-9
    assert "as requested" in value["constraints"][0]


def test_decide_says_when_the_forecast_has_seen_the_jobs(log, capsys):
    _, out, err = told(capsys, "decide", log, "--kind", "lightgbm", "--json")
    assert json.loads(out)["learnt_from_these_jobs"] is True
    assert "has learnt from these jobs" in err


def test_an_unknown_ending_is_wrong_usage_before_any_work(log, capsys):
    assert told(capsys, "decide", log, "--out", "advice.xlsx")[0] == 2


def test_predict_gives_every_job_an_interval(log, model, capsys):
    _, out, _ = told(capsys, "predict", log, "--model", model, "--json")
    jobs = json.loads(out)["jobs"]
    assert len(jobs) == 500
    known = [j for j in jobs if j["runtime_s"] is not None]
    assert known
    assert all(j["intervals"]["runtime_s"][0] < j["intervals"]["runtime_s"][1] for j in known)


def test_backtest_says_what_is_predicted_and_not_measured(log, capsys, tmp_path):
    page = tmp_path / "b.html"
    code, out, _ = told(capsys, "backtest", log, "--kind", "lightgbm", "--html", page)
    assert code == 0
    assert "These changes are predictions: the advised settings never ran." in " ".join(out.split())
    assert page.stat().st_size > 1e6
    value = json.loads(told(capsys, "backtest", log, "--kind", "lightgbm", "--json")[1])
    assert value["schema"] == "rheostat.backtest/1"
    assert value["true"] is None
    assert 0 < value["accuracy"]["runtime_s"]["coverage"] <= 1


def test_compare_puts_methods_side_by_side(log, capsys):
    code, out, err = told(capsys, "compare", log, "--kinds", "lightgbm,xgboost", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0
    trivial = {"mean", "median", "user last two", "user neighbours"}
    assert {r["method"] for r in rows} == {"lightgbm", "xgboost", *trivial}
    error = {r["method"]: r["median_abs_log_error"]["value"] for r in rows
             if (r["quantity"], r["group"]) == ("runtime_s", "all")}  # fmt: skip
    assert error["lightgbm"] < min(error[m] for m in trivial)
    assert "learnt in" in err
    assert not any("fit_s" in r for r in rows)


def test_fit_marks_the_model_on_jobs_it_has_not_seen(log, capsys, tmp_path):
    path = tmp_path / "m.rheo"
    _, out, _ = told(capsys, "fit", log, "--kind", "lightgbm", "--out", path, "--json")
    value = json.loads(out)
    assert value["schema"] == "rheostat.fit/1"
    assert value["accuracy"]["power_w"]["rows"] > 50
    assert path.exists()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A rheostat as pip would record it, from a checkout, with two extras and both together."""
    info = tmp_path / "rheostat-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: rheostat\nVersion: 9.9\n"
        "Requires-Dist: numpy>=2\n"
        "Provides-Extra: near\nRequires-Dist: no-such-library>=3; extra == 'near'\n"
        "Provides-Extra: old\nRequires-Dist: typer>=999; extra == 'old'\n"
        "Provides-Extra: there\nRequires-Dist: rich>=1; extra == 'there'\n"
        "Provides-Extra: all\nRequires-Dist: rheostat[near,old]; extra == 'all'\n"
    )
    origin = {"url": "file:///srv/the%20checkout", "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed")
def test_doctor_reads_extras_from_the_metadata_and_says_what_works_from_a_checkout(capsys):
    value = json.loads(told(capsys, "doctor", "--json")[1])
    assert value["schema"] == "rheostat.doctor/1"
    assert value["versions"]["rheostat"] == "9.9"
    assert "numpy" in value["versions"]
    extras = value["extras"]
    assert list(extras) == ["near", "old", "there", "all"]
    assert extras["there"] == {"present": True, "missing": [], "install": None}
    assert extras["near"]["missing"] == ["no-such-library"]
    assert extras["near"]["install"] == "pip install -e '/srv/the checkout[near]'"
    assert extras["old"]["missing"][0].startswith("typer >=999 (here: ")
    assert extras["all"]["missing"] == extras["near"]["missing"] + extras["old"]["missing"]


def test_the_metadata_has_every_extra_of_the_project():
    import tomllib
    from pathlib import Path

    from rheostat.cli.doctor import required

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    told = set(required())
    if not told:
        pytest.skip("rheostat is run from its sources and is not installed")
    assert told <= set(project["optional-dependencies"])
    assert {"trees", "train", "exact", "zeus", "all"} <= told


def test_a_missing_library_is_named_with_a_command_that_works_from_a_checkout(installed):
    from rheostat._optional import require
    from rheostat.errors import MissingExtra

    with pytest.raises(MissingExtra, match=r"pip install -e '/srv/the checkout\[search\]'"):
        require("no_such_module", "search")


def test_the_shell_completes_commands_and_options():
    def completed(words, at):
        asked = {"_RHEOSTAT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        code = "from rheostat.cli import main; main()"
        argv = [sys.executable, "-c", code]
        done = subprocess.run(
            argv, env={**os.environ, **asked}, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert completed("rheostat sim", 1) == ["simulate"]
    assert completed("rheostat simulate --pol", 2) == ["--policy"]


def test_meters_come_with_the_reason_why_not(capsys):
    value = json.loads(told(capsys, "doctor", "--json")[1])
    for meter in value["meters"].values():
        assert meter["available"] == (meter["why"] is None)
    assert "cache" in value["folders"]


def test_read_prints_range_and_median_of_every_number(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    path.write_text("app,nodes,runtime_s,power_w\na,1,100,40\nb,16,300,\nb,4,7200,60\n")
    columns = json.loads(told(capsys, "read", path, "--json")[1])["columns"]
    found = {c["column"]: (c["min"], c["median"], c["max"]) for c in columns}
    assert found["nodes"] == (1, 4, 16)
    assert found["runtime_s"] == (100, 300, 7200)
    assert found["power_w"] == (40, 50, 60)
    assert found["app"] == (None, None, None)
    rows = list(csv.DictReader(io.StringIO(told(capsys, "read", path)[1]), delimiter="\t"))
    assert {r["column"]: r["median"] for r in rows}["runtime_s"] == "300.0"


def test_doctor_finds_a_counter_and_says_why_a_closed_one_is_closed(tmp_path):
    from rheostat.cli.doctor import rapl

    assert "no energy counter" in rapl(tmp_path)
    counter = tmp_path / "intel-rapl:0" / "energy_uj"
    counter.parent.mkdir()
    counter.write_text("1")
    assert rapl(tmp_path) == ""


SPACE = '[knobs]\nnodes = [1, 2, 4, 8, 16, 32]\nmode = ["a", "b"]\n'
RUN = """echo '{{"runtime_s": 2.5, "power_w": {nodes}00}}'"""


@pytest.fixture
def space(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(SPACE)
    return path


def test_search_measures_a_command_and_continues_its_journal(space, capsys, tmp_path):
    ask = [
        "search",
        space,
        "--measure",
        RUN,
        "--method",
        "sobol",
        "--journal",
        tmp_path / "j.jsonl",
    ]
    code, out, _ = told(capsys, *ask, "--budget", "3", "--json")
    first = json.loads(out)
    assert code == 0
    assert first["evaluations"] == 3
    assert all(e["energy_j"] == pytest.approx(250 * e["nodes"]) for e in first["front"])
    more = json.loads(told(capsys, *ask, "--budget", "5", "--json")[1])
    assert [e["nodes"] for e in more["front"]][:3] == [e["nodes"] for e in first["front"]]
    assert more["evaluations"] == 5


def test_search_notes_runs_that_fail_and_goes_on(space, capsys):
    fails = "test {nodes} -lt 8 && echo " + '\'{{"runtime_s": {nodes}, "power_w": 7}}\''
    code, out, err = told(
        capsys,
        "search",
        space,
        "--measure",
        fails,
        "--method",
        "exhaustive",
        "--budget",
        "12",
        "--json",
    )
    value = json.loads(out)
    assert code == 0
    assert sum(e["runtime_s"] is None for e in value["front"]) == 6
    assert "ended with status" in err
    assert value["choice"]["setting"]["nodes"] == 1


def test_search_of_runs_that_all_fail_says_so(space, capsys):
    code, out, err = told(capsys, "search", space, "--measure", "false", "--method", "sobol",
                          "--budget", "2", "--json")  # fmt: skip
    assert code == 3
    assert "false: ended with status 1" in err
    assert json.loads(out)["choice"] is None


def test_search_says_what_the_command_should_have_printed(space, capsys):
    code, _, err = told(capsys, "search", space, "--measure", "echo 3", "--method", "sobol")
    assert code == 1
    assert "energy_j" in err
    assert "JSON object" in err


def test_search_without_a_meter_says_before_the_first_run_what_works(space, capsys, tmp_path):
    ask = ["search", space, "--measure", "echo 0.{nodes}5", "--budget", "4", "--json"]
    code, _, err = told(capsys, *ask)
    assert code == 1
    first, last = err.index("--objectives runtime_s,node_hours"), err.index("the command gave")
    assert first < last
    code, out, err = told(capsys, *ask, "--objectives", "runtime_s,node_hours")
    assert code == 0
    assert "nothing here reads energy" not in err
    assert all(e["node_hours"] == pytest.approx(e["nodes"] * e["runtime_s"] / 3600)
               for e in json.loads(out)["front"])  # fmt: skip
    runs, model = tmp_path / "runs.csv", tmp_path / "power.rheo"
    rows = [f"{n},{100 / n},{200 * n}" for n in (1, 2, 4, 8, 16, 32) for _ in range(5)]
    runs.write_text("nodes,runtime_s,power_w\n" + "\n".join(rows))
    assert told(capsys, "fit", runs, "--out", model)[0] == 0
    code, out, err = told(capsys, *ask, "--power-model", model)
    assert code == 0, err
    assert "power is predicted by the model" in err
    assert all(e["energy_j"] > 0 for e in json.loads(out)["front"])


def test_options_may_come_from_the_environment_and_a_file(front, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("RHEOSTAT_FRONT_RULE", "weighted=energy_j:1")
    assert json.loads(told(capsys, *front, "--json")[1])["because"]["rule"] == "least energy"
    monkeypatch.delenv("RHEOSTAT_FRONT_RULE")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rheostat.toml").write_text('[front]\nrule = "weighted=runtime_s:1"\n')
    assert json.loads(told(capsys, *front, "--json")[1])["because"]["rule"] == "least runtime"
    flag = told(capsys, *front, "--rule", "knee", "--json")[1]
    assert json.loads(flag)["because"]["rule"] == "knee of the front"


@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_of_80_columns_gets_a_table_and_honours_no_color(front, colour, tmp_path):
    """Run under a pseudo-terminal, as a person would."""
    env = os.environ | {"COLUMNS": "80", "TERM": "xterm", "HOME": str(tmp_path)}
    env.pop("NO_COLOR", None)
    if not colour:
        env["NO_COLOR"] = "1"
    spawn = "pty.spawn([sys.executable, '-m', 'rheostat', *sys.argv[1:]])"
    code = f"import pty, sys; sys.exit({spawn} >> 8)"
    argv = [sys.executable, "-c", code, *map(str, front)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    text = done.stdout
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", text)) == colour
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")
    assert max(len(x) for x in plain.splitlines()) <= 80
    assert "knee" in plain
    assert "◆" in plain


def test_a_table_of_runs_of_one_code_has_a_front_without_a_job(tmp_path, capsys):
    runs = tmp_path / "runs.csv"
    rows = [(1, 400.0, 0.3), (2, 210.0, 0.6), (4, 115.0, 1.2), (8, 120.0, 2.5)]
    runs.write_text("nodes,wall_s,power_kW\n" + "".join(f"{n},{s},{p}\n" for n, s, p in rows))
    code, out, _ = told(capsys, "front", runs, "--knob", "nodes=1,2,4,8", "--json")
    facts = json.loads(out)
    assert (code, facts["requested"]) == (0, None)
    code, out, _ = told(capsys, "front", runs, "--knob", "nodes=1,2,4,8")
    table = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert [float(r["runtime_s"]) for r in table] == [400.0, 210.0, 115.0, 120.0]
    assert [r["on_front"] for r in table] == ["True", "True", "True", "False"]
    assert {r["evidence"] for r in table} == {"measured"}
    runs.write_text("app,nodes,wall_s,power_kW\na,1,9,1\nb,2,8,2\n")
    code, _, err = told(capsys, "front", runs, "--knob", "nodes=1,2")
    assert (code, "name a job" in err) == (2, True)


def test_interrupted_is_130_and_says_what_is_kept(monkeypatch, log, capsys):
    def stop(*_args, **_options):
        interrupt = KeyboardInterrupt()
        interrupt.add_note("3 of 9 results are kept")
        raise interrupt

    monkeypatch.setattr("rheostat.cli.options.load", stop)
    code, out, err = told(capsys, "front", log, "--job", JOB)
    assert (code, out, err) == (130, "", "rheostat: interrupted; 3 of 9 results are kept\n")


@pytest.mark.parametrize("module", ["typer", "rheostat.cli.train", "rheostat.measurement.read"])
def test_a_signal_while_a_module_loads_is_130(module, log):
    """Inside exec, too, where Python itself would end by the signal."""
    code = f"""
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            exec("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
sys.meta_path.insert(0, Finder())
from rheostat.cli import main
main(["read", {str(log)!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "rheostat: interrupted\n"


def test_the_command_line_loads_nothing_heavy():
    code = (
        "import sys, rheostat.cli, rheostat.cli.app;"
        "print([m for m in ('torch', 'sklearn', 'polars', 'numpy', 'plotly') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
