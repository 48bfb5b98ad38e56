"""OPEN's measured tables: the figures of the page, and what the leaks do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from caps_lib.classic import TrainMean
from caps_lib.protocol import CapProtocol, run_baseline, run_ours, summary

from rheostat.prediction.completion.model import CapModel

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def tables(shared_data: Path):
    """Altis to learn from, ECP to be judged on."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from caps import FILE, measured
    finally:
        sys.path.remove(str(BENCHMARKS))
    if not FILE.is_file():
        pytest.skip(f"measured data not found at {FILE}")
    return measured()


MODELS: dict[tuple[str, bool], CapModel] = {}


def marks(known, new, n, how):
    a, b = how.table(known), how.table(new)
    key = known.apps[0], how.sweep_normalised
    if key not in MODELS:
        MODELS[key] = CapModel(by_default=not how.sweep_normalised).fit(a)
    return {k: v[0] for k, v in summary(run_ours(MODELS[key], b, n, how=how)).items()}


def test_the_trivial_mean_is_as_good_as_reported(tables) -> None:
    known, new = tables
    how = CapProtocol(sweep_normalised=True, judged_on_tried=True)
    found = summary(run_baseline(TrainMean, how.table(known), how.table(new), 4, how=how))
    assert found["accuracy"][0] == pytest.approx(93.41, abs=0.01)
    assert found["r2"][0] < 0


@pytest.mark.parametrize("sweep", [False, True])
def test_four_tries_hold_the_bound_and_save_more_than_85_watts(tables, sweep: bool) -> None:
    known, new = tables
    found = marks(known, new, 4, CapProtocol(sweep_normalised=sweep))
    assert found["accuracy"] >= 96.5
    assert found["violated"] <= 0.10
    assert found["saved_w"] >= 85


def test_two_tries_reach_95_percent_in_the_published_unit(tables) -> None:
    known, new = tables
    assert marks(known, new, 2, CapProtocol(sweep_normalised=True))["accuracy"] >= 95
    assert marks(known, new, 2, CapProtocol())["accuracy"] >= 94.5


def test_taught_on_ecp_it_holds_for_altis(tables) -> None:
    known, new = tables
    found = marks(new, known, 4, CapProtocol())
    assert found["accuracy"] >= 97
    assert found["violated"] <= 0.10
    assert found["saved_w"] >= 85


def test_the_answer_key_hides_every_violation(tables) -> None:
    known, new = tables
    honest = CapProtocol(sweep_normalised=True)
    told = CapProtocol(sweep_normalised=True, answer_key=True)
    a, b = honest.table(known), honest.table(new)
    assert summary(run_baseline(TrainMean, a, b, 4, how=honest))["violated"][0] >= 0.2
    assert summary(run_baseline(TrainMean, a, b, 4, how=told))["violated"][0] == 0.0
