"""How commands read what is typed and show their help: every letter, and options by their names.

Help texts are plain text.  Rich would take ``[knobs]`` in one for a style and leave it out, so all
are escaped before they are shown.  An option that has a new name is refused by its old one,
wherever that stands: on the command line, in a variable or in a file of defaults.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import typer
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


class PlainCommand(TyperCommand):
    """A command whose help loses no letter and whose old options name the new ones."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As typer does, of texts as they were written."""
        _as_written(self)
        super().format_help(ctx, formatter)

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

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As typer does, of texts as they were written."""
        for command in (self, *self.commands.values()):
            _as_written(command)
        super().format_help(ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, without the names of their variables."""
        return _without_variables(super().get_params(ctx))


def _as_written(command: Any) -> None:
    """Escape the texts of a command, once."""
    from rich.markup import escape

    if vars(command).setdefault("escaped", False):
        return
    command.escaped = True
    for thing in (command, *command.params):
        for name in ("help", "short_help", "epilog"):
            if text := getattr(thing, name, None):
                setattr(thing, name, escape(text))


def _without_variables(params: list[Any]) -> list[Any]:
    """What variables are called is said once, in the help of all."""
    for param in params:
        param.show_envvar = False
    return params


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
