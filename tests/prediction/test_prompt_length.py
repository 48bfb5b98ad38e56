"""Answer lengths from prompts: what is learned, what is not looked at, what is refused."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from rheostat import table
from rheostat.core.texts.turns import TURN, opening
from rheostat.errors import DataError
from rheostat.prediction.answer_length.length_learner import LengthLearner
from rheostat.prediction.answer_length.prompt_length import PENALTY, STACKED, PromptLength, _ridge
from rheostat.prediction.answer_length.prompt_reader import terms
from rheostat.prediction.answer_length.prompt_terms import BLOCKS, BUCKETS
from rheostat.recipes.pars import divided, evaluated, label_noise, scores

KINDS = {"Essay on": 400, "List three kinds of": 60, "Say yes or no about": 2}
THINGS = ("trees", "ships", "stars", "bread", "glass", "birds", "paper", "rain")


def requests(n: int = 240, seed: int = 0):
    """Prompts of three kinds, whose answers' lengths differ by kind and by 20 % within."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list(KINDS), n)
    made = [f"{k} {rng.choice(THINGS)} and {rng.choice(THINGS)}" for k in kinds]
    length = [KINDS[k] * np.exp(rng.normal(0, 0.2)) for k in kinds]
    return table({"prompt": made, "output_tokens": length})


def test_kinds_of_prompts_are_told_apart_and_lengths_come_back_in_tokens():
    model = PromptLength().fit(requests())
    asked = table({"prompt": [f"{k} clouds and rivers" for k in KINDS]})
    means = model.predict(asked).mean("output_tokens")
    assert (np.diff(means) < 0).all()
    for mean, wanted in zip(means, KINDS.values(), strict=True):
        assert 0.5 * wanted < mean < 2 * wanted + 20


def test_the_weights_solve_the_ridge_equations():
    from scipy.sparse import random

    x = random(30, 200, 0.1, "csr", random_state=0)
    z = np.random.default_rng(0).standard_normal(30)
    exact = np.linalg.solve((x.T @ x).toarray() + PENALTY * np.eye(200), x.T @ z)
    assert _ridge(x, z) == pytest.approx(exact, abs=1e-6)


def test_intervals_hold_what_they_say():
    model = PromptLength().fit(requests(240, seed=1))
    new = requests(400, seed=2)
    low, high = model.predict(new).interval("output_tokens", 0.9)
    truth = new.numpy("output_tokens")
    assert 0.8 <= np.mean((low <= truth) & (truth <= high)) <= 1.0


def test_a_prompt_that_comes_twice_does_not_make_intervals_narrow():
    """Lengths that no word tells, each prompt stored twice: what is predicted is not surer."""
    rng = np.random.default_rng(0)
    prompts = [f"w{rng.integers(10**6)} v{rng.integers(10**6)}" for _ in range(80)]
    once = table({"prompt": prompts, "output_tokens": rng.lognormal(4, 1, 80)})
    twice = table({c: once.frame[c].to_list() * 2 for c in once.columns})
    assert PromptLength().fit(twice).scatter_ > 0.9
    assert PromptLength().fit(table({"prompt": ["a"] * 12, "output_tokens": range(1, 13)})).scatter_


def test_the_length_of_the_answer_is_not_looked_at_and_order_does_not_matter():
    seen = requests()
    model = PromptLength().fit(seen)
    without = seen.select(["prompt"])
    assert model.score(without).tolist() == model.score(seen).tolist()
    turned = seen.rows(np.arange(len(seen))[::-1])
    assert model.score(turned)[::-1] == pytest.approx(model.score(seen), abs=1e-12)


def test_scores_are_kendalls_and_ties_are_half_right():
    truth = np.array([1.0, 2.0, 4.0, 8.0, 8.1])
    found = scores(np.array([1.0, 3.0, 2.0, 5.0, 5.0]), truth)
    assert found["tau"] == pytest.approx(kendalltau([1, 3, 2, 5, 5], truth).statistic)
    # 9 pairs differ by a fifth or more; one of them is wrong
    assert found["pair_accuracy"] == pytest.approx(8 / 9)
    assert scores(np.zeros(5), truth)["pair_accuracy"] == 0.5


def test_a_ranking_beats_the_prompts_length_on_prompts_not_learned_from():
    _, found = evaluated(requests(400, seed=5), 0.25, seed=0)
    assert 100 <= found["ours"]["tests"] <= 120  # prompts that repeat stay together
    assert found["ours"]["tau"] > 0.5
    assert found["ours"]["tau"] > found["prompt length"]["tau"]


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(DataError, match="at least"):
        PromptLength().fit(requests(5))
    with pytest.raises(DataError, match="expected text"):
        PromptLength().fit(requests()).score(table({"prompt": [1, 2]}))
    with pytest.raises(DataError, match="between 0 and 1"):
        evaluated(requests(), 1.5, 0)


