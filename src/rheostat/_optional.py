"""Import an optional library late, or say the exact pip command."""

from __future__ import annotations

import importlib
from types import ModuleType

from rheostat.errors import MissingExtra


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``; if it is absent raise `MissingExtra` that says how to install it.

    >>> require("math", extra="core").sqrt(4.0)
    2.0
    >>> require("no_such_module", extra="search")
    Traceback (most recent call last):
    ...
    rheostat.errors.MissingExtra: no_such_module is not installed: pip install ...[search]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.split(".", maxsplit=1)[0] != error.name.split(".")[0]:
            raise  # the library is there but broken inside: do not hide that
        raise MissingExtra(module, extra) from error
