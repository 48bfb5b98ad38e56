"""The Python code of every page passes mypy, and pyright where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
MYPY = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml"]
MYPY += ["--allow-untyped-defs", "--allow-subclassing-any"]  # what a reader types


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for each page with code: its blocks one after the other, lines as in the page."""
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        text, lines = page.read_text(), []
        for block in BLOCK.finditer(text):
            lines += [""] * (text.count("\n", 0, block.start(1)) - len(lines))
            lines += block.group(1).splitlines()
        if lines:
            name = "_".join(page.relative_to(ROOT).with_suffix("").parts)
            (folder / f"{name}.py").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
def test_mypy_passes_on_every_page_and_example(scripts: Path) -> None:
    command = [*MYPY, scripts]
    command += sorted((ROOT / "examples").glob("*.py"))
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_would_find_a_wrong_call(scripts: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import rheostat as rh\n\nrh.powers_of_two("1", 8)\nrh.read(1.5)\n')
    command = [*MYPY, wrong]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.count("[arg-type]") == 2, done.stdout


@pytest.mark.slow
def test_pyright_passes_on_every_page_and_example(scripts: Path) -> None:
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed: it needs node")
    command = [pyright, "--pythonpath", sys.executable, scripts, ROOT / "examples"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=250
        )
    except subprocess.TimeoutExpired:
        pytest.skip("pyright cannot be started here")
    if "error:" not in done.stdout and "0 errors" not in done.stdout:
        pytest.skip(f"pyright cannot be started here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stdout
