"""Trees and networks beside a linear score: what they must see, and how much they count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.special import ndtri
from scipy.stats import kendalltau, rankdata

from rheostat.core.texts.turns import TURN
from rheostat.prediction.answer_length import score_stack
from rheostat.prediction.answer_length.boosted_trees import BoostedTrees
from rheostat.prediction.answer_length.pair_network import FILTER, MARGIN, PairNetwork, pair_slopes
from rheostat.prediction.answer_length.prompt_numbers import KINDS, REST, UNITS
from rheostat.prediction.answer_length.prompt_reader import numbers
from rheostat.prediction.answer_length.prompt_terms import encoded
from rheostat.prediction.answer_length.score_stack import FARTHEST, ScoreStack


def test_trees_as_arrays_say_what_the_library_says():
    """Also where the library changes how it keeps its trees."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(0)
    x = rng.uniform(size=(300, 3)).astype(np.float32).astype(float)
    y = np.sin(6 * x[:, 0]) + x[:, 1]
    kept = []

    class Kept(HistGradientBoostingRegressor):
        def fit(self, *given):
            kept.append(self)
            return super().fit(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn.ensemble.HistGradientBoostingRegressor", Kept)
        trees = [BoostedTrees(seed=s).fit(x, y) for s in (0, 1)]
    both = np.mean([k.predict(x) for k in kept], axis=0)
    assert np.mean(np.abs(BoostedTrees.mean(trees).predict(x) - both) > 1e-5) < 0.01


def test_the_slopes_of_the_pair_loss_are_its_differences():
    rng = np.random.default_rng(1)
    scores, lengths = rng.normal(0, 1, 12), rng.integers(1, 30, 12).astype(float)

    def loss(s):
        gap = lengths[:, None] - lengths[None]
        far = (gap >= FILTER * np.maximum(lengths[:, None], lengths)) & (gap > 0)
        return (np.maximum(0, MARGIN - (s[:, None] - s[None])) * far).sum() / far.sum()

    steps = 1e-6 * np.eye(12)
    wanted = [(loss(scores + d) - loss(scores - d)) / 2e-6 for d in steps]
    assert pair_slopes(scores, lengths) == pytest.approx(wanted, abs=1e-5)


def test_a_network_orders_what_it_learned_from_the_same_for_the_same_seed():
    x = np.random.default_rng(2).standard_normal((400, 5))
    lengths = np.exp(x[:, 0] - 0.5 * np.abs(x[:, 1]))
    score = PairNetwork().fit(x, lengths).predict(x)
    assert kendalltau(score, lengths).statistic > 0.7
    assert PairNetwork().fit(x, lengths).predict(x).tolist() == score.tolist()


def test_what_no_line_says_is_learned_and_useless_parts_do_not_count():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((600, 4))
    lengths = np.exp(np.sign(x[:, 1] * x[:, 2]) + 0.3 * x[:, 0] + 0.2 * rng.standard_normal(600))
    z, part = ndtri((rankdata(lengths) - 0.5) / 600), rng.integers(0, 5, 600)
    vectors = np.zeros((600, 0))
    stack = ScoreStack().fit(x[:500], vectors[:500], z[:500], lengths[:500], part[:500])
    score = stack.predict(x[500:], vectors[500:])
    assert kendalltau(score, lengths[500:]).statistic > 0.6
    assert kendalltau(x[500:, 0], lengths[500:]).statistic < 0.4
    assert (stack.shares_ >= 0).all()
    exact = np.column_stack([z, rng.standard_normal((600, 2))])
    linear = ScoreStack().fit(exact, vectors, z, lengths, part)
    assert linear.scatter_ < 0.05


def test_numbers_say_how_long_an_answer_is_asked_for():
    prompts = ["In 3 short sentences: who was she?", "essay, five hundred", "", "500 words\n\nin:"]
    read = numbers(prompts, *encoded(prompts))
    kinds, unit = list(KINDS), 2 * len(KINDS)
    assert read[0, unit + UNITS.index("sentences")] == pytest.approx(np.log1p(3))
    assert read[3, unit + UNITS.index("words")] == pytest.approx(np.log1p(500))
    assert read[0, kinds.index("which")] == 1
    assert read[1, len(KINDS) + kinds.index("prose")] == 1  # the first word is of that kind
    assert read[:, REST + 3].tolist() == [1, 0, 0, 0]
    assert read[:, REST + 4].tolist() == [0, 0, 0, 1]
    assert not read[2].any()


def test_numbers_of_a_conversation_are_of_its_turns():
    text = TURN.join(["and?", "hello", "x" * 20, "more", "y" * 40])
    assert numbers([text, "and?"], *encoded([text, "and?"]))[:, -5:] == pytest.approx(
        np.array([[4, *np.log1p([40, 30, 4, 69])], [0] * 5])
    )


def test_what_lies_beyond_all_that_was_seen_counts_as_its_edge():
    """Networks see it clipped; trees see numbers as they are, vectors along their directions."""
    stack, vectors = ScoreStack(), np.array([[1.0, 2.0], [30.0, -1e9]])
    stack.center_, stack.scale_ = np.array([1.0, 0.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0, 0.5])
    stack.directions_ = np.array([[0.0], [3.0]])
    x = np.array([[2.0, -3.5], [1e6, -5.0]])
    trees, networks = stack._inputs(x, vectors)
    assert networks.tolist() == [[0.5, -3.5, 0.0, 0.0], [FARTHEST, -FARTHEST, FARTHEST, -FARTHEST]]
    assert trees.tolist() == [[2.0, -3.5, 6.0], [1e6, -5.0, -3e9]]
    stack.center_, stack.scale_ = stack.center_[:3], stack.scale_[:3]
    stack.directions_ = np.array([[3.0]])
    assert stack._inputs(x, vectors[:, :1])[0].tolist() == [[2.0, -3.5, 3.0], [1e6, -5.0, 90.0]]
    stack.center_, stack.scale_ = stack.center_[:2], stack.scale_[:2]
    trees, networks = stack._inputs(x, vectors[:, :0])
    assert trees.tolist() == x.tolist()
    assert networks.tolist() == [[0.5, -3.5], [FARTHEST, -FARTHEST]]


class Mean:
    """Stands for trees and networks: the mean of a column plus what it was fitted to."""

    def __init__(self, *, seed=None, shift=0.0, count=0):
        self.seed, self.shift, self.count = seed, shift, count

    def fit(self, x, y):
        self.shift, self.count = float(np.mean(y)), len(y)
        return self

    def predict(self, x):
        return x[:, 1] + self.shift

    @classmethod
    def mean(cls, every):
        return cls(seed=every[0].seed, shift=float(np.mean([m.shift for m in every])),
                   count=sum(m.count for m in every))  # fmt: skip


def test_shares_and_scatter_come_from_parts_that_were_left_out(monkeypatch):
    """Each part is answered by trees and a network of the others; what is new by their mean."""
    monkeypatch.setattr(score_stack, "BoostedTrees", Mean)
    monkeypatch.setattr(score_stack, "PairNetwork", Mean)
    rng = np.random.default_rng(6)
    x, vectors, part = rng.standard_normal((30, 2)), np.zeros((30, 0)), np.arange(30) % 3 * 7
    z = 0.4 * x[:, 0] + 0.5 * x[:, 1] + 0.1 * rng.standard_normal(30)
    lengths = np.exp(z)
    made = ScoreStack(seed=5).fit(x, vectors, z, lengths, part)
    standard = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)
    left_out = np.column_stack([x[:, 0], x[:, 1], standard[:, 1]])
    for k in (0, 7, 14):
        left_out[part == k, 1] += z[part != k].mean()
        left_out[part == k, 2] += lengths[part != k].mean()
    shares, rest = nnls(left_out, z)
    assert made.shares_ == pytest.approx(shares)
    assert made.scatter_ == pytest.approx(rest / np.sqrt(30))
    assert (made.trees_.seed, made.network_.seed) == (5, 5)
    assert (made.trees_.count, made.network_.count) == (60, 60)
    assert made.scale_ == pytest.approx(x.std(axis=0) + 1e-6, rel=1e-12)
    made.shares_ = shares = np.array([0.3, 0.5, 0.2])
    asked = np.array([[2.0, 0.5], [-3.0, 0.2]])
    far = (asked - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)
    wanted = shares @ [asked[:, 0], asked[:, 1] + z.mean(), far[:, 1] + lengths.mean()]
    assert made.predict(asked, np.zeros((2, 0))) == pytest.approx(wanted)


def test_trees_see_the_directions_in_which_vectors_differ_most(monkeypatch):
    monkeypatch.setattr(score_stack, "BoostedTrees", Mean)
    monkeypatch.setattr(score_stack, "PairNetwork", Mean)
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((200, 60)) * np.r_[9.0, np.ones(58), 5.0] + 3.0
    x, z = rng.standard_normal((200, 2)), rng.standard_normal(200)
    made = ScoreStack().fit(x, vectors, z, np.exp(z), np.arange(200) % 2)
    assert made.directions_.shape == (60, 50)
    assert np.abs(made.directions_[[0, 59], [0, 1]]) == pytest.approx([1, 1], abs=0.1)
    away = vectors - vectors.mean(axis=0)
    spread = ((away @ made.directions_) ** 2).sum(axis=0)
    assert spread == pytest.approx(np.linalg.svd(away)[1][:50] ** 2)
    few = ScoreStack().fit(x[:9], vectors[:9], z[:9], np.exp(z[:9]), np.arange(9) % 2)
    assert few.directions_.shape == (60, 9)
