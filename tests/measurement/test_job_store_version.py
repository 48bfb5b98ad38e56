"""A store that the first version of its layout wrote is read, and goes on, with every release."""

from __future__ import annotations

import shutil
from pathlib import Path

from rheostat.measurement.job_logs.job_store import Merged
from rheostat.measurement.read import read
from rheostat.questions.site.ingest import ingest

FIRST = Path(__file__).parent / "store_version_1"
"""Written by release 0.2.0: a job of two nodes that ended, with joules, and one that runs."""
LATER = """\
JobID|Cluster|User|JobName|State|Submit|Start|End|ElapsedRaw|NNodes|ConsumedEnergyRaw|NodeList
8|lab|bob|md|COMPLETED|1790000100|1790000700|1790001900|1200|1|90000|n3
"""


def test_the_first_version_is_read_as_it_was_written_and_goes_on(tmp_path: Path) -> None:
    store = shutil.copytree(FIRST, tmp_path / "store")
    ended, runs = read(store).frame.sort("job_id").to_dicts()
    assert (ended["job_id"], ended["user"], ended["state"]) == ("7", "ann", "COMPLETED")
    assert (ended["runtime_s"], ended["nodes"], ended["energy_j"]) == (600.0, 2, 300000.0)
    assert (runs["job_id"], runs["state"], runs["energy_j"]) == ("8", "RUNNING", None)
    export = tmp_path / "later.txt"
    export.write_text(LATER)
    assert ingest(store, export).merged == Merged(changed=1)
    after = read(store).frame.sort("job_id").to_dicts()[1]
    assert (after["state"], after["runtime_s"], after["energy_j"]) == ("COMPLETED", 1200.0, 90000.0)
