"""What the serving law reads, prints and says of its runs, against values worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.errors import DataError
from rheostat.prediction.serving_law import (
    ServingLaw,
    equation,
    left_out_models,
    operon_law,
    parameter_draws,
    printed_placement,
)
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.law import NAMES, in_units, step
from rheostat.prediction.serving_law.measured_range import outside
from rheostat.prediction.serving_law.measured_rows import measured_rows
from rheostat.prediction.serving_law.sensitivity import sensitivity
from rheostat.prediction.serving_law.sharing import PARAMETERS, PriorCovariance
from rheostat.prediction.serving_law.unlike_repeats import unlike_repeats
from tests.prediction.test_serving_law_parts import MIXED, ONE, configurations, several

# --- what is printed -----------------------------------------------------------------------------


def test_intervals_are_quantiles_around_the_most_likely_value() -> None:
    law = ServingLaw().fit(MIXED)
    deviation = np.sqrt(np.diag(law.common_covariance()))
    for level, z in ((None, 1.6448536), (0.5, 0.6744898)):
        made = equation.intervals(law) if level is None else equation.intervals(law, level)
        assert {n: v for n, (v, _, _) in made.items()} == pytest.approx(law.parameters_)
        for k, name in enumerate(NAMES):
            ends = in_units(law.log_parameters_ + np.array([[-z], [z]]) * deviation[k])[:, k]
            assert made[name][1:] == pytest.approx(tuple(ends)), name


def test_text_latex_and_python_hold_every_parameter_in_their_order() -> None:
    none = ServingLaw().fit(MIXED.rows([]))
    text = equation.as_text(none)
    assert text.startswith(equation.TEXT)
    assert "placement with most runs" not in text
    lines = [line.split(" = ")[0].strip() for line in text.splitlines()[-len(NAMES) :]]
    assert lines == list(NAMES)
    share = next(line for line in text.splitlines() if line.strip().startswith("bandwidth = "))
    assert share.split("] ")[1].split()[0] == "1"  # a number without a unit
    latex = equation.as_latex(none)
    assert latex.startswith(equation.LATEX)
    assert latex.splitlines()[-1].count(" = ") == len(NAMES)
    assert "h = 0.005, " in latex
    space: dict[str, object] = {}
    exec(equation.as_python(none), space)
    assert space["PARAMETERS"] == none.parameters_


def test_a_table_has_six_configurations_side_by_side_and_their_factors_and_answers() -> None:
    assert printed_placement.AT_ONCE == 6
    asked = several(batch_cap=[8, 16, 32, 64, 128, 256, 512], ep=[1, 2, 1, 1, 1, 1, 1],
                    workload=["", *["chat"] * 6])  # fmt: skip
    law = ServingLaw().fit(asked.rows([]))
    made = printed_placement.PrintedPlacement.of(law, asked)
    said = law.predict(asked)
    alone = np.exp(np.column_stack(step(law.log_parameters_of(made.at), made.at)))
    for k, name in enumerate(("itl_s", "energy_per_token_j", "power_w")):
        assert made.answers[:, k] == pytest.approx(said.mean(name))
        assert made.factors[:, k] == pytest.approx(said.mean(name) / alone[:, k])
    assert made.labels[:2] == [
        "m on 4 x H100, batch cap 8",
        "m on 4 x H100, ep 2, chat, batch cap 16",
    ]
    blocks = made.as_text().split("\n\n")
    one, two = (b.splitlines() for b in blocks[-3:-1])
    assert [line[:4] for line in one[:6]] == [f"({i}) " for i in range(1, 7)]
    assert one[6].split() == [f"({i})" for i in range(1, 7)]
    assert (two[0][:4], two[1].split()) == ("(7) ", ["(7)"])
    assert [line[:14].strip() for line in two[-6:]] == [
        "time x", "energy x", "power x", "time s", "energy J", "power W"]  # fmt: skip
    assert two[2].split()[:2] == ["host", "s"]
    assert [x.split()[1] for x in two[2:] if x.split()[0] == "bandwidth"] == ["1"]
    assert float(two[-1].split()[-1]) == pytest.approx(made.answers[6, 2], rel=1e-5)
    latex = made.as_latex().splitlines()
    assert "\\begin{tabular}{lrrrrrrr}" in latex
    assert f"% (7) {made.labels[6]}" in latex
    space: dict[str, object] = {}
    exec(made.as_python(), space)
    for i in (0, 6):
        assert space["predict"](i) == pytest.approx(tuple(made.answers[i]))  # type: ignore[operator]


# --- draws, elasticities -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["host", "cache", "experts"])
def test_draws_of_a_parameter_lie_evenly_over_what_runs_leave_open(name) -> None:
    asked = Configurations.of(MIXED)
    k, even = NAMES.index(name), ndtri((np.arange(9) + 0.5) / 9)
    for law in (ServingLaw().fit(MIXED.rows([])), ServingLaw(seed=3).fit(MIXED)):
        shared = PriorCovariance.between(law.seen_, asked).parameters[name]
        prior = sum(s**2 for s in PARAMETERS[name].values())
        middle = law.log_parameters_of(asked)[:, k]
        made = np.log(parameter_draws.parameter_draws(law, name, asked, 9))
        order = np.random.default_rng(law.seed).permutation(9)
        for i in range(len(asked)):
            known = 0.0
            if law.factor_ is not None:
                n, low = (
                    len(asked),
                    np.tril(law.factor_[0]) if law.factor_[1] else np.triu(law.factor_[0]).T,
                )
                cross = [law.slopes_[r, k] * shared[r % n, i] for r in law.observed_]
                known = float(np.sum(np.linalg.solve(low, cross) ** 2))
            expected = middle[i] + math.sqrt(prior - known) * even
            assert made[:, i] == pytest.approx(expected[order], rel=1e-6)


def test_elasticities_of_time_and_energy_are_derivatives_at_the_commonest_placement() -> None:
    """Three runs of one at 9, 9 and 30 requests, and one of another: 9, 16 and 30 are shown."""
    made_s, joules = [0.02, 0.01, 0.02, 0.01], [0.1, 1.0, 0.4, 1.1]
    jobs = several(app=["b", "a", "a", "a"], batch_cap=[500, 9, 30, 9], itl_s=made_s,
                   energy_per_token_j=joules)  # fmt: skip
    law = ServingLaw().fit(jobs)
    made = sensitivity(law)
    assert made is not None
    assert made.placement == "a on 4 x H100, the placement with most runs"
    assert made.batch.tolist() == [9, 16, 30]
    at = configurations(app=["a"] * 3, batch_cap=[9, 16, 30])
    logs = law.log_parameters_of(at)
    for k, name in enumerate(NAMES):
        move = 1e-4 * (np.arange(len(NAMES)) == k)
        slopes = [
            (a - b) / 2e-4
            for a, b in zip(step(logs + move, at), step(logs - move, at), strict=True)
        ]
        assert made.step_time[name] == pytest.approx(slopes[0], abs=2e-4), name
        assert made.energy[name] == pytest.approx(slopes[1], abs=2e-4), name
    assert np.abs(made.energy["host"] - made.step_time["host"]).max() > 0.01


# --- what is read of a table ---------------------------------------------------------------------


def test_measured_rows_are_positive_uncut_and_watts_count_before_tokens_per_second() -> None:
    jobs = several(
        itl_s=[0.5, None, 0.2, -1.0, 0.1, 0.3], energy_per_token_j=[0.25, 0.5, 0.0, 0.0, 4.0, None],
        tokens_per_s=[100.0, 100.0, 100.0, 100.0, 100.0, 100.0],
        power_w=[0.5, None, 700.0, 1.0, 1.0, 0.0],
        censored=[False, False, False, False, True, False],
    )  # fmt: skip
    kept, logs = measured_rows(jobs)
    assert kept.numpy("tokens_per_s").shape == (4,)
    expected = np.log([[0.5, 0.25, 0.5], [np.nan, 0.5, 50.0], [0.2, np.nan, 700.0],
                       [0.3, np.nan, np.nan]])  # fmt: skip
    assert logs == pytest.approx(expected, nan_ok=True)
    alone = measured_rows(several(energy_per_token_j=[2.0]))[1]
    assert alone == pytest.approx(np.array([[np.nan, math.log(2), np.nan]]), nan_ok=True)
    with pytest.raises(DataError, match="itl_s is missing") as neither:
        measured_rows(several(gpus=[4]))
    assert "energy_per_token_j is missing" in str(neither.value)
    with pytest.raises(DataError, match="no row has energy_per_token_j > 0"):
        measured_rows(several(energy_per_token_j=[0.0, None]))


def test_what_a_configuration_needs_is_named_where_it_is_absent() -> None:
    bare = table({k: [v] for k, v in ONE.items() if k not in ("gpu_model", "params")})
    with pytest.raises(DataError) as said:
        Configurations.of(bare)
    assert "column gpu_model is missing" in str(said.value)
    assert "column params is missing" in str(said.value)
    without = table({k: [v] for k, v in ONE.items() if k != "app"})
    with pytest.raises(DataError, match="column app is missing"):
        Configurations.of(without)


@pytest.mark.parametrize(("place", "copies"), [
    ({"gpus": 8, "tp": 2}, 4), ({"gpus": 8, "tp": 2, "pp": 2}, 2), ({"gpus": 8, "tp": 3}, 1),
    ({"gpus": 2, "tp": 4}, 1), ({"gpus": 8, "tp": 0}, 1), ({"gpus": 8, "tp": None}, 1),
    ({"gpus": 8, "tp": 2, "ep": 2}, 1), ({"gpus": 8, "tp": 2, "ep": 1}, 4),
    ({"gpus": 8, "tp": 8}, 1), ({"gpus": 8, "tp": 1}, 8), ({"gpus": 8}, 1),
    ({"gpus": 8, "dp": 16}, 8),
    ({"gpus": 8, "dp": 4, "pp": 4}, 2), ({"gpus": 8, "dp": 0.5}, 1), ({"gpus": 8, "dp": 2}, 2),
])  # fmt: skip
def test_copies_of_a_model_are_those_stated_or_what_layers_and_experts_leave(place, copies) -> None:
    tp = {"tp": pl.Series([place.pop("tp")], dtype=pl.Float64)} if "tp" in place else {}
    assert configurations(**{k: [v] for k, v in place.items()}, **tp).dp.tolist() == [copies]


def test_weights_are_split_over_what_copies_and_stages_leave() -> None:
    c = configurations(gpus=[16] * 6, pp=[2] * 6, dp=[2, 2, 2, 2, 1, 2], ep=[1, 2, 8, 64, 1, 6],
                       active_params=[5e9] * 5 + [4e10])  # fmt: skip
    assert c.split.tolist() == [4, 4, 4, 4, 8, 4]
    assert c.experts_split.tolist() == [4, 4, 8, 8, 8, 4]
    assert c.copies.tolist() == [2, 2, 1, 1, 1, 2]
    assert len(c.of_rows(np.array([1, 3]))) == 2


def test_what_is_not_stated_is_what_it_is_without_and_what_is_too_much_is_cut() -> None:
    c = configurations(power_cap_w=[None, 500.0, 9000.0], active_params=[None, 5e9, 9e10],
                       architecture=["moe", None, "dense"], pp=[None, 0.5, 2])  # fmt: skip
    assert c.cap_w.tolist() == [700.0, 500.0, 700.0]
    assert c.active.tolist() == [4e10, 5e9, 4e10]
    assert c.kind.tolist() == ["moe", "mixture", "dense"]
    assert c.pp.tolist() == [1, 0.5, 2]
    assert (c.ep.tolist(), c.weight_b.tolist()) == ([1] * 3, [2.0] * 3)
    assert np.isnan([c.prompt, c.output]).all()
    for name, bad in (
        ("power_cap_w", 0.0),
        ("pp", -1.0),
        ("active_params", math.inf),
        ("gpus", None),
    ):
        with pytest.raises(DataError, match=f"{name}: expected numbers above 0") as said:
            configurations(**{name: pl.Series([1.0, bad, bad], dtype=pl.Float64)})
        assert "in row 1" in str(said.value)


def test_lengths_are_read_where_they_are_set_at_submission_or_before() -> None:
    for known, there in ((Moment.SUBMIT, True), (Moment.START, False), (Moment.END, False)):
        column = Column("prompt_tokens", "", known, "measured")
        frame = pl.DataFrame({**{k: [v] for k, v in ONE.items()}, "prompt_tokens": [7.0]})
        assert (Configurations.of(table(frame, [column])).prompt.tolist() == [7.0]) is there


def test_of_many_rows_beyond_the_range_twenty_are_named_and_all_counted() -> None:
    asked = configurations(batch_cap=[999] * 25, output_tokens=[10.0, *[50.0] * 24])
    rows, notes = outside(configurations(batch_cap=[64], output_tokens=[41.0]), asked)
    assert rows.tolist() == [True] * 25
    assert [(n.rows, n.count) for n in notes] == [(tuple(range(20)), 25), ((0,), 1)]
    assert "length of an answer beyond 4 times what was measured (41 to 41)" in notes[1].message
    ends = configurations(output_tokens=[10.25, 164.0, 165.0])
    seen = configurations(output_tokens=[41.0])
    assert outside(seen, ends)[0].tolist() == [False, False, True]
    assert outside(seen.of_rows(np.array([], dtype=int)), ends) == (pytest.approx([False] * 3), ())


# --- repeats, models left out, the search of others ----------------------------------------------


def test_repeats_up_to_one_and_a_half_times_are_noise_and_columns_that_vary_tell_nothing() -> None:
    on = [True, True, True, True, False]
    runs = pl.DataFrame({"cap": [1, 1, 2, 2, 2], "host": ["a", "a", "x", "y", "z"],
                         "fan": [1, 1, 5, 5, 7], "on": on})  # fmt: skip
    quiet = {"itl_s": np.array([1.0, 1.5, 2.0, 2.0, 3.0])}
    assert unlike_repeats(runs, quiet, ["cap"]) == ()
    loud = {"itl_s": np.array([1.0, 1.5, 2.0, 2.0, 3.01])}
    (note,) = unlike_repeats(runs, loud, ["cap"])
    assert note.count == 3
    assert note.message.startswith(
        "runs of one configuration differ by a factor above 1.5, and all"
    )
    assert note.message.endswith(
        "from: at cap 2 one has 3.01 s between tokens where others have 2 "
        "(fan 7, on False in that row alone); take out rows that were disturbed"
    )
    two = pl.DataFrame(
        {"cap": [None, None], "fan": [1, 2], "on": [True, False], "same": ["a", "a"]}
    )
    (note,) = unlike_repeats(two, {"energy_per_token_j": np.array([4.0, 1.0])}, ["cap"])
    assert (
        "at cap empty one has 4 J a token where others have 1 (on True in that row" in note.message
    )


def test_models_that_were_left_out_need_three_and_what_was_measured_of_them() -> None:
    assert (left_out_models.Z, left_out_models.FEWEST) == (1.6449, 3)
    few = SimpleNamespace(seen_=configurations(app=["a", "b"]), evidence_=object())
    assert left_out_models.left_out_models(few) == {}
    seen = configurations(app=["a", "a", "b", "c"])
    assert left_out_models.left_out_models(SimpleNamespace(seen_=seen, evidence_=None)) == {}
    edge = 1.6449 * 0.2  # still within
    error = np.array([[0.1, -0.3, edge, 0.5], [np.nan] * 4, [np.nan, 0.4, 0.6, np.nan]])
    wide = np.array([[0.1, 0.15, 0.2, 0.1], [np.nan] * 4, [1.0, 1.0, 0.1, 1.0]])
    asked = []
    law = SimpleNamespace(
        seen_=seen, evidence_=SimpleNamespace(width=np.array([1.0, 1.0, 0.5])),
        left_out=lambda codes: asked.append(codes) or SimpleNamespace(error=error, deviation=wide),
    )  # fmt: skip
    made = left_out_models.left_out_models(law)
    assert asked[0].tolist() == [0, 0, 1, 2]
    assert set(made) == {"itl_s", "power_w"}
    each = [(math.expm1(0.1) + math.expm1(0.3)) / 2, math.expm1(edge), math.expm1(0.5)]
    assert made["itl_s"].models == 3
    assert made["itl_s"].median_error == pytest.approx(sorted(each)[1])
    assert made["itl_s"].held == pytest.approx((0.5 + 1 + 0) / 3)
    assert made["power_w"].held == pytest.approx((1 + 0) / 2)


def test_operon_is_asked_with_the_seed_length_and_evaluations_given(monkeypatch) -> None:
    calls = []

    class Model:
        model_ = "m"

        def __init__(self, **options):
            calls.append(options)

        def fit(self, x, y):
            calls.append((x, y))

        def predict(self, x):
            return np.array([-60.0, 0.5, 60.0])

        def get_model_string(self, model, digits):
            return f"{model} {digits}"

    def required(name, extra):
        return SimpleNamespace(SymbolicRegressor=Model)

    monkeypatch.setattr(operon_law, "require", required)
    jobs = several(batch_cap=[2, 8, 32], energy_per_token_j=[3.0, 2.0, 1.0])
    law = operon_law.OperonLaw().fit(jobs)
    options, (x, y) = calls
    assert options == {
        "allowed_symbols": operon_law.SYMBOLS, "max_length": 30, "optimizer_iterations": 5,
        "max_evaluations": 200_000, "max_time": 60, "n_threads": 1, "random_state": 0,
        "model_selection_criterion": "minimum_description_length",
    }  # fmt: skip
    assert y == pytest.approx(np.log([3.0, 2.0, 1.0]))
    assert x == pytest.approx(np.log([[4, 1, b, 10, 700 / 3350, 1] for b in (2, 8, 32)]))
    made = law.predict(jobs).draws["energy_per_token_j"]
    assert made == pytest.approx(np.exp([[-50.0, 0.5, 50.0]]))
    assert law.as_text() == "ln E = m 4"
    operon_law.OperonLaw(seed=4, length=7, evaluations=99).fit(jobs)
    own = calls[2]
    assert (own["random_state"], own["max_length"], own["max_evaluations"]) == (4, 7, 99)
