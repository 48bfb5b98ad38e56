"""Networks of a family that was never run: the roofline answers, and how sure it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.architectures import training_step
from rheostat.prediction.step_cost.additive import fit_additive
from rheostat.prediction.step_cost.device_law import DeviceLaw, Work
from rheostat.prediction.step_cost.sheet_forecast import (
    NORMAL_90,
    UNKNOWN_SPREAD,
    UNSEEN_SPREAD,
    forecast_step,
    unknown_share,
)
from rheostat.prediction.step_cost.terms import TERMS
from rheostat.prediction.step_cost.transfer import Known
from rheostat.prediction.step_cost.unlike import (
    FEW_TIMES,
    LANES_ALONE,
    MOSTLY,
    NEVER_TIMED,
    SPREAD,
    Unlike,
)

LEVELS = np.array([0.05, 0.5, 0.95])


def steps(n: int, app: int, seed: int = 0, **amounts: float) -> Known:
    """Runs of one network: starts, and so much of some entries, at n sizes."""
    size = np.random.default_rng(seed).uniform(1.0, 8.0, n)
    terms = np.zeros((n, len(TERMS)))
    terms[:, TERMS.index("launches")] = 0.01
    for entry, amount in amounts.items():
        terms[:, TERMS.index(entry)] = amount * size
    return Known(terms, np.zeros(n, dtype=np.int64), np.full(n, app), size)


def together(*parts: Known) -> Known:
    return Known(*(np.concatenate(c) for c in zip(*parts, strict=True)))


DENSE = [steps(12, app, app, matmul_f_padded=1.0, matmul_b=0.5, elementwise_b=0.4 + 0.02 * app)
         for app in range(4)]  # fmt: skip
VARIED = [
    DENSE[0],
    steps(12, 1, 1, elementwise_b=1.0, reduction_b=0.3),
    steps(12, 2, 2, gather_b=1.0, matmul_f_padded=0.5),
    steps(12, 3, 3, movement_b=1.0),
]
CONVOLUTION = steps(5, -1, 9, convolution_f_narrow=1.0, convolution_b=0.5, elementwise_b=0.4)


def time_s(rows: Known) -> np.ndarray:
    """A machine with one rate each for starts, arithmetic and traffic."""
    f = sum(rows.terms[:, TERMS.index(c)] for c in ("matmul_f_padded", "convolution_f_narrow"))
    b = sum(
        rows.terms[:, TERMS.index(c)]
        for c in (
            "matmul_b",
            "convolution_b",
            "elementwise_b",
            "reduction_b",
            "gather_b",
            "movement_b",
        )
    )
    return np.asarray(2.0 * f + 3.0 * b + rows.terms[:, TERMS.index("launches")])


def learned(known: Known, log_y: np.ndarray) -> Unlike:
    return Unlike.of(known, log_y, fit_additive(known.terms, log_y, known.device, 2))


def test_a_network_like_those_that_were_run_is_left_to_them():
    known = together(*DENSE)
    unlike = learned(known, np.log(time_s(known)))
    like = DENSE[1]._replace(app=np.full(12, -1))
    assert unlike.share(like).tolist() == [0.0] * 12
    assert unlike.share(CONVOLUTION).tolist() == [1.0] * 5
    assert unlike.share(CONVOLUTION._replace(device=np.ones(5, dtype=int))).tolist() == [0.0] * 5
    assert unlike.share(CONVOLUTION._replace(app=np.zeros(5, dtype=int))).tolist() == [0.0] * 5


def test_kinds_never_timed_widen_the_interval_by_their_share():
    """One family, so that nothing but what was stated in advance says how wrong it may be."""
    known = together(*DENSE)
    unlike = learned(known, np.log(time_s(known)))
    low, middle, high = unlike.draws(CONVOLUTION, LEVELS)
    share = unlike.never_timed(CONVOLUTION).sum(axis=1)
    half = student.ppf(0.95, 3.0) * np.hypot(FEW_TIMES * SPREAD, NEVER_TIMED * share)
    assert (share > 0.5).all()
    assert high - middle == pytest.approx(half)
    assert middle - low == pytest.approx(half)


def test_many_networks_of_few_families_leave_the_answer_to_the_roofline():
    """Four networks, all alike: none says how the laws carry over to a further family."""
    known = together(*DENSE)
    unlike = learned(known, np.log(time_s(known)))
    said = unlike.draws(CONVOLUTION, LEVELS)[1]
    assert said == pytest.approx(unlike.each(CONVOLUTION)[1])
    assert np.exp(said) == pytest.approx(time_s(CONVOLUTION), rel=0.2)


def test_laws_that_are_apart_answer_together_and_widen_the_interval():
    known = together(*VARIED)
    unlike = learned(known, np.log(time_s(known)))
    partly = steps(5, -1, 9, elementwise_b=1.0, convolution_b=0.3, matmul_f_padded=0.2)
    each, (low, middle, high) = unlike.each(partly), unlike.draws(partly, LEVELS)
    assert unlike.weights.sum() == pytest.approx(1.0)
    assert unlike.weights[0] >= 1 / 3
    assert middle == pytest.approx(unlike.weights @ each)
    same = replace(unlike, weights=LANES_ALONE).draws(partly, LEVELS)
    assert (high - low > same[2] - same[0]).all()


def test_what_is_mostly_of_a_kind_never_timed_is_answered_by_the_plain_roofline_alone():
    unlike = learned(known := together(*VARIED), np.log(time_s(known)))
    assert (unlike.never_timed(CONVOLUTION).sum(axis=1) > MOSTLY).all()
    each, (_, middle, _) = unlike.each(CONVOLUTION), unlike.draws(CONVOLUTION, LEVELS)
    assert middle == pytest.approx(each[0])
    assert np.abs(each[0] - unlike.weights @ each).min() > 0.1


def test_families_that_were_missed_widen_it_too():
    """Pooling steps that take twenty times what the roofline of the others says."""
    pooling = steps(12, 5, 7, reduction_b=1.0, elementwise_b=0.5)
    known = together(*VARIED, pooling)
    right = learned(known, np.log(2.0 * known.batch))
    odd = np.where(known.app == 5, 20.0, 1.0)
    wrong = learned(known, np.log(2.0 * known.batch * odd))
    assert right.freedom == wrong.freedom == 8.0
    assert wrong.times > 1.5 * right.times


def test_few_networks_never_say_that_it_is_sure():
    known = together(*DENSE[:2])
    unlike = learned(known, np.log(time_s(known)))
    assert unlike.times == FEW_TIMES


def test_recurrent_layers_widen_a_forecast_from_the_sheet_by_their_share_of_the_traffic():
    plain = training_step("lenet5", 32, 16, 10)
    code = pl.when(pl.col("op_class") == "matmul").then(pl.lit("recurrent-state"))
    named = replace(plain, nodes=plain.nodes.with_columns(code.otherwise("opcode").alias("opcode")))
    share = unknown_share(named)
    assert 0.01 < share < 0.9
    before, after = (np.log(f.runtime_s[2] / f.runtime_s[0]) / NORMAL_90
                     for f in (forecast_step(g, "T4") for g in (plain, named)))  # fmt: skip
    assert after == pytest.approx(np.hypot(before, UNKNOWN_SPREAD * share))


def test_a_step_of_no_table_is_less_sure_than_the_law():
    graph = training_step("lenet5", 32, 16, 10)
    work = Work.of(graph, tf32=("convolution",))
    spread = DeviceLaw.shipped().predict(work, accelerator("T4"), "T4")[1]
    low, high = np.log(forecast_step(graph, "T4").runtime_s[1:])
    assert (high - low) / 2 == pytest.approx(NORMAL_90 * np.hypot(spread, UNSEEN_SPREAD), rel=0.02)