def test_real_prompts_are_ranked_as_the_page_says(shared_data):
    from rheostat.measurement.serving.requests import read_requests

    file = shared_data / "llm" / "instruction_sets" / "alpaca_en_demo.parquet"
    _, found = evaluated(read_requests(file, columns={"output_tokens": "out_words"}), 0.2, 0)
    assert found["ours"]["tau"] >= 0.55
    assert found["prompt length"]["tau"] < 0


@pytest.mark.parametrize("loss", ["margin", "listmle", "pointwise", "buckets"])
def test_networks_of_every_loss_tell_kinds_apart_the_same_for_the_same_seed(loss):
    pytest.importorskip("torch", reason="the extra neural is not installed")
    _, found = evaluated(requests(400, seed=5), 0.25, seed=0, losses=[loss])
    assert found[f"network, {loss}"]["tau"] > 0.5
    assert evaluated(requests(400, seed=5), 0.25, seed=0, losses=[loss])[1] == found


def test_a_loss_that_is_not_known_is_refused_before_anything_is_learned():
    with pytest.raises(DataError, match="margin, listmle"):
        evaluated(requests(5), 0.2, 0, losses=["best"])


def test_answers_to_a_prompt_stay_on_one_side_and_say_how_well_they_order_each_other():
    seen = requests(200, seed=3)
    assert np.isnan(label_noise(table({"prompt": [f"p{i}" for i in range(50)],
                                       "output_tokens": np.arange(1.0, 51.0)})))  # fmt: skip
    rng = np.random.default_rng(0)
    first, second = rng.exponential(50, (2, 60)) + np.arange(60.0) * 4
    twice = table({"prompt": [f"p{i}" for i in range(60)] * 2,
                   "output_tokens": np.concatenate([first, second])})  # fmt: skip
    assert label_noise(twice) == pytest.approx(kendalltau(first, second).statistic)
    known, asked = divided(twice, 0.2, 0)
    assert len(asked) == 24
    assert not set(known.frame["prompt"]) & set(asked.frame["prompt"])
    assert len(divided(seen, 0.2, 0)[1]) >= 40


def test_terms_are_words_pairs_and_pieces_counted_once_each():
    counts, sizes = terms(["Ab cd ab", "", "\n\n", "ab cd ab"])
    # whole: ab twice, cd, "ab cd", "cd ab"; of " ab " and " cd " two pieces of 3 bytes, one of 4;
    # the same of the opening; one pair of different words
    words, pieces, opening, opening_pieces, pairs = (
        counts[0, b * BUCKETS : (b + 1) * BUCKETS].data.tolist() for b in range(BLOCKS)
    )
    assert sorted(words) == sorted(opening) == [1, 1, 1, 2]
    assert sorted(pieces) == sorted(opening_pieces) == [1, 1, 1, 2, 2, 2]
    assert pairs == [1]
    assert (counts[0] != counts[3]).nnz == 0
    assert counts[1].nnz == counts[2].nnz == 0
    assert sizes[:, :3].tolist() == [[8, 3, 0], [0, 0, 0], [2, 0, 2], [8, 3, 0]]


def test_of_two_lines_only_the_first_is_the_opening():
    one, two = terms(["list trees", "list trees\nships"])[0]
    for b in (2, 3, 4):
        block = slice(b * BUCKETS, (b + 1) * BUCKETS)
        assert (one[:, block] != two[:, block]).nnz == 0
    assert (one[:, :BUCKETS] != two[:, :BUCKETS]).nnz > 0


@given(st.lists(st.text(max_size=600), min_size=1, max_size=5))
def test_any_text_has_finite_features_of_length_one_per_block(prompts):
    model = fitted()
    x = model.features(prompts)
    assert np.isfinite(x.data).all()
    for b in range(BLOCKS):
        block = x[:, b * BUCKETS : (b + 1) * BUCKETS]
        lengths = np.sqrt(np.asarray(block.multiply(block).sum(axis=1))).ravel()
        assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6))
    alone = [model.score_prompts([p])[0] for p in prompts]
    assert model.score_prompts(prompts) == pytest.approx(alone, abs=1e-9)
    few = fitted(STACKED - 1)  # the score is then the linear one alone
    assert few.features(prompts) @ few.weights_ == pytest.approx(
        few.score_prompts(prompts), abs=1e-5
    )


@cache
def fitted(n: int = 240):
    return PromptLength().fit(requests(n))


