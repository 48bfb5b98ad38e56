"""`llm.formula`: a formula found in measured configurations, in place of the law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rheostat.core.report import Report, Section
from rheostat.errors import DataError
from rheostat.prediction.accelerators import stating
from rheostat.prediction.serving_law.operon_law import OperonLaw
from rheostat.prediction.serving_law.products import TARGET, ProductLaw
from rheostat.questions import inputs
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.llm.runs import Files, Pairs, Sheets, configured, load_runs, parse_sheets


@dataclass(frozen=True, kw_only=True, repr=False)
class FormulaAnswer(Answer):
    """A formula of the energy per token, and how far it is from the runs.

    Parameters
    ----------
    model : ProductLaw or OperonLaw
        Fitted.
    rows : int
        Runs that it learned from.
    median_error : float
        Of these runs, relative.
    """

    schema: ClassVar[str] = "rheostat.llm-formula/1"
    model: ProductLaw | OperonLaw
    rows: int
    median_error: float

    def report(self) -> Report:
        """The formula, and how far off it is."""
        return Report("", [Section("formula", self.beside(), listing=self.text())], self.facts())

    def facts(self) -> dict[str, Any]:
        """The formula as text, and its error."""
        return {"runs": self.rows, "equation": self.model.as_text(),
                "median_error": self.median_error}  # fmt: skip

    def text(self) -> str:
        """The formula."""
        return f"{self.model.as_text()}\n"

    def beside(self) -> tuple[str, ...]:
        """How far off it is."""
        error = f"{100 * self.median_error:.1f} %"
        return (f"median error of the {self.rows} runs learned from: {error}",)


@question
def formula(
    runs: Files,
    kind: str = "products",
    *,
    model_config: Path | str | None = None,
    gpus: Sheets = (),
    seed: int = 0,
    where: Sequence[str] = (),
    format: str = "",
    columns: Path | None = None,
    renamed: Pairs = (),
    units: Pairs = (),
) -> FormulaAnswer:
    """Find a formula of the energy per token in measured configurations.

    Parameters
    ----------
    runs : JobTable, path or several paths
        Measured configurations.
    kind : str
        products (sums of products of powers) or operon (genetic programming, extra ``symbolic``).
    model_config : path, optional
        The model's config.json.
    gpus : sequence of str or mapping
        Types of GPU by their data sheets, as ``"NAME=TB/s,TFLOPs,W,GB"``.
    seed : int
        Of genetic programming.
    where : sequence of str
        Rows to keep, as ``column=value``.
    format, columns, renamed, units
        How a file is read.

    Returns
    -------
    FormulaAnswer
        With ``model``.

    Raises
    ------
    DataError
        The kind is unknown, or the runs have no energy per token.

    Examples
    --------
    >>> import rheostat as rh
    >>> runs = rh.table({
    ...     "app": ["a"] * 4, "params": [8e9] * 4, "gpu_model": ["H100", "H100", "A100", "A100"],
    ...     "gpus": [1] * 4, "batch_cap": [8, 32, 8, 32], "itl_s": [0.010, 0.014, 0.013, 0.018],
    ...     "energy_per_token_j": [0.5, 0.2, 0.6, 0.25]})
    >>> answer = rh.llm.formula(runs)
    >>> answer.rows, answer.median_error < 0.5
    (4, True)
    """
    if kind not in ("products", "operon"):
        raise DataError("--symbolic", [f"expected products or operon, got {kind!r}"])
    with stating(parse_sheets(gpus)):
        jobs = inputs.only(load_runs(runs, format, columns, renamed, units), where)
        jobs, _ = configured(jobs, "", model_config)
        jobs.require(TARGET)
        model = ProductLaw() if kind == "products" else OperonLaw(seed=seed)
        model.fit(jobs)
        away = np.abs(model.predict(jobs).mean(TARGET) / jobs.numpy(TARGET) - 1)
    return FormulaAnswer(model=model, rows=len(jobs), median_error=float(np.nanmedian(away)))
