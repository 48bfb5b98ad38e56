"""How many nodes should a job take?  The first system, wired from the library's parts.

A reconstruction of the idea of "Attention-Informed Surrogates for Navigating Power-Performance
Trade-offs in HPC": learn runtime and power of jobs from the log of a machine, with an attention
embedding of what was asked for, from a subset of samples chosen by how hard they are; look for the
front of one job over its node counts; pick from it.  The paper's acquisition function, budget,
reference point and splits are not public, so this is not a reproduction, and no number here is the
paper's.

References
----------
Ahmed, A. N., Banday, B., Jones, T., Islam, T. Z.: arXiv 2601.15399 (2026), NeurIPS 2025 workshop on
machine learning for systems.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Predictor
from rheostat.core.space import Knob, powers_of_two
from rheostat.decide.accuracy import Accuracy, accuracy
from rheostat.decide.backtest import divided
from rheostat.errors import DataError
from rheostat.measure.repairs import TOTALS, per_node_requests

OBJECTIVES = ("runtime_s", "energy_j")
PAPER_OBJECTIVES = ("runtime_s", "power_w")
TARGETS = ("runtime_s", "power_w")
KINDS = ("law", "forest", "xgboost", "lightgbm", "tabnet", "attention")
PAPER_KINDS = ("xgboost", "forest", "lightgbm", "tabnet")


def knob(largest: int = 256) -> Knob:
    """Node counts in powers of two up to ``largest``.

    >>> knob(8).values
    (1, 2, 4, 8)
    """
    return Knob("nodes", powers_of_two(1, largest))


def prepared(jobs: JobTable) -> JobTable:
    """Amounts that go out of date when nodes are turned (cores, GPUs, tasks), per node instead."""
    if "nodes" in jobs.columns and set(TOTALS) & set(jobs.columns):
        return per_node_requests(jobs)
    return jobs


def kind_of(kind: str, *, saved: bool = False) -> str:
    """The model "auto" stands for: the best that the installed libraries allow.

    ``saved``: of those that can be kept in a file.
    """
    if kind != "auto":
        return kind
    order = (("law", "rheostat.predict.scaling"), ("xgboost", "xgboost"), ("lightgbm", "lightgbm"))
    usable = [k for k, library in order if find_spec(library) and not (saved and k == "law")]
    return usable[0] if usable else "forest"


def targets_in(jobs: JobTable) -> tuple[str, ...]:
    """What the log can teach: runtime, and power or else energy, where any row has it."""
    have = [q for q in (*TARGETS, "energy_j") if q in jobs.columns and jobs.frame[q].count()]
    return tuple(q for q in have if q != "energy_j" or "power_w" not in have)


def earlier(jobs: JobTable, row: int) -> JobTable:
    """Jobs that had ended when the job in ``row`` was submitted; all others without a clock.

    A forecast of a past job must not learn from its future, or from itself.
    """
    others = np.arange(len(jobs)) != row
    if "submit_s" not in jobs.columns:
        return jobs.rows(others)
    ended = "end_s" if "end_s" in jobs.columns else "submit_s"
    known = jobs.rows(others & (jobs.numpy(ended) <= jobs.numpy("submit_s")[row]))
    if not len(known):
        raise DataError("front", ["no job had ended when this one was submitted: give --model"])
    return known


def marks(jobs: JobTable, kind: str, share: float, seed: int) -> dict[str, Accuracy]:
    """Error and coverage on the newest ``share`` of jobs, of a model that has not seen them."""
    past, recent, _ = divided(jobs, 1.0 - share)
    targets = targets_in(jobs)
    fitted = model(kind, targets=targets, seed=seed).fit(past)
    return accuracy(fitted.predict(recent.known_at(Moment.SUBMIT)), recent, targets)


def model(kind: str = "auto", *, targets: tuple[str, ...] = TARGETS, seed: int = 0) -> Predictor:
    """An unfitted model: "law" is ours, the others are direct regressors or embeddings."""
    kind = kind_of(kind)
    if kind == "law":
        from rheostat.predict.scaling import LawGP

        return LawGP(targets=targets, random_state=seed)
    from rheostat.predict.surrogate import Surrogate

    if kind == "attention":
        return Surrogate("xgboost", embedding="attention", targets=targets, random_state=seed)
    return Surrogate(kind, targets=targets, random_state=seed)


def reconstruction(
    kind: str = "xgboost", *, embedding: str | None = "tabnet", seed: int = 0
) -> Any:
    """The paper's surrogate as far as it is public: embedding into a regressor, hard samples."""
    from rheostat.predict.sampling import LossProportional
    from rheostat.predict.surrogate import Surrogate

    return Surrogate(
        kind, embedding=embedding, sample=LossProportional(), targets=TARGETS, random_state=seed
    )
