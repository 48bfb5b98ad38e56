"""Extras: the page lists them all, and a hint names the one that brings the library."""

from __future__ import annotations

import re
import runpy
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
CALL = re.compile(r'require\(\s*"([\w.]+)",\s*extra="(\w+)"', re.DOTALL)


@pytest.fixture(scope="module")
def made():
    return runpy.run_path(str(ROOT / "docs" / "make_extras.py"))


def test_the_page_lists_every_extra_with_what_it_brings(made):
    page = (ROOT / "docs" / "start.md").read_text()
    block = page.split(made["BEGIN"])[1].split(made["END"])[0]
    rows = [[c.strip(" `") for c in line.split("|")[1:-1]] for line in block.splitlines() if line]
    brought = {name: what for name, _, what, _ in rows[3:]}
    own = {n: [Requirement(x).name for x in needs] for n, needs in made["EXTRAS"].items()}
    assert brought == {n: "" if n == "all" else ", ".join(x) for n, x in own.items()}
    assert set(made["PURPOSE"]) == set(own)
    whole = {e for n in made["EXTRAS"]["all"] for e in Requirement(n).extras}
    assert whole == set(own) - {"all", "zeus", "encoder", "gguf", "lm"}


@pytest.mark.slow
def test_a_missing_library_is_hinted_at_by_an_extra_that_brings_it(made):
    asked = {
        (module, extra)
        for file in (ROOT / "src" / "rheostat").rglob("*.py")
        if file.name != "_optional.py"
        for module, extra in CALL.findall(file.read_text())
    }
    assert len(asked) > 30
    of = packages_distributions()
    wrong = []
    for module, extra in sorted(asked):
        names = {canonicalize_name(n) for n in of.get(module.split(".")[0], ())}
        if names and extra != "core" and not names & made["closure"](made["EXTRAS"][extra]):
            wrong.append(f"{module} is not in {extra}")
    assert wrong == []
