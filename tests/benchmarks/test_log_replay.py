"""A recorded schedule is replayed GPU by GPU."""

from __future__ import annotations

import pytest
from coschedule_lib.log_replay import Recorded

from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.shared_node import Node, Waiting
from rheostat.errors import DataError
from rheostat.simulation.coschedule.node_simulation import run_queue

NODE = Node(idle_w=50.0)


def test_a_recording_is_replayed_gpu_by_gpu():
    profiles = {"a": (Mode("a", 2, 10.0, 1.0),), "b": (Mode("b", 4, 5.0, 1.0),)}
    rows = [{"job": "a", "app": "a", "gpus": 2, "gpu_ids": [2, 3], "domain": 1},
            {"job": "b", "app": "b", "gpus": 4, "gpu_ids": [0, 1, 2, 3], "domain": 0}]  # fmt: skip
    queue = [Waiting("b", "b"), Waiting("a", "a")]
    run = run_queue(queue, Recorded(rows, profiles), NODE)
    assert run.jobs.frame["start_s"].to_list() == [0.0, 10.0]
    with pytest.raises(DataError, match="in no profile"):
        Recorded([{**rows[0], "gpus": 3}], profiles)
