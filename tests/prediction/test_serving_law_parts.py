"""Parts of the serving law: data sheets, kernels as prior, what rows share, how far it reaches."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from benchmarks.closed_form import ClosedForm
from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.errors import LeakError, NotFitted
from rheostat.prediction.accelerators import ACCELERATORS
from rheostat.prediction.serving_law import ServingLaw, equation, predictor
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.kernel_medians import medians
from rheostat.prediction.serving_law.law import MEDIAN, NAMES, RATES, in_units, jacobian, step
from rheostat.prediction.serving_law.measured_range import outside
from rheostat.prediction.serving_law.measured_rows import measured_rows
from rheostat.prediction.serving_law.products import ProductLaw, variables_of
from rheostat.prediction.serving_law.sensitivity import Sensitivity, sensitivity
from rheostat.prediction.serving_law.sharing import PARAMETERS, levels
from rheostat.prediction.serving_law.unlike_repeats import unlike_repeats

ONE = {"app": "m", "workload": "chat", "params": 4e10, "active_params": 5e9, "gpu_model": "H100",
       "gpus": 4, "batch_cap": 32}  # fmt: skip


def several(**columns):
    """Rows like `ONE` but for these columns."""
    n = len(next(iter(columns.values())))
    return table({k: [v] * n for k, v in ONE.items()} | columns)


def configurations(**columns):
    return Configurations.of(several(**columns))


# --- accelerators --------------------------------------------------------------------------------

STACKS = {"V100": (4, 8), "A100-40": (5, 8), "A100": (5, 16), "L40S": (24, 2), "H100": (5, 16),
          "A100-PCI-40": (5, 8), "A100-PCI": (5, 16), "H100-PCI": (5, 16),
          "GH200": (6, 16), "MI250": (8, 16), "MI300X": (8, 24), "MI325X": (8, 32),
          "H20": (6, 16), "MI300A": (8, 16), "MI350X": (8, 36), "MI355X": (8, 36)}  # fmt: skip
LINKS = {"V100": (6, 50), "A100-40": (12, 50), "A100": (12, 50), "H100": (18, 50),
         "GH200": (18, 50), "H200": (18, 50), "GB200": (18, 100), "B200": (18, 100),
         "MI250": (8, 100), "MI300X": (7, 128), "MI325X": (7, 128), "L40S": (2, 32),
         "A100-PCI-40": (2, 32), "A100-PCI": (2, 32), "H100-PCI": (2, 64),
         "H100-NVL": (12, 50), "P100": (4, 40), "V100-16": (6, 50), "MI100": (3, 92),
         "MI210": (3, 100)}  # fmt: skip
GEN3, GEN4 = (2, 16), (2, 32)
LINKS |= dict.fromkeys(["K40", "K80", "M60", "P4", "P40", "P100-PCI", "1080TI", "V100-PCI",
                        "V100-PCI-16", "T4"], GEN3)  # fmt: skip
LINKS |= dict.fromkeys(["A10", "A10G", "A30", "A40", "3090", "4090", "L4", "L40",
                        "A5000", "6000-ADA"], GEN4)  # fmt: skip
LINKS |= {"A6000": (1, 112), "A800": (8, 50), "H800": (8, 50), "H20": (18, 50),
          "GH200-144": (18, 50), "H200-NVL": (18, 50), "GB300": (18, 100), "B300": (18, 100),
          "5090": (2, 64), "PRO-6000": (2, 64), "PRO-6000-MAX": (2, 64), "MI300A": (6, 128),
          "MI350X": (7, 153.6), "MI355X": (7, 153.6), "GAUDI-2": (24, 25), "GAUDI-3": (24, 50),
          "HL-225": (24, 25), "HL-325": (24, 50), "MAX-1550": (16, 53)}  # fmt: skip


def test_memories_are_stacks_of_chips_and_links_are_so_many_lanes():
    """GB of a stack or chip; GB/s of a link in both directions (L40S: PCIe, one each way)."""
    memory = {k: a.memory_b / 1e9 for k, a in ACCELERATORS.items() if k in STACKS}
    assert memory == {k: n * gb for k, (n, gb) in STACKS.items()}
    links = {k: a.link_b_per_s / 1e9 for k, a in ACCELERATORS.items()}
    assert links == pytest.approx({k: n * gb_s for k, (n, gb_s) in LINKS.items()})


def test_a_gpu_is_its_part_of_the_makers_system():
    """GB200 NVL72: 360 PFLOPS, 13.4 TB; DGX B200: 36 PFLOPS, 1,440 GB (16 bits, half dense)."""
    rack, box = ACCELERATORS["GB200"], ACCELERATORS["B200"]
    assert (rack.flop_per_s, box.flop_per_s) == (360e15 / 72 / 2, 36e15 / 8 / 2)
    assert (round(72 * rack.memory_b / 1e12, 1), 8 * box.memory_b) == (13.4, 1440e9)


# --- what kernels reach --------------------------------------------------------------------------


def test_the_most_particular_number_of_a_kernel_counts():
    numbers = {"bandwidth": 0.9, "bandwidth of 16 bits": 0.8, "bandwidth of 8 bits": 0.7,
               "bandwidth of 4 bits": 0.6, "bandwidth of experts of 4 bits": 0.5}  # fmt: skip
    c = configurations(weight_precision=["bf16", "fp8", "nvfp4", "nvfp4", "bf16"],
                       active_params=[5e9, 5e9, 5e9, 4e10, 5e9],
                       gpu_model=["H100"] * 4 + ["B200"])  # fmt: skip
    at = medians({"NVIDIA H100 80GB": numbers}, c)
    share = np.exp(at[:, NAMES.index("bandwidth")])
    prior = math.exp(MEDIAN[NAMES.index("bandwidth")])
    assert share == pytest.approx([0.8, 0.7, 0.5, 0.6, prior])
    others = [k for k, name in enumerate(NAMES) if name != "bandwidth"]
    assert np.array_equal(at[:, others], np.tile(MEDIAN[others], (5, 1)))


@pytest.mark.parametrize(("gpus", "pp", "table_of"), [
    (1, 1, None), (2, 1, 2), (3, 1, 4), (4, 1, 4), (4, 2, 2), (5, 1, 4), (6, 1, 8), (8, 1, 8),
    (16, 1, 8), (4, 4, None),
])  # fmt: skip
def test_joining_gpus_costs_half_way_between_the_prior_and_two_all_reduces_a_layer(
    gpus, pp, table_of
):
    """Of the nearest number of GPUs there is a table of; from eight on that of eight."""
    seconds, link = {2: 8e-6, 4: 1e-5, 8: 2e-5}, {2: 0.9, 4: 0.8, 8: 0.6}
    numbers = {f"join_s of {n} GPUs": s for n, s in seconds.items()}
    numbers |= {f"link of {n} GPUs": s for n, s in link.items()}
    (at,) = medians({"H100": numbers}, configurations(gpus=[gpus], pp=[pp]))
    k, j = NAMES.index("sync"), NAMES.index("exchange")
    if table_of is None:
        assert (at[k], at[j]) == (MEDIAN[k], MEDIAN[j])
        return
    layers, hops = 32 * (4e10 / 8e9) ** (1 / 3), math.log2(gpus / pp)
    width = math.sqrt(1e9 / (12 * layers))
    own = 2 * layers * seconds[table_of] / hops
    assert math.exp(at[k]) == pytest.approx(math.sqrt(own * math.exp(MEDIAN[k])))
    own = 2 * layers * 2 * width / (link[table_of] * hops)
    assert math.exp(at[j]) == pytest.approx(math.sqrt(own * math.exp(MEDIAN[j])))
    alone = {name: s for name, s in numbers.items() if name.startswith("join_s")}
    (at,) = medians({"H100": alone}, configurations(gpus=[gpus], pp=[pp]))
    assert at[k] == MEDIAN[k]  # both numbers are needed


# --- what rows have in common --------------------------------------------------------------------


@pytest.mark.parametrize(("level", "column", "doublings"), [
    ("placement", "gpus", 1.4), ("placement", "pp", 1.4), ("run", "gpus", 1.4), ("run", "pp", 1.4),
    ("placement, batch", "batch_cap", 2.0), ("run, batch", "batch_cap", 1.5),
    ("size", "params", 0.5), ("size", "active_params", 0.5),
])  # fmt: skip
def test_at_its_length_scale_a_level_is_shared_by_exp_of_minus_a_half(level, column, doublings):
    start = float(ONE.get(column, 1))
    both = configurations(**{column: [start, start * 2**doublings]})
    shared = levels(both, both)[level]
    assert shared == pytest.approx(np.array([[1, math.exp(-0.5)], [math.exp(-0.5), 1]]))


def test_only_a_repeat_of_a_run_is_the_run_itself():
    start = {"prompt_tokens": 500.0, "output_tokens": 200.0, "power_cap_w": 400.0, "ep": 2,
             "dp": 1}  # fmt: skip
    changed = {"prompt_tokens": 502.0, "output_tokens": 201.0, "power_cap_w": 410.0, "ep": 4,
               "dp": 2, "gpus": 8, "pp": 2, "batch_cap": 33, "app": "n",
               "workload": "code"}  # fmt: skip
    one = configurations(**{k: [v] for k, v in start.items()})
    assert levels(one, one)["itself"].tolist() == [[1.0]]
    for column, value in changed.items():
        other = configurations(**{k: [v] for k, v in (start | {column: value}).items()})
        assert levels(one, other)["itself"][0, 0] < 1.0, column
        if column not in ("gpus", "pp", "dp"):
            assert levels(one, other)["itself"].tolist() == [[0.0]], column


def test_a_workload_stands_for_lengths_or_where_these_are_stated_for_a_server():
    both = {"workload": ["one", "other"]}
    unsaid = configurations(**both)
    stated = configurations(**both, prompt_tokens=[100, 100], output_tokens=[50, 50])
    same, apart, none = np.ones((2, 2)), np.eye(2), np.zeros((2, 2))
    for a, b, requests, server in (
        (unsaid, unsaid, apart, none), (stated, stated, same, apart), (unsaid, stated, none, none),
    ):  # fmt: skip
        shared = levels(a, b)
        np.testing.assert_array_equal(shared["requests"], requests)
        np.testing.assert_array_equal(shared["server"], server)


MIXED = several(
    app=["a", "a", "a", "b", "b", "c", "c", "d"],
    workload=["chat", "chat", "video", "chat", "chat", "video", "chat", "chat"],
    params=[8e9, 8e9, 8e9, 4e10, 4e10, 7e10, 7e10, 9e9],
    active_params=[8e9, 8e9, 8e9, 5e9, 5e9, 7e10, 7e10, 9e9],
    architecture=["", "", "", "", "", "", "", "hybrid"],
    gpu_model=["H100", "H100", "H100", "B200", "H100", "B200", "B200", "A100"],
    gpus=[1, 1, 2, 4, 4, 8, 8, 1], pp=[1, 1, 1, 1, 2, 2, 1, 1],
    batch_cap=[8, 64, 64, 16, 256, 32, 512, 128],
    weight_precision=["bf16", "bf16", "fp8", "fp8", "nvfp4", "bf16", "fp8", "bf16"],
    power_cap_w=[None, None, 300.0, None, None, None, 500.0, None],
    itl_s=[0.01, 0.014, 0.012, 0.02, 0.05, 0.06, 0.05, 0.03],
    energy_per_token_j=[0.9, 0.15, 0.2, 1.3, 0.5, 3.0, 0.4, 0.12],
)  # fmt: skip


def test_no_rate_is_above_the_makers_and_slopes_have_no_kink_there():
    """The law knows of no rate above the maker's; near it, slopes change as far as it is gone."""
    at = np.linspace(-1.0, 1.0, 201)[:, None] * RATES + MEDIAN * ~RATES
    rates = in_units(at)[:, RATES]
    assert (rates <= 1.0).all()
    assert (np.diff(rates, axis=0) > 0).all()
    assert in_units(MEDIAN) == pytest.approx(np.exp(MEDIAN), rel=1e-3)
    one = configurations(batch_cap=[64] * 201)
    slopes = jacobian(at, one).reshape(3, 201, -1)[0][:, RATES]
    assert np.abs(np.diff(slopes, axis=0)).max() < 0.05


