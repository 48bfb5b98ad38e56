"""Formulas of the serving law's modules, each against its value worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import nnls

from benchmarks import closed_form
from rheostat.prediction.serving_law import (
    equation,
    printed_placement,
    products,
)
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.kernel_medians import medians
from rheostat.prediction.serving_law.law import MEDIAN, NAMES, in_units, step
from tests.prediction.test_serving_law_parts import MIXED, configurations, several

# --- the closed form -----------------------------------------------------------------------------


def test_the_closed_form_is_prefill_and_decode_of_twelve_numbers() -> None:
    logs = np.array([0.1, 0.2, -0.3, 0.4, -0.5, 0.6, 0.7, -0.8, 0.9, 0.35, -1.1, 1.2])
    formats = ["bf16", "fp8", "fp8"]
    c = configurations(gpus=[1, 4, 8], pp=[1, 2, 4], batch_cap=[2, 16, 64],
                       active_params=[4e10, 5e9, 2e10], weight_precision=formats)  # fmt: skip
    made = closed_form._log_energy(logs, c)
    a1, a4, a5, b1, b4, b6, b7 = np.exp(logs[[0, 3, 4, 5, 8, 10, 11]])
    a2, a3, b2, b3, b5 = logs[[1, 2, 6, 7, 9]]
    for found, n, p, b, w in zip(made, (1, 4, 8), (1, 2, 4), (2, 16, 64), (80, 5, 20), strict=True):
        t = n / p
        prefill = a1 * t**a2 * p**a3 + a4 + a5 * n / b
        decode = (b1 * t**b2 * p**b3 + b4 * w) / b**b5 + b6
        assert found == pytest.approx(math.log(prefill + decode + b7 * (n - 1) / b))


def test_the_closed_form_is_sought_from_five_starts_and_the_nearest_fit_is_kept(
    monkeypatch,
) -> None:
    calls, costs = [], [3.0, 2.0, 1.0, 4.0, 5.0]

    def fitted(misfit, start, **options):
        calls.append((misfit, start, options))
        return SimpleNamespace(cost=costs[len(calls) - 1], x=start)

    monkeypatch.setattr(closed_form, "least_squares", fitted)
    law = closed_form.ClosedForm().fit(MIXED)
    starts = np.array([start for _, start, _ in calls])
    first = [-5.0, 0.2, 0.2, -6.0, -1.0, -1.0, 0.3, 0.3, -3.0, 0.7, -5.0, -1.0]
    assert starts[0].tolist() == first
    moves = np.random.default_rng(0).normal(0, 1, (4, 12))
    assert starts[1:] == pytest.approx(first + moves)
    assert law.numbers_.tolist() == starts[2].tolist()
    misfit, start, options = calls[0]
    assert options == {"loss": "soft_l1", "bounds": (-14, 6), "max_nfev": 60}
    energy = closed_form._log_energy(start, Configurations.of(MIXED))
    assert misfit(start) == pytest.approx(energy - np.log(MIXED.numpy("energy_per_token_j")))
    assert law.predict(MIXED).draws["energy_per_token_j"] == pytest.approx(
        np.exp([closed_form._log_energy(starts[2], Configurations.of(MIXED))])
    )


# --- products ------------------------------------------------------------------------------------


def test_the_grammar_of_products_is_what_its_page_states() -> None:
    quarters = {k: [4 * p for p in powers] for k, powers in products.POWERS.items()}
    assert quarters == {"T": [0, 1, 2, 3, 4], "P": [0, 2, 4], "B": [-4, -3, -2, -1, 0],
                        "W": [0, 1, 2, 3, 4], "H": [0, 4], "S": [0, 4]}  # fmt: skip
    assert (products.MOST_TERMS, products.REPEATS, products.SCATTER) == (8, 10, 0.2)
    assert (products.FARTHEST, products.ROUNDING) == (30.0, 1e-9)
    two = {k: np.array([2.0 + i, 3.0]) for i, k in enumerate("TPBWHS")}
    made = products._product(two, (1.0, 0.5, -1.0, 0.25, 0.0, 1.0))
    assert made == pytest.approx([2 * 3**0.5 / 4 * 5**0.25 * 7, 3 * 3**0.5 / 3 * 3**0.25 * 3])


def trust(fit: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array(
        [(1 + (math.log(f / v) / 0.2) ** 2) ** -0.25 for f, v in zip(fit, y, strict=True)]
    )


def solved(parts: np.ndarray, y: np.ndarray, fit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares by hand, ten times, each relative to the fit before."""
    numbers = np.zeros(parts.shape[1])
    for _ in range(10):
        weight = trust(fit, y) / fit
        numbers, _ = nnls(parts * weight[:, None], y * weight)
        fit = np.maximum(parts @ numbers, y / 30)
    return numbers, fit


