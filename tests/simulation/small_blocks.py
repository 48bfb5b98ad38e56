"""The engine as plain Python with blocks of a few entries, so that small cases reach all of it."""

from __future__ import annotations

import importlib.util
import re
import sys
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from unittest import mock

from rheostat.simulation import engine

MODULES = (  # what is imported comes before what imports it
    "array_types", "sorted_blocks", "running_jobs", "queue_index", "profile", "fair_share",
    "static_priority", "request_lines", "lazy_scores", "dynamic_priority", "conservative",
)  # fmt: skip
JIT = "def compiled(f=None, **_):\n    return f or (lambda g: g)\nborrowed = compiled\n"


@cache
def interpreted(**constants: int) -> dict[str, ModuleType]:
    """Copies of the engine's modules, not compiled, with other values of module constants."""
    package = "engine_" + "_".join(f"{k}_{v}" for k, v in constants.items()).lower()
    sources = {"jit": JIT, **{name: _source(name) for name in MODULES}}
    changed = set()
    sys.modules[package] = ModuleType(package)
    for name, source in list(sources.items()):
        for constant, value in constants.items():
            if re.search(rf"(?m)^{constant} = \d+$", source):
                sources[name] = re.sub(rf"(?m)^{constant} = \d+$", f"{constant} = {value}", source)
                changed |= {constant}
        module = sys.modules[f"{package}.{name}"] = ModuleType(f"{package}.{name}")
        setattr(sys.modules[package], name, module)
        exec(sources[name].replace("rheostat.simulation.engine", package), vars(module))
    assert changed == set(constants), "a constant that no module has"
    return {name: sys.modules[f"{package}.{name}"] for name in MODULES}


def _source(name: str) -> str:
    spec = importlib.util.find_spec(f"rheostat.simulation.engine.{name}")
    return Path(spec.origin).read_text()


@contextmanager
def small_blocks(**constants: int):
    """Within it simulations run on the interpreted engine; gives its modules."""
    modules = interpreted(**constants)
    for name in MODULES:
        importlib.import_module(f"rheostat.simulation.engine.{name}")
    with ExitStack() as stack:
        for name, module in modules.items():
            stack.enter_context(mock.patch.object(engine, name, module))
        yield modules
