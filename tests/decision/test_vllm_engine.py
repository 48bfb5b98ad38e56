"""The scheduler class inside vLLM itself, where an environment with it is named."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import rheostat

PYTHON = os.environ.get("RHEOSTAT_VLLM_PYTHON", "")
RUN_IN = ("0.32.0",)
"""Versions of vLLM that the guide names."""
OURS = "rheostat.decision.serving.vllm_scheduler"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="RHEOSTAT_VLLM_PYTHON names no Python that has vLLM"),
]


def served(*scheduler: str) -> dict:
    """What `vllm_engine.py` printed."""
    script = Path(__file__).with_name("vllm_engine.py")
    path = {"PYTHONPATH": str(Path(rheostat.__file__).parents[1])}
    done = subprocess.run([PYTHON, str(script), *scheduler], capture_output=True, text=True,
                          env=os.environ | path, timeout=600, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_vllms_own_scheduler_starts_them_as_they_came():
    made = served()
    assert made["class"] == "Scheduler"
    assert made["started"] == [str(i) for i in range(12) if i not in (8, 9)]


@pytest.mark.parametrize("name", ["CostScheduler", "AsyncCostScheduler"])
def test_the_short_answers_start_first_and_nothing_is_left_over(name):
    made = served(f"{OURS}.{name}")
    assert (made["class"], made["version"] in RUN_IN) == (name, True)
    assert made["started"] == ["1", "2", "4", "5", "7", "10", "11", "0", "3", "6"]
    assert made["ended"] == {i: 60 if int(i) % 3 == 0 else 4 for i in made["started"]}
    assert (made["left"], made["waiting"]) == (0, 0)
