"""The law of a decoding step: physics, priors, and what measurements change."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat import table
from rheostat.errors import DataError
from rheostat.prediction.accelerators import ACCELERATORS, accelerator
from rheostat.prediction.serving_law import ServingLaw, equation, predictor
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.law import (
    MEDIAN,
    NAMES,
    PARAMETERS,
    SPREAD,
    in_units,
    jacobian,
    step,
)
from rheostat.prediction.serving_law.sensitivity import sensitivity
from rheostat.prediction.serving_law.sharing import (
    RESIDUALS,
    TOGETHER,
    PriorCovariance,
    variance,
)


def runs(n: int = 12, seed: int = 0, **more: object):
    """Configurations with the law's own times and energies, 3 % noise."""
    rng = np.random.default_rng(seed)
    made = {
        "app": [f"m{i % 3}" for i in range(n)],
        "workload": ["chat"] * n,
        "params": [(8e9, 14e9, 70e9)[i % 3] for i in range(n)],
        "gpu_model": [("H100", "B200")[i % 2] for i in range(n)],
        "gpus": [(1, 2, 4)[i % 3] for i in range(n)],
        "batch_cap": (2.0 ** rng.integers(3, 9, n)).astype(int).tolist(),
        **more,
    }
    time, energy, power = step(MEDIAN + 0.5 * SPREAD, Configurations.of(table(made)))
    made["itl_s"] = np.exp(time + rng.normal(0, 0.03, n))
    made["energy_per_token_j"] = np.exp(energy + rng.normal(0, 0.03, n))
    made["tokens_per_s"] = np.exp(power - energy + rng.normal(0, 0.03, n))
    return table(made)


@given(st.integers(0, 2**32 - 1))
def test_a_larger_batch_takes_longer_and_less_energy_per_token(seed):
    rng = np.random.default_rng(seed)
    numbers = MEDIAN + rng.normal(0, 1, len(MEDIAN)) * SPREAD
    both = Configurations.of(
        table({"app": ["m"] * 2, "params": [7e10] * 2, "active_params": [1e10] * 2,
               "gpu_model": ["H100"] * 2, "gpus": [4] * 2, "batch_cap": [8, 64]}))  # fmt: skip
    time, energy, _ = step(numbers, both)
    assert time[1] >= time[0]
    assert energy[1] <= energy[0]


def test_one_gpu_pays_for_no_exchange_and_the_terms_add_up():
    one = Configurations.of(table({"app": ["m"], "params": [1e9], "gpu_model": ["V100"],
                                   "gpus": [1], "batch_cap": [1]}))  # fmt: skip
    p = dict(zip((q.name for q in PARAMETERS), in_units(MEDIAN), strict=True))
    t_w, t_k = 2e9 / 0.9e12 / p["bandwidth"], p["cache"] / 0.9e12
    t_c = 2e9 / 125e12 / p["compute"]
    t = p["host"] + p["request"] + math.hypot(t_w, t_c) + t_k
    busy = p["moving"] * (t_w * p["bandwidth"] + t_k) + p["computing"] * t_c * p["compute"]
    prompts = p["prefill"] * t_c
    each = t + prompts + p["prepare"] * (0.3 + 0.7 / (1 + 1 / p["crowd"]))
    work = p["static"] * each + busy + p["computing"] * p["compute"] * prompts
    time, energy, power = step(MEDIAN, one)
    assert math.exp(time[0]) == pytest.approx(t)
    assert math.exp(energy[0]) == pytest.approx(300 * work)
    assert math.exp(power[0]) == pytest.approx(300 * work / each)


