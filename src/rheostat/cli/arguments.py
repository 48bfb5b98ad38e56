"""Which argument of a call names a file, and what does that argument take?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

LONGEST = 300
"""Letters of a help text that a message repeats."""


def takers(argv: Sequence[str], message: str) -> Iterator[tuple[str, str]]:
    """(argument, its help) of every argument whose file the message is about."""
    command, rest = _command(argv)
    positional = [p for p in command.params if p.param_type_name == "argument"]
    flags = {f: p for p in command.params if p.param_type_name == "option" for f in p.opts}
    before = ""
    for word in rest:
        flag, _, value = word.partition("=") if word.startswith("-") else (before, "", word)
        param = flags.get(flag) or next(iter(positional), None)
        if value and param is not None and _named(value, message):
            name = flag if flag in flags else (param.metavar or param.name or "").upper()
            yield name, (param.help or "")[:LONGEST]
        before = word if word.startswith("-") else ""


def _command(argv: Sequence[str]) -> tuple[Any, list[str]]:
    """The command that the words name, and the words after it."""
    import typer.main

    from rheostat.cli.app import app

    command: Any = typer.main.get_command(app)
    words = list(argv)
    while words and words[0] in getattr(command, "commands", ()):
        command = command.commands[words.pop(0)]
    return command, words


def _named(word: str, message: str) -> bool:
    """Is the word a file, plain or behind a prefix as in tree:FILE, that the message names?"""
    spec = word.partition(":")[2].partition("+")[0] or word
    return any(name in message and Path(name).is_file() for name in (word, spec))
