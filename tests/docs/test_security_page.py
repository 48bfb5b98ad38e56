"""What the page on trust claims stands in tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_page_names_is_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    files = {f: f.read_text() for f in (ROOT / "tests").rglob("test_*.py")}
    there = {n for text in files.values() for n in re.findall(r"^def (test_\w+)", text, re.M)}
    named = re.findall(r"::(test_\w+)", page)
    assert len(named) > 40
    assert [n for n in named if n not in there] == []
    assert [f for f in re.findall(r"`(tests/[\w/]+\.py)", page) if ROOT / f not in files] == []
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)", page):
        assert f"def {name}" in files[ROOT / file], f"{file}::{name}"
