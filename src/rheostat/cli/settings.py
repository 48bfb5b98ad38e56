"""Defaults of options from files: ``rheostat.toml`` here, ``config.toml`` of the user.

A table per command, ``[front]`` say, holds values by option name.  A flag beats an environment
variable (RHEOSTAT_FRONT_RULE), which beats the project's file, which beats the user's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PROJECT = "rheostat.toml"


def files() -> dict[str, Path]:
    """The files that are looked at, the weaker first."""
    from platformdirs import user_config_path

    return {
        "user": user_config_path("rheostat", appauthor=False) / "config.toml",
        "project": Path(PROJECT).absolute(),
    }


def defaults() -> dict[str, dict[str, Any]]:
    """Values by command and option; the project's beat the user's."""
    found: dict[str, dict[str, Any]] = {}
    for path in files().values():
        for command, values in _read(path).items():
            if isinstance(values, dict):
                found[command] = found.get(command, {}) | values
    return found


def _read(path: Path) -> dict[str, Any]:
    from rheostat.core.files import read_toml

    return read_toml(path) if os.path.lexists(path) else {}
