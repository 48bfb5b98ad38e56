"""Tables in the headings people write are read, or the message says what to type."""

from __future__ import annotations

import json

import pytest
from typer.main import get_command

from rheostat.cli import run
from rheostat.cli.app import app

MACHINE = '[[partition]]\nname = "all"\nprocs = 8\n'


@pytest.fixture
def written(tmp_path):
    def write(name, *lines):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return str(tmp_path / name)

    return write


def document(capsys, *asked):
    assert run([*asked, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *asked) -> str:
    assert run(list(asked)) == 1
    return capsys.readouterr().err


def test_a_budget_of_throughputs_by_model(written, capsys) -> None:
    """Gains are rates over those at the lowest caps."""
    speeds = {"resnet": (100, 120), "bert": (100, 150)}
    rows = [f"{m},{c},{v}.0 it/s,90" for m, each in speeds.items()
            for c, v in zip((100, 200), each, strict=True)]  # fmt: skip
    file = written("sweep.csv", "model,Power Limit (W),Throughput,Avg Power (W)", *rows)
    plan = document(capsys, "budget", "plan", file, "--budget", "300W")
    caps = {n["app"]: n["after"]["cap_w"] for n in plan["nodes"]}
    assert caps == {"resnet": 100.0, "bert": 200.0}
    named = written("named.csv", "x,cap_w,t,power_w", "a,100,10,90", "a,200,6,90")
    assert "--column app=x" in refused(capsys, "budget", "plan", named, "--budget", "300W")
    names = ["--column", "app=x", "--column", "runtime_s=t"]
    assert document(capsys, "budget", "plan", named, "--budget", "200W", *names)["nodes"]


def test_profiles_by_other_names(written, capsys) -> None:
    rows = ["gromacs,1,400,280", "gromacs,2,230,540", "unet,1,600,330"]
    file = written("p.csv", "benchmark,num_gpus,time (s),avg power (W)", *rows)
    ours = written("o.csv", "app,gpus,runtime_s,power_w", *rows)
    asked = ["--queue", "gromacs*2,unet", "--policy", "packed"]
    theirs = document(capsys, "coschedule", file, *asked)
    assert theirs["schedule"] == document(capsys, "coschedule", ours, *asked)["schedule"]
    odd = written("odd.csv", "benchmark,gcds,time (s),avg power (W)", *rows)
    said = refused(capsys, "coschedule", odd)
    assert "--column gpus=THEIRS" in said
    assert "gcds" in said
    again = document(capsys, "coschedule", odd, *asked, "--column", "gpus=gcds")
    assert again["schedule"] == theirs["schedule"]


def test_caps_in_per_cent_are_asked_about(written, capsys) -> None:
    rows = [
        f"{a},{c},{100 + k * (100 - c)},100" for k, a in enumerate("abc") for c in (50, 75, 100)
    ]
    file = written("caps.csv", "app,cap_percent,runtime_s,power_w", *rows)
    assert "--column cap_w=cap_percent" in refused(capsys, "caps", file, "--app", "c")
    known = document(capsys, "caps", file, "--app", "c", "--column", "cap_w=cap_percent")
    assert known["app"] == "c"


def test_numbers_in_a_queue_are_no_partition_and_strange_names_are_said(written, capsys) -> None:
    machine = written("m.toml", *MACHINE.splitlines())
    head = "job_id,submit_s,runtime_s,cores,queue"
    waited = written("waited.csv", head, "1,0,100,4,0", "2,10,100,8,35")
    shown = document(capsys, "simulate", waited, "--machine", machine, "--policy", "fcfs")
    assert "90.0" in json.dumps(shown)
    named = written("named.csv", head, "1,0,100,4,short", "2,10,100,4,long")
    said = refused(capsys, "simulate", named, "--machine", machine, "--policy", "fcfs")
    assert "short, long of column queue; the machine has all" in " ".join(said.split())


def _leaves(command):
    parts = getattr(command, "commands", {})
    return [leaf for part in parts.values() for leaf in _leaves(part)] or [command]


def test_what_takes_a_file_of_names_takes_names():
    """`site power` has a map of meters, not of headings."""
    for command in _leaves(get_command(app)):
        flags = {flag for p in command.params for flag in p.opts}
        assert "--column" in flags or "--map" not in flags or command.name == "power", command.name


def test_front_and_next_take_a_rate_for_a_time(written, capsys):
    """A speed of 1/t and watts in two columns are the table of t and their sum."""
    rows = [(n, 8 / n + 1, 90 * n + 10, 20 * n) for n in (1, 2, 4, 8)]
    plain = [f"a,{n},{t!r},{p + d}" for n, t, p, d in rows]
    odd = [f"a,{n},{1 / t!r},{p * 1000},{d * 1000}" for n, t, p, d in rows]
    ours = written("o.csv", "app,nodes,runtime_s,power_w", *plain)
    theirs = written("t.csv", "app,nodes,zug,kern_mw,rest_mw", *odd)
    said = ["--column", "runtime_s=1/zug", "--column", "power_w=(kern_mw + rest_mw)*1e-3"]
    knob = ["--knob", "nodes=1,2,3,4,8"]
    for command, key in (("front", "front"), ("next", "best_measured")):
        plainly = document(capsys, command, ours, *knob)
        named = document(capsys, command, theirs, *knob, *said)
        assert named[key] == plainly[key], command