def test_a_pipeline_reads_its_weights_a_stage_at_a_time_and_a_cap_slows_down():
    """Two stages: weights take as long as on one GPU; below the cap nothing changes, at it time."""
    made = {"app": ["m"] * 4, "params": [7e10] * 4, "gpu_model": ["H100"] * 4,
            "gpus": [1, 2, 2, 2], "pp": [1, 1, 2, 1], "batch_cap": [8] * 4,
            "power_cap_w": [None, None, None, 250.0]}  # fmt: skip
    numbers = MEDIAN.copy()
    numbers[[NAMES.index(n) for n in ("host", "request", "sync", "exchange", "cache")]] = -40.0
    time, energy, _ = step(numbers, Configurations.of(table(made)))
    assert time[2] == pytest.approx(time[0], abs=0.01)
    assert time[1] < time[0] - 0.6
    assert time[3] > time[1] + 0.3
    assert energy[3] > energy[1]
    busy = np.exp(energy[3] - time[3]) * 8 / 2
    assert busy == pytest.approx(250.0, rel=0.05)


def test_a_mixture_of_experts_touches_few_of_them_alone_and_all_in_a_crowd():
    """Weights touched grow from the active to all parameters, which the time of a step shows."""
    numbers = MEDIAN.copy()
    numbers[[i for i, p in enumerate(PARAMETERS) if p.name in ("host", "request", "cache")]] = -40.0
    made = {"app": ["m"] * 3, "params": [1e11] * 3, "active_params": [1e9, 1e9, 1e11],
            "gpu_model": ["H100"] * 3, "gpus": [1] * 3, "batch_cap": [1, 10_000, 1]}  # fmt: skip
    time, *_ = step(numbers, Configurations.of(table(made)))
    routed = math.exp(MEDIAN[NAMES.index("experts")])
    assert math.exp(time[0] - time[2]) == pytest.approx(0.01 * (1 + routed), rel=0.05)
    assert math.exp(time[1] - time[2]) >= 1.0


def test_slopes_are_the_derivatives_of_the_law():
    c = Configurations.of(runs(5))
    slopes, h = jacobian(MEDIAN, c), 1e-3
    for k in range(len(MEDIAN)):
        move = np.eye(len(MEDIAN))[k] * h
        exact = (
            np.concatenate(step(MEDIAN + move, c)) - np.concatenate(step(MEDIAN - move, c))
        ) / (2 * h)
        assert slopes[:, k] == pytest.approx(exact, abs=1e-4)


def test_measurements_narrow_the_prior_and_their_own_rows_most():
    seen = runs(24)
    prior, fitted = ServingLaw().fit(seen.rows([])), ServingLaw().fit(seen)
    before = prior.predict(seen).interval("energy_per_token_j")
    after = fitted.predict(seen).interval("energy_per_token_j")
    assert np.median(np.log(after[1] / after[0])) < 0.5 * np.median(np.log(before[1] / before[0]))
    truth = seen.numpy("energy_per_token_j")
    assert np.median(np.abs(fitted.predict(seen).mean("energy_per_token_j") / truth - 1)) < 0.05


def test_parameters_are_recovered_where_the_data_tell_them():
    law = ServingLaw(residual=False).fit(runs(300, seed=3))
    for name, wanted in zip(
        (p.name for p in PARAMETERS), np.exp(MEDIAN + 0.5 * SPREAD), strict=True
    ):
        value, low, high = equation.intervals(law)[name]
        assert low < value < high
        if name in ("host", "static"):
            assert value == pytest.approx(wanted, rel=0.3)


def test_more_steps_of_the_fit_change_nothing(monkeypatch):
    """The parameters are the most likely ones, with measurements that no parameters explain."""
    seen, rng = runs(60, seed=3), np.random.default_rng(3)
    noisy = table(seen.frame.with_columns(
        pl.col(c) * pl.Series(np.exp(rng.normal(0, 0.5, len(seen))))
        for c in ("itl_s", "energy_per_token_j")
    ))  # fmt: skip
    settled = ServingLaw().fit(noisy).log_parameters_
    monkeypatch.setattr(predictor, "STEPS", 2 * predictor.STEPS)
    assert ServingLaw().fit(noisy).log_parameters_ == pytest.approx(settled, abs=0.01)


