"""A run that was cut off says nothing of its setting, whoever reads the table."""

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.decision.caps import choose_caps
from rheostat.decision.coschedule.gpu_profiles import profiles_of
from rheostat.prediction.completion.table import cap_table
from rheostat.prediction.surface import surfaces
from rheostat.tradeoff.propose.law_guided import past_jobs

CAPS = [200.0, 300.0, 400.0]
ROWS = [(a, c, t * (400 / c) ** b) for a, t, b in (("a", 90.0, 0.2), ("b", 40.0, 0.6),
        ("c", 60.0, 0.4)) for c in CAPS]  # fmt: skip


def runs(*crashed):
    app, cap, runtime = zip(*ROWS, *crashed, strict=True)
    cut = [False] * len(ROWS) + [True] * len(crashed)
    power = np.array(cap) * 0.9
    return table({"app": app, "cap_w": cap, "gpus": [1] * len(cut), "runtime_s": runtime,
                  "power_w": power, "censored": cut})  # fmt: skip


READ = {
    "cap_table": lambda t: cap_table(t).speed.tolist(),
    "surfaces": lambda t: {k: s.rate.tolist() for k, s in surfaces(t).items()},
    "choose_caps": lambda t: choose_caps(
        t, t.rows(pl.col("app") == "c"), "c"
    ).completion.mean.tolist(),
    "profiles_of": lambda t: {k: m[0].runtime_s for k, m in profiles_of(
        t.rows(pl.col("cap_w") == 200.0)).items()},
    "past_jobs": lambda t: str(past_jobs(t, ["cap_w"], ["app"])),
}  # fmt: skip


@pytest.mark.parametrize("read", READ)
def test_a_crashed_run_changes_nothing(read):
    assert READ[read](runs(("a", 200.0, 1.0), ("c", 200.0, 2.0))) == READ[read](runs())
