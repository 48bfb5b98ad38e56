"""Import an optional library late, or say the exact pip command."""

from __future__ import annotations

import importlib
from types import ModuleType


def install_command(extra: str) -> str:
    """The command that adds ``extra`` to the rheostat that is running.

    A checkout is not on a package index, so there the command names its folder.

    Parameters
    ----------
    extra : str
        A name from ``[project.optional-dependencies]``.

    Returns
    -------
    str
        A command for a shell.
    """
    return f"pip install {_what(extra, _origin())}"


def _origin() -> dict[str, object]:
    """Where this installation came from (PEP 610); empty: from a package index, or not known."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return json.loads(distribution("rheostat").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, json.JSONDecodeError):
        return {}


def _what(extra: str, origin: dict[str, object]) -> str:
    """What pip is to install.

    >>> folder = {"url": "file:///home/me/rheo%20stat", "dir_info": {"editable": True}}
    >>> _what("trees", folder), _what("trees", {})
    ("-e '/home/me/rheo stat[trees]'", "'rheostat[trees]'")
    >>> _what("trees", {"url": "https://example.org/r.whl", "archive_info": {}})
    "'rheostat[trees] @ https://example.org/r.whl'"
    """
    import shlex
    from urllib.parse import unquote, urlsplit

    url, folder = str(origin.get("url", "")), origin.get("dir_info")
    if isinstance(folder, dict) and url.startswith("file:"):
        editable = "-e " if folder.get("editable") else ""
        return editable + shlex.quote(f"{unquote(urlsplit(url).path)}[{extra}]")
    return shlex.quote(f"rheostat[{extra}] @ {url}" if url else f"rheostat[{extra}]")


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``; if it is absent raise `MissingExtra` that says how to install it.

    >>> require("math", extra="core").sqrt(4.0)
    2.0
    >>> require("no_such_module", extra="bo")
    Traceback (most recent call last):
    ...
    rheostat.errors.MissingExtra: no_such_module is not installed: pip install ...[bo]'
    """
    from rheostat.errors import MissingExtra

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.split(".", maxsplit=1)[0] != error.name.split(".")[0]:
            raise  # the library is there but broken inside: do not hide that
        raise MissingExtra(module, extra) from error
