"""Which prompts will be answered soonest?  PARS's question, with a predictor of ours.

PARS trains a BERT-class encoder on pairs of prompts: `EncoderRanker` of
`rheostat.prediction.answer_length` does so with one from a folder, none is part of this library.
Ours takes the vectors of one in ONNX as they are (`text_encoder`, in the same place).  Its losses
can be had on a small network of our own, too (`prompt_ranker`).  Scores are Kendall's tau over all
pairs, and the share of pairs ordered rightly among those whose lengths differ by a fifth or more,
as PARS filters them.

References
----------
Tao, Zhang, Dearing, Wang, Fan, Papka, Lan: PARS, arXiv 2510.03243.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.core.texts.turns import opening
from rheostat.errors import DataError
from rheostat.prediction.answer_length.encoder_ranker import EncoderRanker
from rheostat.prediction.answer_length.prompt_length import TARGET, PromptLength
from rheostat.prediction.answer_length.prompt_ranker import PromptRanker
from rheostat.prediction.answer_length.text_encoder import is_encoder

Rows = NDArray[np.int64]
FILTER = 0.2
PAIRS = 200_000
TWICE = 20
"""Prompts with several answers that are needed to say how well one answer orders the others."""
KNOWN_CEILING = (0.64, 0.76)
"""Tau between two answers of one model (Vicuna 7B, temperatures 0.7 and 0.5, and 0.3 and 0) to each
of 20,000 prompts of Alpaca: Zheng et al., Response Length Perception, NeurIPS 2023."""


def evaluated(
    requests: JobTable,
    test_fraction: float,
    seed: int,
    losses: Sequence[str] = (),
    encoder: str = "",
) -> tuple[PromptLength, Mapping[str, Mapping[str, float]]]:
    """A model of a random part of the requests, and scores of rankings of the others.

    Parameters
    ----------
    requests
        With ``prompt`` and ``output_tokens``.
    test_fraction
        Share that is not learned from.
    seed
        Of the division and of the pairs.
    losses
        Of networks to train and score besides, names of
        `rheostat.prediction.answer_length.prompt_ranker.LOSSES`.
    encoder
        ``int8`` or a folder with ``model.onnx``: our model learns from its vectors, too; the words
        alone are then scored besides.  Another folder of a pretrained encoder: trained by the first
        of the losses (margin, as PARS, if none is given) and scored besides.

    Returns
    -------
    PromptLength, and method to score to number: ``tau``, ``pair_accuracy``, ``tests``
    """
    if not 0 < test_fraction < 1:
        raise DataError("test fraction", [f"expected between 0 and 1, got {test_fraction}"])
    networks: dict[str, PromptRanker | EncoderRanker] = {
        f"network, {name}": PromptRanker(name, seed=seed) for name in losses
    }
    features = encoder if is_encoder(encoder) else ""
    if encoder and not features:
        name = [*losses, "margin"][0]
        networks[f"encoder, {name}"] = EncoderRanker(encoder, name, seed=seed)
    known, asked = divided(requests, test_fraction, seed)
    model = PromptLength(encoder=features, seed=seed).fit(known)
    every = dict(ranked(model, asked, seed))
    if features:
        alone = PromptLength(seed=seed).fit(known).score(asked)
        every["words alone"] = scores(alone, asked.numpy(TARGET), seed)
    for name, network in networks.items():
        every[name] = scores(network.fit(known).score(asked), asked.numpy(TARGET), seed)
    return model, every


def divided(requests: JobTable, test_fraction: float, seed: int) -> tuple[JobTable, JobTable]:
    """Requests to learn from and others; a prompt, and a conversation, are on one side alone."""
    begun = np.array([opening(p) for p in requests.frame["prompt"]], dtype=object)
    _, first, group = np.unique(begun, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[group]  # prompts in the order of the file
    order = np.random.default_rng(seed).permutation(len(first))
    tests = max(2, round(test_fraction * len(first)))
    held = np.isin(place, order[:tests])
    return requests.rows(np.flatnonzero(~held)), requests.rows(np.flatnonzero(held))


def label_noise(requests: JobTable) -> float:
    """Tau between two answers to the same prompts: no ranking of prompts is expected to do better.

    NaN where fewer than `TWICE` prompts have more than one answer.
    """
    prompts, lengths = requests.frame["prompt"].to_numpy(), requests.numpy(TARGET)
    order = np.argsort(prompts, kind="stable")
    same = np.flatnonzero(prompts[order][1:] == prompts[order][:-1])
    begins = same[np.diff(same, prepend=-2) > 1]  # the first two answers of each
    if len(begins) < TWICE:
        return float("nan")
    return float(kendalltau(lengths[order[begins]], lengths[order[begins + 1]]).statistic)


def ranked(model: PromptLength, asked: JobTable, seed: int) -> Mapping[str, Mapping[str, float]]:
    """Scores of the model's order and of the order of the prompts' lengths."""
    truth = asked.numpy(TARGET)
    chars = np.array([len(p) for p in asked.frame["prompt"]], dtype=float)
    orders = {"ours": model.score(asked), "prompt length": chars}
    return {name: scores(score, truth, seed) for name, score in orders.items()}


def scores(score: Array, truth: Array, seed: int = 0) -> dict[str, float]:
    """Kendall's tau over all pairs; share of filtered pairs in the right order.

    >>> {k: round(v, 2) for k, v in scores(np.array([1.0, 2, 3]), np.array([5.0, 9, 7])).items()}
    {'tau': 0.33, 'pair_accuracy': 0.67, 'tests': 3.0}
    """
    n = len(truth)
    i, j = np.triu_indices(n, 1) if n * (n - 1) // 2 <= PAIRS else _drawn(n, seed)
    far = np.abs(truth[i] - truth[j]) >= FILTER * np.maximum(truth[i], truth[j])
    i, j = i[far], j[far]
    agree = np.sign(score[i] - score[j]) * np.sign(truth[i] - truth[j])
    right = float(np.mean(0.5 + 0.5 * agree)) if len(i) else float("nan")
    return {
        "tau": float(kendalltau(score, truth).statistic),
        "pair_accuracy": right,
        "tests": float(n),
    }


def _drawn(n: int, seed: int) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, PAIRS)
    return first, (first + rng.integers(1, n, PAIRS)) % n
