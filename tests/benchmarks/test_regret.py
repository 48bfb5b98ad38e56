"""Decision regret: the oracle pays nothing, a broken bound pays its excess and earns nothing."""

from __future__ import annotations

import numpy as np
import pytest
from nodecount_lib.pools import PAIRS, make_pool
from nodecount_lib.regret import QUESTIONS_PER_DIRECTION, Question, choose, questions, regret_of


@pytest.fixture
def pool():
    n = np.arange(1.0, 17.0)
    runtime, power = 100 / n + 2, 90 * n + 40
    y = np.stack([runtime, power, runtime * power], axis=1)
    return make_pool("made/up", "made", "up", knobs=("nodes",), settings=n[:, None], y=y, source="")


@pytest.mark.parametrize("pair", PAIRS.values())
def test_knowing_everything_costs_nothing(pool, pair) -> None:
    asked = questions(pool, pair)
    assert len(asked) == 2 * QUESTIONS_PER_DIRECTION
    for q in asked:
        assert regret_of(pool.log_y, q, choose(pool.log_y, q)) == (0.0, False)


def test_every_question_can_be_met_and_is_always_the_same(pool) -> None:
    asked = questions(pool, (0, 1))
    assert asked == questions(pool, (0, 1))
    assert all((pool.log_y[:, q.limit] <= q.bound).any() for q in asked)


def test_breaking_a_bound_costs_its_log_excess_and_speed_gains_nothing(pool) -> None:
    q = Question(minimise=0, limit=1, bound=float(np.log(500.0)))
    loss, broken = regret_of(pool.log_y, q, 15)
    assert broken
    assert loss == pytest.approx(np.log((90 * 16 + 40) / 500.0))


def test_meeting_it_too_cautiously_costs_the_distance_to_the_oracle(pool) -> None:
    q = Question(minimise=0, limit=1, bound=float(np.log(500.0)))
    loss, broken = regret_of(pool.log_y, q, 0)
    assert not broken
    assert loss == pytest.approx(np.log(102 / (100 / 5 + 2)))


def test_unknown_settings_are_not_chosen_while_something_is_known() -> None:
    belief = np.full((3, 3), np.nan)
    belief[1] = [1.0, 9.0, 10.0]
    assert choose(belief, Question(0, 1, 5.0)) == 1


def test_a_loss_within_noise_is_not_counted(pool) -> None:
    q = Question(minimise=0, limit=1, bound=float(np.log(500.0)))
    for choice in (0, 4, 15):
        loss, broken = regret_of(pool.log_y, q, choice)
        eased = regret_of(pool.log_y, q, choice, np.array([0.1, 0.1, 0.1]))
        assert eased == (pytest.approx(max(0.0, loss - 0.1)), broken)
