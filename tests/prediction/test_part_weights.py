"""Shares of the law and of the learned part, and widths, against sums worked out one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.left_out_models import left_out_models
from rheostat.prediction.serving_law.part_weights import (
    EVEN,
    LAW_FIRST,
    LeftOut,
    folds_of,
    unweighed,
    weighed,
)
from tests.prediction.test_serving_law import runs


def alike(errors) -> LeftOut:
    """Errors in units of the deviation, of both parts: the mixture's, too, whatever the share."""
    return LeftOut(np.array([errors]), np.ones((1, len(errors))))


def drawn(n: int, seed: int) -> LeftOut:
    rng = np.random.default_rng(seed)
    return LeftOut(rng.normal(size=(1, n)), rng.uniform(0.3, 2.0, (1, n)))


@pytest.mark.parametrize(("groups", "rank"), [(12, 11.2), (14, 13.0), (19, 17.5), (29, 26.5)])
def test_the_width_is_the_error_of_the_rank_that_holds_nine_of_ten_new_groups(groups, rank) -> None:
    """Rank .9 (n + 1) - 1/2 counted from nought, and twelve groups of the usual width beside it."""
    sizes = np.random.default_rng(groups).permutation(np.linspace(0.5, 3.0, groups))
    found = weighed(alike(sizes), alike(sizes), np.arange(groups))
    own = np.interp(rank, np.arange(groups), np.sort(sizes)) / 1.6449
    assert found.width[0] == pytest.approx(
        math.exp((groups * math.log(own) + 12 * math.log(1.2)) / (groups + 12))
    )
    held = [np.mean(sizes <= 1.6449 * width) for width in (1.0, found.width[0])]
    assert found.held[0].tolist() == pytest.approx(held)
    assert found.groups == groups


def test_of_eleven_groups_the_law_answers_alone_with_the_usual_width() -> None:
    sizes = np.linspace(0.5, 3.0, 11)
    found = weighed(drawn(11, 0), alike(sizes), np.arange(11))
    assert (found.share.tolist(), found.width.tolist(), found.groups) == ([0.0], [1.2], 11)
    none = unweighed(2, 3)
    assert (none.share.tolist(), none.width.tolist(), none.groups) == ([0.0] * 2, [1.2] * 2, 3)
    assert np.isnan(none.held).all()
    assert none.held.shape == (2, 2)


@pytest.mark.parametrize("prior", [LAW_FIRST, EVEN])
@pytest.mark.parametrize(
    "groups", [np.arange(12), np.arange(15), np.arange(30) // 2, np.arange(24) % 13]
)
def test_the_share_is_its_mean_under_prior_times_density(prior, groups) -> None:
    """Groups count alike; a factor of all deviations is the most likely one at each share."""
    n = len(groups)
    law, learned = drawn(n, 1), drawn(n, 2)
    count = [int(np.sum(groups == g)) for g in groups]
    total = top = 0.0
    for k in range(20):
        s, weighted, logs = (k + 0.5) / 20, 0.0, 0.0
        for i in range(n):
            (e1, e2), (d1, d2) = ((p[0, i] for p in two) for two in (
                (law.error, learned.error), (law.deviation, learned.deviation)))  # fmt: skip
            variance = (1 - s) * d1**2 + s * d2**2 + s * (1 - s) * (e1 - e2) ** 2
            weighted += ((1 - s) * e1 + s * e2) ** 2 / variance / count[i]
            logs += math.log(variance) / count[i]
        m = len(set(groups.tolist()))
        density = s ** prior[0] * (1 - s) ** prior[1] * math.exp(-logs / 2) * weighted ** (-m / 2)
        total, top = total + density, top + s * density
    assert weighed(law, learned, groups, prior).share[0] == pytest.approx(top / total)


def test_what_was_not_measured_of_a_quantity_is_left_aside() -> None:
    law, learned = drawn(20, 1), drawn(20, 2)
    gap = law.error.copy()
    gap[0, 5:8] = np.nan
    kept = np.r_[0:5, 8:20]
    parts = [LeftOut(p.error[:, kept], p.deviation[:, kept]) for p in (law, learned)]
    found = weighed(LeftOut(gap, law.deviation), learned, np.arange(20))
    expected = weighed(*parts, np.arange(17))
    assert found.share.tolist() == expected.share.tolist()
    assert found.width.tolist() == expected.width.tolist()
    assert found.groups == 20


def test_groups_are_left_out_whole_in_five_parts() -> None:
    groups = np.arange(60) // 2 % 23
    folds = np.array(folds_of(groups))
    assert folds.shape == (5, 60)
    assert (folds.sum(axis=0) == 1).all()
    assert sorted(len(set(groups[f].tolist())) for f in folds) == [4, 4, 5, 5, 5]
    assert all(set(groups[f].tolist()).isdisjoint(groups[~f].tolist()) for f in folds)
    assert (folds == np.array(folds_of(groups, 0))).all()
    assert (folds != np.array(folds_of(groups, 1))).any()


def test_models_left_out_count_alike_and_are_held_as_wide_as_is_printed() -> None:
    jobs = runs(60, seed=1, workload=[f"w{i // 6 % 4}" for i in range(60)])
    law = ServingLaw().fit(jobs)
    apps = jobs.frame["app"].to_numpy()
    names = sorted(set(apps))
    made = left_out_models(law)
    left = law.left_out(np.searchsorted(names, apps))
    for q, (name, found) in enumerate(made.items()):
        error, wide = np.abs(left.error[q]), law.evidence_.width[q] * left.deviation[q]
        medians = [np.median(np.exp(error[apps == a]) - 1) for a in names]
        held = [np.mean(error[apps == a] <= 1.6449 * wide[apps == a]) for a in names]
        assert found.models == len(names), name
        assert found.median_error == pytest.approx(np.median(medians))
        assert found.held == pytest.approx(np.mean(held))
    assert set(made) == {"itl_s", "energy_per_token_j", "power_w"}
