"""How an option is declared: what it is for, then how it is typed and what it may be."""

from __future__ import annotations

from typing import Any

import typer


def option(meaning: str, *flags: str, **bounds: Any) -> Any:
    """An option: its help, its flags if they are not its name, its bounds (``min=1``)."""
    return typer.Option(*flags, help=meaning, **bounds)


def argument(meaning: str, metavar: str | None = None, **bounds: Any) -> Any:
    """An argument: its help, and what stands for it in the usage."""
    return typer.Argument(help=meaning, metavar=metavar, **bounds)


def written(meaning: str, *flags: str, **bounds: Any) -> Any:
    """An option that names a file to write, which is then no folder and nothing that is read."""
    return typer.Option(*flags, help=meaning, writable=True, dir_okay=False, **bounds)