STATED = table(MIXED.frame.with_columns(
    prompt_tokens=pl.Series([500.0, 500, 500, 90, 90, 2000, 500, 500]), output_tokens=200.0
))  # fmt: skip


@pytest.mark.parametrize(("jobs", "fitted", "expected"), [
    (STATED, False, [-8.05739457, 3.99025966, 7.56736447]),
    (STATED, True, [-9.33583689, 0.39156175, 1.02379286]),
    (MIXED, False, [-7.2835432, 2.53178733, 6.07186856]),
    (MIXED, True, [-9.16694497, 0.27442772, 0.87008580]),  # of few groups
])  # fmt: skip
def test_the_prior_is_the_one_that_figures_of_the_pages_stand_on(jobs, fitted, expected):
    """Medians, spreads and correlations in three sums: who changes one measures anew."""
    law = ServingLaw().fit(jobs if fitted else jobs.rows([]))
    mean, spread = law.posterior(Configurations.of(jobs))
    weights = np.cos(np.arange(len(mean)))
    made = [mean @ weights, weights @ spread @ weights, np.trace(spread)]
    assert made == pytest.approx(expected, rel=1e-5)


# --- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("column", "reach", "word"), [
    ("batch_cap", 2, "batch cap"), ("gpus", 2, "number of GPUs"), ("pp", 2, "pipeline stages"),
    ("params", 4, "parameters of the model"), ("active_params", 4, "active parameters"),
    ("prompt_tokens", 4, "prompt length"),
])  # fmt: skip
def test_the_law_reaches_a_stated_multiple_beyond_what_was_measured(column, reach, word):
    start = {"params": 4e10, "active_params": 1e9}.get(column, 64.0)
    seen = configurations(**{column: [start, 2 * start]})
    ends = [start / reach, 2 * start * reach, start / reach * 0.99, 2 * start * reach * 1.01]
    rows, (note,) = outside(seen, configurations(**{column: ends}))
    assert rows.tolist() == [False, False, True, True]
    assert note.message.startswith(f"not answered: {word} beyond {reach} times what was measured")
    assert (note.rows, note.count) == ((2, 3), 2)


