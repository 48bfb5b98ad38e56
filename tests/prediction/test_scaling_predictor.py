"""LawGP: borrowing across applications, abstaining, saving; the promises of a predictor."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

pytest.importorskip("gpytorch")

from rheostat.core.vocabulary import table
from rheostat.errors import DataError, LeakError, ModelFileError, NotFitted
from rheostat.prediction.saved_models.persist import load, save
from rheostat.prediction.scaling_law import LawGP
from rheostat.prediction.scaling_law.pooled import _centres, _population
from rheostat.prediction.scaling_law.scaling_law import _thinned
from rheostat.testing.predictors import check_predictor, noisy_site


def site(rng: np.random.Generator, kinds: int = 12, noise: float = 0.02):
    """Applications of two kinds: `mesh` 9 scales well, `mesh` 1 hardly at all."""
    rows = []
    for a in range(kinds):
        good = a % 2 == 0
        for n in (1, 2, 4, 8, 16):
            t = np.exp(8 + 0.1 * a - (0.95 if good else 0.2) * np.log(n) + noise * rng.normal())
            rows.append((f"app{a}", 9.0 if good else 1.0, n, t, 250.0 * n))
    app, mesh, nodes, t, p = (list(c) for c in zip(*rows, strict=True))
    return table({"app": app, "mesh": mesh, "nodes": nodes, "runtime_s": t, "power_w": p})


def test_keeps_the_promises_of_a_predictor():
    check_predictor(lambda seed: LawGP(("nodes",), seed=seed), noisy_site(150, 3))


def test_one_run_of_its_own_places_an_application():
    jobs = site(np.random.default_rng(0), noise=0.005)
    frame = jobs.frame.filter((pl.col("app") != "app0") | (pl.col("nodes") == 1))
    model = LawGP(("nodes",), context=("mesh",)).fit(type(jobs)(frame, jobs.schema))
    asked = jobs.rows(pl.col("app") == "app0")
    ratio = model.predict(asked).mean("runtime_s") / asked.numpy("runtime_s")
    assert np.abs(np.log(ratio)).max() < 0.25


def test_an_application_never_seen_borrows_from_its_likes():
    model = LawGP(("nodes",), context=("mesh",)).fit(site(np.random.default_rng(1)))
    speedups = []
    for mesh in (9.0, 1.0):
        asked = table({"app": ["new"] * 2, "mesh": [mesh] * 2, "nodes": [1, 16]})
        t = model.predict(asked)["runtime_s"]
        speedups.append(np.median(t[:, 0] / t[:, 1]))
    assert speedups[0] > 8
    assert speedups[1] < 4


def test_abstains_where_no_job_ever_ran():
    model = LawGP(("nodes",)).fit(site(np.random.default_rng(2)))
    out = model.predict(table({"app": ["app0", "app0"], "nodes": [16, 4096]}))
    assert out.abstained.tolist() == [False, True]
    assert out.support is not None
    assert out.support[1] == 0
    assert out.notes[-1].rows == (1,)


def test_repeats_tell_the_noise():
    rng = np.random.default_rng(3)
    n = np.tile([1, 2, 4, 8], 50)
    jobs = table(
        {
            "nodes": n,
            "runtime_s": 100 / n * np.exp(0.2 * rng.normal(size=200)),
            "power_w": 200.0 * n,
        }
    )
    model = LawGP(("nodes",)).fit(jobs)
    assert np.sqrt(model.repeats_[0]) == pytest.approx(0.2, rel=0.1)
    assert np.log(model.predict(jobs)["runtime_s"]).std(axis=0).mean() == pytest.approx(
        0.2, rel=0.2
    )


def test_file_gives_the_same_answers_and_refuses_a_changed_one(tmp_path):
    jobs = site(np.random.default_rng(4))
    model = LawGP(("nodes",), context=("mesh",)).fit(jobs)
    path = save(model, tmp_path / "m.law")
    again = load(path).predict(jobs)
    assert again["runtime_s"].tobytes() == model.predict(jobs)["runtime_s"].tobytes()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ModelFileError):
        load(path)
    path.write_text("not a model")
    with pytest.raises(ModelFileError):
        load(path)


def test_errors_name_what_is_wrong():
    jobs = site(np.random.default_rng(5))
    with pytest.raises(NotFitted):
        LawGP().predict(jobs)
    with pytest.raises(DataError, match="gpus"):
        LawGP(("gpus",)).fit(jobs)
    with pytest.raises(LeakError, match="runtime_s"):
        LawGP(("nodes",), context=("runtime_s",)).fit(jobs)


def grown(nodes, slower):
    """Time of a law with communication that grows with the nodes, times ``slower``."""
    n = np.array(nodes, dtype=float)
    return 5200 * (0.012 + 0.988 / n) + slower * 3.2 * n**1.15


def test_between_measured_settings_the_interval_is_as_wide_as_the_law_misses_them():
    settings, asked = [1, 2, 4, 16, 64], table({"nodes": [32, 4]})
    spans = []
    for slower in (1.0, 0.0):
        runs = {"nodes": settings, "runtime_s": grown(settings, slower),
                "power_w": 250.0 * np.array(settings)}  # fmt: skip
        low, high = LawGP().fit(table(runs)).predict(asked).interval("runtime_s")
        assert low[0] < grown([32], slower)[0] < high[0]
        spans.append(np.log(high / low))
    assert spans[0][0] > 1.5 * spans[1][0]
    assert spans[0][1] < 1.5 * spans[1][1]  # measured: as sure as without communication


def test_an_application_with_many_settings_is_known_by_all_of_them():
    n = np.arange(4, 64)
    runtime = 3600.0 / n * np.where((n >= 26) & (n <= 34), 1.5, 1.0)
    kept = n != 30
    runs = {"nodes": n[kept], "runtime_s": runtime[kept], "power_w": 300.0 * n[kept]}
    made = LawGP().fit(table(runs)).predict(table({"nodes": [30]}))
    assert made.mean("runtime_s")[0] == pytest.approx(180.0, rel=0.1)


BATCHES, CAPS = (1, 2, 4, 8, 16, 32, 64), (100, 150, 200, 250)


def held_without_a_batch_size(seed):
    """Whether the interval holds at a batch size never run, where batch sizes are not smooth."""
    rng = np.random.default_rng(seed)
    off = dict(zip(BATCHES, 0.2 * rng.normal(size=len(BATCHES)), strict=True))
    hidden = int(rng.choice(BATCHES[1:-1]))

    def runs(settings):
        batch, cap = np.array(settings, dtype=float).T
        odd = np.exp([off[int(b)] for b in batch])
        return table({"batch_size": batch, "cap_w": cap, "power_w": 0.9 * cap,
                      "runtime_s": 1000 / batch**0.5 * (200 / cap) ** 0.3 * odd})  # fmt: skip

    model = LawGP(("batch_size", "cap_w"))
    model.fit(runs([(b, c) for b in BATCHES for c in CAPS if b != hidden]))
    asked = runs([(hidden, 150)])
    low, high = model.predict(asked).interval("runtime_s")
    return low[0] <= asked.numpy("runtime_s")[0] <= high[0]


def test_beside_a_value_never_run_errors_are_those_of_values_left_out_whole():
    assert np.mean([held_without_a_batch_size(seed) for seed in range(40)]) >= 0.8


def test_a_known_application_is_forecast_as_one_that_comes_with_its_runs_would_be():
    n = np.array([1, 2, 4, 8, 16])
    rng = np.random.default_rng(3)
    runs = {
        a: 1000 * s / n * np.exp(0.2 * rng.normal(size=5))
        for a, s in zip("abc", (1, 2, 4), strict=True)
    }

    def of(apps):
        runtime = np.concatenate([runs[a] for a in apps])
        nodes = np.tile(n, len(apps))
        return table({"app": np.repeat(list(apps), 5), "nodes": nodes, "runtime_s": runtime,
                      "power_w": 300.0 * nodes})  # fmt: skip

    model = LawGP().fit(of("abc"))
    rest = [_thinned(model.runs_[a]) for a in "bc"]
    plain = _population(model.pooled_.basis, rest)
    assert model._without("a").means[0] == pytest.approx(_centres(plain, model.pooled_.width)[0])
    assert model._without("new") is model.pooled_
    assert LawGP().fit(of("a"))._without("a").means.shape[0] == 1
