"""Traces small enough to reason about, and the golden schedules where the measured data is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.core.vocabulary import table

PROCS = {
    "theta_2018_cqgym": 4360,
    "kth_sp2": 100,
    "sdsc_sp2": 128,
    "ctc_sp2": 338,
    "lublin_256": 256,
    "hpc2n": 240,
}


def trace(submit, run, procs, ask=None):
    """A table of jobs numbered from 1."""
    return table(
        {
            "job_id": np.arange(1, len(submit) + 1),
            "submit_s": np.asarray(submit, float),
            "runtime_s": np.asarray(run, float),
            "cores": np.asarray(procs, np.int64),
            "time_limit_s": np.asarray(run if ask is None else ask, float),
        }
    )


@pytest.fixture
def golden(shared_data):
    """Load one golden schedule; its jobs as a trace, and the starts."""

    def load(folder, name):
        frame = pl.read_csv(shared_data / "golden" / folder / f"{name}.csv.gz")
        parts = [frame[c].to_numpy() for c in ("submit", "run", "procs", "req")]
        return trace(*parts), frame["start"].to_numpy().astype(float)

    return load
