"""`ServiceOrder`: which of the waiting requests goes next, by what answering it will cost.

A request's key is set once, when it comes: its moment of arrival plus ``head_start_s`` times the
decimal logarithm of the cost expected of it.  The least key goes first: a request of a tenth of the
cost goes before one that came ``head_start_s`` earlier, and is behind those that came before that.
So nobody is overtaken without end, and any server that takes priorities can follow the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rheostat.errors import DataError
from rheostat.prediction.answer_length.length_learner import LengthLearner
from rheostat.prediction.answer_length.service_cost import StepTimes

if TYPE_CHECKING:
    from rheostat.core.outcome import Array

LEVELS = tuple((i + 0.5) / 7 for i in range(7))
LEAST = 1e-9  # s; a request costs something
FORGET = 0.02  # weight of the newest answer in the tokens per character


@dataclass
class ServiceOrder:
    """Keys of requests, and what is learned from their answers.

    Parameters
    ----------
    policy
        ``cost``, ``shortest-answer``, ``shortest-prompt`` or ``fcfs``.
    head_start_s
        Seconds of earlier arrival that a tenth of the cost outweighs; 0 is first come, first
        served.
    learner
        Of the lengths of answers.
    times, batch_cap
        A step of the server, and how many requests it runs at once.
    tokens_per_character
        Of prompts, until answers say how many tokens they had.
    learn
        Whether lengths are learned where the policy does not ask for them, too.

    Examples
    --------
    >>> order = ServiceOrder(head_start_s=60.0)
    >>> order.key("say yes", 0.0) < order.key("say yes " * 100, 0.0) < order.key("say yes", 1e4)
    True
    """

    policy: str = "cost"
    head_start_s: float = 100.0
    learner: LengthLearner = field(default_factory=LengthLearner)
    times: StepTimes = field(default_factory=StepTimes)
    batch_cap: int = 64
    tokens_per_character: float = 0.25
    learn: bool = True

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            known = ", ".join(POLICIES)
            raise DataError("policy", [f"expected one of {known}, got {self.policy!r}"])
        if not 0 <= self.head_start_s < np.inf:
            raise DataError("head_start_s", [f"expected 0 or more, got {self.head_start_s}"])

    def key(
        self,
        prompt: str,
        arrival_s: float,
        most_tokens: float | None = None,
        prompt_tokens: float | None = None,
        answers: int = 1,
    ) -> float:
        """The lower, the sooner.

        Parameters
        ----------
        prompt
            Text, from which the length of the answer is expected.
        arrival_s
            On any clock that all requests share.
        most_tokens
            Where the server cuts the answer off.
        prompt_tokens
            Length of the prompt, where it is known better than from its characters.
        answers
            How many are asked for at once.
        """
        cost = self.cost(prompt, most_tokens, prompt_tokens, answers)
        return arrival_s + self.head_start_s * math.log10(max(cost, LEAST))

    def cost(
        self,
        prompt: str,
        most_tokens: float | None = None,
        prompt_tokens: float | None = None,
        answers: int = 1,
    ) -> float:
        """What the policy orders by: seconds, tokens, or 1 for first come, first served."""
        tokens = prompt_tokens or max(1.0, self.tokens_per_character * len(prompt))

        def lengths() -> Array:
            return answers * self.answer_tokens(prompt, most_tokens)

        return POLICIES[self.policy](self, tokens, lengths)

    def answered(self, prompt: str, prompt_tokens: float | None, output_tokens: float) -> bool:
        """Learn from an answer; whether it shows that the requests have changed."""
        if prompt_tokens and prompt:
            seen = prompt_tokens / len(prompt)
            self.tokens_per_character += FORGET * (seen - self.tokens_per_character)
        if not self.learn and self.policy in UNASKED:
            return False
        return self.learner.observe(prompt, output_tokens)

    def answer_tokens(self, prompt: str, most_tokens: float | None = None) -> Array:
        """Lengths of the answer at equally likely levels, (levels,)."""
        lengths = self.learner.quantiles(prompt, LEVELS)
        most = np.inf if most_tokens is None else max(1.0, most_tokens)
        return np.asarray(np.clip(lengths, 1.0, most))

    def cost_s(self, prompt_tokens: float, output_tokens: Array) -> float:
        """Seconds that an answer adds to a full batch, mean over its possible lengths."""
        return float(
            self.times.cost_s(prompt_tokens, output_tokens, batch_cap=self.batch_cap).mean()
        )


POLICIES: Mapping[str, Callable[[ServiceOrder, float, Callable[[], Array]], float]] = {
    "cost": lambda order, prompt_tokens, lengths: order.cost_s(prompt_tokens, lengths()),
    "shortest-answer": lambda order, prompt_tokens, lengths: float(lengths().mean()),
    "shortest-prompt": lambda order, prompt_tokens, lengths: prompt_tokens,
    "fcfs": lambda order, prompt_tokens, lengths: 1.0,
}
"""What is short, in seconds or tokens: (order, tokens of the prompt, lengths of the answer)."""
UNASKED = ("shortest-prompt", "fcfs")
"""Policies that ask for no length of an answer."""
