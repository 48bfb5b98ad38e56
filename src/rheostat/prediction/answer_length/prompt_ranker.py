"""`PromptRanker`: a small network that ranks prompts by the length of their answers.

The networks of the literature, each with its loss, on hashed words and pieces of words in place of
a pretrained encoder: vectors of the words of a prompt are added, and two layers make a score.

    margin      PARS: for pairs whose lengths differ by a fifth or more, max(0, 1 - (s_i - s_j))
    listmle     vLLM-LTR: the likelihood of the order of a batch, longest first
    pointwise   squared error of the normal score of the length's rank
    buckets     ten classes of equal numbers; the score is the mean class

References
----------
Tao, Zhang, Dearing, Wang, Fan, Papka, Lan: PARS, arXiv 2510.03243.
Fu, Zhu, Su, Qiao, Stoica, Zhang: Efficient LLM Scheduling by Learning to Rank, NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from rheostat._optional import require
from rheostat._threads import one_thread
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.answer_length.prompt_length import COUNTS, PromptLength
from rheostat.prediction.answer_length.prompt_terms import TERMS

EPOCHS, BATCH, RATE, WIDTH, HIDDEN, DROPPED = 6, 128, 3e-3, 32, 64, 0.3
FILTER, MARGIN, CLASSES = 0.2, 1.0, 10


class PromptRanker:
    """Scores prompts: the longer the answer, the higher.

    Parameters
    ----------
    loss
        One of `LOSSES`.
    seed
        Of the first weights and the order of the batches.
    """

    def __init__(self, loss: str = "margin", *, seed: int = 0) -> None:
        if loss not in LOSSES:
            raise DataError("loss", [f"expected one of {', '.join(LOSSES)}, got {loss!r}"])
        self.loss = loss
        self.seed = seed

    def fit(self, requests: JobTable) -> PromptRanker:
        """Learn from answered requests: columns ``prompt`` and ``output_tokens``."""
        torch = require("torch", extra="neural")
        self.words_ = PromptLength(seed=self.seed).fit(requests)
        x = self.words_.features(requests.frame["prompt"].to_list())
        seen = np.unique(x[:, :TERMS].indices)
        self.rows_ = np.zeros(TERMS, dtype=np.int64)  # 0 for words that were never seen
        self.rows_[seen] = np.arange(1, len(seen) + 1)
        lengths = requests.numpy("output_tokens").astype(float)
        scores = self.words_.normal_score(lengths)
        torch.manual_seed(self.seed)
        self.net_ = _network(torch, 1 + len(seen), CLASSES if self.loss == "buckets" else 1)
        steps = EPOCHS * -(-len(lengths) // BATCH)
        learner = torch.optim.AdamW(self.net_.parameters(), lr=RATE)
        rate = torch.optim.lr_scheduler.OneCycleLR(learner, RATE, total_steps=steps)
        rng = np.random.default_rng(self.seed)
        with one_thread():
            for _ in range(EPOCHS):
                for rows in np.array_split(rng.permutation(len(lengths)), steps // EPOCHS):
                    out = self.net_(*self._inputs(torch, x[rows]))
                    loss = LOSSES[self.loss](torch, out, lengths[rows], scores[rows])
                    learner.zero_grad()
                    loss.backward()
                    learner.step()
                    rate.step()
        self.net_.eval()
        return self

    def score(self, requests: JobTable) -> Array:
        """A number per request, (n,)."""
        if not hasattr(self, "net_"):
            raise NotFitted(self)
        torch = require("torch", extra="neural")
        with one_thread(), torch.no_grad():
            out = self.net_(
                *self._inputs(torch, self.words_.features(requests.frame["prompt"].to_list()))
            )
            if self.loss == "buckets":
                out = torch.softmax(out, 1) @ torch.arange(CLASSES, dtype=out.dtype)[:, None]
        return np.asarray(out[:, 0].numpy(), dtype=float)

    def _inputs(self, torch: Any, x: csr_matrix) -> tuple[Any, Any, Any, Any]:
        """Rows of the words, where each prompt begins in them, their weights, and the counts."""
        words = x[:, :TERMS].tocsr()
        counts = x[:, TERMS:].toarray() / COUNTS
        rows = (self.rows_[words.indices], words.indptr[:-1])
        places = (torch.tensor(a, dtype=torch.long) for a in rows)
        numbers = (torch.tensor(a, dtype=torch.float32) for a in (words.data, counts))
        return (*places, *numbers)


def _network(torch: Any, words: int, outputs: int) -> Any:
    nn = torch.nn

    class WordNetwork(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.EmbeddingBag(words, WIDTH, mode="sum")
            nn.init.normal_(self.words.weight, std=0.3)
            self.layers = nn.Sequential(
                nn.Dropout(DROPPED), nn.LazyLinear(HIDDEN), nn.GELU(), nn.Dropout(DROPPED),
                nn.Linear(HIDDEN, outputs),
            )  # fmt: skip

        def forward(self, words: Any, starts: Any, weights: Any, counts: Any) -> Any:
            added = self.words(words, starts, per_sample_weights=weights)
            return self.layers(torch.cat([added, counts], 1))

    return WordNetwork()


def _pairs(torch: Any, out: Any, lengths: Array, scores: Array) -> Any:
    """Of the pairs of the batch that differ by a fifth or more."""
    gap = lengths[:, None] - lengths[None]
    far = torch.tensor(gap >= np.maximum(FILTER * np.maximum(lengths[:, None], lengths), 1e-9))
    away = torch.relu(MARGIN - (out - out.T))
    return (away * far).sum() / far.sum().clamp(min=1)


def _listed(torch: Any, out: Any, lengths: Array, scores: Array) -> Any:
    ordered = out[torch.tensor(np.argsort(-lengths, kind="stable")), 0]
    left = torch.logcumsumexp(ordered.flip(0), 0).flip(0)
    return (left - ordered).mean()


def _squared(torch: Any, out: Any, lengths: Array, scores: Array) -> Any:
    return ((out[:, 0] - torch.tensor(scores, dtype=out.dtype)) ** 2).mean()


def _classed(torch: Any, out: Any, lengths: Array, scores: Array) -> Any:
    from scipy.special import ndtr

    kind = np.minimum((ndtr(scores) * CLASSES).astype(np.int64), CLASSES - 1)
    return torch.nn.functional.cross_entropy(out, torch.tensor(kind))


LOSSES: Mapping[str, Callable[[Any, Any, Array, Array], Any]] = {
    "margin": _pairs, "listmle": _listed, "pointwise": _squared, "buckets": _classed,
}  # fmt: skip
