"""How commands read what is typed and show their help: every letter, and options by their names.

Help texts are plain text.  Rich would take ``[knobs]`` in one for a style and leave it out, so all
are escaped before they are shown.  An option that has a new name is refused by its old one,
wherever that stands: on the command line, in a variable or in a file of defaults.
"""

from __future__ import annotations

import copy
import os
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

ALL, LATER = "rheostat.help_all", "rheostat.later"
"""Keys of a context: whether all options are to be explained, and those that are only named."""
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Click's, wherever this typer has it from."""
LARGEST = 1e18
"""No amount that is asked for lies beyond."""
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
        """An example, and then as typer does; of many options those that matter, others by name."""
        from rheostat.cli.first_options import first_of, jargon_of

        _as_written(self)
        _tell_example(ctx)
        path = "" if ctx.meta.get(ALL) else ctx.command_path.partition(" ")[2]
        ctx.meta[LATER] = later = first_of(self, path)[1]
        super().format_help(ctx, formatter)
        if later:
            names = ", ".join(p.opts[0] for p in later)
            _echo_filled(f"More options, explained by {ctx.command_path} --help-all: {names}.")
        if words := jargon_of(self):
            _echo_filled(f"Words of docs/glossary.md: {', '.join(words)}.")

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, without the names of their variables; in a help those that it explains."""
        later = ctx.meta.get(LATER)
        params = _without_variables([p for p in super().get_params(ctx) if p not in (later or ())])
        return params if later is None else [_brief(p) for p in params]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer does, but that an option of old is told what it is called now."""
        if "--help-all" in args[: args.index("--") if "--" in args else None]:
            ctx.meta[ALL] = True
            typer.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        for old, where in _set_before(ctx):
            raise UsageError(_moved(ctx, old, where), ctx)
        try:
            rest = super().parse_args(ctx, args)
        except UsageError as error:
            old = getattr(error, "option_name", "")
            if (ctx.info_name, old) not in RENAMED:
                if said := _from_a_file(ctx, error):
                    raise UsageError(said, ctx) from None
                raise
            raise UsageError(_moved(ctx, old, old), ctx) from None
        if problems := [*_unusable(self, ctx), *_overwritten(self, ctx)]:
            raise UsageError("; ".join(problems), ctx)
        return rest


def _from_a_file(ctx: Any, error: Any) -> str:
    """What is wrong with a value that a file set and nobody typed; empty for one that was typed."""
    name = getattr(getattr(error, "param", None), "name", None)
    source = None if name is None else ctx.get_parameter_source(name)
    if source is None or source.name != "DEFAULT_MAP":
        return ""
    return f"{error.format_message()} It is set in rheostat.toml here or in your config.toml."


class Group(TyperGroup):
    """A group of commands whose help loses no letter."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """An example, and then as typer does, of texts as they were written."""
        _tell_example(ctx)
        for command in (self, *self.commands.values()):
            _as_written(command)
        super().format_help(ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, without the names of their variables."""
        return _without_variables(super().get_params(ctx))


