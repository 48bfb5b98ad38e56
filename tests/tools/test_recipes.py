"""Recipes of conda-forge and Spack say what pyproject.toml says."""

from __future__ import annotations

import hashlib
import re
import runpy
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from jinja2 import Environment, StrictUndefined

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = dict(re.fullmatch(r"([\w.-]+)>=([\d.]+)", d).groups() for d in PROJECT["dependencies"])
SDIST = f"rheostat-{PROJECT['version']}.tar.gz"
PYTHON = PROJECT["requires-python"].removeprefix(">=")


@pytest.fixture(scope="module")
def conda() -> dict[str, Any]:
    text = (ROOT / "packaging" / "conda-forge" / "meta.yaml").read_text()
    made = Environment(undefined=StrictUndefined).from_string(text).render(PYTHON="python")
    return yaml.safe_load(made)


@pytest.fixture(scope="module")
def spack() -> Any:
    """The class of the recipe, with what it said of itself."""
    said: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def hears(name: str) -> Any:
        return lambda *args, **kwargs: said.setdefault(name, []).append((args, kwargs))

    package = ModuleType("spack.package")
    package.PythonPackage = object
    for name in ("depends_on", "license", "variant", "version"):
        setattr(package, name, hears(name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "spack", ModuleType("spack"))
        patch.setitem(sys.modules, "spack.package", package)
        made = runpy.run_path(str(ROOT / "packaging" / "spack" / "package.py"))["PyRheostat"]
    return SimpleNamespace(said=said, pypi=made.pypi, summary=made.__doc__)


def test_conda_installs_what_pip_installs(conda) -> None:
    assert conda["package"] == {"name": "rheostat", "version": PROJECT["version"]}
    assert conda["source"]["url"].endswith(f"/r/rheostat/{SDIST}")
    run = dict(line.split(" >=") for line in conda["requirements"]["run"])
    assert run.pop("python") == PYTHON
    assert run == NEEDED
    scripts = [f"{name} = {where}" for name, where in PROJECT["scripts"].items()]
    assert conda["build"]["entry_points"] == scripts
    assert conda["about"]["license"] == PROJECT["license"]
    assert conda["about"]["summary"] == PROJECT["description"]
    assert (ROOT / conda["about"]["license_file"]).is_file()


def test_optional_packages_of_conda_are_those_of_an_extra(conda) -> None:
    other = {"matplotlib-base": "matplotlib", "prometheus_client": "prometheus-client"}
    extras = {r for extra in PROJECT["optional-dependencies"].values() for r in extra}
    wanted = [line.split(" ") for line in conda["requirements"]["run_constrained"]]
    assert [n for n, bound in wanted if f"{other.get(n, n)}{bound}" not in extras] == []


def test_commands_that_conda_tries_are_there(conda) -> None:
    from rheostat.cli import run

    ours = [line.split()[1:] for line in conda["test"]["commands"] if line.startswith("rheostat ")]
    assert len(ours) == 3
    assert [words for words in ours if run([*words, "--help"])] == []


def test_spack_installs_what_pip_installs(spack) -> None:
    assert spack.said["version"][0][0] == (PROJECT["version"],)
    assert spack.pypi == f"rheostat/{SDIST}"
    assert spack.said["license"][0][0] == (PROJECT["license"],)
    assert spack.summary.rstrip(".") == PROJECT["description"]
    specs = {}
    for (spec,), how in spack.said["depends_on"]:
        name, bound = spec.rstrip(":").split("@")
        specs.setdefault(how.get("when", how["type"]), {})[name.removeprefix("py-")] = bound
    assert specs.pop(("build", "run")) == {"python": PYTHON, **NEEDED}
    assert specs.pop("build") == {"setuptools": "77"}
    variants = {f"+{name}" for (name,), _ in spack.said["variant"]}
    assert set(specs) == variants
    for variant, needs in specs.items():
        extra = PROJECT["optional-dependencies"][variant[1:]]
        assert sorted(f"{n}>={b}" for n, b in needs.items()) == sorted(extra)


def test_a_release_puts_its_digest_into_both(tmp_path) -> None:
    sdist = tmp_path / SDIST
    sdist.write_bytes(b"an archive")
    runpy.run_path(str(ROOT / "tools" / "release.py"))["with_recipes"](sdist)
    digest = hashlib.sha256(b"an archive").hexdigest()
    for name in ("meta.yaml", "package.py"):
        text = (tmp_path / name).read_text()
        assert digest in text
        assert "0" * 64 not in text
