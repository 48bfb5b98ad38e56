r"""`ShellLine`: a command line with places for values, none of which the shell runs.

A value is put in as one quoted word where the line is one simple command that runs none of its
words (`takes_any_word`); any other line, and a place in quotes, takes plain words alone, which mean
the same everywhere.  A program in quotes takes any value as ``$1``: ``sh -c 'run "$1"' sh {x}``.

References
----------
POSIX.1-2017, Shell Command Language, 2.2 Quoting and 2.3 Token Recognition.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any, NoReturn

from rheostat.errors import DataError
from rheostat.measurement.commands.simple_command import takes_any_word

_PLACE = "\0"
_BRACES = re.compile(r"(?P<dollar>\$?)\{(?P<inside>[^{}]*)\}")


class ShellLine:
    r"""A command line in which ``{knob}`` stands for a value.

    All other braces are the shell's own: ``{"energy_j": 1}``, ``{print $1}``, ``${HOME}``.
    A line that doubles them throughout, as Python's format strings do, is read so.

    Parameters
    ----------
    template : str
        Command line for the shell.

    Raises
    ------
    DataError
        The line has a NUL character.

    Examples
    --------
    >>> ShellLine("run --size={n} | awk '{print $2}'").filled({"n": 4})
    "run --size=4 | awk '{print $2}'"
    >>> ShellLine("run --size={n} '{{' > log").filled({"n": "a b"})
    "run --size='a b' '{' > log"
    >>> ShellLine("sh -c 'run {n}'").filled({"n": "a b"})
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: ...
    """

    def __init__(self, template: str) -> None:
        if _PLACE in template:
            raise DataError("measure", [f"no command takes a NUL character, got {template!r}"])
        self.template = template

    def filled(self, values: Mapping[str, Any]) -> str:
        """The line with every value as one word.

        Parameters
        ----------
        values : mapping
            By name.

        Returns
        -------
        str
            For ``sh -c``.

        Raises
        ------
        DataError
            A name has no value, has more beside it in its braces, or a value cannot be part of a
            command.
        """
        pieces = _doubled(self.template) or self._pieces(values)
        any_word = takes_any_word(_PLACE.join(text for text, _ in pieces))
        return "".join(
            text + ("" if name is None else self._word(name, values, any_word))
            for text, name in pieces
        )

    def unused(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names without a place, by which no run differs.

        >>> ShellLine("run {n}").unused(["n", "cap_w"])
        ('cap_w',)
        """
        values = dict.fromkeys(names)
        placed = {name for _, name in _doubled(self.template) or self._pieces(values)}
        return tuple(name for name in values if name not in placed)

    def _pieces(self, values: Mapping[str, Any]) -> list[tuple[str, str | None]]:
        """Text and the name that follows it, None after the last; braces of the shell's stay."""
        pieces: list[tuple[str, str | None]] = []
        start = 0
        for match in _BRACES.finditer(self.template):
            inside = match["inside"]
            name = re.match(r"[^\W\d]\w*", inside)
            if inside not in values and name and name[0] in values and inside[name.end()] in "!:.[":
                self._refuse(f"expected a name alone in braces, got {inside!r}")
            if inside in values and match["dollar"]:
                self._refuse(f"${{{inside}}} is a variable of the shell; the knob is {{{inside}}}")
            if inside in values or (inside.isidentifier() and not match["dollar"]):
                pieces.append((self.template[start : match.start()], inside))
                start = match.end()
        return [*pieces, (self.template[start:], None)]

    def _word(self, name: str, values: Mapping[str, Any], any_word: bool) -> str:
        if name not in values:
            known = ", ".join(values)
            self._refuse(
                f"{{NAME}} must be one of {known}; got {name!r}; braces of the shell's own are "
                f"told by a blank: {{ {name} }}"
            )
        value = str(values[name])
        word = shlex.quote(value)
        if "\0" in value:
            raise DataError("measure", [f"{name}: no command takes a NUL character, got {value!r}"])
        if not any_word and word != value:
            self._refuse(
                f"{value!r:.60} for {{{name}}} is no plain word (letters, digits and "
                "@%+=:,./-_) and could run there; any value goes, outside of quotes, into one "
                "simple command, without pipe, ;, &, $ or assignment, of a program that runs none "
                f"of its words: ./run {{{name}}}, or sh -c 'run \"$1\" | tail -1' sh {{{name}}}"
            )
        return word

    def _refuse(self, why: str) -> NoReturn:
        raise DataError("measure", [f"{self.template!r}: {why}"])


def _doubled(template: str) -> list[tuple[str, str | None]]:
    """Pieces of a line whose own braces are all doubled; none of any other line."""
    if "{{" not in template and "}}" not in template:
        return []
    try:
        parsed = list(Formatter().parse(template))
    except ValueError:
        return []
    pieces: list[tuple[str, str | None]] = []
    text = ""
    for literal, name, spec, kind in parsed:
        text += literal
        if name is not None and (spec or kind or not name.isidentifier()):
            return []
        if name is not None:
            pieces.append((text, name))
            text = ""
    return [*pieces, (text, None)]