def test_no_draw_is_above_the_cap_of_all_gpus():
    """The prior alone spreads so far that it would be."""
    asked = several(power_cap_w=[200.0, 150.0], batch_cap=[512, 512])
    watts = ServingLaw().fit(asked.rows([])).predict(asked).draws["power_w"]
    assert watts.max(axis=0).tolist() == [4 * 200.0, 4 * 150.0]


def test_of_more_runs_than_the_bound_those_are_taken_that_lie_evenly(monkeypatch):
    assert predictor.MOST_ROWS == 800
    assert predictor.sampled(800) == ()
    (note,) = predictor.sampled(3000)
    assert "learned from 800 of 3,000 configurations, evenly spread" in note.message
    monkeypatch.setattr(predictor, "MOST_ROWS", 3)
    law = ServingLaw().fit(MIXED)
    assert law.seen_.batch.tolist() == [8, 256, 128]  # of rows 0 to 7 the first, middle and last
    assert "3 of 8" in law.predict(MIXED).notes[-1].message
    assert len(ServingLaw().fit(MIXED.rows([0, 1, 2])).predict(MIXED.rows([0])).notes) == 0


def test_answers_do_not_depend_on_the_blocks_that_they_are_worked_out_in(monkeypatch):
    law = ServingLaw(n_draws=5).fit(MIXED)
    whole = law.predict(MIXED).draws["itl_s"]
    monkeypatch.setattr(predictor, "BLOCK", 3)
    assert law.predict(MIXED).draws["itl_s"] == pytest.approx(whole)
    assert whole.shape == (5, 8)