def test_power_that_was_measured_is_learned_and_without_it_follows_from_the_law():
    """Watts come from the table, or from its tokens per second; a table without both is read."""
    seen = runs(24)
    watts = seen.numpy("energy_per_token_j") * seen.numpy("tokens_per_s")
    alone = table(seen.frame.drop("tokens_per_s"))
    metered = table(alone.frame.with_columns(power_w=pl.Series(watts)))
    by_watts, by_rates, neither = (
        ServingLaw().fit(t).predict(seen).mean("power_w") for t in (metered, seen, alone)
    )
    assert by_rates == pytest.approx(by_watts)
    assert np.median(np.abs(by_watts / watts - 1)) < 0.05
    assert np.median(np.abs(neither / watts - 1)) < 0.5


def test_a_slow_host_of_one_placement_is_learned_and_stays_there():
    """What B200 do under one workload moves them, not H100, and not weights of another format."""
    n = 8
    made = {
        "app": [f"m{i % 4}" for i in range(n)],
        "workload": ["chat"] * n,
        "params": [8e9] * n,
        "gpu_model": ["B200"] * 4 + ["H100"] * 4,
        "gpus": [1] * n,
        "batch_cap": [16] * n,
    }
    slow = MEDIAN.copy()
    slow[NAMES.index("host")] += 1.7
    c = Configurations.of(table(made))
    both = [np.exp(np.stack(step(p, c), axis=1)) for p in (slow, MEDIAN)]
    y = np.where(np.arange(n)[:, None] < 4, *both)
    law = ServingLaw().fit(
        table({**made, "itl_s": y[:, 0], "energy_per_token_j": y[:, 1], "power_w": y[:, 2]})
    )
    asked = {"app": ["new"] * 3, "workload": ["chat"] * 3, "params": [8e9] * 3, "gpus": [1] * 3,
             "gpu_model": ["B200", "H100", "B200"], "batch_cap": [16] * 3,
             "weight_precision": ["bf16", "bf16", "fp8"]}  # fmt: skip
    host = np.exp(law.log_parameters_of(Configurations.of(table(asked))))[:, NAMES.index("host")]
    assert host[0] > 2.5 * host[1]
    assert host[0] > 1.5 * host[2]


def test_what_one_hybrid_keeps_per_request_is_expected_of_another_and_not_of_a_dense_model():
    """A Mamba hybrid reads a state of its own for every request: a trait of its kind."""
    n = 6
    made = {"app": ["hybrid-9b"] * n, "architecture": ["hybrid"] * n, "params": [9e9] * n,
            "gpu_model": ["H100"] * n, "gpus": [1] * n,
            "batch_cap": [8, 16, 32, 64, 128, 256]}  # fmt: skip
    heavy = MEDIAN.copy()
    heavy[NAMES.index("cache")] += 2.0
    y = np.exp(np.stack(step(heavy, Configurations.of(table(made))), axis=1))
    law = ServingLaw().fit(
        table({**made, "itl_s": y[:, 0], "energy_per_token_j": y[:, 1], "power_w": y[:, 2]})
    )
    asked = {"app": ["a", "b", "c"], "architecture": ["hybrid", "dense", "hybrid"],
             "params": [3e10] * 3, "active_params": [3e10, 3e10, 3e9], "gpu_model": ["H100"] * 3,
             "gpus": [1] * 3, "batch_cap": [64] * 3}  # fmt: skip
    cache = np.exp(law.log_parameters_of(Configurations.of(table(asked))))[:, NAMES.index("cache")]
    assert cache[0] > 1.15 * cache[1]
    assert cache[2] == pytest.approx(cache[1])


