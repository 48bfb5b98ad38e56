"""Transcripts: every question and answer in one append-only file, which is record and replay.

A line is written before a question is sent and another when it is answered, each flushed to the
device.  After a kill the answers are there and nothing is asked, or paid, twice; a question that
was sent and never answered is noted, because it may have cost something.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rheostat.core.jobs import Note
from rheostat.core.storage.bounded_read import read_bytes
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import named_errors, ordinary_file, parse_json, seal, unsealed
from rheostat.errors import DataError
from rheostat.prediction.language_model.conversation import (
    ChatCompletion,
    LanguageModel,
    Message,
    ModelError,
    Sampling,
    question_key,
)

SCHEMA = "rheostat.transcript/1"
BEGINS = b'{"schema": "rheostat.transcript/'


@dataclass
class Transcript:
    """Answers by question; opening reads what is there.

    Parameters
    ----------
    path : str or Path
        JSON lines; made by the first question.

    Raises
    ------
    DataError
        The file is no transcript, or a line is damaged; it is left as it is.
    """

    path: Path
    answers: dict[str, ChatCompletion] = field(default_factory=dict)
    sent: int = 0
    notes: tuple[Note, ...] = ()

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.answers, self.sent, self.notes = {}, 0, ()
        if os.path.lexists(self.path):
            ordinary_file(self.path, new=True)
            self._read()

    def asks(
        self, key: str, model: str, messages: Sequence[Message], sampling: Sampling, index: int
    ) -> None:
        """Write down a question that is about to be sent."""
        self._append({
            "asked": key, "model": model, "messages": [asdict(m) for m in messages],
            "sampling": asdict(sampling), "index": index, "at": _now(),
        })  # fmt: skip
        self.sent += 1

    def answered(self, key: str, completion: ChatCompletion) -> None:
        """Write down its answer."""
        self._append({"answered": key, "at": _now(), **asdict(completion)})
        self.answers[key] = completion

    @property
    def cost(self) -> dict[str, float]:
        """Questions, tokens and seconds of all answers in the file.

        A question that was sent and not answered, as before a kill, may have cost something too.
        """
        every = self.answers.values()
        return {
            "questions": len(self.answers),
            "prompt_tokens": sum(c.prompt_tokens for c in every),
            "completion_tokens": sum(c.completion_tokens for c in every),
            "seconds": sum(c.seconds for c in every),
            "unanswered": self.sent - len(self.answers),
        }

    def _append(self, record: Mapping[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists() or self.path.stat().st_size == 0
        with named_errors(self.path), open(self.path, "ab") as file:
            for line in ([{"schema": SCHEMA}] if new else []) + [dict(record)]:
                file.write(json.dumps(seal(line), allow_nan=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        text = read_bytes(self.path, new=True)
        if not text.startswith(BEGINS[: len(text)]):
            raise other_kind(self.path, f"a transcript of schema {SCHEMA}")
        whole = text.rfind(b"\n") + 1
        for number, line in enumerate(text[:whole].splitlines(), start=1):
            try:
                self._take(unsealed(parse_json(line), self.path))
            except (KeyError, TypeError, ValueError, AttributeError, DataError) as error:
                message = f"line {number} is damaged: mend it, or move the file away to start anew"
                raise DataError(str(self.path), [message]) from error
        if whole < len(text):
            self.notes = (Note("transcript: the last line was cut off and is removed", count=1),)
            os.truncate(self.path, whole)

    def _take(self, record: dict[str, Any]) -> None:
        if record.get("schema", SCHEMA) != SCHEMA:
            raise ValueError("schema")
        if "asked" in record:
            self.sent += 1
        if "answered" in record:
            names = ChatCompletion.__dataclass_fields__
            self.answers[record["answered"]] = ChatCompletion(**{n: record[n] for n in names})


@dataclass
class RecordedModel:
    """A model whose answers are kept; what was answered once is replayed.

    Parameters
    ----------
    model : LanguageModel or str
        Who answers; the name alone replays and asks nobody.
    transcript : Transcript
        Where answers are kept.
    most_tokens : int
        Tokens that may be spent in all, those in the transcript included; 0 sets no limit.
    spent : dict of str to int
        Tokens by question; models that are given the same one share a budget.
    asked_s : float
        Seconds that answers took which were not replayed.
    """

    model: LanguageModel | str
    transcript: Transcript
    most_tokens: int = 0
    spent: dict[str, int] = field(default_factory=dict)
    asked_s: float = 0.0
    used: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The model's."""
        return self.model if isinstance(self.model, str) else self.model.name

    @property
    def tokens(self) -> int:
        """Of the questions that were asked here, replayed ones included."""
        return sum(self.transcript.answers[k].tokens for k in self.used)

    @property
    def seconds(self) -> float:
        """That the answers took when they were given."""
        return sum(self.transcript.answers[k].seconds for k in self.used)

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, index: int = 0
    ) -> ChatCompletion:
        """The answer of the transcript, else the model's; why there is none is kept, too."""
        try:
            return self._answer(messages, sampling, index)
        except ModelError as error:
            self.problems.append(str(error))
            raise

    def _answer(
        self, messages: Sequence[Message], sampling: Sampling, index: int
    ) -> ChatCompletion:
        key = question_key(self.name, messages, sampling, index)
        if key in self.transcript.answers:
            return self._uses(key, replace(self.transcript.answers[key], replayed=True))
        if isinstance(self.model, str):
            raise ModelError(f"{self.transcript.path}: no answer of {self.name} to this question; "
                             "only what was recorded can be replayed")  # fmt: skip
        if self.most_tokens and sum(self.spent.values()) >= self.most_tokens:
            raise ModelError(f"the budget of {self.most_tokens} tokens is spent")
        self.transcript.asks(key, self.name, messages, sampling, index)
        completion = self.model.complete(messages, sampling, index)
        self.asked_s += completion.seconds
        self.transcript.answered(key, completion)
        return self._uses(key, completion)

    def _uses(self, key: str, completion: ChatCompletion) -> ChatCompletion:
        self.used.add(key)
        self.spent[key] = completion.tokens
        return completion


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