def test_what_is_asked_for_has_to_be_known_before_a_run():
    late = MIXED.with_columns([Column("gpus", "", Moment.END, "measured")], gpus=[4] * 8)
    with pytest.raises(LeakError, match="gpus"):
        ServingLaw().fit(late)


def test_without_a_run_the_parameters_are_those_of_the_prior_and_runs_narrow_them():
    none, some = (ServingLaw().fit(rows) for rows in (MIXED.rows([]), MIXED))
    assert measured_rows(MIXED.rows([]))[1].shape == (0, 3)
    prior = none.common_covariance()
    every = {name: spreads["every"] ** 2 for name, spreads in PARAMETERS.items()}
    assert prior == pytest.approx(np.diag([every[name] for name in NAMES]))
    assert (np.diag(some.common_covariance()) < np.diag(prior)).all()


@pytest.mark.parametrize("law", [ServingLaw(), ClosedForm(), ProductLaw()])
def test_who_was_not_fitted_does_not_answer(law):
    with pytest.raises(NotFitted):
        law.predict(MIXED)


def test_the_written_law_has_stages_and_a_cap():
    space: dict[str, object] = {}
    law = ServingLaw().fit(MIXED)
    exec(equation.as_python(law), space)
    for stages, cap in ((2, None), (4, 180.0), (1, 120.0)):
        c = configurations(pp=[stages], power_cap_w=[cap])
        wanted = np.exp(np.concatenate(step(law.log_parameters_, c)))
        rates = (c.memory_b_per_s[0], c.flop_per_s[0], c.link_b_per_s[0], c.power_w[0])
        made = space["step"](32, 4, 5e9, 4e10, 2.0, *rates, stages, cap)  # type: ignore[operator]
        assert made == pytest.approx(tuple(wanted))