class Root(Group):
    """The first page of the help: every command on a line, on one screen."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """An example, commands for whom, options, and where else options may be set."""
        _tell_example(ctx)
        typer.echo(f"Usage: rheostat COMMAND [ARGS]...  {(self.help or '').split(':')[0]}.")
        panels: dict[str, list[str]] = {}
        for name, command in self.commands.items():
            panel = panels.setdefault(str(getattr(command, "rich_help_panel", "")), [])
            panel.append(f"  {name:<11} {command.short_help}")
        for panel_name, lines in panels.items():
            typer.secho(panel_name, bold=True)
            typer.echo("\n".join(lines))
        options = ", ".join("/".join(reversed(p.opts)) for p in self.get_params(ctx))
        _echo_filled(f"Options: {options}. {self.epilog}")


def _echo_filled(text: str) -> None:
    width = shutil.get_terminal_size((80, 24)).columns
    typer.echo(textwrap.fill(text, max(width, 40), break_on_hyphens=False))


def _unusable(command: Any, ctx: Any) -> Iterator[str]:
    """What no option means, wherever it was set: NaN, an infinity, a name that is not UTF-8."""
    for param in command.params:
        given = ctx.params.get(param.name)
        name = param.opts[0] if param.param_type_name == "option" else param.name.upper()
        for value in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(value, float | int) and not abs(value) <= LARGEST:
                yield f"{name}: expected a number of at most {LARGEST:g}, got {str(value)[:40]}"
            elif isinstance(value, str | Path) and (odd := _odd_text(str(value))):
                yield f"{name}: expected {odd}, got {str(value)[:80]!r}"


def _overwritten(command: Any, ctx: Any) -> Iterator[str]:
    """Options that would write over a file that an argument names, which would be lost."""
    files = {p.name: _paths(ctx.params.get(p.name)) for p in command.params}
    given = {f for p in command.params if p.param_type_name == "argument" for f in files[p.name]}
    for param in command.params:
        if param.param_type_name == "option" and _written(param):
            for path in given & files[param.name]:
                yield f"{param.opts[0]}: would write over {path}, which is read: name another file"


def _written(param: Any) -> bool:
    """Whether its file is only written, as its declaration says, wherever this typer keeps it."""
    info = getattr(param, "type_descriptor", None)
    return bool(info.parameter_info.writable if info else getattr(param.type, "writable", False))


def _paths(given: Any) -> set[str]:
    """Files that are there, by their real names."""
    every = given if isinstance(given, (list, tuple)) else [given]
    return {os.path.realpath(p) for p in every if isinstance(p, Path) and p.is_file()}


def _odd_text(text: str) -> str:
    if "\0" in text:
        return "a text without a zero byte"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "UTF-8 (a file of another name can be renamed or linked to)"
    return ""


def _tell_example(ctx: Any) -> None:
    """The first line of a help: a command that runs; a command of somebody else has none."""
    from rheostat.cli.examples import EXAMPLES, example

    if ctx.command_path.partition(" ")[2] in EXAMPLES:
        typer.echo(example(ctx.command_path))


def _as_written(command: Any) -> None:
    """Escape the texts of a command, once; a paragraph is broken where the terminal ends."""
    from rich.markup import escape

    if vars(command).setdefault("escaped", False):
        return
    command.escaped = True
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(p.split("\n")) for p in paragraphs)
    for thing in (command, *command.params):
        for name in ("help", "short_help", "epilog"):
            if text := getattr(thing, name, None):
                setattr(thing, name, escape(text))


def _without_variables(params: list[Any]) -> list[Any]:
    """What variables are called is said once, in the help of all."""
    for param in params:
        param.show_envvar = False
    return params


def _brief(param: Any) -> Any:
    """A copy for the help, where what an option may be takes a word and its meaning the line."""
    brief = copy.copy(param)
    if param.param_type_name == "option" and param.metavar is None:
        least, most = getattr(param, "min", None), getattr(param, "max", None)
        brief.metavar = "" if param.is_flag else _bounds(least, most) or _kind(param)
        brief.min = brief.max = None
    if param.param_type_name == "option":
        brief.opts = [", ".join(sorted(param.opts, key=lambda o: o[1] != "-"))]
    return brief


def _bounds(least: float | None, most: float | None) -> str:
    """As ``0..0.99`` or ``1..``; the largest seed is no bound that anybody meets."""
    if least is None and most is None:
        return ""
    ends = ["" if x is None or x >= 2**31 - 1 else f"{x:g}" for x in (least, most)]
    return "..".join(ends)


def _kind(param: Any) -> str:
    """Number, path or text, wherever this typer keeps it."""
    kind = getattr(param, "type_descriptor", None)
    name = str(kind.annotation if kind else param.type.name).lower()
    if "path" in name or name == "file":
        return "PATH"
    return "N" if "int" in name or "float" in name else "TEXT"


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
