"""A policy of one's own by its file, and what is said of a name that no policy has."""

from __future__ import annotations

import json

import pytest

from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.job_logs.swf import write_swf
from rheostat.questions.scheduling.policies import open_policy, simulate
from rheostat.training.priority.generated_sites import generated_site

MINE = """
import rheostat as rh

class FirstCome(rh.EventPolicy):
    def choose(self, state):
        free = state.free
        for k, procs in enumerate(state.procs):
            free -= procs
            if free < 0:
                return
            yield k

def shortest(now, submit_s, estimate_s, procs):
    return estimate_s

number = 3
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("import nothing_of_this_name")
    return tmp_path


@pytest.fixture
def trace(mine):
    log, procs = generated_site(0, 120)
    kept = log.select([c for c in log.columns if c != "user"])
    write_swf(kept, mine / "trace.swf", [f"MaxProcs: {procs}"])
    return mine / "trace.swf"


def test_a_class_and_a_function_of_a_file_are_run_as_if_they_had_a_name(mine):
    log, procs = generated_site(0, 120)
    for own, known in (("FirstCome", "fcfs"), ("shortest", "sjf+easy"), ("shortest+none", "sjf")):
        starts = [simulate(log, name, procs).frame["start_s"].to_list()
                  for name in (f"{mine}/mine.py:{own}", known)]  # fmt: skip
        assert starts[0] == starts[1], own


@pytest.mark.parametrize(
    ("name", "words"),
    [("mine.py:Nobody", "mine.py has no Nobody"),
     ("mine.py:number", "expected a policy .* got int"),
     ("broken.py:X", "broken.py: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
     ("absent.py:X", "expected a Python file, found no")],
)  # fmt: skip
def test_what_is_no_policy_of_a_file_is_said(mine, name, words):
    with pytest.raises(DataError, match=words):
        open_policy(f"{mine}/{name}")


def test_a_name_of_no_policy_lists_every_family():
    with pytest.raises(DataError) as error:
        open_policy("shortest")
    said = str(error.value)
    for family in ("fcfs, easy, conservative", "ORDER+easy", "wfp3", "multifactor:FILE",
                   "tree:FILE", "agent:ours", "agent:FILE", "FILE.py:NAME"):  # fmt: skip
        assert family in said


def test_simulate_and_compare_report_a_policy_of_a_file_beside_others(mine, trace, capsys):
    name = f"{mine}/mine.py:shortest"
    assert run(["simulate", str(trace), "--policy", "easy", "--policy", name, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert list(value["policies"]) == ["easy", "mine.py:shortest+easy"]
    assert value["policies"]["mine.py:shortest+easy"]["paired"]["against"] == "easy"
    assert run(["compare", "--policies", name, "--heuristics", "sjf+easy", "--traces", str(trace),
                "--processes", "1", "--json"]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)["policies"][name]
    assert found["whole"]["ratio"] == pytest.approx(1.0)