def test_slow_kernels_of_a_format_are_expected_of_models_of_the_same_kind_alone():
    """Experts in 8 bits that are slower than their bytes say nothing of dense or 16-bit weights."""
    n = 6
    made = {"app": ["m"] * n, "params": [2e11] * n, "active_params": [2e10] * n,
            "gpu_model": ["H100"] * n, "gpus": [8] * n, "weight_precision": ["fp8"] * n,
            "batch_cap": [8, 16, 32, 64, 128, 256]}  # fmt: skip
    slow = MEDIAN.copy()
    slow[NAMES.index("bandwidth")] -= 0.7
    y = np.exp(np.stack(step(slow, Configurations.of(table(made))), axis=1))
    law = ServingLaw().fit(
        table({**made, "itl_s": y[:, 0], "energy_per_token_j": y[:, 1], "power_w": y[:, 2]})
    )
    asked = {"app": ["a", "b", "c"], "params": [4e10] * 3, "active_params": [4e9, 4e10, 4e9],
             "gpu_model": ["H100"] * 3, "gpus": [2] * 3, "batch_cap": [64] * 3,
             "weight_precision": ["fp8", "fp8", "bf16"]}  # fmt: skip
    at = law.log_parameters_of(Configurations.of(table(asked)))[:, NAMES.index("bandwidth")]
    assert at[0] < at[1] - 0.1
    assert at[2] == pytest.approx(at[1])


def test_a_crowd_hides_most_of_the_time_to_prepare_requests_and_never_all():
    """Videos are decoded by a host that has so many cores: a share stays however many run."""
    numbers = MEDIAN.copy()
    numbers[NAMES.index("prepare")] = np.log(1e-2)
    made = {"app": ["m"] * 2, "params": [8e9] * 2, "gpu_model": ["H100"] * 2, "gpus": [1] * 2,
            "batch_cap": [300, 10**9]}  # fmt: skip
    time, energy, power = np.exp(step(numbers, Configurations.of(table(made))))
    left = energy / power - time / np.array([300, 10**9])
    assert left == pytest.approx([0.65e-2, 0.3e-2], rel=0.01)


@pytest.mark.parametrize(
    ("changed", "word"),
    [({"batch_cap": [4096] * 12}, "batch cap"), ({"gpu_model": ["V100"] * 12}, "GPU type"),
     ({"params": [1e9] * 12}, "parameters"), ({"gpus": [16] * 12}, "number of GPUs"),
     ({"prompt_tokens": [9000.0] * 12}, "prompt length")],
)  # fmt: skip
def test_what_is_far_from_all_measurements_is_not_answered_and_why_is_said(changed, word):
    law = ServingLaw().fit(runs(12, prompt_tokens=[1000.0] * 12))
    said = law.predict(runs(12, **changed))
    assert said.abstained.all()
    assert any(word in note.message for note in said.notes)
    assert not law.predict(runs(12)).abstained.any()
    assert not ServingLaw().fit(runs(12).rows([])).predict(runs(12, **changed)).abstained.any()


def test_a_gpu_that_kernel_tables_cover_is_answered():
    tables = {"H100": {"bandwidth": 0.7}, "B200": {"bandwidth": 0.7}, "A100": {"bandwidth": 0.7}}
    law = ServingLaw(kernels=tables).fit(runs(12))
    assert not law.predict(runs(12, gpu_model=["NVIDIA A100-SXM4-80GB"] * 12)).abstained.any()


def test_row_order_does_not_matter():
    seen = runs(12)
    law = ServingLaw().fit(seen)
    turned = ServingLaw().fit(seen.rows(np.arange(12)[::-1]))
    assert turned.posterior(Configurations.of(seen))[0] == pytest.approx(
        law.posterior(Configurations.of(seen))[0], abs=1e-6)  # fmt: skip


def test_what_cannot_be_read_is_named_at_once():
    bad = {"app": ["m"], "params": [-1.0], "gpu_model": ["H100"], "gpus": [float("nan")],
           "batch_cap": [8], "weight_precision": ["fp3"]}  # fmt: skip
    with pytest.raises(DataError) as said:
        Configurations.of(table(bad))
    for word in ("params", "gpus", "weight_precision", "fp3"):
        assert word in str(said.value)
    with pytest.raises(DataError, match=r"TPU.*") as unknown:
        Configurations.of(table({**bad, "gpu_model": ["TPU v5"]}))
    assert "leave these rows out" in str(unknown.value)


