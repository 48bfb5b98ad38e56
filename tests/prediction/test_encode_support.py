"""The matrix keeps what it should, does not betray the answer; support counts what is near."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.core.jobs import Moment
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.prediction.features.cold_start import equal_shares, fit_regulars, group_folds
from rheostat.prediction.features.encode import SHRINK, fit_encoder
from rheostat.prediction.features.model_columns import choose_features
from rheostat.prediction.features.support import fit_support


def column(encoder, x: np.ndarray, name: str) -> np.ndarray:
    return x[:, encoder.names.index(name)]


def test_the_mean_of_a_category_is_shrunk_towards_all() -> None:
    frame = pl.DataFrame({"app": ["a"] * 15 + ["b"] * 5})
    y = np.concatenate([np.full(15, 1.0), np.full(5, 9.0)])[:, None]
    encoder = fit_encoder(frame, y)
    means = column(encoder, encoder.transform(pl.DataFrame({"app": ["a", "b", "c"]})), "app#y0")
    assert means == pytest.approx([(15 + SHRINK * 3) / (15 + SHRINK), (45 + SHRINK * 3) / 10, 3.0])


def test_cross_fitting_does_not_betray_the_answer() -> None:
    """Targets are noise: a mean that included the row itself would correlate with it."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"user": [f"u{i // 3}" for i in range(900)]})
    y = rng.normal(size=(900, 1))
    encoder = fit_encoder(frame, y)
    crossed = column(encoder, encoder.cross_fitted(frame, y, rng), "user#y0")
    plain = column(encoder, encoder.transform(frame), "user#y0")
    assert np.corrcoef(plain, y[:, 0])[0, 1] > 0.5
    assert abs(np.corrcoef(crossed, y[:, 0])[0, 1]) < 0.1


def test_nulls_stay_or_become_the_median_and_an_indicator() -> None:
    frame = pl.DataFrame({"nodes": [1, None, 3]})
    keep, fill = (fit_encoder(frame, np.zeros((3, 1)), impute=i) for i in (False, True))
    assert np.isnan(keep.transform(frame)[1, 0])
    assert fill.names == ("nodes", "nodes#missing")
    assert fill.transform(frame).tolist() == [[1, 0], [2, 1], [3, 0]]


def test_times_become_hour_and_weekday_and_dates_are_forgotten() -> None:
    week = 7 * 86400.0
    frame = pl.DataFrame({"submit_s": [3600.0 * 5, 3600.0 * 5 + 52 * week, 86400.0 * 2]})
    encoder = fit_encoder(frame, np.zeros((3, 1)))
    assert encoder.names == ("submit_s#hour", "submit_s#weekday")
    assert encoder.transform(frame).tolist() == [[5, 0], [5, 0], [0, 2]]


def test_identifiers_texts_and_lists_are_no_features() -> None:
    n = 40
    jobs = table({
        "job_id": np.arange(n), "comment": [f"run {i}" for i in range(n)],
        "user": np.arange(n) % 3, "parts": [[i] for i in range(n)], "nodes": [4] * n,
        "energy_j": np.ones(n), "empty": [None] * n,
    })  # fmt: skip
    assert choose_features(jobs, Moment.SUBMIT, ("energy_j",), None) == ("user", "nodes")
    with pytest.raises(DataError, match="no column known at SUBMIT varies"):
        choose_features(jobs.select(["job_id", "energy_j"]), Moment.SUBMIT, ("energy_j",), None)


def test_a_user_number_is_a_name() -> None:
    frame = pl.DataFrame({"user": [1001, 7, 7]})
    encoder = fit_encoder(frame, np.array([[1.0], [2.0], [2.0]]))
    assert column(encoder, encoder.transform(frame), "user#rank").tolist() == [1, 0, 0]


def brute_force(past: pl.DataFrame, asked: pl.DataFrame) -> list[int]:
    """Runs of the same app within a factor of 2, inside the app's range; all runs if unseen."""
    counts = []
    for app, nodes in asked.iter_rows():
        own = past.filter(pl.col("app") == app)["nodes"].to_numpy()
        own = own if len(own) else past["nodes"].to_numpy()
        near = np.abs(np.log2(own) - np.log2(nodes)) <= 1 + 1e-9
        counts.append(int(near.sum()) if own.min() <= nodes <= own.max() else 0)
    return counts


def test_support_counts_what_brute_force_counts() -> None:
    rng = np.random.default_rng(0)
    past = pl.DataFrame({
        "app": [f"a{i}" for i in rng.integers(0, 6, 800)], "nodes": 2 ** rng.integers(0, 7, 800),
    })  # fmt: skip
    asked = pl.DataFrame({
        "app": [f"a{i}" for i in rng.integers(0, 8, 300)], "nodes": 2 ** rng.integers(0, 9, 300),
    })  # fmt: skip
    assert fit_support(past).counts(asked).tolist() == brute_force(past, asked)


def test_support_of_two_knobs_needs_both_near() -> None:
    past = pl.DataFrame({"threads": [1, 1, 64, 64], "frequency_hz": [1e9, 1.1e9, 3e9, 3.1e9]})
    asked = pl.DataFrame({"threads": [1, 1, 8], "frequency_hz": [1.05e9, 3e9, 2e9]})
    assert fit_support(past).counts(asked).tolist() == [2, 0, 0]


def test_a_missing_resource_is_near_only_to_a_missing_one() -> None:
    past = pl.DataFrame({"gpus": [4, 4, None]})
    assert fit_support(past).counts(pl.DataFrame({"gpus": [4, None]})).tolist() == [2, 1]


def test_similar_by_chooses_the_group() -> None:
    past = pl.DataFrame({"app": ["x"] * 4, "user": ["a", "a", "b", "b"], "nodes": [1, 2, 8, 9]})
    asked = pl.DataFrame({"app": ["x"], "user": ["a"], "nodes": [8]})
    assert fit_support(past).counts(asked).tolist() == [2]
    assert fit_support(past, group_by=("user",)).counts(asked).tolist() == [0]


def test_hidden_groups_are_hidden_whole_and_weigh_alike() -> None:
    frame = pl.DataFrame({"user": [f"u{i % 15}" for i in range(300)]})
    fold, group = group_folds(frame, 3, np.random.default_rng(0))
    assert all(len(set(fold[group == g])) == 1 for g in range(15))
    assert np.bincount(fold).tolist() == [100, 100, 100]
    sizes = np.repeat([0, 1], [1000, 3])
    shares = equal_shares(np.where(sizes == 0, -1.0, 1.0)[:, None], sizes)
    assert shares.mean() == 0.0


def test_few_groups_are_not_hidden_and_nobody_named_is_no_newcomer() -> None:
    few = pl.DataFrame({"user": ["a", "b"] * 20})
    assert (group_folds(few, 3, np.random.default_rng(0))[0] == -1).all()
    bare = pl.DataFrame({"nodes": [1, 2]})
    assert not fit_regulars(bare).is_new(bare).any()
