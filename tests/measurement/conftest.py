"""Generated logs in the published schemas, written once, with what the site knows about them."""

from __future__ import annotations

import pytest

from benchmarks.published_logs import write_adastra, write_fdata, write_pm100

ROWS = 3000
WRITERS = {"pm100": write_pm100, "adastra": write_adastra, "fdata": write_fdata}


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    """Format -> (path, what the site knows)."""
    folder = tmp_path_factory.mktemp("generated")
    return {k: (folder / f"{k}.parquet", w(folder / f"{k}.parquet", ROWS, seed=5))
            for k, w in WRITERS.items()}  # fmt: skip