def selected(parts: np.ndarray, y: np.ndarray, most: int) -> dict[int, float]:
    """Greedy terms and the least BIC, as the module's page writes it."""
    chosen: list[int] = []
    fit, best = y, (math.inf, {})
    n = len(y)
    while len(chosen) < min(most, n - 1, parts.shape[1]):
        weight, errors = trust(fit, y) / fit, {}
        for k in range(parts.shape[1]):
            if k not in chosen:
                own = parts[:, [*chosen, k]] * weight[:, None]
                errors[k] = nnls(own, weight * y)[1]
        chosen.append(min(errors, key=errors.__getitem__))
        numbers, fit = solved(parts[:, chosen], y, fit)
        loss = np.mean([math.sqrt(1 + (math.log(f / v) / 0.2) ** 2) - 1
                        for f, v in zip(fit, y, strict=True)])  # fmt: skip
        bic = n * math.log(loss) + len(chosen) * math.log(n)
        best = min(best, (bic, dict(zip(chosen, numbers, strict=True))), key=lambda b: b[0])
    return {k: c for k, c in best[1].items() if (c * parts[:, k] > 1e-9 * y).any()}


@pytest.mark.parametrize("seed", range(25))
def test_terms_are_taken_greedily_up_to_the_least_criterion(seed) -> None:
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(4, 16)), 6
    parts = rng.lognormal(0, 1.0, (n, columns))
    y = parts[:, :3] @ [1.0, 0.5, 0.2] * np.exp(rng.normal(0, 0.4, n)) * 10.0 ** rng.integers(-3, 4)
    rows, numbers = products._selected(parts, y)
    assert dict(zip(rows, numbers, strict=True)) == pytest.approx(selected(parts, y, 8))


def test_at_most_eight_terms_are_taken_and_one_less_than_there_are_runs() -> None:
    rng = np.random.default_rng(0)
    parts, weights = rng.lognormal(0, 1.0, (40, 12)), np.linspace(1, 2, 12)
    rows, _ = products._selected(parts, parts @ weights)
    assert len(rows) == 8
    assert len(products._selected(parts[:3], parts[:3] @ weights)[0]) <= 2
    every, numbers = products._selected(parts[:, :2], parts[:, :2] @ [1.0, 2.0])
    assert dict(zip(every, numbers, strict=True)) == pytest.approx({0: 1.0, 1: 2.0})


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("share", "kept"), [(0.009, [0]), (0.011, [0, 1])])
def test_a_term_below_rounding_in_every_run_is_left_out_whatever_the_unit(
    scale, share, kept, monkeypatch
) -> None:
    """It is at most nine thousandths of a run, or eleven of the first: ten are asked for here."""
    monkeypatch.setattr(products, "ROUNDING", 0.01)
    parts = np.column_stack([np.ones(4), [1.0, 0.5, 0.2, 0.1]])
    y = parts @ [1 - share, share] * scale
    assert sorted(products._selected(parts, y)[0]) == kept


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_are_relative_to_the_fit_before(seed) -> None:
    rng = np.random.default_rng(seed)
    parts, y = rng.lognormal(0, 1, (7, 2)), rng.lognormal(3, 2, 7)
    numbers, fit = products._coefficients(parts, y, y * rng.lognormal(0, 1, 7))
    rng = np.random.default_rng(seed)
    parts, y = rng.lognormal(0, 1, (7, 2)), rng.lognormal(3, 2, 7)
    expected = solved(parts, y, y * rng.lognormal(0, 1, 7))
    assert numbers == pytest.approx(expected[0])
    assert fit == pytest.approx(expected[1])
    assert (fit >= y / 30 * (1 - 1e-12)).all()


