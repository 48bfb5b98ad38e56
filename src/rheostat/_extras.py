"""The pip command that adds optional libraries to the installation that is running."""

from __future__ import annotations


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
        origin = json.loads(distribution("rheostat").read_text("direct_url.json") or "{}")
        return dict(origin)
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
