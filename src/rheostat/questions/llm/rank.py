"""`llm.rank`: whose answer will be short."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.errors import DataError
from rheostat.measurement.serving.requests import read_requests
from rheostat.prediction.saved_models.persist import load, save
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.llm.runs import Files, Pairs
from rheostat.questions.parse import Names, parse_names, parse_pairs

if TYPE_CHECKING:  # the compiler is loaded by who ranks, not by `plan` and `fit`
    from rheostat.prediction.answer_length.prompt_length import PromptLength


MOST_LEARNED, MOST_CHARACTERS = 50_000, 20_000_000
"""Requests, and what is looked at of their texts, that are learned from: about 3 GB of memory."""

SCORES = (
    "tau (Kendall's): 1 where every two answers stand in the right order, 0 by chance; pairs: those"
    " in the right order, of two whose lengths differ by a fifth or more"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class RankAnswer(Answer):
    """How well rankings order requests by the length of their answers.

    Parameters
    ----------
    model : PromptLength
        Ranks prompts: ``model.score(jobs)``.
    rows : int
        Requests, those learned from included.
    scores : mapping
        ``tau``, ``pair_accuracy`` and ``tests`` by ranking.
    ceiling_tau : float
        Between two answers to the same prompt; NaN where no prompts repeat.
    """

    schema: ClassVar[str] = "rheostat.llm-rank/1"
    model: PromptLength
    rows: int
    scores: Mapping[str, Mapping[str, float]]
    ceiling_tau: float

    def report(self) -> Report:
        """Scores by ranking, and the ceiling."""
        heads = ("ranking", "tau", "pairs", "tests")
        rows = tuple((name, s["tau"], s["pair_accuracy"], round(s["tests"]))
                     for name, s in self.scores.items())  # fmt: skip
        grid = Grid(heads, rows, ("", "", "share", ""))
        return Report("", [Section("rank", self.beside(), grid)], self.facts())

    def facts(self) -> dict[str, Any]:
        """Scores by ranking."""
        from rheostat.recipes.pars import KNOWN_CEILING

        return {"requests": self.rows, "methods": self.scores, "ceiling_tau": self.ceiling_tau,
                "published_ceiling_tau": KNOWN_CEILING}  # fmt: skip

    def text(self) -> str:
        """A line a ranking."""
        return "".join(
            f"{name}\ttau {s['tau']:.3f}\tpairs {100 * s['pair_accuracy']:.1f} %"
            f"\ttests {s['tests']:.0f}\n" for name, s in self.scores.items()
        )  # fmt: skip

    def beside(self) -> tuple[str, ...]:
        """The best ranking, and what none is expected to be better than."""
        from rheostat.recipes.pars import KNOWN_CEILING

        low, high = KNOWN_CEILING
        known = math.isfinite(self.ceiling_tau)
        here = f"{self.ceiling_tau:.2f} here" if known else "not known here: no prompts repeat"
        return (*self._best(),
                f"ceiling, tau between two answers to the same prompt: {here}; {low} to {high} "
                "published (Vicuna 7B, 20,000 prompts of Alpaca)", SCORES)  # fmt: skip

    def _best(self) -> tuple[str, ...]:
        known = {n: s for n, s in self.scores.items() if math.isfinite(s["tau"])}
        if not known:
            return ()
        best = max(known, key=lambda name: known[name]["tau"])
        right = 100 * known[best]["pair_accuracy"]
        return (f"{best} orders best: {right:.0f} of 100 pairs of unlike answers stand right, "
                "by chance 50.",)  # fmt: skip


@question
def rank(
    requests: Files,
    model: PromptLength | Path | str | None = None,
    *,
    test_fraction: float = 0.2,
    networks: Names = (),
    encoder: str = "",
    seed: int = 0,
    out: Path | str | None = None,
    columns: Pairs = (),
) -> RankAnswer:
    """Learn whose answer will be shorter, and say how well that orders other requests.

    Scores are Kendall's tau over all pairs, and the share of pairs in the right order among those
    whose lengths differ by a fifth or more.  Of more than 50,000 requests, or than 20 million
    characters of 4,000 each at most, so many are drawn.

    Parameters
    ----------
    requests : JobTable, path or several paths
        Answered requests with ``prompt`` and ``output_tokens``.
    model : PromptLength or path, optional
        Rank all requests by it and learn nothing.
    test_fraction : float
        Share of the requests kept for the scores.
    networks : str or sequence of str
        Losses of small networks to train and score, too: margin, listmle, pointwise, buckets.
    encoder : str
        ``int8``, a folder or a ``.gguf`` file, whose vectors of the prompts are learned from.
    seed : int
        Of what is drawn and held back, and of training.
    out : path, optional
        Where the model goes.
    columns : sequence of str or mapping
        Names in the file, as ``prompt=question``.

    Returns
    -------
    RankAnswer
        With ``model`` and ``scores``.

    Raises
    ------
    DataError
        Too few requests, or ``out``, ``networks`` or ``encoder`` beside a model.

    Examples
    --------
    >>> import rheostat as rh
    >>> from rheostat.measurement.synthetic.served_models import request_log
    >>> log = request_log(200, seed=0)
    >>> requests = rh.table({
    ...     "prompt": [r["messages"][0]["content"] for r in log],
    ...     "output_tokens": [r["usage"]["completion_tokens"] for r in log]})
    >>> answer = rh.llm.rank(requests)
    >>> answer.scores["ours"]["tau"] > answer.scores["prompt length"]["tau"]
    True
    """
    from rheostat.prediction.answer_length.prompt_length import PromptLength
    from rheostat.recipes.pars import evaluated, label_noise, ranked

    if model is not None and (out or networks or encoder):
        said = "learns nothing: expected no --save, --networks or --encoder beside it"
        raise DataError("--model", [said])
    jobs = _read(requests, columns)
    if model is not None:
        given = model if isinstance(model, PromptLength) else load(Path(model), ["prompt-length"])
        scores = ranked(given, jobs, seed)
    else:
        jobs = _drawn(jobs, seed)
        if jobs.frame["prompt"].n_unique() == 1:
            raise DataError("prompt", ["every request asks the same: nothing tells their lengths"])
        with listener.working(f"learning from {len(jobs)} requests"):
            given, scores = evaluated(jobs, test_fraction, seed, parse_names(networks), encoder)
    for name, score in scores.items():
        if why := _without_order(score):
            listener.note(f"{name}: {why}")
    if out is not None:
        save(given, Path(out))
        listener.line(f"wrote {out}")
    return RankAnswer(model=given, rows=len(jobs), scores=scores, ceiling_tau=label_noise(jobs))


def _without_order(score: Mapping[str, float]) -> str:
    """Why a score is not known; empty where all are.

    >>> _without_order({"tau": math.nan, "pair_accuracy": 0.5, "tests": 9})
    'tau is not known: all 9 requests have one rank, nothing tells them apart'
    """
    if math.isnan(score["pair_accuracy"]):
        return "pairs are not known: no two answers differ in length by a fifth"
    if math.isnan(score["tau"]):
        asked = f"{score['tests']:.0f} requests"
        return f"tau is not known: all {asked} have one rank, nothing tells them apart"
    return ""


def _drawn(jobs: JobTable, seed: int) -> JobTable:
    """As many requests as can be learned from at once, in the order of the file."""
    from rheostat.prediction.answer_length.prompt_terms import seen_characters

    order = np.random.default_rng(seed).permutation(len(jobs))
    fits = np.cumsum(seen_characters(jobs.frame["prompt"].to_list())[order]) <= MOST_CHARACTERS
    drawn = np.sort(order[fits][:MOST_LEARNED])
    if len(drawn) == len(jobs):
        return jobs
    listener.note(
        f"{len(drawn):,} of {len(jobs):,} requests are drawn: expected at most "
        f"{MOST_LEARNED:,}, and {MOST_CHARACTERS:,} characters that are looked at"
    )
    return jobs.rows(drawn)


def _read(requests: Files, columns: Sequence[str] | Mapping[str, str]) -> JobTable:
    named = parse_pairs(columns, "--column")
    if isinstance(requests, JobTable):
        return requests
    jobs = inputs.together(inputs.paths(requests), lambda f: read_requests(f, columns=named))
    listener.notes(jobs.notes)
    return jobs
