"""The tables of the guides: each question on a terminal, from Python and, where it is, by HTTP."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import rheostat as rh
from rheostat.cli.app import app
from rheostat.service.question_fields import QUESTIONS

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `rheostat ([^|]*)` \| `(rh\.[^|]*)` \|(.*)\|$", re.MULTILINE)
ROWS = [
    (page.stem, typed, called, by_http.strip())
    for page in [DOCS / "start.md", *sorted((DOCS / "guide").glob("*.md"))]
    for typed, called, by_http in ROW.findall(page.read_text())
]


@cache
def commands() -> dict[str, Any]:
    """Every command of the tree by the words that call it."""
    found: dict[str, Any] = {}
    below = [("", get_command(app))]
    for name, command in below:
        inner = getattr(command, "commands", {})
        below += [(f"{name} {word}".strip(), c) for word, c in inner.items()]
        found |= {} if inner else {name: command}
    return found


def command_of(typed: str) -> tuple[str, list[str]]:
    words = shlex.split(typed)
    length = next(n for n in (2, 1) if " ".join(words[:n]) in commands())
    return " ".join(words[:length]), words[length:]


def function_of(called: str) -> tuple[Any, ast.Call]:
    call = ast.parse(called, mode="eval").body
    assert isinstance(call, ast.Call)
    return eval(ast.unparse(call.func), {"rh": rh}), call


def test_every_command_stands_in_a_guide() -> None:
    shown = {command_of(typed)[0] for _, typed, *_ in ROWS}
    assert set(commands()) - shown == set()


@pytest.mark.parametrize(("page", "typed", "called", "by_http"), ROWS)
def test_a_row_is_one_question(page: str, typed: str, called: str, by_http: str) -> None:
    name, words = command_of(typed)
    commands()[name].make_context(name, list(words))  # refuses options that there are not
    function, call = function_of(called)
    for part in ast.walk(call):
        if isinstance(part, ast.Call) and ast.unparse(part.func).startswith("rh."):
            assert callable(function_of(ast.unparse(part))[0])
    inspect.signature(function).bind(*call.args, **{str(k.arg): k.value for k in call.keywords})
    if by_http:
        address = by_http.strip("`").removeprefix("POST /api/v1/")
        assert QUESTIONS[address].function() is function


def test_what_is_served_says_so() -> None:
    served = {question.function() for question in QUESTIONS.values()}
    silent = [typed for _, typed, called, by_http in ROWS
              if function_of(called)[0] in served and not by_http]  # fmt: skip
    assert silent == []
