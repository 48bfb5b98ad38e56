"""Search of a command's settings: journals, runs that fail, what should have been printed."""

from __future__ import annotations

import json

import pytest

from tests.cli.telling import told

SPACE = '[knobs]\nnodes = [1, 2, 4, 8, 16, 32]\nmode = ["a", "b"]\n'
RUN = """printf '{{"runtime_s": 2.5, "power_w": %s00}}' {nodes}"""


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
    fails = """test {nodes} -lt 8 && printf '{{"runtime_s": %s, "power_w": 7}}' {nodes}"""
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


def test_a_knob_that_the_command_does_not_use_is_named(space, capsys):
    ask = ["search", space, "--objectives", "runtime_s", "--budget", "2", "--json", "--measure"]
    code, out, err = told(capsys, *ask, "echo '{\"runtime_s\": 1}'")
    assert code == 0
    said = (
        "the command does not use nodes, mode: runs differ by nothing there; "
        "put {nodes}, {mode} into it"
    )
    assert err.count(said) == 1
    assert said in json.loads(out)["notes"]
    assert said not in told(capsys, *ask, "echo '{\"runtime_s\": 0.'{nodes}'}' {mode}")[2]


def test_search_says_what_the_command_should_have_printed(space, capsys):
    code, _, err = told(capsys, "search", space, "--measure", "echo 3", "--method", "sobol")
    assert code == 1
    assert "energy_j" in err
    assert "JSON object" in err


def test_search_without_a_meter_says_before_the_first_run_what_works(space, capsys, tmp_path):
    ask = [
        "search",
        space,
        "--measure",
        "printf '{{\"runtime_s\": 0.%s5}}' {nodes}",
        "--budget",
        "4",
        "--json",
    ]
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


def test_node_hours_without_nodes_are_refused_before_the_first_run(tmp_path, capsys):
    path = tmp_path / "space.toml"
    path.write_text("[knobs]\nthreads = [1, 2]\n")
    ran = tmp_path / "ran"
    ask = ["search", path, "--measure", f"touch {ran}; echo {{threads}}", "--method", "sobol"]
    code, _, err = told(capsys, *ask, "--objectives", "runtime_s,node_hours")
    assert code == 1
    assert "node_hours needs a knob or column nodes; there are threads" in err
    assert "try --objectives runtime_s\n" in err
    assert not ran.exists()
    _, _, err = told(capsys, *ask)
    assert "If it cannot: --objectives runtime_s needs neither" in err


def test_each_figure_says_where_it_came_from_and_a_wrong_output_is_not_measured(space, capsys):
    ask = ["search", space, "--measure", RUN, "--method", "exhaustive", "--budget", "2"]
    facts = json.loads(told(capsys, *ask, "--json")[1])
    assert "runtime_s, power_w: printed by the command" in facts["notes"]
    assert "printed by the command" in told(capsys, *ask)[2]
    code, out, err = told(capsys, *ask, "--check", "residual", "--warm-up", "1", "--json")
    assert code == 3
    assert json.loads(out)["choice"] is None
    assert "its output is wrong: nothing matches 'residual'" in err


FORBIDDEN = """[knobs]
solver = ["cg", "gmres"]
nodes = [1, 2, 4]
{rest}"""


def test_what_does_not_run_together_is_not_run(capsys, tmp_path):
    space, log = tmp_path / "space.toml", tmp_path / "runs.txt"
    space.write_text(FORBIDDEN.format(rest='[[forbidden]]\nsolver = "cg"\nnodes = [2, 4]\n'))
    run = f"echo {{solver}} {{nodes}} >> {log}; {RUN}"
    ask = ["search", space, "--measure", run, "--method", "exhaustive", "--budget", "9"]
    journal = ["--journal", tmp_path / "j.jsonl"]
    assert told(capsys, *ask, *journal)[0] == 0
    assert log.read_text().splitlines() == ["cg 1", "gmres 1", "gmres 2", "gmres 4"]
    space.write_text(FORBIDDEN.format(rest=""))
    assert "holds another search" in told(capsys, *ask, *journal)[2]


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ("[constraints]\na = 1", "constraints: expected [knobs] and [[forbidden]] alone"),
        ("[[forbidden]]\nsolvers = 'cg'", "solvers: expected a knob, solver, nodes"),
        ("[[forbidden]]\nnodes = [2, 3]", "nodes: expected some of [1, 2, 4], got [3]"),
        ("[[forbidden]]", "expected lines like solver = 'cg', got {}"),
        ("[forbidden]", "expected lines like solver = 'cg', got {}"),
    ],
)
def test_a_space_that_says_something_else_is_refused(capsys, tmp_path, rest, problem):
    space = tmp_path / "space.toml"
    space.write_text(FORBIDDEN.format(rest=rest))
    code, _, err = told(capsys, "search", space, "--measure", RUN)
    assert code == 1
    assert problem in err


def test_a_range_has_two_ends_and_nothing_else(capsys, tmp_path):
    space = tmp_path / "space.toml"
    space.write_text("[knobs]\ncap_w = {low = 100, high = 300, step = 50}\n")
    code, _, err = told(capsys, "search", space, "--measure", RUN)
    assert code == 1
    assert "expected a list or {low = 1, high = 9}" in err


def test_where_every_run_fails_it_says_so(space, capsys):
    code, _, err = told(capsys, "search", space, "--measure", "false {nodes}", "--budget", "2")
    assert code == 3
    assert "none of 2 settings gave a result" in err