def test_words_name_what_moves_a_step_or_its_energy_by_more_than_half_a_percent():
    none = np.zeros(2)
    rest = dict.fromkeys(NAMES, none)
    made = Sensitivity("here", np.array([1.0, 8.0]), {**rest, "host": np.array([0.0, -0.0051])},
                       {**rest, "static": np.array([0.0, 0.0051]),
                        "cache": np.array([0.0049, 0.0])})  # fmt: skip
    said = made.as_text().splitlines()
    assert [line.split()[0] for line in said[3:]] == ["host", "static"]
    assert said[3].split() == ["host", "0.00", "-0.01", "0.00", "0.00"]
    assert said[2].split() == ["B=1", "B=8"] * 2
    law = ServingLaw().fit(MIXED)
    text = equation.as_text(law)
    assert text.endswith(f"\n\n{sensitivity(law).as_text()}")
    value, low, high = equation.intervals(law)["sync"]
    (line,) = (x for x in text.splitlines() if x.startswith("      sync = "))
    assert line.split()[2:6] == [f"{value:.3g}", f"[{low:.3g},", f"{high:.3g}]", "s"]
    assert low < value < high


def test_a_weight_has_the_bits_of_its_format_and_its_part_of_the_scale_of_a_block():
    """A scale of 8 bits is there for 32 weights of MXFP4, and for 16 of NVFP4."""
    bits = {"float32": 32, "bfloat16": 16, "float16": 16, "bf16": 16, "fp16": 16, "fp8": 8,
            "int8": 8, "fp4": 4, "int4": 4, "mxfp4": 4 + 8 / 32, "nvfp4": 4 + 8 / 16,
            "w8a8": 8, "w8a16": 8, "nf4": 4, "fp32": 32, "none": 16,
            "awq": 4 + 32 / 128, "gptq": 4 + 32 / 128, "w4a16": 4 + 32 / 128,
            "q8_0": 8 + 16 / 32, "Q6_K": 6.56, "q5_k_m": 5.68, "q4_0": 4.8, "q3_k_s": 3.92,
            "iq2_xs": 3.2}  # fmt: skip
    read = configurations(weight_precision=[*bits, None]).weight_b
    assert read.tolist() == [*(b / 8 for b in bits.values()), 2.0]


def test_variables_of_products_are_per_thousand_tokens_and_billion_bytes():
    made = variables_of(several(prompt_tokens=[500.0], pp=[2], weight_precision=["fp8"]))
    assert {k: v.item() for k, v in made.items()} == pytest.approx(
        {"T": 2, "P": 2, "B": 32, "W": 5, "H": 700 / 3350, "S": 0.5})  # fmt: skip
    assert variables_of(several(pp=[1]))["S"].tolist() == [1.0]


def test_the_run_that_disagrees_with_its_repeats_is_named_with_what_tells_it():
    """A throttled run was averaged in, and the note named neither it nor its column."""
    caps, clocks = [64] * 3 + [128] * 3, [1980] * 3 + [910, 1980, 1980]
    runs = pl.DataFrame(
        {"gpu_model": "H100", "batch_cap": caps, "rep": [0, 1, 2] * 2, "clock": clocks}
    )
    energy = np.array([0.1, 0.11, 0.1, 0.174, 0.091, 0.092])
    keys = ["gpu_model", "batch_cap"]
    (note,) = unlike_repeats(runs, {"energy_per_token_j": energy}, keys)
    assert note.count == 3
    assert (
        "at gpu_model H100, batch_cap 128 one has 0.174 J a token where others have 0.091 to 0.092"
        in note.message
    )
    assert "(clock 910 in that row alone)" in note.message
    assert unlike_repeats(runs, {"energy_per_token_j": np.full(6, 0.1)}, keys) == ()


def test_of_two_runs_that_differ_in_time_the_slower_is_named_with_its_remark():
    """Energy differed by 1.2 and time by 2.1 times: the throttled run was averaged in unsaid."""
    runs = pl.DataFrame({"batch_cap": [32, 128, 128], "Notes": [None, None, "throttled"]})
    figures = {
        "itl_s": np.array([0.02, 0.029, 0.062]),
        "energy_per_token_j": np.array([0.5, 0.4, 0.48]),
    }
    (note,) = unlike_repeats(runs, figures, ["batch_cap"])
    assert "at batch_cap 128 one has 0.062 s between tokens where others have 0.029" in note.message
    assert "(Notes throttled in that row alone)" in note.message
