"""Hostile values of every option of every command, made from the command tree itself."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from typer.main import get_command

from rheostat.cli.app import app

sys.path.insert(0, str(Path(__file__).parent))
import malformed as m

NO_NUMBERS = ("nan", "inf", "-inf", "1e308", "-1e308", "1e999", str(10**30), "", ",", "=", "abc")
"""No option of a number takes any of these."""
NO_TEXTS = ("caf\udce9", "x\0y")
"""No option at all takes these: a name that is not UTF-8, a zero byte."""
NUMBERS = ("-1", "0", "9e29", "1e-320", "0x10", "1_0", str(2**31))
TEXTS = (
    "",
    ",",
    "=",
    "a=",
    "-",
    "nan",
    "-1",
    "1e308",
    "[red]x[/nope](",
    "\x1b[31m\n\u202e",
    "a" * 9000,
)
PATHS = ("", "-", "nowhere/x", "/dev/null", "a\nb", "x" * 300)
ODD = ("nan", "-1", "0", "1e308", "9" * 30, "")
EXAMPLE = re.compile(r"(?<![\w/.-])[a-z_]\w*=[\w.,:@/+-]*\w")
"""``deadline=2h`` and the like in a help text."""
NUMBER = re.compile(r"(?<![A-Za-z_\d])\d+(?:\.\d+)?")
OTHERS = {
    "doctor": "doctor",
    "fetch": "fetch pm100 --base-url http://127.0.0.1:9 --cache @folder",
}
"""Calls of commands that `malformed` has none of; others are tried on a table of runs."""


@dataclass(frozen=True)
class Try:
    """A value of an option in a call."""

    command: str
    param: Any
    value: str
    words: list[str]

    def __str__(self) -> str:
        return f"{self.command} {self.param.opts[0]} {self.value[:50]!r}"

    @property
    def number(self) -> int:
        """Of its name alone."""
        return crc32(str(self).encode())

    @property
    def writes(self) -> bool:
        """Whether the option names a file that is written: a result may be on stdout by then."""
        return bool(self.param.type_descriptor.parameter_info.writable)


def leaves(command: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """(words, command) of every command that runs."""
    command = command or get_command(app)
    if not hasattr(command, "commands"):
        yield " ".join(words), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from leaves(inner, (*words, name))


def asked(command: Any) -> list[Any]:
    """Its options and arguments that take a value."""
    return [p for p in command.params if p.name != "help" and not getattr(p, "is_flag", False)]


def kind(param: Any) -> str:
    """Number, path or text."""
    taken = param.type_descriptor.annotation
    return "number" if taken in (int, float) else "path" if "Path" in str(taken) else "text"


def values(param: Any) -> list[str]:
    """Hostile values that are not refused by their looks alone."""
    odd = {"number": NUMBERS, "path": PATHS, "text": TEXTS}[kind(param)]
    return list(dict.fromkeys((*odd, *(_spoiled(param) if kind(param) == "text" else ()))))


def _spoiled(param: Any) -> Iterator[str]:
    """The examples of the help text and the default, with one number of them spoiled."""
    default = param.default if isinstance(param.default, str) else ""
    for example in [x for x in dict.fromkeys((default, *EXAMPLE.findall(param.help or ""))) if x][
        :4
    ]:
        low, high = next((x.span() for x in NUMBER.finditer(example)), (len(example),) * 2)
        yield from (example[:low] + odd + example[high:] for odd in ODD)


def base(command: str, flag: str = "") -> list[str]:
    """Words of a valid call, with ``flag`` if any has it; @NAME is a valid file."""
    found = [
        c.replace("FILE", f"@{b}") for n, (b, c) in m.CALLS.items()
        if b and n.startswith(f"{command} ")
    ]  # fmt: skip
    found += [
        c.replace("FILE", "@made") for n, c in m.WRITTEN.items()
        if n.startswith(f"{command} ") and "--figure" not in n
    ]  # fmt: skip
    words = [shlex.split(c) for c in found or [OTHERS.get(command, f"{command} @runs.csv")]]
    return next((w for w in words if flag and flag in w), words[0])


def call(name: str, command: Any, param: Any, value: str) -> list[str]:
    """The words of a valid call in which ``param`` has the value."""
    if param.param_type_name == "option":
        flag = max(param.opts, key=len)
        words = base(name, flag)
        if flag in words:
            words[words.index(flag) + 1] = value
        else:
            at = words.index("--") if "--" in words else len(words)
            words[at:at] = [flag, value]
        return words
    words = base(name)
    places = list(_positional(words, command, len(name.split())))
    at = [p for p in command.params if p.param_type_name == "argument"].index(param)
    if at < len(places):
        words[places[at]] = value
    else:
        words.append(value)
    return words


def _positional(words: list[str], command: Any, at: int) -> Iterator[int]:
    """Where arguments stand among the words of a call."""
    flags = {o: p for p in command.params if p.param_type_name == "option" for o in p.opts}
    while at < len(words) and words[at] != "--":
        if words[at] in flags:
            at += 1 if getattr(flags[words[at]], "is_flag", False) else 2
        else:
            yield at
            at += 1
    yield from range(at + 1, len(words))
