"""`PromptLength`: how long will the answer to a prompt be?

A ridge regression on hashed words, word pairs and pieces of words, on the first words of the prompt
and a few counts.  What is learned are normal scores of the ranks, since only the order of requests
decides who goes first; scores are turned back into tokens by the lengths seen.

Notation
--------
n  prompts     F  features     z  normal score of a length's rank among those learned from
w : (F,)  least sum (z - x w)^2 + PENALTY |w|^2
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, hstack
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata
from sklearn.feature_extraction.text import HashingVectorizer

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array, Outcome
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.model_columns import learnable

TARGET = "output_tokens"
PENALTY, BUCKETS, OPENING = 1.0, 2**17, 3
COUNTS = 0.1  # weight of the counts beside word features, whose rows have length 1
PARTS = 5  # of which one is left out in turn, to learn how far scores are off
WORDS = HashingVectorizer(
    n_features=BUCKETS, ngram_range=(1, 2), alternate_sign=False, norm=None, lowercase=True,
    token_pattern=r"(?u)\b\w+\b|[^\w\s]",
)  # fmt: skip
PIECES = HashingVectorizer(
    n_features=BUCKETS, analyzer="char_wb", ngram_range=(3, 5), alternate_sign=False, norm=None
)
HINTS = ("list", "explain", "describe", "function", "summar", "translate", "classif", "code",
"story",
         "essay", "one word", "short", "detail", "step", "email", "poem")  # fmt: skip
CHARACTERS = 4000
"""Of a prompt that are looked at: what is asked stands at its beginning or end."""


class PromptLength:
    """Predicts the tokens of an answer from the text of the prompt.

    Parameters
    ----------
    n_draws : int
        Draws of a prediction.
    seed : int

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> past = table({"prompt": ["say yes", "say no", "write an essay on x", "write an essay on y"]
    ...               * 9, "output_tokens": [1.0, 1.0, 400.0, 500.0] * 9})
    >>> model = PromptLength().fit(past)
    >>> lengths = model.predict(table({"prompt": ["write an essay on z", "say maybe"]}))
    >>> long, short = lengths.mean("output_tokens")
    >>> bool(long > 5 * short)
    True
    """

    def __init__(self, *, n_draws: int = 100, seed: int = 0) -> None:
        self.n_draws = n_draws
        self.seed = seed

    def fit(self, requests: JobTable) -> PromptLength:
        """Learn from answered requests: columns ``prompt`` and ``output_tokens``."""
        kept, values, _ = learnable(requests, (TARGET,))
        if len(kept) < 2 * PARTS:
            raise DataError("prompts", [f"expected at least {2 * PARTS} answers, got {len(kept)}"])
        prompts = _texts(kept)
        counts = _counts(prompts)
        self.center_, self.scale_ = counts.mean(axis=0), counts.std(axis=0) + 1e-9
        terms = _terms(prompts)
        self.rarity_ = np.log((1 + len(prompts)) / (1 + np.asarray((terms > 0).sum(axis=0))[0])) + 1
        x = self._weighted(prompts, terms)
        self.lengths_ = np.sort(values[:, 0])
        z = ndtri((rankdata(values[:, 0]) - 0.5) / len(prompts))
        self.weights_ = _ridge(x, z)
        part = np.random.default_rng(self.seed).permutation(len(prompts)) % PARTS
        off = np.concatenate(
            [z[part == k] - x[part == k] @ _ridge(x[part != k], z[part != k]) for k in range(PARTS)]
        )
        self.scatter_ = float(np.sqrt(np.mean(off**2)))
        return self

    def score(self, requests: JobTable) -> Array:
        """A number per request, (n,): the longer the answer, the larger."""
        if not hasattr(self, "weights_"):
            raise NotFitted(self)
        return np.asarray(self.features(requests) @ self.weights_)

    def features(self, requests: JobTable) -> csr_matrix:
        """Weighted words and pieces, ``BUCKETS`` of each, and counts: (n, F)."""
        prompts = _texts(requests)
        return self._weighted(prompts, _terms(prompts))

    def predict(self, requests: JobTable) -> Outcome:
        """Draws of ``output_tokens``, (n_draws, n)."""
        normal = np.random.default_rng(self.seed).standard_normal(self.n_draws)
        return Outcome({TARGET: self._tokens(self.score(requests), normal)})

    def quantiles(self, requests: JobTable, levels: Sequence[float]) -> Array:
        """Tokens of the answers at these probabilities, (levels, n)."""
        return self._tokens(self.score(requests), ndtri(np.asarray(levels)))

    def normal_score(self, output_tokens: ArrayLike) -> Array:
        """The scores that answers of these lengths should have had, (n,)."""
        lengths, n = np.asarray(output_tokens, float), len(self.lengths_)
        below = np.searchsorted(self.lengths_, lengths) + np.searchsorted(
            self.lengths_, lengths, side="right"
        )
        return np.asarray(ndtri(np.clip(below / (2 * n), 0.5 / n, 1 - 0.5 / n)))

    def _tokens(self, score: Array, normal: Array) -> Array:
        """Lengths (k, n) of the answers where errors are these k standard normal numbers."""
        rank = ndtr(score + self.scatter_ * normal[:, None])
        grid = (np.arange(len(self.lengths_)) + 0.5) / len(self.lengths_)
        return np.asarray(np.interp(rank, grid, self.lengths_))

    def _weighted(self, prompts: Sequence[str], terms: csr_matrix) -> csr_matrix:
        """Word weights of length 1 for words and for pieces, and the counts, (n, F)."""
        weighted = terms.copy()
        weighted.data = (1 + np.log(weighted.data)) * self.rarity_[weighted.indices]
        halves = [_unit(weighted[:, :BUCKETS]), _unit(weighted[:, BUCKETS:])]
        counts = np.clip((_counts(prompts) - self.center_) / self.scale_, -4, 4)
        return hstack([*halves, csr_matrix(COUNTS * counts)]).tocsr()


def _texts(requests: JobTable) -> list[str]:
    requests.require("prompt")
    texts = requests.frame["prompt"].to_list()
    if any(not isinstance(t, str) for t in texts):
        raise DataError("prompt", ["expected text in every row"])
    return [
        t if len(t) <= CHARACTERS else t[: CHARACTERS // 2] + t[-CHARACTERS // 2 :] for t in texts
    ]


def _terms(prompts: Sequence[str]) -> csr_matrix:
    """Counts of hashed words and pieces, (n, 2 BUCKETS); the opening words count as such, too."""
    opened = [
        p + " " + " ".join(f"opening{i}{w}" for i, w in enumerate(p.lower().split()[:OPENING]))
        for p in prompts
    ]
    return hstack([WORDS.transform(opened), PIECES.transform(prompts)]).tocsr()


def _counts(prompts: Sequence[str]) -> Array:
    """Sizes, punctuation and hints of each prompt, (n, 9 + hints)."""
    return np.array([_count(p) for p in prompts], dtype=float).reshape(len(prompts), -1)


def _count(prompt: str) -> list[float]:
    words, plain = prompt.split(), prompt.lower()
    punctuation = [prompt.count(c) for c in "\n?.,"]
    digits, code = len(re.findall(r"\d", prompt)), len(re.findall(r"[`{}()\[\];=]", prompt))
    distinct = len(set(words)) / (len(words) + 1)
    return [
        len(prompt),
        len(words),
        *punctuation,
        digits,
        code,
        distinct,
        *(h in plain for h in HINTS),
    ]


def _unit(rows: csr_matrix) -> csr_matrix:
    norm = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return rows.multiply(1.0 / np.maximum(norm, 1e-12)[:, None]).tocsr()


def _ridge(x: csr_matrix, z: Array) -> Array:
    """Weights by conjugate gradients in the space of prompts, which are fewer than features."""
    kernel = LinearOperator((len(z), len(z)), lambda v: x @ (x.T @ v) + PENALTY * v, dtype=float)
    dual, _ = cg(kernel, z, rtol=1e-8, maxiter=1000)
    return np.asarray(x.T @ dual)
