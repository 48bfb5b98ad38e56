"""The documentation site: built without a warning, offline, with every public name and page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rheostat as rh

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_python_page_is_what_the_code_says() -> None:
    """`make docs` writes docs/api.md; a stale page fails here."""
    script = ROOT / "docs" / "make_api.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "docs" / "api.md").read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the documentation's libraries are not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", folder],
        capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_every_public_name_has_its_docstring_in_the_site(site: Path) -> None:
    text = (site / "api.html").read_text()
    things = {n: getattr(rh, n) for n in rh.__all__ if n != "__version__"}
    groups = [things.pop(n).__name__ for n in rh._GROUPS]
    ids = [f'id="{t.__module__}.{t.__qualname__}"' for t in things.values()]
    ids += [f'id="{g}"' for g in groups]
    assert [i for i in ids if i not in text] == []
    assert text.count("doc-section-title") > 100


@pytest.mark.slow
def test_every_page_is_in_the_site(site: Path) -> None:
    pages = [p.relative_to(ROOT / "docs") for p in (ROOT / "docs").rglob("*.md")]
    assert [p for p in pages if not (site / p.with_suffix(".html")).exists()] == []
    assert "check_policy" in (site / "contributing.html").read_text()


SHIM = "https://unpkg.com/iframe-worker/shim"
"""Material's: lets some browsers search a site opened as files; pages read without it."""


def test_the_site_needs_no_network(site: Path) -> None:
    for page in ("index.html", "api.html"):
        text = (site / page).read_text()
        fetched = re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="(https?:[^"]*)', text)
        assert set(fetched) <= {SHIM}
