"""An sdist and a wheel in ``dist/`` that name the repository: ``make dist HOME_URL=https://...``.

The checkout names no home, so that a mirror or a fork is as good as the first one; the page of a
registry needs absolute links.  They are made here, on a copy, for the address that is given.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info", "build", "dist", "out"
)
NO_DIGEST = "0" * 64
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#)([^)]+)\)")


def absolute(text: str, home: str, tag: str) -> str:
    """Markdown whose links lead to ``tag`` of the repository, pictures to the file itself.

    >>> absolute("[a](docs/a.md), ![b](b.png), [c](http://c)", "https://h/p", "v1")
    '[a](https://h/p/blob/v1/docs/a.md), ![b](https://h/p/raw/v1/b.png), [c](http://c)'
    """
    return LINK.sub(
        lambda m: f"{m[1]}[{m[2]}]({home}/{'raw' if m[1] else 'blob'}/{tag}/{m[3]})", text
    )


def with_urls(project: str, home: str, tag: str) -> str:
    """pyproject.toml with the addresses of the project."""
    pages = {"Source": "", "Issues": "/issues"}
    pages |= {
        "Documentation": f"/blob/{tag}/docs/index.md",
        "Changelog": f"/blob/{tag}/CHANGELOG.md",
    }
    lines = [f'{name} = "{home}{page}"' for name, page in pages.items()]
    return project.replace(
        "[project.scripts]", "\n".join(["[project.urls]", *lines, "", "[project.scripts]"])
    )


def build(home: str) -> None:
    """Build from a copy of the checkout into ``dist/``."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "rheostat"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        project = (copy / "pyproject.toml").read_text()
        tag = f"v{tomllib.loads(project)['project']['version']}"
        (copy / "pyproject.toml").write_text(with_urls(project, home, tag))
        readme = copy / "README.md"
        readme.write_text(absolute(readme.read_text(), home, tag))
        subprocess.run(
            [Path(sys.executable).parent / "uv", "build", "-q", "-o", ROOT / "dist", copy],
            check=True,
        )
    with_recipes(next((ROOT / "dist").glob(f"*-{tag[1:]}.tar.gz")))


def with_recipes(sdist: Path) -> None:
    """Recipes of conda-forge and Spack beside the sdist, with its digest."""
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    for recipe in ("conda-forge/meta.yaml", "spack/package.py"):
        text = (ROOT / "packaging" / recipe).read_text()
        (sdist.parent / Path(recipe).name).write_text(text.replace(NO_DIGEST, digest))


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(r"https://[^\s\"]+[^/\s\"]", sys.argv[1]):
        sys.exit(
            "expected the repository's address: make dist HOME_URL=https://host/owner/rheostat"
        )
    build(sys.argv[1])
