r"""A conversation as one text: the question to be answered, and what was said before it.

`TURN` stands before each earlier message, in their order: question, user, assistant, user, ...

>>> text = TURN.join(["And of Peru?", "What is the capital of Chile?", "Santiago."])
>>> question(text), opening(text), turn_lengths(text)
('And of Peru?', 'What is the capital of Chile?', [29, 9])
"""

from __future__ import annotations

TURN = "\x1e"
"""Record separator of ASCII: white space to whatever reads words."""


def question(text: str) -> str:
    """What is to be answered, without what was said before."""
    return text.split(TURN, 1)[0]


def opening(text: str) -> str:
    """The first message, by which a conversation is known in all its turns."""
    return text.split(TURN, 2)[1] if TURN in text else text


def turn_lengths(text: str) -> list[int]:
    """Characters of the earlier messages, in their order."""
    return [len(said) for said in text.split(TURN)[1:]]
