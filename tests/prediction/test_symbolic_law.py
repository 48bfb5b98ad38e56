"""Formulas found in runs: known ones come back, hostile ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from rheostat import table
from rheostat.cli import run
from rheostat.errors import DataError, NotFitted
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.prediction.serving_law import products
from rheostat.prediction.serving_law.operon_law import OperonLaw
from rheostat.prediction.serving_law.products import ProductLaw, variables_of
from tests.prediction.test_serving_law import runs


def with_energy(jobs, energy):
    return jobs.with_columns([c for c in COLUMNS if c.name == "energy_per_token_j"],
                             energy_per_token_j=energy)  # fmt: skip


def made(n=60, noise=0.0, seed=0):
    """Energy of two terms: 20 T B^-1 W + 0.3 P^0.5, with relative noise."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 2, 4, 8], n)
    jobs = table({"app": ["m"] * n, "params": rng.choice([8e9, 14e9, 70e9], n), "gpu_model":
                  ["H100"] * n, "gpus": gpus, "pp": np.where(gpus > 2, rng.choice([1, 2], n), 1),
                  "batch_cap": rng.choice([8, 32, 128, 512], n)})  # fmt: skip
    v = variables_of(jobs)
    energy = 20 * v["T"] / v["B"] * v["W"] / 10 + 0.3 * np.sqrt(v["P"])
    return with_energy(jobs, energy * np.exp(rng.normal(0, noise, n)))


def test_terms_and_coefficients_of_a_known_law_come_back():
    law = ProductLaw().fit(made())
    assert dict(zip(law.terms_, law.coefficients_, strict=True)) == pytest.approx(
        {(1.0, 0.0, -1.0, 1.0, 0.0, 0.0): 2.0, (0.0, 0.5, 0.0, 0.0, 0.0, 0.0): 0.3}
    )
    assert "2 T B^-1 W" in law.as_text()


def test_with_noise_the_form_is_short_and_right_on_new_rows():
    law = ProductLaw().fit(made(noise=0.05))
    assert len(law.terms_) <= 4
    assert (law.coefficients_ > 0).all()
    new = made(200, seed=1)
    error = law.predict(new).mean("energy_per_token_j") / new.numpy("energy_per_token_j") - 1
    assert np.median(np.abs(error)) < 0.05


def test_what_is_not_fitted_or_not_positive_is_refused():
    with pytest.raises(NotFitted):
        ProductLaw().predict(made())
    with pytest.raises(NotFitted):
        ProductLaw().as_text()
    with pytest.raises(NotFitted):
        OperonLaw().predict(made())
    none = with_energy(made(), np.full(60, np.nan))
    with pytest.raises(DataError):
        ProductLaw().fit(none)


def test_operon_finds_a_formula_the_same_for_the_same_seed():
    pytest.importorskip("pyoperon", reason="the extra symbolic is not installed")
    jobs = made(50)
    law = OperonLaw(seed=3, evaluations=20_000).fit(jobs)
    error = law.predict(jobs).mean("energy_per_token_j") / jobs.numpy("energy_per_token_j") - 1
    assert np.median(np.abs(error)) < 0.2
    assert OperonLaw(seed=3, evaluations=20_000).fit(jobs).as_text() == law.as_text()


def test_the_command_prints_the_formula(tmp_path, capsys):
    runs(36, seed=1).frame.write_csv(tmp_path / "r.csv")
    assert run(["llm", "fit", str(tmp_path / "r.csv"), "--symbolic", "products"]) == 0
    assert capsys.readouterr().out.startswith("E = ")
    for more in (["--symbolic", "magic"], ["--symbolic", "products", "--save", "x"]):
        assert run(["llm", "fit", str(tmp_path / "r.csv"), *more]) == 1


def test_columns_that_differ_too_little_for_a_fit_are_not_taken(monkeypatch):
    def endless(parts, y):
        if (parts[0] == 2.0).any():
            raise RuntimeError("Maximum number of iterations reached.")
        return nnls(parts, y)

    monkeypatch.setattr(products, "nnls", endless)
    parts = np.array([[2.0, 1.0], [1.0, 3.0], [1.0, 4.0]])
    assert products._misfit(parts[:, :1], parts[:, 1]) == np.inf
    assert products._misfit(parts[:, 1:], parts[:, 1]) < 1e-12
