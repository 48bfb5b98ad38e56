"""`PromptLength`: how long will the answer to a prompt be?

A ridge regression on hashed words, word pairs and pieces of words of the prompt and of its opening,
and on its sizes; on request also on the vector that a pretrained encoder has for the prompt
(`rheostat.prediction.answer_length.text_encoder`).  What is learned are normal scores of the ranks,
since only the order of requests decides who goes first; scores are turned back into tokens by the
lengths seen.

Notation
--------
n  prompts     F  features     z  normal score of a length's rank among those learned from
w : (F,)  least sum (z - x w)^2 + PENALTY |w|^2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheostat.core.texts.turns import opening, question
from rheostat.errors import DataError, ModelFileError, NotFitted
from rheostat.prediction.answer_length.prompt_reader import counted_terms, numbers, reader
from rheostat.prediction.answer_length.prompt_terms import (
    BLOCKS,
    BUCKETS,
    SIZES,
    TERMS,
    encoded,
)
from rheostat.prediction.answer_length.score_stack import ScoreStack
from rheostat.prediction.saved_models.from_file import blames_its_file

if TYPE_CHECKING:
    from types import ModuleType

    from scipy.sparse import csr_matrix

    from rheostat.core.jobs import JobTable
    from rheostat.core.outcome import Array, Outcome

TARGET = "output_tokens"
PENALTY = 2.5
COUNTS = 0.11  # weight of the sizes beside each block of terms, whose rows have length 1
GROUPS = BLOCKS + 2  # of what a linear score is the sum: blocks of terms, sizes, the vector
STACKED = 200  # answers, from which on trees and networks are learned, too
AT_ONCE = 500  # prompts whose terms are in memory together while they are scored
PARTS = 5  # of which one is left out in turn, to learn how far scores are off


class PromptLength:
    """Predicts the tokens of an answer from the text of the prompt.

    Parameters
    ----------
    n_draws : int
        Draws of a prediction.
    encoder : str
        ``int8``, a folder with ``model.onnx`` and ``tokenizer.json``, or a language model's GGUF
        file; empty: words alone.
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

    encoder = ""  # of models saved before there were encoders
    usual_: Array | float = 0.0
    stack_: ScoreStack | None = None  # few answers, or a model saved before there were stacks

    def __init__(self, *, n_draws: int = 100, encoder: str = "", seed: int = 0) -> None:
        self.n_draws = n_draws
        self.encoder = encoder
        self.seed = seed

    def fit(self, requests: JobTable) -> PromptLength:
        """Learn from answered requests: columns ``prompt`` and ``output_tokens``."""
        from scipy.special import ndtri
        from scipy.stats import rankdata

        from rheostat.prediction.features.model_columns import learnable

        kept, values, _ = learnable(requests, (TARGET,))
        if len(kept) < 2 * PARTS:
            raise DataError("prompts", [f"expected at least {2 * PARTS} answers, got {len(kept)}"])
        prompts = _texts(kept)
        self.digest_ = _encoder().digest(self.encoder) if self.encoder else ""
        slots, _, _, sizes = counted_terms(prompts)
        logs = np.log1p(sizes)
        self.center_, self.scale_ = logs.mean(axis=0), logs.std(axis=0) + 1e-9
        seen = np.bincount(slots, minlength=TERMS)  # a prompt has each term once
        self.rarity_ = (np.log((1 + len(prompts)) / (1 + seen)) + 1).astype(np.float32)
        self.lengths_ = np.sort(values[:, 0])
        z = ndtri((rankdata(values[:, 0]) - 0.5) / len(prompts))
        x, part = (
            self._matrix(prompts, self._vectors(prompts, fit=True)),
            _parts(prompts, self.seed),
        )
        self.weights_ = _ridge(x, z).astype(np.float32)
        left_out = np.empty((len(prompts), GROUPS))
        for k in range(PARTS):
            weights = _ridge(x[part != k], z[part != k], 1e-3)
            left_out[part == k] = _by_group(x[part == k], weights)
        self.scatter_ = float(np.sqrt(np.mean((z - left_out.sum(axis=1)) ** 2)))
        if len(prompts) >= STACKED:
            given = _stacked(left_out, sizes, numbers(prompts, *encoded(prompts)))
            vectors = x[:, TERMS + SIZES :].toarray()
            self.stack_ = ScoreStack(seed=self.seed).fit(given, vectors, z, values[:, 0], part)
            self.scatter_ = self.stack_.scatter_
        return self

    def score(self, requests: JobTable) -> Array:
        """A number per request, (n,): the longer the answer, the larger."""
        return self.score_prompts(_texts(requests))

    def check(self) -> None:
        """Raise a `ModelFileError` where the weights are not one per term, length and number."""
        if "weights_" in vars(self):
            shapes = np.shape(self.rarity_), np.shape(self.weights_)
            if shapes[0] != (TERMS,) or len(shapes[1]) != 1 or shapes[1][0] < TERMS + SIZES:
                raise ModelFileError(f"its weights have shapes {shapes}, which no prompt has")

    @blames_its_file
    def score_prompts(self, prompts: Sequence[str]) -> Array:
        """As `score`, of texts, (n,); some 50 microseconds each, with an encoder milliseconds."""
        if not hasattr(self, "weights_"):
            raise NotFitted(self)
        begins = range(0, max(len(prompts), 1), AT_ONCE)
        return np.concatenate([self._scored(prompts[i : i + AT_ONCE]) for i in begins])

    def _scored(self, prompts: Sequence[str]) -> Array:
        text, read = encoded(prompts), reader(len(prompts))
        slots, values, starts, sizes = read.counted(*text)
        read.weigh(slots, values, starts, self.rarity_)
        dense = self._numbers(sizes, self._vectors(prompts))
        of_sizes = dense[:, :SIZES] @ self.weights_[TERMS : TERMS + SIZES]
        of_vector = dense[:, SIZES:] @ self.weights_[TERMS + SIZES :]
        of_terms = read.added(slots, values, starts, self.weights_)
        groups = np.concatenate([of_terms, of_sizes[:, None], of_vector[:, None]], axis=1)
        if self.stack_ is None:
            return np.asarray(groups.sum(axis=1))
        given = _stacked(groups, sizes, numbers(prompts, *text))
        return self.stack_.predict(given, dense[:, SIZES:])

    def features(self, prompts: Sequence[str]) -> csr_matrix:
        """Weighted terms, sizes and, with an encoder, vectors of texts, (n, F)."""
        return self._matrix(prompts, self._vectors(prompts))

    def _matrix(self, prompts: Sequence[str], vectors: Array) -> csr_matrix:
        from scipy.sparse import csr_matrix, hstack

        slots, values, starts, sizes = counted_terms(prompts)
        reader(len(prompts)).weigh(slots, values, starts, self.rarity_)
        terms = csr_matrix((values, slots, starts), shape=(len(prompts), TERMS))
        return hstack([terms, csr_matrix(self._numbers(sizes, vectors))]).tocsr()

    def _numbers(self, sizes: Array, vectors: Array) -> Array:
        """Standardised sizes, and the vectors of the prompts."""
        deviations = (np.log1p(sizes) - self.center_) / self.scale_
        standard = COUNTS * np.minimum(np.maximum(deviations, -4), 4)  # a clip takes longer
        return np.hstack([standard, vectors]) if vectors.shape[1] else np.asarray(standard)

    def _vectors(self, prompts: Sequence[str], *, fit: bool = False) -> Array:
        """What the encoder says of each question, beside what it says of all, of length 1."""
        if not self.encoder:
            return np.empty((len(prompts), 0))
        text_encoder = _encoder()
        if text_encoder.digest(self.encoder) != self.digest_:
            said = f"expected the encoder that was learned with, of SHA-256 {self.digest_}"
            raise DataError(f"encoder {self.encoder}", [said])
        vectors = text_encoder.vectors(self.encoder, [question(p) for p in prompts])
        if fit and text_encoder.is_gguf(self.encoder):  # whose states are alike for all texts
            self.usual_ = vectors.mean(axis=0)
        away = vectors - self.usual_
        return np.asarray(away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9))

    @blames_its_file
    def predict(self, requests: JobTable) -> Outcome:
        """Draws of ``output_tokens``, (n_draws, n)."""
        from rheostat.core.outcome import Outcome

        normal = np.random.default_rng(self.seed).standard_normal(self.n_draws)
        return Outcome({TARGET: self._tokens(self.score(requests), normal)})

    @blames_its_file
    def quantiles(self, prompts: Sequence[str], levels: Sequence[float]) -> Array:
        """Tokens of the answers to these texts at these probabilities, (levels, n)."""
        return self.quantiles_at(self.score_prompts(prompts), levels)

    @blames_its_file
    def quantiles_at(self, scores: ArrayLike, levels: Sequence[float]) -> Array:
        """As `quantiles`, of prompts that have these scores, (levels, n)."""
        from scipy.special import ndtri

        return self._tokens(np.asarray(scores), ndtri(np.asarray(levels)))

    def normal_score(self, output_tokens: ArrayLike) -> Array:
        """The scores that answers of these lengths should have had, (n,)."""
        from scipy.special import ndtri

        lengths, n = np.asarray(output_tokens, float), len(self.lengths_)
        below = np.searchsorted(self.lengths_, lengths) + np.searchsorted(
            self.lengths_, lengths, side="right"
        )
        return np.asarray(ndtri(np.clip(below / (2 * n), 0.5 / n, 1 - 0.5 / n)))

    def _tokens(self, score: Array, normal: Array) -> Array:
        """Lengths (k, n) of the answers where errors are these k standard normal numbers."""
        from scipy.special import ndtr

        rank = ndtr(score + self.scatter_ * normal[:, None])
        grid = (np.arange(len(self.lengths_)) + 0.5) / len(self.lengths_)
        return np.asarray(np.interp(rank, grid, self.lengths_))


