"""``train --agent ours``: a file that runs a machine of any size, and errors before any work."""

from __future__ import annotations

import json

import numpy as np

from rheostat.cli import run
from rheostat.measurement.job_logs.swf import write_swf
from rheostat.training.priority.generated_sites import generated_site


def _log(path, seed):
    jobs, procs = generated_site(seed, 300)
    users = jobs.frame["user"].rank("dense").cast(int)
    kept = jobs.frame.drop("user")
    from rheostat.core.vocabulary import table

    write_swf(table({**kept.to_dict(as_series=False), "user": users}), path, [f"MaxProcs: {procs}"])
    return path, procs


def test_an_order_is_trained_continued_and_runs_another_machine(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rheostat.questions.scheduling.learned_priority.STRETCH", 200)
    monkeypatch.setattr("rheostat.questions.scheduling.learned_priority.SITES", 1)
    monkeypatch.setattr("rheostat.questions.scheduling.learned_priority.SITE_JOBS", 200)
    log, procs = _log(tmp_path / "site.swf", 1)
    words = ["train", str(log), "--agent", "ours", "--out", str(tmp_path / "order.json"), "--json"]
    assert run([*words, "--updates", "1", "--seed", "2"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert run([*words, "--updates", "2", "--seed", "2"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["history"][:1] == first["history"]
    assert len(second["history"]) == 2
    assert {row["policy"] for row in second["held_out"]} >= {"ours", "easy", "sjf+easy"}
    other, size = _log(tmp_path / "other.swf", 2)
    assert size != procs
    policy = f"agent:{tmp_path / 'order.json'}"
    assert run(["simulate", str(other), "--policy", "easy", "--policy", policy, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "agent:order" in json.dumps(told)
    assert np.isfinite(second["held_out"][0]["mean_bounded_slowdown"])


def test_an_objective_that_is_not_known_is_told(tmp_path, capsys):
    log, _ = _log(tmp_path / "site.swf", 1)
    words = ["train", str(log), "--agent", "ours", "--out", str(tmp_path / "x.json")]
    assert run([*words, "--objective", "speed=1"]) == 1
    assert "objective: expected some of slowdown" in capsys.readouterr().err


def test_the_shipped_order_is_judged_by_the_protocol_beside_the_simple_ones(tmp_path, capsys):
    for seed in (1, 2):
        _log(tmp_path / f"site{seed}.swf", seed)
    words = ["compare", "--policies", "agent:ours", "--heuristics", "easy,sjf+easy", "--json",
             "--processes", "1", "--traces", str(tmp_path)]  # fmt: skip
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    ours = told["policies"]["agent:ours"]
    assert ours["whole"]["traces"] == 2
    assert 0 < ours["whole"]["low"] <= ours["whole"]["ratio"] <= ours["whole"]["high"]
    assert min(ours["block_wait_ratio"], ours["max_wait_ratio"]) > 0
    words[2] = "agent:absent,agent:gone"
    assert run(words) == 1
    said = capsys.readouterr().err
    assert "agent:absent" in said
    assert "agent:gone" in said


def test_judging_is_told_policy_by_policy(tmp_path, capsys, monkeypatch):
    from contextlib import contextmanager

    said = []

    @contextmanager
    def listening():
        yield lambda *told: said.append(told)

    monkeypatch.setattr("rheostat.questions.scheduling.learned_priority.SITES", 0)
    monkeypatch.setattr("rheostat.explanation.terminal.terminal.stages", listening)
    log, _ = _log(tmp_path / "site.swf", 1)
    words = ["train", str(log), "--agent", "ours", "--out", str(tmp_path / "x.json")]
    assert run([*words, "--updates", "1"]) == 0
    assert [done for stage, done, of in said if "judging on" in stage] == list(range(7))
    assert {of for _, _, of in said} == {7}
