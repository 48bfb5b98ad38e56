"""Generated sites are what they were: figures of pages and of tests stand on them.

``python -m tests.measurement.test_synthetic_golden`` writes the sums anew.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks.confounding_lib.confounded_site import PROXIES, ConfoundedSite
from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import column
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.measurement.synthetic.counter_runs import apps, clocks, write_pcm
from rheostat.measurement.synthetic.world import World
from tests.measurement.exactly import refused

GOLDEN = Path(__file__).with_name("synthetic_golden.json")


def sums(frame: pl.DataFrame) -> dict[str, Any]:
    """Of each column of numbers two sums that every value changes; of texts a check sum."""
    made: dict[str, Any] = {}
    for name, values in zip(frame.columns, frame.iter_columns(), strict=True):
        if values.dtype == pl.String:
            made[name] = zlib.crc32("\n".join(values).encode())
        else:
            numbers = values.cast(pl.Float64).to_numpy()
            made[name] = [float(numbers.sum()), float(numbers @ np.arange(1, len(numbers) + 1))]
    return made


def capped(world: World, jobs: JobTable) -> pl.DataFrame:
    """The truth under no cap, and under caps from none to all of what a node draws."""
    caps = np.linspace(50, 2000, len(jobs))
    caps[::5] = np.nan
    under = jobs.with_columns([column("cap_w")], cap_w=caps)
    bare = jobs.select([c for c in jobs.columns if c != "job_id"])
    made = {f"{what}_{k}": t.mean(k) for k in ("runtime_s", "power_w")
            for what, t in (("free", world.truth(jobs)), ("capped", world.truth(under)),
                            ("nameless", world.truth(bare)))}  # fmt: skip
    return pl.DataFrame(made)


def sites() -> Iterator[tuple[str, pl.DataFrame]]:
    """Everything that is generated, by name."""
    plain = World(seed=3)
    yield "world", plain.jobs(400, seed=1).frame
    yield "world's truth", capped(plain, plain.jobs(400, seed=1))
    small = World(5, n_apps=14, n_users=3, max_nodes=16, jobs_per_day=50.0, work_scale=2.0)
    yield "small world", small.jobs(300).frame
    yield "its applications", pl.DataFrame({"name": small.app_names(),
                                            "nodes": small.apps.fastest_nodes()})  # fmt: skip
    yield "a day", World(seed=1).jobs(1).frame
    yield "capped runs", capped_runs(3, repeats=2, seed=4).frame
    yield "usual capped runs", capped_runs().frame
    for k, proxy in enumerate(p for p in PROXIES if p != "exact-memory"):  # tested by its law
        site = ConfoundedSite(k, between=0.25 * k, within=1 - 0.25 * k, proxy=proxy)
        month = site.month(300, seed=k)
        yield f"{proxy} asked", month.requests.frame
        yield f"{proxy} ran", month.run().frame
        yield f"{proxy} elsewhere", month.run(np.arange(300) % 64 + 1).frame
    yield "a month", ConfoundedSite(7, max_nodes=8, n_apps=5).month().run().frame
    with TemporaryDirectory() as folder:
        for name, options in (
            ("counters", {}),
            (
                "few counters",
                {"n_apps": 5, "caps_w": (50, 300), "intervals": 9, "noise": 0.1, "seed": 2},
            ),
        ):
            path = write_pcm(Path(folder) / "x.csv", **options)
            yield name, pl.read_csv(path)


def golden() -> dict[str, Any]:
    return {name: sums(frame) for name, frame in sites()}


def test_all_that_is_generated_is_what_it_was() -> None:
    expected, made = json.loads(GOLDEN.read_text()), golden()
    assert list(made) == list(expected)
    for name, columns in expected.items():
        assert list(made[name]) == list(columns), name
        for which, value in columns.items():
            assert made[name][which] == pytest.approx(value, rel=1e-7), (name, which)


def test_clocks_fit_under_the_cap_or_are_the_slowest() -> None:
    app = apps(1)[0]
    assert clocks(app, 1e6) == (3.2, pytest.approx(2.4))
    assert clocks(app, 1.0) == (pytest.approx(0.8), pytest.approx(0.8))


def test_exact_memory_is_in_proportion_to_the_problem() -> None:
    """What an application takes on one node and what it asks for go together, but for noise."""
    site = ConfoundedSite(1, n_apps=3, proxy="exact-memory")
    jobs = site.month(300).run(np.ones(300, np.int64)).frame
    logs = jobs.select("app", a=pl.col("memory_b").log(), b=pl.col("runtime_s").log())
    each = logs.group_by("app").agg(pl.corr("a", "b"), pl.len()).filter(pl.col("len") > 30)
    assert each.height
    assert (each["a"] > 0.97).all()


def test_senseless_sites_are_refused() -> None:
    bad = [f"{k}: expected 0 to 1, got {v}" for k, v in (("between", -0.1), ("within", 1.1))]
    known = "none, limit, rough-memory, memory, exact-memory, script, reused-script, varied-script"
    proxies = f"proxy: expected one of {known}, got odd"
    refused(lambda: ConfoundedSite(between=-0.1, within=1.1, proxy="odd"), *bad, proxies)
    refused(
        lambda: World(n_apps=0, n_users=0, max_nodes=0),
        *(f"{k} is 0, expected at least 1" for k in ("n_apps", "n_users", "max_nodes")),
    )
    refused(lambda: World(jobs_per_day=0.0, work_scale=-1.0),
            "jobs_per_day is 0.0, expected more than 0",
            "work_scale is -1.0, expected more than 0")  # fmt: skip
    site = ConfoundedSite(seed=1)
    month = site.month(5)
    both = site.month(6).requests, ConfoundedSite(seed=1).month(5, seed=1).requests
    for jobs in both:
        refused(lambda jobs=jobs: month.truth(jobs), "expected job_id of this month's requests")
    first = month.requests.with_columns((), job_id=month.requests.frame["job_id"] - 1)
    refused(lambda: month.truth(first), "expected job_id of this month's requests")


if __name__ == "__main__":
    json.dump(golden(), sys.stdout, indent=1)
