"""`LengthLearner`: how long answers will be, learned while they come in.

The newest answers are kept; a `PromptLength` is fitted anew whenever their number has doubled, and
sooner where its errors grow: the requests have changed, and only the newest are learned from.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Sequence
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import TYPE_CHECKING

import numpy as np

from rheostat.errors import RheostatError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from rheostat.core.outcome import Array
    from rheostat.prediction.answer_length.prompt_length import PromptLength

Answers = list[tuple[str, float]]
LEAST, KEPT = 40, 4000
KEPT_CHARACTERS = 20_000_000
"""Of the prompts that are learned from: of longer ones fewer are kept."""
RECENT = 100
SCORED = 10_000
"""Scores of prompts that are kept until their answers come: about a megabyte."""
LEAST_SCATTER = 0.5
"""Of normal scores, whose spread is 1: where almost all answers are as long as the limit lets them
be, almost no error is expected, and the few that end before are no change of the requests."""
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
    checked
        Of the answers to prompts whose lengths nobody asked for, one in so many is predicted, too,
        so that a change of the requests is noticed.

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

    def __init__(
        self, model: PromptLength | None = None, *, kept: int = KEPT, checked: int = 1
    ) -> None:
        self.model = model
        self.checked = checked
        self.drifts = 0
        self.answers = 0
        self._kept = kept
        self._texts: deque[tuple[str, float]] = deque()
        self._characters = 0
        self._scores: dict[int, float] = {}
        self._squares: deque[float] = deque(maxlen=RECENT)
        self._since, self._fitted = 0, 0

    def quantiles(self, prompt: str, levels: Sequence[float]) -> Array:
        """Tokens of the answer at these probabilities, (levels,); 256 before anything is known."""
        if self.model is None:
            seen = [n for _, n in islice(reversed(self._texts), RECENT)]
            return np.quantile(seen, levels) if seen else np.full(len(levels), 256.0)
        score = self._score(self.model, prompt)
        while len(self._scores) >= SCORED:
            del self._scores[next(iter(self._scores))]
        self._scores[hash(prompt)] = score
        return self.model.quantiles_at([score], levels)[:, 0]

    def _is_known(self, prompt: str) -> bool:
        return hash(prompt) in self._scores

    def _score(self, model: PromptLength, prompt: str) -> float:
        """Of a prompt; it is asked for when a request comes and again when it is answered."""
        known = self._scores.get(hash(prompt))
        return float(model.score_prompts([prompt])[0]) if known is None else known

    def observe(self, prompt: str, output_tokens: float) -> bool:
        """Take in an answer; whether it is the one by which a change of the requests is noticed."""
        self.answers += 1
        self._keep(prompt, output_tokens)
        self._since += 1
        if self.model is None or not (self._is_known(prompt) or self.answers % self.checked == 0):
            return False
        error = self.model.normal_score([output_tokens])[0] - self._score(self.model, prompt)
        self._squares.append(float(error / max(self.model.scatter_, LEAST_SCATTER)) ** 2)
        if len(self._squares) < RECENT or np.mean(self._squares) < DRIFTED:
            return False
        self.drifts += 1
        while len(self._texts) > RECENT:
            self._drop()
        self._squares.clear()
        self._fitted = 0  # what was learned before is of other requests: fit as soon as it is due
        return True

    def _keep(self, prompt: str, output_tokens: float) -> None:
        self._texts.append((prompt, output_tokens))
        self._characters += len(prompt)
        while len(self._texts) > self._kept or self._characters > KEPT_CHARACTERS:
            self._drop()

    def _drop(self) -> None:
        self._characters -= len(self._texts.popleft()[0])

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
        self.take(fitted(*self.begin()))

    def begin(self) -> tuple[Answers, str]:
        """What `fitted` is to learn from: it may run elsewhere while answers come in."""
        self._since, self._fitted = 0, len(self._texts)
        return list(self._texts), self.model.encoder if self.model else ""

    def take(self, model: PromptLength) -> None:
        """Ask this model from now on."""
        self.model = model
        self._scores.clear()
        self._squares.clear()


def fitted(answers: Answers, encoder: str = "") -> PromptLength:
    """A model of these prompts and lengths of answers, which has answered once."""
    from rheostat.core.vocabulary import table
    from rheostat.prediction.answer_length.prompt_length import TARGET, PromptLength

    prompts, lengths = zip(*answers, strict=True)
    model = PromptLength(encoder=encoder).fit(table({"prompt": prompts, TARGET: lengths}))
    return ready(model)


class ApartFit:
    """As `fitted`, in a process of its own at low priority, which ends then or when it is to."""

    def __init__(self) -> None:
        self.stopped = False
        self._process: BaseProcess | None = None

    def fitted(self, answers: Answers, encoder: str = "") -> PromptLength:
        """The model; an OSError where the process ended without one."""
        context = get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_fit_apart, args=(theirs, answers, encoder), daemon=True)
        with ours, theirs:
            process.start()
            self._process = process
            theirs.close()  # else its end would not be seen
            if self.stopped:
                process.kill()
            try:
                made = ours.recv()
            except EOFError as error:
                raise ChildProcessError("the process that learned has ended") from error
            finally:
                process.join()
        if isinstance(made, Exception):
            raise made
        return ready(made)

    def stop(self) -> None:
        """End what runs; nothing more is learned."""
        self.stopped = True
        if self._process is not None:
            self._process.kill()


def _fit_apart(answer_to: Connection, answers: Answers, encoder: str) -> None:
    os.nice(10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: who started this one ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        answer_to.send(fitted(answers, encoder))
    except (OSError, MemoryError, RheostatError) as error:
        answer_to.send(error)


def _end_with_parent() -> None:
    """End at once where the parent was killed: nobody takes what is learned."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def ready(model: PromptLength) -> PromptLength:
    """The model, after it has answered once: what that needs is loaded by then."""
    model.quantiles(["say yes"], [0.5])
    model.normal_score([1.0])
    return model


def compile_ahead() -> None:
    """Learn from a few made answers: the machine code is then there before the first real ones.

    Where it has never been compiled, this takes some ten seconds, and later a tenth of one.
    """
    from rheostat.prediction.answer_length.prompt_length import STACKED

    model = fitted([(f"say {i}", 2.0 + i % 3) for i in range(STACKED)])
    model.score_prompts(["say yes"] * STACKED)