@pytest.mark.parametrize("name", sorted(ACCELERATORS))
def test_every_known_accelerator_is_found_by_its_own_name(name):
    assert accelerator(name.lower()) is ACCELERATORS[name]


def test_the_python_that_is_written_out_is_the_law():
    law = ServingLaw().fit(runs())
    space: dict[str, object] = {}
    exec(equation.as_python(law), space)
    d = accelerator("H100")
    one = {"app": ["m"], "params": [4e10], "active_params": [5e9], "gpu_model": ["H100"]}
    c = Configurations.of(table({**one, "gpus": [4], "batch_cap": [32]}))
    wanted = np.exp(np.concatenate(step(law.log_parameters_, c)))
    rates = (d.memory_b_per_s, d.flop_per_s, d.link_b_per_s, d.power_w)
    got = space["step"](32, 4, 5e9, 4e10, 2.0, *rates)  # type: ignore[operator]
    assert got == pytest.approx(tuple(wanted))
    for name in law.parameters_:
        assert name in equation.as_text(law)
    assert equation.as_latex(law).count("=") >= len(PARAMETERS)


def test_elasticities_are_shares_of_the_step_and_the_printed_table_has_them():
    law = ServingLaw().fit(runs(36, seed=1))
    made = sensitivity(law)
    assert made.batch.tolist() == [8, 32, 128]
    rows = [i for i, app in enumerate(law.seen_.app) if made.placement.startswith(f"{app} on ")]
    one = law.seen_.app[rows[0]]
    assert one in made.placement
    asked = table({"app": [one] * 3, "workload": ["chat"] * 3, "gpu_model": ["H100"] * 3,
                   "params": [float(law.seen_.params[rows[0]])] * 3, "gpus": [1] * 3,
                   "batch_cap": [8, 32, 128]})  # fmt: skip
    at = Configurations.of(asked)
    logs = law.log_parameters_of(at)
    host_s = np.exp(logs[:, NAMES.index("host")])
    step_s, _, mean_w = np.exp(step(logs, at))
    assert made.step_time["host"] == pytest.approx(host_s / step_s, rel=1e-3)
    shares = [made.step_time[n] for n in ("host", "request", "cache", "sync")]
    assert (np.sum(shares, axis=0) < 1).all()  # the rest reads weights and computes
    static_w = np.exp(logs[:, NAMES.index("static")]) * at.gpus * at.power_w
    assert made.energy["static"] == pytest.approx(static_w / mean_w, rel=1e-3)
    text = equation.as_text(law)
    assert f"{made.step_time['host'][0]:.2f}" in text
    assert sensitivity(ServingLaw().fit(runs(3).rows([]))) is None


DRAM = {"V100": (4096, 1.752), "A100-40": (5120, 2.43), "A100": (5120, 3.186), "L40S": (384, 18.0),
        "H100": (5120, 5.24), "GH200": (6144, 5.2), "H200": (6144, 6.25), "MI250": (8192, 3.2),
        "A100-PCI-40": (5120, 2.43), "A100-PCI": (5120, 3.024), "H100-PCI": (5120, 3.125),
        "H100-NVL": (6144, 5.08), "MI300X": (8192, 5.2), "MI325X": (8192, 5.86),
        "B200": (8192, 7.8), "GB200": (8192, 7.8), "K40": (384, 6.0), "K80": (384, 5.0),
        "M60": (256, 5.0), "P4": (256, 6.0), "P40": (384, 7.2), "P100": (4096, 1.43),
        "P100-PCI": (4096, 1.43), "1080TI": (352, 11.0), "V100-16": (4096, 1.752),
        "V100-PCI": (4096, 1.752), "V100-PCI-16": (4096, 1.752), "T4": (256, 10.0),
        "A10": (384, 12.5), "A10G": (384, 12.5), "A30": (3072, 2.43), "A40": (384, 14.5),
        "3090": (384, 19.5), "4090": (384, 21.0), "L4": (192, 12.5), "L40": (384, 18.0),
        "MI100": (4096, 2.4), "MI210": (4096, 3.2), "A5000": (384, 16.0), "A6000": (384, 16.0),
        "A800": (5120, 3.186), "6000-ADA": (384, 20.0), "5090": (512, 28.0),
        "PRO-6000": (512, 28.0), "PRO-6000-MAX": (512, 28.0), "H20": (6144, 5.2),
        "H800": (5120, 5.24), "GH200-144": (6144, 6.38), "H200-NVL": (6144, 6.25),
        "GB300": (8192, 7.8), "B300": (8192, 7.8), "MI300A": (8192, 5.2), "MI350X": (8192, 7.8),
        "MI355X": (8192, 7.8), "GAUDI-2": (6144, 3.2), "GAUDI-3": (8192, 3.6),
        "HL-225": (6144, 3.2), "HL-325": (8192, 3.6), "MAX-1550": (8192, 3.2)}  # fmt: skip