def test_a_conversation_is_told_by_the_answers_before_and_stays_on_one_side():
    """Answers are as long as those before, whatever is asked."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(120):
        usual, said = rng.lognormal(5, 1.5), []
        for turn in range(4):
            asked = f"question {rng.integers(10**6)}"
            rows.append((TURN.join([asked, *said]), usual * rng.lognormal(0, 0.1)))
            said += [asked if turn else f"{asked} of {i}", "a " * max(1, round(usual / 2))]
    prompts, lengths = zip(*rows, strict=True)
    known, asked = divided(table({"prompt": prompts, "output_tokens": lengths}), 0.25, 0)
    begun = [{opening(p) for p in part.frame["prompt"] if TURN in p} for part in (known, asked)]
    assert not begun[0] & begun[1]
    later = asked.rows(np.flatnonzero([TURN in p for p in asked.frame["prompt"]]))
    score = PromptLength().fit(known).score(later)
    assert kendalltau(score, later.numpy("output_tokens")).statistic > 0.8


def test_what_is_compiled_ahead_is_all_that_learning_needs():
    from rheostat.prediction.answer_length import prompt_code, tree_code
    from rheostat.prediction.answer_length.length_learner import compile_ahead

    def compiled():
        return {name: tuple(made.signatures) for code in (prompt_code, tree_code)
                for name, made in vars(code).items() if hasattr(made, "signatures")}  # fmt: skip

    compile_ahead()
    ahead = compiled()
    learner = LengthLearner()
    for i in range(60):
        learner.observe(f"Schreibe über Straße {i}\n日本", 3.0 + i)
    learner.refit()
    learner.quantiles("x" * 5000, [0.1, 0.5])
    learner.model.score_prompts(["say yes"] * 20)
    assert all(ahead[name] for name in ("counted", "weigh", "added", "_read", "walked"))
    assert compiled() == ahead


@pytest.mark.parametrize("odd", [0, 33])
def test_answers_that_are_all_as_long_are_no_change_of_the_requests(odd):
    """A fixed limit of tokens: nothing is off, or few answers that end before; others are."""
    learner = LengthLearner()
    for i in range(250):
        learner.observe(f"write {i % 37} things", 9.0 if odd and i % odd == 7 else 64.0)
        if learner.due:
            learner.refit()
            assert learner.quantiles("write 5 things", [0.5]).tolist() == [64.0]
    assert learner.drifts == 0
    assert learner.error_ratio < 1.5
    for i in range(100):
        learner.observe(f"write {i % 37} things", 900.0)
    assert learner.drifts == 1


def test_prompts_are_kept_up_to_so_many_characters(monkeypatch):
    monkeypatch.setattr("rheostat.prediction.answer_length.length_learner.KEPT_CHARACTERS", 50)
    learner = LengthLearner(kept=8)
    for i in range(20):
        learner.observe("x" * (i % 10), 5.0)
    assert [len(text) for text, _ in learner._texts] == [2, 3, 4, 5, 6, 7, 8, 9]
    learner.observe("x" * 60, 5.0)
    assert len(learner._texts) == learner._characters == 0


def test_a_prompt_is_scored_once_though_it_is_asked_for_and_answered(monkeypatch):
    monkeypatch.setattr("rheostat.prediction.answer_length.length_learner.SCORED", 2)
    learner, scored = LengthLearner(), []
    for i in range(40):
        learner.observe(f"say yes to {i}", 1.0 + i % 5)
    learner.refit()
    score = PromptLength.score_prompts
    monkeypatch.setattr(
        PromptLength, "score_prompts",
        lambda model, prompts: scored.extend(prompts) or score(model, prompts),
    )  # fmt: skip
    before = learner.quantiles("say no", [0.5])
    learner.observe("say no", 2.0)
    assert scored == ["say no"]
    for other in ("a", "b", "c"):
        learner.quantiles(other, [0.5])
    assert learner.quantiles("say no", [0.5]) == before  # kept for two prompts alone
    assert scored == ["say no", "a", "b", "c", "say no"]
    assert len(learner._scores) <= 2


def test_more_requests_or_characters_than_can_be_learned_from_are_drawn_and_that_is_said(
    monkeypatch,
):
    said, asked = [], import_module("rheostat.questions.llm.rank")
    monkeypatch.setattr("rheostat.questions.listener.note", said.append)
    monkeypatch.setattr(asked, "MOST_LEARNED", 150)
    assert asked.rank(requests(240)).rows == 150
    monkeypatch.setattr(asked, "MOST_CHARACTERS", 3000)
    drawn = asked.rank(requests(240))
    assert 60 < drawn.rows < 3000 / 20  # a prompt has 20 characters or more
    assert [note.split(":")[0] for note in said] == [
        "150 of 240 requests are drawn", f"{drawn.rows} of 240 requests are drawn"
    ]  # fmt: skip


def test_scores_are_the_same_however_many_prompts_are_scored_together(monkeypatch):
    seen = requests(240)
    model = PromptLength().fit(seen)
    whole = model.score(seen)
    monkeypatch.setattr("rheostat.prediction.answer_length.prompt_length.AT_ONCE", 7)
    np.testing.assert_allclose(model.score(seen), whole, rtol=1e-12)
    assert model.score_prompts([]).shape == (0,)
