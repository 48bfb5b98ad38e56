"""What is believed of an application under caps, written as equally likely runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rheostat.decision.caps import as_runs


def test_a_belief_becomes_its_quantiles_at_every_setting() -> None:
    """Speeds between 0.5 and 0.9 at the low cap, just 1 at the high one; 60 s at the default."""
    known = SimpleNamespace(values=np.array([[100.0, 50.0], [200.0, 70.0]]),
                            knobs=("cpu_cap_w", "gpu_cap_w"))  # fmt: skip
    found = SimpleNamespace(bound=lambda sure: np.array([0.5 + 0.4 * (1 - sure), 1.0]))
    made = as_runs(SimpleNamespace(app="lu", known=known, completion=found, default_s=60.0), 4)
    frame = made.frame
    assert frame.columns == ["app", "cpu_cap_w", "gpu_cap_w", "runtime_s"]
    assert frame["app"].to_list() == ["lu"] * 8
    assert frame["cpu_cap_w"].to_list() == [100.0] * 4 + [200.0] * 4
    assert frame["gpu_cap_w"].to_list() == [50.0] * 4 + [70.0] * 4
    levels = np.array([0.125, 0.375, 0.625, 0.875])
    want = [*(60 / (0.5 + 0.4 * levels)), *[60.0] * 4]
    assert frame["runtime_s"].to_list() == pytest.approx(want)
    assert (
        len(as_runs(SimpleNamespace(app="lu", known=known, completion=found, default_s=1.0))) == 16
    )
