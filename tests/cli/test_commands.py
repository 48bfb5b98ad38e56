"""Exit codes, help, options, signals, results on stdout alone, tables on a terminal."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command

from rheostat.cli.app import app
from tests.cli.telling import JOB, told

WITHOUT_DOCUMENT = {
    "budget run", "budget restore", "budget slurm", "budget demo", "network serve", "serve",
}  # fmt: skip
TREE = get_command(app).commands
COMMANDS = {f"{n} {k}" for n, group in TREE.items() for k in getattr(group, "commands", {})}
COMMANDS |= {name for name, command in TREE.items() if not hasattr(command, "commands")}


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


@pytest.mark.slow
def test_same_seed_same_bytes(front, capsys):
    first = told(capsys, *front, "--json")[1]
    assert first == told(capsys, *front, "--json")[1]


def test_an_unknown_ending_is_wrong_usage_before_any_work(log, capsys):
    assert told(capsys, "decide", log, "--out", "advice.xlsx")[0] == 2


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


def test_options_may_come_from_the_environment_and_a_file(front, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("RHEOSTAT_FRONT_RULE", "weighted=energy_j:1")
    assert json.loads(told(capsys, *front, "--json")[1])["because"]["rule"] == "least energy"
    monkeypatch.delenv("RHEOSTAT_FRONT_RULE")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rheostat.toml").write_text('[front]\nrule = "weighted=runtime_s:1"\n')
    assert json.loads(told(capsys, *front, "--json")[1])["because"]["rule"] == "least runtime"
    flag = told(capsys, *front, "--rule", "knee", "--json")[1]
    assert json.loads(flag)["because"]["rule"] == "knee of the front"


@pytest.mark.slow
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


def test_interrupted_is_130_and_says_what_is_kept(monkeypatch, log, capsys):
    def stop(*_args, **_options):
        interrupt = KeyboardInterrupt()
        interrupt.add_note("3 of 9 results are kept")
        raise interrupt

    monkeypatch.setattr("rheostat.questions.inputs.load", stop)
    code, out, err = told(capsys, "front", log, "--job", JOB)
    assert (code, out, err) == (130, "", "rheostat: interrupted; 3 of 9 results are kept\n")


@pytest.mark.parametrize(
    "module", ["typer", "rheostat.cli.scheduling.train", "rheostat.measurement.read"]
)
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
