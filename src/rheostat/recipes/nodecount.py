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

from typing import Any

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Predictor
from rheostat.core.space import Knob, powers_of_two
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


def model(kind: str = "law", *, targets: tuple[str, ...] = TARGETS, seed: int = 0) -> Predictor:
    """An unfitted model: "law" is ours, the others are direct regressors or embeddings."""
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


def front(job: JobTable, fitted: Predictor, largest: int = 256) -> Front:
    """Runtime against energy of one job over node counts."""
    from rheostat.tradeoff.exhaustive import tradeoff

    return tradeoff(job.known_at(Moment.SUBMIT), fitted, knob(largest), OBJECTIVES)


def few(job: JobTable, truth: Any, prior: Predictor | None, *, budget: int, seed: int = 0) -> Front:
    """Measure only ``budget`` node counts of a job, chosen by expected hypervolume."""
    from rheostat.tradeoff.propose import ExpectedHypervolume
    from rheostat.tradeoff.search import search

    proposer = ExpectedHypervolume(knob(), OBJECTIVES, job=job, model=prior, seed=seed)
    return search(proposer, truth, budget)
