"""Placement and lengths in the law, the learned part beside it, widths, and what is printed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.errors import DataError
from rheostat.explanation.interval_words import interval_words, refuse_unheld
from rheostat.prediction.saved_models import persist
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.law import MEDIAN, NAMES, SPREAD, in_units, step
from rheostat.prediction.serving_law.part_weights import (
    EVEN,
    FEWEST,
    LAW_FIRST,
    PRIOR_WIDTH,
    LeftOut,
    groups_of,
    prior_of,
    weighed,
)
from rheostat.prediction.serving_law.printed_placement import PrintedPlacement
from rheostat.questions.llm.serving_lengths import at_lengths
from tests.prediction.test_serving_law import runs

ONE = {"app": "m", "params": 7e10, "gpu_model": "H100", "gpus": 2, "batch_cap": 64}


def of(*rows: dict[str, object]) -> Configurations:
    return Configurations.of(table(pl.DataFrame([{**ONE, **row} for row in rows])))


def many():
    """Sixty runs of 24 groups."""
    return runs(60, seed=1, workload=[f"w{i // 6 % 4}" for i in range(60)])


def test_copies_serve_their_own_requests_as_one_of_them_alone_does():
    """Two copies with 64 requests take what one takes with 32, energy per token alike."""
    small = {"params": 2e9}
    alone, copies, split = (
        of({**small, **c}) for c in ({"gpus": 1, "batch_cap": 32}, {"dp": 2}, {"dp": 1})
    )
    crowd = np.where(np.array(NAMES) == "prepare", -40.0, MEDIAN)  # of all copies together
    one, two, other = (np.array(step(crowd, c))[:, 0] for c in (alone, copies, split))
    assert two[:2] == pytest.approx(one[:2])
    assert two[2] == pytest.approx(one[2] + math.log(2))
    assert other[1] > two[1] + 0.1  # joining two GPUs costs more than reading weights twice
    implied = of({"tp": 1})
    assert implied.dp[0] == 2
    assert of({"tp": 2}).dp[0] == 1
    assert of({"tp": 1, "ep": 2, "active_params": 1e10}).dp[0] == 1  # experts need the GPUs


def test_copies_of_attention_that_share_their_experts_read_fewer_weights():
    place = {"gpus": 8, "params": 4e11, "active_params": 2e10, "dp": 8, "batch_cap": 512}
    each, shared = of({**place, "ep": 1}), of({**place, "ep": 8})
    assert shared.experts_split.tolist() == [8]
    assert each.experts_split.tolist() == [1]
    free = np.where(np.isin(NAMES, ["sync", "exchange"]), -40.0, MEDIAN)
    assert step(free, shared)[0][0] < step(free, each)[0][0] - 0.5


def test_prompts_are_computed_once_and_caches_read_with_every_token():
    """A prompt of 8,000 tokens for 100 of answer: arithmetic of 80 tokens and attention each."""
    short, long = of({"prompt_tokens": 100, "output_tokens": 100}), of(
        {"prompt_tokens": 8000, "output_tokens": 100})  # fmt: skip
    (t1, e1, _), (t2, e2, _) = (np.exp(np.array(step(MEDIAN, c))[:, 0]) for c in (short, long))
    p = dict(zip(NAMES, in_units(MEDIAN), strict=True))
    read = 64 * p["cache"] * math.sqrt(70) / (2 * 3.35e12) / 540
    assert t2 - t1 == pytest.approx((8050 - 150) * read, rel=1e-6)
    layers = 32 * (70 / 8) ** (1 / 3)
    token = 2 * 7e10 / (2 * 989e12 * p["compute"])
    grown = [n / 100 * (1 + n * math.sqrt(layers * 7e10 / 12) / 7e10) for n in (100, 8000)]
    prompts = token * (grown[1] - grown[0])
    each = (t2 - t1) / 64 + prompts
    busy = p["moving"] * (t2 - t1) / 64 + p["computing"] * p["compute"] * prompts
    assert e2 - e1 == pytest.approx(2 * 700 * (p["static"] * each + busy), rel=1e-6)


def test_answers_whose_length_is_known_after_the_run_alone_are_not_looked_at():
    lengths = {"prompt_tokens": [500.0], "output_tokens": [300.0]}
    frame = pl.DataFrame({**{k: [v] for k, v in ONE.items()}, **lengths})
    after = Column("output_tokens", "", Moment.END, "measured")
    assert np.isnan(Configurations.of(table(frame, [after])).output).all()
    assert Configurations.of(table(frame)).output.tolist() == [300.0]


def without_cache(n: int, seed: int = 0):
    """Runs of an engine that computes the whole context for every token: no term of the law."""
    rng = np.random.default_rng(seed)
    made = {
        "app": [f"m{i % 4}" for i in range(n)],
        "params": [(3e9, 7e9, 13e9, 30e9)[i % 4] for i in range(n)],
        "gpu_model": ["H100"] * n, "gpus": [1] * n, "batch_cap": [32] * n,
        "prompt_tokens": 2.0 ** rng.uniform(4, 11, n),
        "output_tokens": 2.0 ** rng.uniform(4, 11, n),
    }  # fmt: skip
    context = made["prompt_tokens"] + made["output_tokens"] / 2
    joules = 1e-13 * np.array(made["params"]) * context * np.exp(rng.normal(0, 0.03, n))
    return table({**made, "itl_s": joules / 10, "energy_per_token_j": joules})


def test_where_the_law_has_no_term_the_learned_part_answers_and_intervals_hold():
    every = without_cache(160)
    law = ServingLaw().fit(every.rows(np.arange(40)))
    alone = ServingLaw(residual=False).fit(every.rows(np.arange(40)))
    rest = every.rows(np.arange(40, 160))
    truth = np.log(rest.numpy("energy_per_token_j"))
    mean, spread = law.posterior(Configurations.of(rest), ["energy_per_token_j"])
    other, _ = alone.posterior(Configurations.of(rest), ["energy_per_token_j"])
    assert law.evidence_.share[1] > 0
    assert np.median(np.abs(mean - truth)) < 0.5 * np.median(np.abs(other - truth))
    assert 0.8 < np.mean(np.abs(mean - truth) < 1.645 * np.sqrt(np.diag(spread))) <= 1.0


@pytest.mark.parametrize(("stated", "prior"), [(0, LAW_FIRST), (20, LAW_FIRST), (30, EVEN)])
def test_the_learned_part_has_a_half_before_where_most_lengths_are_stated(stated, prior):
    lengths = {"prompt_tokens": 100.0, "output_tokens": 100.0}
    assert prior_of(of(*[lengths] * stated, *[{}] * (40 - stated))) == prior


def test_where_runs_scatter_less_than_the_prior_expects_intervals_are_shorter():
    law = ServingLaw().fit(many())
    assert law.evidence_.groups >= FEWEST
    assert law.evidence_.width[1] < 0.8 * PRIOR_WIDTH


def test_shares_and_widths_follow_from_what_was_left_out():
    rng = np.random.default_rng(0)
    groups, one = np.arange(40), np.ones((1, 40))
    right, wrong = rng.normal(0, 1, (1, 40)), rng.normal(0, 3, (1, 40))
    law = weighed(LeftOut(right, one), LeftOut(wrong, one), groups)
    assert law.share[0] < 0.1
    assert weighed(LeftOut(wrong, one), LeftOut(right, one), groups).share[0] > 0.8
    alike = weighed(LeftOut(right, one), LeftOut(right, one), groups).share[0]
    assert alike == pytest.approx(0.2, abs=0.001)  # nothing was said: the prior's mean
    even = weighed(LeftOut(right, one), LeftOut(right, one), groups, EVEN).share[0]
    assert even == pytest.approx(0.5, abs=0.001)
    assert weighed(LeftOut(right, one), LeftOut(wrong, one), groups, EVEN).share[0] < 0.3
    opposed = LeftOut(-right, one)  # errors that cancel: half of each is best
    assert 0.25 < weighed(LeftOut(right, one), opposed, groups).share[0] < 0.5
    twice = np.repeat(groups, 2)  # rows of one group say no more than one
    doubled = [LeftOut(np.repeat(e, 2, axis=1), np.ones((1, 80))) for e in (right, -right)]
    assert weighed(*doubled, twice).share == pytest.approx(
        weighed(LeftOut(right, one), opposed, groups).share)  # fmt: skip
    wide = weighed(LeftOut(wrong, one), LeftOut(wrong + 9, one), groups)
    assert wide.width[0] > 1.5 > law.width[0]
    assert wide.held[0, 0] < 0.7 < wide.held[0, 1]


def test_of_few_groups_widths_are_those_of_other_tables_and_that_is_said():
    few = ServingLaw().fit(runs(6))
    assert few.evidence_.width.tolist() == [PRIOR_WIDTH] * 3
    assert "not known from 6 groups" in interval_words(few)[0]
    said = interval_words(ServingLaw().fit(many()))
    assert len(said) == 3
    assert all("left out" in s for s in said)


def test_a_limit_with_a_confidence_is_refused_where_intervals_do_not_hold():
    law = ServingLaw().fit(many())
    refuse_unheld(law, "itl_s", 0.9)
    law.evidence_ = replace(law.evidence_, held=np.full((3, 2), 0.4))
    refuse_unheld(law, "itl_s", 0.5)
    with pytest.raises(DataError, match=r"held 40 % of the runs"):
        refuse_unheld(law, "itl_s", 0.9)


def test_ten_answers_follow_from_the_printed_law_to_a_thousandth():
    """From the table in the text and the function of the Python, which know no other file."""
    seen = runs(40, seed=2, prompt_tokens=[500.0, 900.0] * 20, output_tokens=[200.0] * 40)
    law, asked = ServingLaw().fit(seen), seen.rows(np.arange(10))
    said = law.predict(asked)
    wanted = np.column_stack([said.mean(q) for q in ("itl_s", "energy_per_token_j", "power_w")])
    printed = PrintedPlacement.of(law, asked)
    space: dict[str, object] = {}
    exec(printed.as_python(), space)
    assert np.array([space["predict"](i) for i in range(10)]) == pytest.approx(wanted)
    columns: dict[str, list[float]] = {}
    for line in printed.as_text().split("answer =")[0].split("\n"):
        words = line.split()
        if words and words[0] in (*NAMES, "time", "energy", "power") and len(words) > 2:
            name = f"{words[0]} {words[1]}" if words[1] in ("x", "s", "J", "W") else words[0]
            name = words[0] if words[0] in NAMES else name
            columns.setdefault(name, []).extend(float(w) for w in words[2:])
    for i in range(10):
        place = space["CONFIGURATIONS"][i][0]  # type: ignore[index]
        numbers = {n: columns[n][i] for n in NAMES}
        law_says = space["step"](**place, parameters=numbers)  # type: ignore[operator]
        factors = [columns[f"{q} x"][i] for q in ("time", "energy", "power")]
        assert np.multiply(factors, law_says) == pytest.approx(wanted[i], rel=1e-3)
        assert [columns[q][i] for q in ("time s", "energy J", "power W")] == pytest.approx(
            wanted[i], rel=1e-3)  # fmt: skip
    assert printed.as_latex().count("&") > 10 * len(NAMES)


def test_what_is_printed_names_where_a_configuration_is_split_and_what_it_serves():
    asked = table({
        "app": ["m", "m"], "params": [7e10, 7e10], "active_params": [7e10, 1e10],
        "gpu_model": ["H100", "H100"], "gpus": [2, 8], "pp": [1, 2], "dp": [1, 2], "ep": [1, 4],
        "batch_cap": [64, 64], "workload": ["", "chat"], "prompt_tokens": [None, 500.0],
        "output_tokens": [None, 20.0],
    })  # fmt: skip
    assert PrintedPlacement.of(ServingLaw().fit(runs(12)), asked).labels == [
        "m on 2 x H100, batch cap 64",
        "m on 8 x H100, pp 2, dp 2, ep 4, chat, batch cap 64, 500 + 20 tokens",
    ]


def test_a_plan_is_for_the_lengths_asked_or_for_those_most_runs_have():
    lengths = {"prompt_tokens": [100.0, 100.0, 110.0, 4000.0], "output_tokens": [50.0] * 4}
    own = table({"app": ["m"] * 4, **lengths, "energy_per_token_j": [1.0, 2.0, 3.0, 9.0]})
    made, notes = at_lengths(own)
    assert made.numpy("energy_per_token_j").tolist() == [1.0, 2.0, 3.0]
    assert set(made.numpy("prompt_tokens")) == {100.0}
    assert "prompts of 100 and answers of 50" in notes[0].message
    assert at_lengths(own, 4000, 50)[0].numpy("energy_per_token_j").tolist() == [9.0]
    new, _ = at_lengths(own, 1000, 50)
    assert np.isnan(new.numpy("energy_per_token_j")).all()
    silent = table({"app": ["m"], "energy_per_token_j": [1.0]})
    assert at_lengths(silent) == (silent, ())
    assert "do not state" in at_lengths(silent, 1000, 50)[1][0].message


def test_a_saved_law_answers_with_its_learned_part(tmp_path):
    law = ServingLaw().fit(many())
    assert law.evidence_.share.any()
    again = persist.load(persist.save(law, tmp_path / "law.rheo"))
    assert np.array_equal(again.predict(many())["itl_s"], law.predict(many())["itl_s"])


def test_rows_with_one_of_time_and_energy_are_learned_from():
    seen = runs(24)
    half = pl.when(pl.int_range(pl.len()) < 12).then("energy_per_token_j")
    frame = seen.frame.with_columns(energy_per_token_j=half)
    law = ServingLaw().fit(table(frame))
    assert len(law.seen_) == 24
    with pytest.raises(DataError, match="energy_per_token_j"):
        ServingLaw().fit(table(seen.frame.with_columns(itl_s=pl.lit(0.0), energy_per_token_j=-1.0)))


def test_groups_are_models_at_a_placement_with_requests_of_a_length():
    c = of({}, {"batch_cap": 8}, {"dp": 2}, {"prompt_tokens": 50, "output_tokens": 9}, {"app": "n"})
    assert len(np.unique(groups_of(c))) == 4
    assert len(SPREAD) == len(NAMES)
