"""``train``: a document, a file that is continued, and errors before any work."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from rheostat.cli import run
from rheostat.core.vocabulary import table
from rheostat.measure.swf import write_swf

SMALL = ("--hidden", "16,8", "--window", "6")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Three weeks of jobs on eight nodes."""
    rng, n = np.random.default_rng(0), 240
    run_s = rng.integers(600, 20_000, n).astype(float)
    columns = {
        "job_id": np.arange(n),
        "submit_s": np.sort(rng.integers(0, 3 * 7 * 86_400 - 1, n)).astype(float),
        "runtime_s": run_s,
        "cores": rng.integers(1, 9, n),
        "time_limit_s": 2 * run_s,
    }
    path = tmp_path_factory.mktemp("log") / "site.swf"
    write_swf(table(columns), path, ["MaxProcs: 8"])
    return path


def told(capsys, *argv):
    capsys.readouterr()
    code = run([str(a) for a in argv])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.mark.parametrize("agent", ["dras-pg", "dras-dql"])
def test_training_in_two_calls_is_training_in_one(log, tmp_path, capsys, agent):
    ask = ("train", log, "--agent", agent, *SMALL, "--json", "--out")
    code, out, err = told(capsys, *ask, tmp_path / "one")
    whole = json.loads(out)
    assert code == 0
    assert err.count("jobset") == 3
    assert whole["schema"] == "rheostat.train/1"
    assert [j["jobset"] for j in whole["jobsets"]] == [0, 1, 2]
    assert sum(j["jobs"] for j in whole["jobsets"]) == 240
    told(capsys, *ask, tmp_path / "two", "--jobsets", 1)
    _, out, err = told(capsys, *ask, tmp_path / "two")
    assert json.loads(out) == whole
    assert err.count("jobset") == 2
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_pipe_gets_one_line_per_jobset(log, tmp_path, capsys):
    ask = ("train", log, *SMALL, "--scaled", "--reward", "slowdown", "--jobsets", 2)
    _, out, _ = told(capsys, *ask, "--out", tmp_path / "agent")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0][:3] == ["jobset", "jobs", "updates"]
    assert len(lines) == 3


def test_phases_make_weeks_and_jobsets_takes_the_first_of_them(log, tmp_path, capsys):
    ask = ("train", log, *SMALL, "--phases", "1,2,1", "--json", "--out")
    _, out, _ = told(capsys, *ask, tmp_path / "all")
    whole = json.loads(out)["jobsets"]
    assert len(whole) == 4
    _, out, _ = told(capsys, *ask, tmp_path / "some", "--jobsets", 2)
    assert json.loads(out)["jobsets"] == whole[:2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("--agent", "ppo"), "expected dras-pg or dras-dql, got 'ppo'"),
        (("--hidden", "64"), "expected two widths"),
        (("--reward", "speed"), "expected wait, slowdown"),
        (("--phases", "9,9"), "expected three counts as 9,9,82"),
        (("--estimates", "boost"), "expected user or perfect"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(log, tmp_path, capsys, wrong, message):
    code, out, err = told(capsys, "train", log, "--out", tmp_path / "agent", *wrong)
    assert (code, out) == (1, "")
    assert message in err
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def trained(log, tmp_path_factory):
    path = tmp_path_factory.mktemp("agent") / "small.agent"
    assert run(["train", str(log), *SMALL, "--scaled", "--jobsets", "1", "--out", str(path)]) == 0
    return path


def test_a_trained_agent_is_a_policy_beside_the_others(log, trained, tmp_path, capsys):
    ask = ("simulate", log, "--policy", "easy", "--policy", f"agent:{trained}", "--json")
    code, out, _ = told(capsys, *ask, "--schedule", tmp_path / "plan.csv")
    facts = json.loads(out)["policies"]
    assert code == 0
    assert list(facts) == ["easy", "agent:small"]
    assert facts["agent:small"]["jobs"] == facts["easy"]["jobs"] == 240
    assert facts["agent:small"]["passes"] == 240
    assert facts["agent:small"]["paired"]["against"] == "easy"
    assert {p.name for p in tmp_path.iterdir()} == {"plan.easy.csv", "plan.agent:small.csv"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--semantics", "cqsim"), "--semantics: with an agent expected textbook, got cqsim"),
        (("--ties", "batch"), "--ties: with an agent expected event"),
        (("--estimates", "last2"), "--estimates: with an agent expected user or perfect"),
        (("--machine", "16"), "expected a machine of 8 nodes, got 16"),
        (("--policy", "agent:other/small.agent"), "rename one"),
        (("--policy", "speedy"), "speedy"),
    ],
)
def test_what_an_agent_cannot_play_is_told(log, trained, capsys, more, message):
    code, _, err = told(capsys, "simulate", log, "--policy", f"agent:{trained}", *more)
    assert code == 1
    assert message in err
