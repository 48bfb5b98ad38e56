"""`ServiceOrder`: which of the waiting requests goes next, by what answering it will cost.

A request's key is set once, when it comes: the cost expected of it, plus ``ageing`` times its
moment of arrival.  The least key goes first.  So it is overtaken by those alone that come at most
``cost / ageing`` seconds after it, and any server that takes priorities can follow the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.errors import DataError
from rheostat.prediction.length_learner import LengthLearner
from rheostat.prediction.service_cost import StepTimes

LEVELS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
FORGET = 0.02  # weight of the newest answer in the tokens per character


@dataclass
class ServiceOrder:
    """Keys of requests, and what is learned from their answers.

    Parameters
    ----------
    policy
        ``cost``, ``shortest-answer``, ``shortest-prompt`` or ``fcfs``.
    ageing
        Seconds of cost that a second of earlier arrival outweighs.
    learner
        Of the lengths of answers.
    times, batch_cap
        A step of the server, and how many requests it runs at once.
    tokens_per_character
        Of prompts, until answers say how many tokens they had.

    Examples
    --------
    >>> order = ServiceOrder(ageing=0.001)
    >>> order.key("say yes", 0.0) < order.key("say yes " * 100, 0.0) < order.key("say yes", 1e4)
    True
    """

    policy: str = "cost"
    ageing: float = 1e-4
    learner: LengthLearner = field(default_factory=LengthLearner)
    times: StepTimes = field(default_factory=StepTimes)
    batch_cap: int = 64
    tokens_per_character: float = 0.25

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            known = ", ".join(POLICIES)
            raise DataError("policy", [f"expected one of {known}, got {self.policy!r}"])
        if not 0 <= self.ageing < np.inf:
            raise DataError("ageing", [f"expected 0 or more, got {self.ageing}"])

    def key(self, prompt: str, arrival_s: float, most_tokens: float | None = None) -> float:
        """The lower, the sooner; ``most_tokens`` is where the server cuts the answer off."""
        if self.policy == "fcfs":
            return arrival_s
        return self.ageing * arrival_s + POLICIES[self.policy](self, prompt, most_tokens)

    def answered(self, prompt: str, prompt_tokens: float | None, output_tokens: float) -> bool:
        """Learn from an answer; whether it shows that the requests have changed."""
        if prompt_tokens and prompt:
            seen = prompt_tokens / len(prompt)
            self.tokens_per_character += FORGET * (seen - self.tokens_per_character)
        return self.learner.observe(prompt, output_tokens)

    def cost_s(self, prompt: str, most_tokens: float | None = None) -> float:
        """Seconds that the answer is expected to add to a full batch."""
        output = np.maximum(self._lengths(prompt, most_tokens), 1.0)
        tokens = np.full(len(output), self.prompt_tokens(prompt))
        return float(self.times.cost_s(tokens, output, batch_cap=self.batch_cap).mean())

    def answer_tokens(self, prompt: str, most_tokens: float | None = None) -> float:
        """Expected length of the answer."""
        return float(self._lengths(prompt, most_tokens).mean())

    def prompt_tokens(self, prompt: str) -> float:
        """Length of the prompt, from its characters."""
        return max(1.0, self.tokens_per_character * len(prompt))

    def _lengths(self, prompt: str, most_tokens: float | None) -> np.ndarray:
        lengths = self.learner.quantiles(prompt, LEVELS)
        return lengths if most_tokens is None else np.minimum(lengths, max(1.0, most_tokens))


POLICIES: Mapping[str, Callable[[ServiceOrder, str, float | None], float]] = {
    "cost": ServiceOrder.cost_s,
    "shortest-answer": ServiceOrder.answer_tokens,
    "shortest-prompt": lambda order, prompt, most: order.prompt_tokens(prompt),
    "fcfs": lambda order, prompt, most: 0.0,
}
