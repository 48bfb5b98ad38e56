"""Replays with submissions moved: the same for all policies, and who cannot be told apart."""

from __future__ import annotations

import json

import pytest

from benchmarks.bursts import SIZE, burst
from rheostat.cli import run as command


@pytest.fixture
def told(tmp_path, capsys):
    def ask(*policies):
        path = tmp_path / "log.csv"
        burst("random", 3, 200).frame.write_csv(path)
        names = [part for name in policies for part in ("--policy", name)]
        asked = ["simulate", str(path), "--machine", str(SIZE), *names, "--replays", "3"]
        assert command([*asked, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)["replays"]
        assert command(asked) == 0
        return facts, capsys.readouterr()

    return ask


def test_a_policy_that_is_another_by_name_alone_is_told_to_differ_by_nothing(told):
    facts, printed = told("easy", "fcfs+easy")
    assert "neither is better" in " ".join((printed.out + printed.err).split())
    same = facts["policies"]["fcfs+easy"]
    assert (same["ratio"], same["low"], same["high"], same["apart"]) == (1.0, 1.0, 1.0, False)


def test_who_is_better_in_every_replay_is_told_apart(told):
    facts, _ = told("fcfs", "sjf+easy")
    better = facts["policies"]["sjf+easy"]
    slow = {name: f["bounded_slowdown"] for name, f in facts["policies"].items()}
    assert better["apart"]
    assert better["high"] < 1
    assert slow["sjf+easy"]["most"] < slow["fcfs"]["least"]
    assert slow["fcfs"]["least"] < slow["fcfs"]["most"]  # submissions did move


def test_one_replay_has_no_interval_and_is_refused(capsys):
    assert command(["simulate", "log.csv", "--replays", "1"]) == 2
    assert "at least 2" in capsys.readouterr().err
