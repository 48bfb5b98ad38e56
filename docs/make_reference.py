"""Print docs/reference.md: the public names with signatures, and every command with its help."""

from __future__ import annotations

import inspect
from typing import Any

from typer.main import get_command

import rheostat
from rheostat.cli.app import app


def first_line(thing: object) -> str:
    """The first sentence of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def public_names() -> list[str]:
    """One entry per public name."""
    lines = []
    for name in rheostat.__all__:
        thing = getattr(rheostat, name)
        if name == "__version__" or inspect.ismodule(thing):
            continue
        where = f"{thing.__module__}.{thing.__qualname__}"
        lines.append(f"**`rh.{name}`** (`{where}`): {first_line(thing)}\n")
    return lines


def every_command() -> list[tuple[str, Any]]:
    """Commands by name; those of a group follow it as ``group command``."""
    found = []
    for name, command in sorted(get_command(app).commands.items()):  # type: ignore[attr-defined]
        found.append((name, command))
        inner = getattr(command, "commands", {})
        found += [(f"{name} {k}", c) for k, c in sorted(inner.items())]
    return found


def command_lines() -> list[str]:
    """One section per command: purpose, arguments and options with their help."""
    lines = []
    for name, command in every_command():
        lines += [
            f"### `rheostat {name}`",
            "",
            inspect.cleandoc(command.help or ""),
            "",
        ]
        for p in command.params:
            label = "/".join(p.opts) if p.param_type_name == "option" else p.name.upper()
            lines.append(f"- `{label}`: {' '.join((p.help or '').split())}")
        lines.append("")
    return lines


if __name__ == "__main__":
    head = ["# Reference", "", "Written by `make docs`; a test compares it with the code.", ""]
    body = ["## Python", "", *public_names(), "## Commands", "", *command_lines()]
    print("\n".join([*head, *body]).rstrip())