def test_products_are_of_what_varies_alone_and_are_written_with_their_powers() -> None:
    batch = [1, 2, 4, 8, 16, 32]
    jobs = several(batch_cap=batch, energy_per_token_j=[12.0 / b**0.5 + 0.25 for b in batch])
    law = products.ProductLaw().fit(jobs)
    assert all(term[i] == 0 for term in law.terms_ for i in (0, 1, 3, 4, 5))
    new = several(batch_cap=[64, 100])
    assert law.predict(new).draws["energy_per_token_j"] == pytest.approx(
        np.array([[12 / 8 + 0.25, 12 / 10 + 0.25]]), rel=1e-5
    )
    law.terms_ = [(1.0, 0.5, -0.25, 0.0, 1.0, 0.0), (0.0,) * 6]
    law.coefficients_ = np.array([2.0, 0.12345])
    assert law.as_text() == "E = 2 T P^0.5 B^-0.25 H + 0.123"


# --- kernels -------------------------------------------------------------------------------------


def test_a_table_of_so_many_gpus_is_of_those_within_half_as_many_more() -> None:
    """Above 2 / 3 of its number, up to 3 / 2: without a table for the next number, to the edge."""
    k, layers = NAMES.index("sync"), 32 * (4e10 / 8e9) ** (1 / 3)

    def moved(tables, **place):
        names = {f"join_s of {n} GPUs": 1e-5 for n in tables} | {
            f"link of {n} GPUs": 0.5 for n in tables
        }
        return medians({"H100": names}, configurations(**place))[:, k] != MEDIAN[k]

    assert moved([2], gpus=[1, 3, 4, 3], pp=[1, 1, 1, 2]).tolist() == [False, True, False, True]
    assert moved([4], gpus=[8, 6, 7, 3], pp=[3, 1, 1, 1]).tolist() == [False, True, False, True]
    assert moved([8], gpus=[5, 6, 12, 64, 4], pp=[1] * 5).tolist() == [
        False,
        True,
        True,
        True,
        False,
    ]
    names = {"join_s of 2 GPUs": 1e-5, "link of 2 GPUs": 0.5}
    (at,) = medians({"H100": names}, configurations(gpus=[3], pp=[2]))
    assert math.exp(at[k]) == pytest.approx(math.sqrt(2 * layers * 1e-5 * math.exp(MEDIAN[k])))


def test_tables_of_one_type_of_gpu_say_nothing_of_others() -> None:
    names = {"join_s of 4 GPUs": 1e-5, "link of 4 GPUs": 0.5, "compute": 0.4}
    at = medians({"H100": names}, configurations(gpu_model=["B200", "H100", "A100"]))
    moved = np.array([NAMES.index(n) for n in ("compute", "sync", "exchange")])
    assert np.array_equal(at[[0, 2]], np.tile(MEDIAN, (2, 1)))
    assert sorted(np.flatnonzero(at[1] != MEDIAN).tolist()) == sorted(moved.tolist())
    assert math.exp(at[1, moved[0]]) == pytest.approx(0.4)


# --- the law -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_the_law_of_any_placement_is_the_one_that_is_written_out(seed) -> None:
    """Copies, stages, experts over several copies, lengths, caps: numbers drawn, law by law."""
    rng = np.random.default_rng(seed)
    space: dict[str, object] = {}
    exec(f"import math\nPARAMETERS = None\n{equation.PYTHON}", space)
    dp, pp, tp = (int(2 ** rng.integers(0, 3)) for _ in range(3))
    lengths = rng.uniform(50, 5000, 2).tolist() if seed % 3 else [None, None]
    c = configurations(
        gpus=[dp * pp * tp], dp=[dp], pp=[pp], ep=[int(2 ** rng.integers(0, 6))],
        batch_cap=[float(rng.uniform(1, 500))], active_params=[(4e10, 5e9)[seed % 2]],
        power_cap_w=[float(rng.uniform(150, 700))], prompt_tokens=[lengths[0]],
        output_tokens=[lengths[1]],
    )  # fmt: skip
    logs = MEDIAN + rng.normal(0, 0.5, len(NAMES))
    numbers = dict(zip(NAMES, in_units(logs), strict=True))
    place = {a: float(getattr(c, f)[0]) for a, f in printed_placement.ARGUMENTS.items()}
    place = {a: v for a, v in place.items() if math.isfinite(v)}
    made = space["step"](**place, parameters=numbers)  # type: ignore[operator]
    assert np.exp(np.concatenate(step(logs, c))) == pytest.approx(np.array(made))
