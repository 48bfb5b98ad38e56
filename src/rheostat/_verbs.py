"""Let a verb be both a folder and a function: ``rheostat.tradeoff`` holds modules and is callable.

Python allows a module's class to be replaced (Python reference, "Customizing module attribute
access"); that keeps ``rh.tradeoff(job, ...)`` and ``rheostat.tradeoff.search`` under one name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module, name = self.__dict__["_call"].split(":")
        return getattr(import_module(module), name)(*args, **kwargs)


def callable_module(name: str, target: str) -> None:
    """Make module ``name`` call ``target`` ("package.module:function"), imported at first call."""
    module = sys.modules[name]
    module.__dict__["_call"] = target
    module.__class__ = _Verb
