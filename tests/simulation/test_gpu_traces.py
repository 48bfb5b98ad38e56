"""A trace of a GPU cluster has neither processors nor nodes: a GPU is a processor then."""

from __future__ import annotations

import pytest

from rheostat.core.machine import Machine
from rheostat.core.vocabulary import table
from rheostat.simulation.workload import GPUS_ALONE, workload

RUNS = {"submit_s": [0.0, 1.0], "runtime_s": [5.0, 5.0]}


@pytest.mark.parametrize(
    ("columns", "procs", "said"),
    [({"gpus": [4, 8]}, [4, 8], True), ({"gpus": [4, None], "gpus_alloc": [2, 3]}, [4, 3], True),
     ({"gpus": [4, 8], "cores": [16, 32]}, [16, 32], False)],
)  # fmt: skip
def test_gpus_count_where_nothing_else_does(columns, procs, said):
    load = workload(table({**RUNS, **columns}), Machine(64))
    assert load.procs.tolist() == procs
    assert (GPUS_ALONE in [note.message for note in load.notes]) is said
