"""`LengthLearner`: how long answers will be, learned while they come in.

The newest answers are kept; a `PromptLength` is fitted anew whenever their number has doubled, and
sooner where its errors grow: the requests have changed, and only the newest are learned from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from rheostat.core.outcome import Array
from rheostat.core.vocabulary import table
from rheostat.prediction.prompt_length import STACKED, TARGET, PromptLength

LEAST, KEPT = 40, 4000
RECENT = 100
DRIFTED = 1.5
"""Mean squared errors of the last `RECENT` answers, over those expected, that mean a change."""


class LengthLearner:
    """Predicted lengths of answers, before any answer and after many.

    Parameters
    ----------
    model
        A fitted model to begin with, or None: all prompts are then alike.
    kept
        Answers that are learned from, at most: the newest.

    Examples
    --------
    >>> learner = LengthLearner()
    >>> learner.quantiles("write an essay", [0.5]).tolist()
    [256.0]
    >>> for i in range(100):
    ...     _ = learner.observe(f"write an essay on {i}", 500.0 + i)
    ...     _ = learner.observe(f"say yes to {i}", 2.0)
    >>> learner.due
    True
    >>> learner.refit()
    >>> bool(learner.quantiles("say yes to me", [0.5])[0] < 50)
    True
    """

    def __init__(self, model: PromptLength | None = None, *, kept: int = KEPT) -> None:
        self.model = model
        self.drifts = 0
        self.answers = 0
        self._texts: deque[tuple[str, float]] = deque(maxlen=kept)
        self._squares: deque[float] = deque(maxlen=RECENT)
        self._since, self._fitted = 0, 0

    def quantiles(self, prompt: str, levels: Sequence[float]) -> Array:
        """Tokens of the answer at these probabilities, (levels,); 256 before anything is known."""
        if self.model is None:
            seen = [n for _, n in self._texts]
            return np.quantile(seen, levels) if seen else np.full(len(levels), 256.0)
        return self.model.quantiles([prompt], levels)[:, 0]

    def observe(self, prompt: str, output_tokens: float) -> bool:
        """Take in an answer; whether it is the one by which a change of the requests is noticed."""
        self.answers += 1
        self._texts.append((prompt, output_tokens))
        self._since += 1
        if self.model is None:
            return False
        score = self.model.score_prompts([prompt])[0]
        error = self.model.normal_score([output_tokens])[0] - score
        self._squares.append(float(error / self.model.scatter_) ** 2)
        if len(self._squares) < RECENT or np.mean(self._squares) < DRIFTED:
            return False
        self.drifts += 1
        self._texts = deque(list(self._texts)[-RECENT:], maxlen=self._texts.maxlen)
        self._squares.clear()
        self._fitted = 0  # what was learned before is of other requests: fit as soon as it is due
        return True

    @property
    def due(self) -> bool:
        """Whether enough answers came in since the last fit."""
        return self._since >= max(LEAST, min(self._fitted, KEPT // 4))

    @property
    def error_ratio(self) -> float:
        """Mean squared error of recent predictions over the expected one; NaN before any."""
        return float(np.mean(self._squares)) if self._squares else float("nan")

    def refit(self) -> None:
        """Learn from the answers kept; takes seconds where they are thousands."""
        self._since, self._fitted = 0, len(self._texts)
        prompts, lengths = zip(*list(self._texts), strict=True)
        encoder = self.model.encoder if self.model else ""
        self.model = PromptLength(encoder=encoder).fit(table({"prompt": prompts, TARGET: lengths}))
        self._squares.clear()


def compile_ahead() -> None:
    """Learn from a few made answers: the machine code is then there before the first real ones.

    Where it has never been compiled, this takes some ten seconds, and later a tenth of one.
    """
    learner = LengthLearner()
    for i in range(STACKED):
        learner.observe(f"say {i}", 2.0 + i % 3)
    learner.refit()
    learner.quantiles("say yes", [0.5])
