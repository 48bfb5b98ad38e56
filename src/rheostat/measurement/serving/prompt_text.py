"""The text of a request to a language model, without the libraries that read tables of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rheostat.core.texts.turns import TURN

SPEAKING = ("user", "assistant", "tool", "function")


def prompt_text(given: Mapping[str, Any]) -> str | None:
    r"""The text of a request: its messages, or ``prompt``, a question or an instruction.

    OpenAI's chats, texts and responses (``input``, ``instructions``), and Anthropic's messages.
    The last message of the user comes first, and with it instructions to the system: what is asked
    decides how long the answer will be.  What was said before follows, a turn a piece
    (`rheostat.core.texts.turns`).

    Examples
    --------
    >>> said = [("system", "Be kind."), ("user", "Hello"), ("assistant", "Hi"), ("user", "Bye")]
    >>> prompt_text({"messages": [{"role": r, "content": c} for r, c in said]})
    'Bye\nBe kind.\x1eHello\x1eHi'
    """
    turns = given.get("messages") or given.get("input")
    said = [m for m in turns if isinstance(m, dict)] if isinstance(turns, list) else []
    if said or isinstance(given.get("messages"), list):
        orders = {"role": "system", "content": given.get("system") or given.get("instructions")}
        return _conversation([orders, *said])
    names = ("prompt", "question", "instruction", "input", "instructions")
    parts = [text_of(given.get(k)) for k in names]
    return "\n".join(filter(None, parts)) or None


def _conversation(messages: list[dict[str, Any]]) -> str | None:
    said = [(m.get("role", "tool" if "output" in m else None),
             text_of(m.get("content", m.get("output")))) for m in messages]  # fmt: skip
    said = [(role, text) for role, text in said if text]
    last = max((i for i, (role, _) in enumerate(said) if role == "user"), default=0)
    asked, others = said[last : last + 1], [*said[:last], *said[last + 1 :]]
    orders = [text for role, text in others if role not in SPEAKING]
    turns = [text for role, text in others if role in SPEAKING]
    return TURN.join(["\n".join([*(t for _, t in asked), *orders]), *turns]) or None


def text_of(content: Any) -> str:
    """Text, or the texts of a list of parts; images and the like have none.

    Half of a pair of code units, as logs that cut texts off leave it, becomes ``?``.
    """
    parts = content if isinstance(content, list) else [content]
    texts = (c.get("text") if isinstance(c, dict) else c for c in parts)
    joined = "\n".join(t for t in texts if isinstance(t, str) and t)
    return joined.encode("utf-8", "replace").decode()
