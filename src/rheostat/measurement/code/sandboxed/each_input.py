"""A program on many inputs from one start of the sandbox, which takes longer than most programs.

A library that is loaded before the program forks ahead of its main (``runtimes/each_input.c``): a
run costs a third of a millisecond, and no text is changed.  A tenth where runs share memory, which
is put back after each: that is for thousands of them, and a fork is asked where they differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rheostat.measurement.code.bundled import with_included
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.toolchain import BuildKind, tool

LIBRARY = "each_input"
KIND = BuildKind("loaded before", "gcc" if tool("gcc") else "clang", ("-shared", "-fPIC"), "-O1")
FORK_S = 0.0002
"""CPU seconds that a fork takes more than a run that shares memory."""
MOST_TOLD_B = 2**23
"""Bytes of all outputs after which no other input is begun where some may be left out."""
HEAD = re.compile(r"(\d+) (\d+)\n")
ESCAPED = re.compile(rb"\x1a([0-9a-f]{2})")
"""A byte that is no character by itself, as the library says it."""


def library(name: str = LIBRARY) -> Program:
    """What is loaded before a program: what forks, or another one of that name."""
    return Program(with_included(f"{name}.c"), flags=("-ldl",), is_ours=True)


def asked(
    every: Sequence[ProgramInput], most_cpu_s: float, reads_stderr: bool, shares: bool = False
) -> str:
    r"""The inputs as the library reads them.

    >>> asked([ProgramInput(("7", "x"), "in")], 0.5, False)
    '2\x00500\x000\x000\x007\x00x\x00in\x00'
    """
    count = len(every[0].arguments)
    words = [count, round(1000 * most_cpu_s), int(reads_stderr), int(shares)]
    texts = [text for given in every for text in (*given.arguments, given.stdin)]
    return "".join(f"{word}\0" for word in (*words, *texts))


def printed(said: str) -> list[str | None]:
    r"""What each run printed; None where it failed, or not all of it came back.

    >>> printed("0 3\na b256 1\nx0 0\n0 7\n\x1ac3\x1aa9!")
    ['a b', None, '', 'é!']
    >>> printed("0 3\na b0 9\ncut off")
    ['a b', None]
    """
    made: list[str | None] = []
    at = 0
    while head := HEAD.match(said, at):
        at = head.end() + int(head[2])
        whole = head[1] == "0" and at <= len(said)
        made.append(_read(said[head.end() : at]) if whole else None)
    return made


def _read(text: str) -> str:
    """What a run printed, read as that of a run by itself is."""
    if "\x1a" not in text:
        return text
    whole = ESCAPED.sub(lambda m: bytes.fromhex(m[1].decode()), text.encode())
    return whole.decode("utf-8", "replace")
