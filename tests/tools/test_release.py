"""A release has one version everywhere and leads from a registry's page to the repository."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rheostat as rh

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "release.py"))
PROJECT = (ROOT / "pyproject.toml").read_text()
HOME = "https://example.org/rheostat"
checkout = pytest.mark.skipif(
    "[project.urls]" in PROJECT, reason="sources of a release: they name their home already"
)


def test_one_version_stands_everywhere() -> None:
    version = tomllib.loads(PROJECT)["project"]["version"]
    assert rh.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    heads = re.findall(r"^## (.+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heads[1])


@checkout
def test_a_released_readme_has_no_relative_link() -> None:
    text = TOOL["absolute"]((ROOT / "README.md").read_text(), HOME, "v1")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) > 40
    assert [t for t in targets if not t.startswith("https://")] == []
    assert f"]({HOME}/raw/v1/docs/report.png)" in text
    assert f"]({HOME}/blob/v1/docs/start.md)" in text


@checkout
def test_released_metadata_name_the_repository() -> None:
    project = tomllib.loads(TOOL["with_urls"](PROJECT, HOME, "v1"))["project"]
    assert project["urls"]["Source"] == HOME
    assert project["urls"]["Changelog"] == f"{HOME}/blob/v1/CHANGELOG.md"
    assert {"keywords", "classifiers", "scripts", "optional-dependencies"} <= set(project)


def test_without_an_address_nothing_is_built() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "release.py", ""],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "HOME_URL=https://" in done.stderr
