"""How many tokens an answer had, from its bytes as they pass by: OpenAI's or Anthropic's."""

from __future__ import annotations

from typing import Any

from rheostat.core.storage.files import json_or_none

LONGEST = 4_000_000
TOGETHER = 65536
"""Bytes of a stream that are read at once: one by one, its events would cost three times that."""
WRITTEN = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls")
"""What a model writes: thoughts and calls of tools take as long as the answer itself."""
APART = ("cache_read_input_tokens", "cache_creation_input_tokens")
PIECE = (".delta", "block_delta")
"""How types of events end that bring a piece: of a response, and of Anthropic's messages."""


class AnswerLength:
    r"""Reads what is fed to it; an answer it cannot read has no length.

    Parameters
    ----------
    streamed
        Whether the answer is a stream of events, or one JSON document.

    Examples
    --------
    >>> answer = AnswerLength(streamed=True)
    >>> answer.feed(b'data: {"choices": [{"delta": {"content": "Yes"}}]}\n\ndata: [DO')
    >>> answer.feed(b"NE]\n\n")
    >>> answer.output_tokens(), answer.prompt_tokens
    (1.0, None)
    """

    def __init__(self, *, streamed: bool) -> None:
        self.streamed = streamed
        self.prompt_tokens: float | None = None
        self._stated: float | None = None
        self._pieces = 0
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        self._rest += data
        if self.streamed and len(self._rest) > TOGETHER and b"\n" in data:
            self._take_lines()
        if len(self._rest) > LONGEST:
            self._rest = bytearray()

    def output_tokens(self) -> float | None:
        """As the server states it, else the pieces of the stream; None where neither is there."""
        if self.streamed:
            self._take_lines()
        else:
            self._take(json_or_none(self._rest))
        self._rest = bytearray()
        return self._stated if self._stated is not None else float(self._pieces) or None

    def _take_lines(self) -> None:
        """The events that have ended."""
        *lines, self._rest = self._rest.split(b"\n")
        events = [line[5:] for line in lines if line.startswith(b"data:")]
        if events and events[-1].strip() == b"[DONE]":
            events.pop()
        together = json_or_none(b"[" + b",".join(events) + b"]")
        for given in map(json_or_none, events) if together is None else together:
            self._take(given)

    def _take(self, given: Any) -> None:
        if not isinstance(given, dict):
            return
        for inner in (given, given.get("response"), given.get("message")):
            usage = inner.get("usage") if isinstance(inner, dict) else None
            if isinstance(usage, dict):
                self._stated = _first(usage, "completion_tokens", "output_tokens")
                self.prompt_tokens = _prompt(usage) or self.prompt_tokens
        choices = given.get("choices")
        if self.streamed and isinstance(choices, list):
            self._pieces += sum(1 for c in choices if isinstance(c, dict) and _said(c))
        elif self.streamed and str(given.get("type")).endswith(PIECE):
            self._pieces += 1


def _count(value: Any) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and value > 0 else None


def _first(usage: dict[str, Any], *names: str) -> float | None:
    return next((_count(usage[name]) for name in names if name in usage), None)


def _prompt(usage: dict[str, Any]) -> float | None:
    """Tokens of the prompt; Anthropic counts those that a cache held apart."""
    asked = _first(usage, "prompt_tokens", "input_tokens")
    held = sum(_count(usage.get(name)) or 0.0 for name in APART)
    return asked + held if asked else None


def _said(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return bool(choice.get("text"))
    return any(delta.get(k) for k in WRITTEN)
