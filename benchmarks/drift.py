"""Watch twenty generated sites week by week: alarms where nothing changed, and where something did.

    python benchmarks/drift.py --sites 20

Each site fits a newer model and is watched after each of six weeks, as cron asks it. Then one more
week comes: as before, or changed in one way. An alarm is one of `site refit` or of `site drift`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rheostat as rh
from rheostat.core.jobs import JobTable
from rheostat.measurement.synthetic.world import World

WEEK_S = 7 * 86_400.0
BEFORE, PER_DAY, FIRST = 8, 40, 3
"""Weeks before the change, jobs a day, and the first week with a model."""


def columns(jobs: JobTable, factor: float, names: tuple[str, ...], share: float) -> JobTable:
    """Values of the newest week times ``factor``, of so large a share of the applications."""
    week = (jobs.numpy("submit_s") - jobs.numpy("submit_s").min()) // WEEK_S
    apps = np.unique(jobs.frame["app"].to_numpy())
    picked = np.isin(jobs.frame["app"].to_numpy(), apps[: max(1, round(share * len(apps)))])
    scale = np.where((week == BEFORE) & picked, factor, 1.0)
    return rh.table(jobs.frame.with_columns(**{n: scale * jobs.numpy(n) for n in names}))


CHANGES: dict[str, Callable[[JobTable], JobTable]] = {
    "none": lambda j: j,
    "all twice as slow": lambda j: columns(j, 2.0, ("runtime_s", "energy_j"), 1.0),
    "half of the applications twice as slow": lambda j: columns(
        j, 2.0, ("runtime_s", "energy_j"), 0.5),
    "minutes for seconds": lambda j: columns(j, 1 / 60, ("runtime_s",), 1.0),
    "a meter that shows 30 % more": lambda j: columns(j, 1.3, ("power_w", "energy_j"), 1.0),
}  # fmt: skip


def watched(jobs: JobTable, week: int, model: Path) -> tuple[str, ...]:
    """Alarms after a newer model is asked for and the one in use is looked at."""
    submit = jobs.numpy("submit_s")
    seen = jobs.rows(np.flatnonzero(submit < submit.min() + week * WEEK_S))
    refitted = rh.site.refit(seen, model, method="lightgbm")
    return (*refitted.alarms, *rh.site.drift(seen, model).alarms)


def one_site(seed: int, folder: Path) -> tuple[int, dict[str, bool]]:
    """Alarms of the weeks before, and which change was noticed in its week."""
    jobs = World(seed=seed, jobs_per_day=PER_DAY).jobs((BEFORE + 1) * 7 * PER_DAY)
    jobs = rh.table(jobs.frame)
    model = folder / "model.rheo"
    early = [bool(watched(jobs, w, model)) for w in range(FIRST, BEFORE + 1)]
    noticed = {}
    for name, change in CHANGES.items():
        here = folder / "changed"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        for file in folder.glob("model.rheo*"):
            shutil.copy(file, here)
        noticed[name] = bool(watched(change(jobs), BEFORE + 1, here / "model.rheo"))
    return sum(early), noticed


def main() -> int:
    """Print how many sites raised an alarm; exit code 1 for an alarm without a change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    false, found = 0, dict.fromkeys(CHANGES, 0)
    for seed in range(asked.first_seed, asked.first_seed + asked.sites):
        with tempfile.TemporaryDirectory() as folder:
            early, noticed = one_site(seed, Path(folder))
        print(seed, early, noticed, file=sys.stderr, flush=True)
        false += early
        found = {name: found[name] + noticed[name] for name in CHANGES}
    weeks = asked.sites * (BEFORE + 1 - FIRST)
    print(json.dumps({"sites": asked.sites, "weeks_without_change": weeks, "false_alarms": false,
                      "sites_with_an_alarm": found}, indent=1))  # fmt: skip
    return int(false + found["none"] > 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
