"""What users call says its parameters, what it returns and what it raises (numpydoc)."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from typing import Any

import pytest
from numpydoc.validate import validate

import rheostat as rh
import rheostat.testing
from rheostat.measurement.read import READERS
from rheostat.tradeoff import propose

FAULTS = {
    "GL08": "no docstring",
    "PR01": "parameters not documented",
    "PR02": "parameters that do not exist",
    "PR07": "a parameter without description",
    "RT01": "no Returns",
    "RT03": "a return value without description",
}
CHOICES = {"rheostat.core.jobs.Moment"}  # an enumeration: nobody calls it with arguments


def suites() -> list[Any]:
    """Every ``check_...`` of `rheostat.testing`."""
    names = [m.name for m in pkgutil.iter_modules(rheostat.testing.__path__)]
    modules = [importlib.import_module(f"rheostat.testing.{n}") for n in names]
    return [f for m in modules for n, f in vars(m).items()
            if n.startswith("check_") and f.__module__ == m.__name__]  # fmt: skip


def public() -> dict[str, Any]:
    """Functions, classes and protocols' methods by their place."""
    things = [getattr(rh, n) for n in rh._MODULES]
    for group in (getattr(rh, n) for n in rh._GROUPS):
        things += [f for f in vars(group).values() if getattr(f, "__module__", "") == group.__name__
                   and inspect.isfunction(f) and not f.__name__.startswith("_")]  # fmt: skip
    things += [t for n in propose.__all__ if inspect.isclass(t := getattr(propose, n))]
    things += [r.read for r in READERS.values()]
    things += suites()
    found = {f"{t.__module__}.{t.__qualname__}": t for t in things}
    for place, thing in list(found.items()):
        if getattr(thing, "_is_protocol", False):
            del found[place]
            methods = {n: f for n, f in vars(thing).items() if inspect.isfunction(f)}
            found |= {f"{place}.{n}": f for n, f in methods.items() if not n.startswith("_")}
    return found


PUBLIC = public()


def documented_above(thing: Any) -> bool:
    """A class that takes what its base takes: the base says it."""
    bases = inspect.isclass(thing) and [b for b in thing.__mro__[1:] if b.__module__ != "builtins"]
    return bool(bases) and "__init__" not in vars(thing)


@pytest.mark.parametrize("place", PUBLIC)
def test_docstring_says_what_goes_in_and_comes_out(place: str) -> None:
    thing = PUBLIC[place]
    ignored = {"PR01"} if documented_above(thing) or place in CHOICES else set()
    faults = [(c, m) for c, m in validate(place)["errors"] if c in FAULTS and c not in ignored]
    assert faults == []


@pytest.mark.parametrize("place", [p for p, t in PUBLIC.items() if inspect.isfunction(t)])
def test_docstring_says_what_is_raised(place: str) -> None:
    raised = re.findall(r"^\s+raise ([A-Z]\w+)\(", inspect.getsource(PUBLIC[place]), re.MULTILINE)
    text = inspect.getdoc(PUBLIC[place]) or ""
    section = text.partition("Raises\n------\n")[2]
    assert [name for name in raised if name not in section] == []


def test_some_eighty_names_are_checked() -> None:
    assert len(PUBLIC) >= 75
