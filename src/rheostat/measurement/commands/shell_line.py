r"""`ShellLine`: a command line with places for values, none of which the shell runs.

A value is put in as one quoted word.  That holds only where the shell does not quote already: in
``sh -c 'run {x}'`` the quotes of the value would end the user's, and a value ``$(ls)`` would run.
Such places are refused; a program in quotes takes its values as ``$1``:
``sh -c 'run "$1"' sh {x}``.  A value that is no plain word is put in only where the line is one
simple command that runs none of its words (`takes_any_word`).

References
----------
POSIX.1-2017, Shell Command Language, 2.2 Quoting and 2.3 Token Recognition.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from string import Formatter
from typing import Any

from rheostat.errors import DataError
from rheostat.measurement.commands.simple_command import takes_any_word

_PLACE = "\0"
_READ = re.compile(r"""
    (?<![^\s;&|()]) \# [^\n\0]* (?![^\n])       # a comment
  | '[^'\0]*'
  | " (?: [^"\\`$\0] | \\[^\0] | \$(?![({]) | \$\{[^{}'"`\\$\0]*\}
        | \$\((?![^)]*\bcase\b)[^"'`\\()\0]*\) )* "
  | \\[^\0] | `[^`\\\0]*`
  | \$\(\( [^()\0]* \)\) | \$\{[^{}'"`\\$\0]*\} | \$\((?!\() | \$(?![({'"])
  | \((?!\() | <<< | <(?!<)
  | (?<=[^\s;&|()]) \# | [^'"\\`#$<(]
""", re.VERBOSE)  # fmt: skip
"""Pieces of a line after which the shell surely stands outside quotes; a place is such a piece."""
_SAFE = (
    "outside, where it is one word: sh -c 'run \"$1\"' sh {{{name}}}, or "
    "printf '{{{{\"energy_j\": %s}}}}' {{{name}}}"
)


class ShellLine:
    r"""A command line in which ``{knob}`` stands for a value.

    Braces of the shell's own are doubled, as in Python's format strings.

    Parameters
    ----------
    template : str
        Command line for the shell.

    Raises
    ------
    DataError
        A place stands inside quotes, backquotes, ``$((...))`` or a here-document, or has more in
        its braces than a name.

    Examples
    --------
    >>> ShellLine("run --size={n} '{{' > log").filled({"n": "a b"})
    "run --size='a b' '{' > log"
    >>> ShellLine("sh -c 'run {n}'")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: ...
    """

    def __init__(self, template: str) -> None:
        self.template = template
        self._pieces = _pieces(template)
        line = _PLACE.join(text for text, _ in self._pieces)
        sure = 0
        while piece := _READ.match(line, sure):
            sure = piece.end()
        if _PLACE in line[sure:]:
            name = self._pieces[line[:sure].count(_PLACE)][1]
            raise DataError("measure", [
                f"{template!r}: {{{name}}} stands inside quotes, `...`, $((...)) or a "
                f"here-document, where a value could run; put it {_SAFE.format(name=name)}",
            ])  # fmt: skip
        self._any_word = takes_any_word(line)

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
            A name has no value, or a value cannot be part of a command.
        """
        return "".join(
            text + ("" if name is None else self._word(name, values)) for text, name in self._pieces
        )

    def _word(self, name: str, values: Mapping[str, Any]) -> str:
        if name not in values:
            known = ", ".join(values)
            raise DataError(
                "measure", [f"{self.template!r}: {{NAME}} must be one of {known}; got {name!r}"]
            )
        value = str(values[name])
        word = shlex.quote(value)
        if "\0" in value:
            raise DataError("measure", [f"{name}: no command takes a NUL character, got {value!r}"])
        if not self._any_word and word != value:
            raise DataError("measure", [
                f"{self.template!r}: {value!r:.60} for {{{name}}} is no plain word (letters, "
                "digits and @%+=:,./-_) and could run there; any value goes into one simple "
                "command, without pipe, ;, &, $ or assignment, of a program that runs none of its "
                "words: "
                f"./run {{{name}}}, or sh -c 'run \"$1\" | tail -1' sh {{{name}}}",
            ])  # fmt: skip
        return word


def _pieces(template: str) -> list[tuple[str, str | None]]:
    """Text and the name that follows it, None after the last."""
    if _PLACE in template:
        raise DataError("measure", [f"no command takes a NUL character, got {template!r}"])
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise DataError("measure", [f"{template!r}: {error}; a brace is written {{{{"]) from error
    wrong = [name for _, name, spec, kind in parsed if name == "" or spec or kind]
    if wrong:
        raise DataError("measure", [
            f"{template!r}: expected a name alone in braces, got {wrong[0]!r} with more or none; "
            "a brace of the shell's own is written {{",
        ])  # fmt: skip
    pieces: list[tuple[str, str | None]] = []
    text = ""
    for literal, name, _, _ in parsed:
        text += literal
        if name is not None:
            pieces.append((text, name))
            text = ""
    return [*pieces, (text, None)]
