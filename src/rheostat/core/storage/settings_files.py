"""Files that hold values of options: the user's, and the working folder's."""

from __future__ import annotations

from pathlib import Path

PROJECT = "rheostat.toml"


def settings_files() -> dict[str, Path]:
    """The files that are looked at, the weaker first: ``user``, then ``project``."""
    from platformdirs import user_config_path

    return {
        "user": user_config_path("rheostat", appauthor=False) / "config.toml",
        "project": Path(PROJECT).absolute(),
    }
