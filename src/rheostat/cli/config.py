"""Defaults of options from files: ``rheostat.toml`` here, ``config.toml`` of the user.

A table per command, ``[front]`` say, holds values by option name.  A flag beats an environment
variable (RHEOSTAT_FRONT_RULE), which beats the project's file, which beats the user's.

The project's file lies in the working folder, which somebody else may have written: what it says
of programs to run and addresses to talk to counts only with ``--trust-config``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PROJECT = "rheostat.toml"
TRUST = "--trust-config"
RUN_OR_REACHED = frozenset({"measure", "command", "base_url", "dask", "slurm", "upstream", "host"})
"""Options that name a program to run or an address to talk to."""


def files() -> dict[str, Path]:
    """The files that are looked at, the weaker first."""
    from platformdirs import user_config_path

    return {
        "user": user_config_path("rheostat", appauthor=False) / "config.toml",
        "project": Path(PROJECT).absolute(),
    }


def defaults(*, trust: bool = False) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Values by command and option, the project's beat the user's; and what was not trusted."""
    values_by_command: dict[str, dict[str, Any]] = {}
    ignored: list[str] = []
    for whose, path in files().items():
        for command, values in _read(path).items():
            if isinstance(values, dict):
                kept = values if trust or whose == "user" else _harmless(values, command, ignored)
                values_by_command[command] = values_by_command.get(command, {}) | kept
    return values_by_command, ignored


def _harmless(values: dict[str, Any], where: str, ignored: list[str]) -> dict[str, Any]:
    """``values`` without programs and addresses, whose names go to ``ignored``."""
    kept = {}
    for name, value in values.items():
        if name.replace("-", "_") in RUN_OR_REACHED:
            ignored.append(f"[{where}] {name}")
        else:
            inner = isinstance(value, dict)
            kept[name] = _harmless(value, f"{where}.{name}", ignored) if inner else value
    return kept


def _read(path: Path) -> dict[str, Any]:
    from rheostat.core.files import read_toml

    return read_toml(path) if os.path.lexists(path) else {}
