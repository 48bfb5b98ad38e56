"""Defaults of options from files: ``rheostat.toml`` here, ``config.toml`` of the user.

A table per command, ``[front]`` say, holds values by option name.  A flag beats an environment
variable (RHEOSTAT_FRONT_RULE), which beats the project's file, which beats the user's.

The project's file lies in the working folder, which somebody else may have written.  It may say
what is asked of the data, which is `HARMLESS`; whatever else an option does (runs, reaches, reads,
writes, spends, checks less) counts only with ``--trust-config``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rheostat.core.storage.settings_files import PROJECT, settings_files

TRUST = "--trust-config"
HARMLESS = frozenset([
    "accuracy", "app", "at", "batch-size", "by", "carbon", "classes", "column", "context-tokens",
    "device", "for", "format", "gpu-price", "guard", "hit-rate", "image-px", "interference",
    "itl", "job", "json", "kind", "kinds", "knob", "knobs", "known", "kwh-price", "largest",
    "leave-out", "loss", "method", "methods", "minimise", "next", "objective", "objectives",
    "optimizer", "output-tokens", "overdue", "precision-bits", "prompt-tokens", "replays",
    "replicas", "risk", "rule", "seed", "semantics", "share", "size", "slowdown", "target",
    "tenants", "test-fraction", "test-period", "ties", "tool-delay", "ttft", "unit", "wanted",
    "warm-up", "what-if", "where", "within", "zone",
])  # fmt: skip
"""Options, by their flags, whose value is looked for in the data or counted with, and no more."""

Entry = tuple[tuple[str, ...], str]


@dataclass
class Defaults:
    """What the files say.

    Parameters
    ----------
    values : dict
        By command and name of the parameter, as click's ``default_map``.
    untrusted, unknown : list of (tuple of str, str)
        What of the project's file was left aside, and what of any file is no option: the command's
        words and the name.
    """

    values: dict[str, Any] = field(default_factory=dict)
    untrusted: list[Entry] = field(default_factory=list)
    unknown: list[Entry] = field(default_factory=list)

    def notes(self, argv: Sequence[str]) -> list[str]:
        """What was left aside that concerns the command of ``argv``, as sentences."""
        aside, odd = (
            ", ".join(f"[{'.'.join(where)}] {name}" if where else name
                      for where, name in entries if where == tuple(argv[: len(where)]))
            for entries in (self.untrusted, self.unknown)
        )  # fmt: skip
        lines = [
            f"{PROJECT}: {aside} left aside: what runs, reaches, reads or writes counts from a "
            f"folder's file only with {TRUST}; read the file before you give it"
        ] if aside else []  # fmt: skip
        return [*lines, f"files of defaults: {odd}: no such option"] if odd else lines


def defaults(root: Any, *, trust: bool = False) -> Defaults:
    """Values of the options of ``root``'s commands; the project's beat the user's.

    Parameters
    ----------
    root : click command
        Whose commands and options the tables name.
    trust : bool
        Whether the project's file may set every option.

    Returns
    -------
    Defaults
        Values, and what was left aside.
    """
    result = Defaults()
    for whose, path in settings_files().items():
        for name, table in _read(path).items():
            _take(name, table, root, result.values, result, trust=trust or whose == "user")
    return result


def _take(
    name: str, value: Any, command: Any, into: dict[str, Any], result: Defaults, *, trust: bool,
    where: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Put one entry of a table where click looks for it, or in a list of what is left aside."""
    inner = getattr(command, "commands", {}).get(name)
    if inner is not None and isinstance(value, dict):
        table = into.setdefault(name, {})
        for key, entry in value.items():
            _take(key, entry, inner, table, result, trust=trust, where=(*where, name))
        return
    option = _option(command, name)
    if option is None:
        result.unknown.append((where, name))
        if inner is None:
            into[name] = value  # an option of old is refused by its command
    elif trust or is_harmless(option):
        into[option.name] = value
    else:
        result.untrusted.append((where, name))


def _option(command: Any, name: str) -> Any:
    """The parameter with this flag or this name."""
    spelled = name.replace("_", "-")
    for param in getattr(command, "params", ()):
        if name == param.name or f"--{spelled}" in param.opts:
            return param
    return None


def is_harmless(option: Any) -> bool:
    """Whether the file of a folder may set a parameter without being trusted.

    Parameters
    ----------
    option : click parameter
        Of a command.

    Returns
    -------
    bool
        False for what is not listed, arguments and options that are yet to be written among it.
    """
    return any(flag.startswith("--") and flag[2:] in HARMLESS for flag in option.opts)


def _read(path: Path) -> dict[str, Any]:
    from rheostat.core.storage.files import read_toml
    from rheostat.errors import DataError, FileKindError

    try:
        return read_toml(path) if os.path.lexists(path) else {}
    except FileKindError as error:  # it may be a link to anything: nothing of it is shown
        why = error.__cause__ or "it is of another kind"
        raise DataError(str(path), [f"expected TOML: {why}"]) from error