LANES = {"K40": (192, 0.745), "K80": (192, 0.875), "M60": (128, 1.178), "P4": (128, 1.075),
         "P40": (128, 1.53), "P100": (64, 1.48), "P100-PCI": (64, 1.303), "1080TI": (128, 1.582),
         "V100": (64, 1.53), "V100-16": (64, 1.53), "V100-PCI": (64, 1.38),
         "V100-PCI-16": (64, 1.38), "T4": (64, 1.59), "A100": (64, 1.41), "A10": (128, 1.695),
         "A30": (64, 1.44), "A40": (128, 1.74), "3090": (128, 1.695), "4090": (128, 2.52),
         "L4": (128, 2.04), "L40": (128, 2.49), "L40S": (128, 2.52), "H100": (128, 1.98),
         "H100-PCI": (128, 1.755), "H200": (128, 1.98), "MI100": (64, 1.502),
         "MI210": (64, 1.7), "MI250": (64, 1.7), "MI300X": (128, 2.1)}  # fmt: skip
UNITS = {"V100": (80, 1024, 1.53), "A100-40": (108, 2048, 1.41), "A100": (108, 2048, 1.41),
         "A100-PCI-40": (108, 2048, 1.41), "A100-PCI": (108, 2048, 1.41),
         "L40S": (142, 1024, 2.49), "H100": (132, 4096, 1.83), "GH200": (132, 4096, 1.83),
         "H200": (132, 4096, 1.83), "MI250": (208, 1024, 1.7), "MI300X": (304, 2048, 2.1),
         "MI325X": (304, 2048, 2.1), "H100-PCI": (114, 4096, 1.62)}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ACCELERATORS))
def test_rates_are_those_of_memory_pins_and_arithmetic_units(name):
    """Bus in bits times Gbit/s of a pin; units times operations per clock times GHz at boost."""
    bits, gbit_s = DRAM[name]
    made = ACCELERATORS[name]
    assert made.memory_b_per_s == pytest.approx(bits * gbit_s / 8 * 1e9, rel=6e-3)
    if name in LANES:
        lanes, ghz = LANES[name]
        assert made.flop32_per_s == pytest.approx(made.units * lanes * 2 * ghz * 1e9, rel=0.011)
    if name in UNITS:
        assert made.flop_per_s / 1e12 == round(np.prod(UNITS[name]) / 1e3)  # as it is stated


def test_residuals_at_one_row_have_the_variances_and_correlations_that_are_stated():
    stated = runs(prompt_tokens=[100.0] * 12, output_tokens=[50.0] * 12)
    one = Configurations.of(stated.rows(np.arange(1)))
    shared = PriorCovariance.between(one, one)
    made = np.array([[shared.residual(i, j).item() for j in range(3)] for i in range(3)])
    assert np.diag(made) == pytest.approx([variance(r) for r in RESIDUALS])
    products = [[sum(a[k] * b[k] for k in a) for b in RESIDUALS] for a in RESIDUALS]
    assert made == pytest.approx(TOGETHER * products)
