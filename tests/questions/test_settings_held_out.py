"""`compare` of runs that nothing dates: whole settings are held out, drawn by the seed."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.questions.models.compare import _parts

RUNS = rh.table({
    "app": ["lbm"] * 24, "nodes": [1, 2, 4, 8, 16, 32] * 4,
    "runtime_s": [100.0 / n + k for k in range(4) for n in (1, 2, 4, 8, 16, 32)],
})  # fmt: skip


def test_a_setting_is_learned_from_or_judged_on_never_both():
    past, recent = _parts(RUNS, 0.34, 1)
    kept, out = set(past.frame["nodes"]), set(recent.frame["nodes"])
    assert (len(kept), len(out), kept & out) == (4, 2, set())
    assert len(past) + len(recent) == 24
    assert _parts(RUNS, 0.34, 1)[1].frame.equals(recent.frame)


def test_methods_are_compared_on_them():
    rows = rh.compare(RUNS, methods="forest").rows
    assert {row.method for row in rows} >= {"forest", "mean"}


def test_too_few_settings_are_none_to_hold_out():
    with pytest.raises(DataError, match="expected submit_s, or 5 settings of runs, got 1"):
        _parts(RUNS.rows(RUNS.frame["nodes"] == 4), 0.2, 0)