def _parts(prompts: Sequence[str], seed: int) -> NDArray[np.int64]:
    """Part of each prompt, (n,); a conversation is in one, or another part would know it."""
    begun = np.array([opening(p) for p in prompts], dtype=object)
    first, group = np.unique(begun, return_inverse=True)
    if len(first) < 2 * PARTS:  # too few to say anything of others: their own answers vary
        group = np.arange(len(prompts))
    return np.asarray((np.random.default_rng(seed).permutation(group.max() + 1) % PARTS)[group])


def _encoder() -> ModuleType:
    """What reads pretrained encoders, which a model of words alone does not need."""
    from rheostat.prediction.answer_length import text_encoder

    return text_encoder


def _by_group(x: csr_matrix, weights: Array) -> Array:
    """What each block of terms, the sizes and the vector add to the linear score, (n, GROUPS)."""
    from scipy.sparse import csr_matrix

    edges = [*range(0, TERMS + 1, BUCKETS), TERMS + SIZES, x.shape[1]]
    columns = np.searchsorted(edges, x.indices, side="right") - 1
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    sums = csr_matrix((x.data * weights[x.indices], (rows, columns)), shape=(x.shape[0], GROUPS))
    return np.asarray(sums.toarray())


def _stacked(groups: Array, sizes: Array, read: Array) -> Array:
    """What the stack learns from: the linear score, its groups, sizes and numbers of the text."""
    return np.concatenate([groups.sum(axis=1)[:, None], groups, np.log1p(sizes), read], axis=1)


def _texts(requests: JobTable) -> list[str]:
    requests.require("prompt")
    texts: list[str] = requests.frame["prompt"].to_list()
    if any(not isinstance(t, str) for t in texts):
        raise DataError("prompt", ["expected text in every row"])
    return texts


def _ridge(x: csr_matrix, z: Array, rtol: float = 1e-6) -> Array:
    """Weights by conjugate gradients in the space of prompts, which are fewer than features."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import LinearOperator, cg

    used, columns = np.unique(x.indices, return_inverse=True)  # what occurs fits into the cache
    few = csr_matrix((x.data, columns.astype(np.int32), x.indptr), shape=(len(z), len(used)))
    turned = few.T.tocsr()
    kernel = LinearOperator((len(z), len(z)), lambda v: few @ (turned @ v) + PENALTY * v,
                            dtype=float)  # fmt: skip
    dual, _ = cg(kernel, z, rtol=rtol, maxiter=1000)
    weights = np.zeros(x.shape[1])
    weights[used] = turned @ dual
    return weights
