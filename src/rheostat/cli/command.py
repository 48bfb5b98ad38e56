"""How commands read what is typed and show their help: every letter, and options by their names.

Help texts are plain text.  Rich would take ``[knobs]`` in one for a style and leave it out, so all
are escaped here, once.  An option that has a new name is refused by its old one, wherever that
stands: on the command line, in a variable or in a file of defaults.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Click's, wherever this typer has it from."""
SHARE = "--test-fraction, the share of the newest jobs that is tested on"
RENAMED = {
    ("fit", "--check"): SHARE,
    ("train", "--held-out"): SHARE,
    ("backtest", "--split"): f"{SHARE} (0.8 was 0.2 of it), or --test-period for days, as 30d",
    ("compare", "--split"): f"{SHARE} (0.8 was 0.2 of it)",
    ("counters", "--split"): "--leave-out",
    ("coschedule", "--crowd"): "--interference",
    ("simulate", "--power"): "--power-model",
    ("train", "--power"): "--power-model",
}
"""What an option of a command is called now."""


def as_written(text: str) -> str:
    r"""A help text without what keeps Rich from reading it.

    >>> as_written(r"holds \[knobs] with lines")
    'holds [knobs] with lines'
    """
    return re.sub(r"\\(?=\[)", "", text)


def _plain(command: Any) -> None:
    """Help as it was written."""
    for name in ("help", "short_help", "epilog"):
        if text := getattr(command, name, None):
            setattr(command, name, escape(text))
    for param in command.params:
        param.help = escape(param.help) if param.help else param.help


def _without_variables(params: list[Any]) -> list[Any]:
    """What variables are called is said once, in the help of all."""
    for param in params:
        param.show_envvar = False
    return params


class PlainCommand(TyperCommand):
    """A command whose help loses no letter and whose old options name the new ones."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _plain(self)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, without the names of their variables."""
        return _without_variables(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer does, but that an option of old is told what it is called now."""
        for old, where in _set_before(ctx):
            raise UsageError(_moved(ctx, old, where), ctx)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            old = getattr(error, "option_name", "")
            if (ctx.info_name, old) not in RENAMED:
                raise
            raise UsageError(_moved(ctx, old, old), ctx) from None


class Group(TyperGroup):
    """A group of commands whose help loses no letter."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _plain(self)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, without the names of their variables."""
        return _without_variables(super().get_params(ctx))


def _moved(ctx: typer.Context, old: str, where: str) -> str:
    return f"{where} is now {RENAMED[str(ctx.info_name), old]}"


def _set_before(ctx: typer.Context) -> Iterator[tuple[str, str]]:
    """Old options of the command that a variable or a file of defaults sets, and where."""
    for command, old in RENAMED:
        name = old.removeprefix("--").replace("-", "_")
        variable = f"{ctx.auto_envvar_prefix}_{name.upper()}"
        if command != ctx.info_name:
            continue
        if variable in os.environ:
            yield old, f"the variable {variable}"
        for key in {name, name.replace("_", "-")} & set(ctx.default_map or {}):
            yield old, f"{key} in [{command}] of a file of defaults"
