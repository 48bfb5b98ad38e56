"""``train``: a document, a file that is continued, and errors before any work."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from rheostat.cli import run
from rheostat.core.vocabulary import table
from rheostat.measurement.job_logs.swf import write_swf
from rheostat.training.distill import dagger

SMALL = ("--set", "hidden=16,8", "--set", "window=6", "--test-fraction", "0")
ACTOR = ("--agent", "ppo", "--set", "hidden=16,8", "--set", "window=6", "--set", "episodes=16",
         "--set", "decisions=12", "--set", "episode_jobs=20")  # fmt: skip


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
    assert [j["jobset"] for j in whole["history"]] == [0, 1, 2]
    assert sum(j["jobs"] for j in whole["history"]) == 240
    told(capsys, *ask, tmp_path / "two", "--jobsets", 1)
    _, out, err = told(capsys, *ask, tmp_path / "two")
    assert json.loads(out) == whole
    assert err.count("jobset") == 2
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_pipe_gets_one_line_per_jobset(log, tmp_path, capsys):
    ask = ("train", log, *SMALL, "--scaled", "--objective", "slowdown", "--jobsets", 2)
    _, out, _ = told(capsys, *ask, "--out", tmp_path / "agent")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0][:3] == ["jobset", "jobs", "updates"]
    assert len(lines) == 3


def test_phases_make_weeks_and_jobsets_takes_the_first_of_them(log, tmp_path, capsys):
    ask = ("train", log, *SMALL, "--phases", "1,2,1", "--json", "--out")
    _, out, _ = told(capsys, *ask, tmp_path / "all")
    whole = json.loads(out)["history"]
    assert len(whole) == 4
    _, out, _ = told(capsys, *ask, tmp_path / "some", "--jobsets", 2)
    assert json.loads(out)["history"] == whole[:2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("--agent", "sac"), "expected dras-pg, dras-dql, a2c, ppo"),
        (("--set", "hidden=64"), "hidden: expected two widths"),
        (("--set", "speed=3"), "speed is no switch"),
        (("--set", "3"), "expected SWITCH=VALUE"),
        (("--objective", "speed"), "expected wait, slowdown"),
        (("--objective", "slowdown=1,energy=x"), "energy: expected a number"),
        (("--objective", "energy"), "jobs have no watts: expected a column power_w"),
        (("--objective", "slowdown=1,energy=1", "--agent", "ppo"), "expected idle_w"),
        (("--workers", "2"), "expected --workers 1"),
        (("--phases", "9,9"), "expected three counts as 9,9,82"),
        (("--estimates", "boost"), "expected user or perfect"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(log, tmp_path, capsys, wrong, message):
    code, out, err = told(capsys, "train", log, "--out", tmp_path / "agent", *wrong)
    assert (code, out) == (1, "")
    assert message in err
    assert not list(tmp_path.iterdir())


def test_a_test_fraction_of_all_is_wrong_usage(log, tmp_path, capsys):
    code, out, err = told(capsys, "train", log, "--out", tmp_path / "a", "--test-fraction", 1)
    assert (code, out) == (2, "")
    assert "--test-fraction" in err
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
        (("--semantics", "cqsim"), "semantics: with this policy expected textbook, got cqsim"),
        (("--ties", "batch"), "ties: with this policy expected event"),
        (("--estimates", "last2"), "--estimates: with this policy expected user or perfect"),
        (("--machine", "16"), "expected a machine of 8 nodes, got 16"),
        (("--policy", "agent:{other}"), "rename one"),
        (("--policy", "agent:gone.agent"), "agent:gone.agent: expected agent:ours, or agent:FILE"),
        (("--policy", "speedy"), "speedy"),
    ],
)
def test_what_an_agent_cannot_play_is_told(log, trained, tmp_path, capsys, more, message):
    more = [m.format(other=shutil.copy(trained, tmp_path)) for m in more]
    code, _, err = told(capsys, "simulate", log, "--policy", f"agent:{trained}", *more)
    assert code == 1
    assert message in err


@pytest.mark.slow
def test_a_training_killed_with_no_warning_goes_on_to_the_same_bytes(log, tmp_path, capsys):
    ask = ("train", log, *ACTOR, "--updates", "12", "--test-fraction", "0", "--out")
    told(capsys, *ask, tmp_path / "whole")
    out = tmp_path / "killed"
    with subprocess.Popen(
        [sys.executable, "-m", "rheostat", *map(str, ask), str(out)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        until = time.monotonic() + 200
        while not out.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode in (-signal.SIGKILL, 0)
    assert out.exists()
    code, _, _ = told(capsys, *ask, out)
    assert code == 0
    assert out.read_bytes() == (tmp_path / "whole").read_bytes()


def test_the_page_has_curves_and_the_jobs_held_out(log, tmp_path, capsys):
    ask = ("train", log, *ACTOR, "--updates", 11, "--out", tmp_path / "a", "--json", "--html")
    code, out, _ = told(capsys, *ask, tmp_path / "page.html")
    facts = json.loads(out)
    assert code == 0
    assert facts["jobs"] + facts["held_out_jobs"] == 240
    assert list(facts["held_out"]["policies"]) == ["easy", "ppo"]
    assert facts["objective_ratio"] > 0
    assert not facts["clairvoyant"]
    page = (tmp_path / "page.html").read_text()
    for word in ("Mean reward", "Entropy of the choices", "Held out", "Settings", "episode_jobs"):
        assert word in page
    assert page.count('"kind": "line"') >= 2


@pytest.mark.slow
def test_a_search_gone_on_with_ends_with_the_settings_of_one_that_was_not_cut(
    log, tmp_path, capsys
):
    pytest.importorskip("optuna")
    ask = ("train", log, *ACTOR, "--updates", 1, "--test-fraction", "0", "--json", "--out")
    code, out, err = told(capsys, *ask, tmp_path / "one", "--search", 3)
    assert code == 0
    assert err.count("trial ") == 3
    told(capsys, *ask, tmp_path / "two", "--search", 1)
    (tmp_path / "two").unlink()
    _, again, err = told(capsys, *ask, tmp_path / "two", "--search", 3)
    assert err.count("trial ") == 2
    assert json.loads(again)["setup"] == json.loads(out)["setup"]
    assert json.loads(out)["setup"]["lr"] != 3e-3
    code, _, err = told(capsys, *ask, tmp_path / "two", "--search", 4, "--seed", 9)
    assert code == 1
    assert "seed: expected 0" in err


def test_objectives_with_weights_are_in_units_of_what_easy_makes(log, tmp_path, capsys):
    site = tmp_path / "site.toml"
    site.write_text("procs = 8\nidle_w = 20.0\nbusy_w = 90.0\n[power]\ncarbon_g_per_kwh = 300\n")
    ask = ("train", log, *ACTOR, "--updates", 1, "--machine", site, "--json", "--out")
    code, out, _ = told(capsys, *ask, tmp_path / "a", "--objective", "wait=3,carbon=1")
    facts = json.loads(out)
    assert code == 0
    weights = dict(part.split("=") for part in facts["setup"]["reward"].split(","))
    _, out, _ = told(capsys, "simulate", log, "--machine", site, "--json")
    easy = json.loads(out)["policies"]["easy"]
    assert set(weights) == {"wait", "carbon"}
    assert facts["held_out"]["policies"]["ppo"]["power"]["carbon_g"] > 0
    assert easy["power"]["carbon_g"] > 0


def test_an_agent_without_a_trace_is_told_apart_from_a_tree(trained, capsys):
    for policy in (trained, f"agent:{trained}"):
        code, out, err = told(capsys, "explain", policy)
        assert (code, out) == (1, "")
        assert "got a DRAS agent (rheostat train): name a job log with --trace" in err
        assert "codec" not in err


def test_another_share_held_out_is_refused_with_the_way_out(log, tmp_path, capsys):
    ask = ("train", log, *ACTOR, "--updates", 1, "--out", tmp_path / "a", "--test-fraction")
    assert told(capsys, *ask, "0.2")[0] == 0
    code, _, err = told(capsys, *ask, "0.4")
    assert code == 1
    assert (
        "expected those it has learned from, got others: another trace, or other --test-fraction"
        in err
    )
    assert "delete the file" in err


def test_judging_is_watched_to_the_end_and_the_page_is_there_before_it(
    log, tmp_path, capsys, monkeypatch
):
    ask = ("train", log, *ACTOR, "--updates", 1, "--out", tmp_path / "a", "--html")
    _, out, err = told(capsys, *ask, tmp_path / "page.html")
    assert out
    assert "trained; judging on 48 jobs held out" in err
    assert "held-out job 48 of 48" in err

    def cut(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("rheostat.questions.scheduling.train.held_out", cut)
    code, out, _ = told(capsys, *ask, tmp_path / "cut.html")
    assert (code, out) == (130, "")
    assert "episode_jobs" in (tmp_path / "cut.html").read_text()


def test_explaining_an_agent_tells_each_stage(log, trained, capsys):
    ask = ("explain", trained, "--trace", log, "--rounds", 1, "--depth", 1)
    code, out, err = told(capsys, *ask)
    assert code == 0
    assert out
    lines = [line for line in err.splitlines() if "jobs" in line or "round" in line]
    assert "schedules 192 jobs" in lines[0]
    assert "48 jobs not learned from" in lines[-1]


@pytest.mark.slow
def test_explaining_that_was_interrupted_goes_on_to_the_same_document(
    log, capsys, monkeypatch, tmp_path
):
    ask = ("explain", "saf", "--trace", log, "--rounds", 2, "--depth", 1, "--json")
    whole = told(capsys, *ask)[1]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    real, calls = dagger.best_tree, []

    def cut(*args, **how):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **how)

    monkeypatch.setattr(dagger, "best_tree", cut)
    code, out, err = told(capsys, *ask)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == (
        "rheostat: interrupted; the same command goes on from the stages that are done"
    )
    code, out, err = told(capsys, *ask)
    assert (code, out, len(calls)) == (0, whole, 3)
    assert err.startswith("goes on after round-0: kept in ")
    assert told(capsys, *ask)[2].startswith("saf+easy schedules")
