"""What every test may use: one thread, an empty XDG home, the measured data if present."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from platformdirs import user_cache_path


def _kept_between_runs() -> Path:
    """The user's cache folder; one of temporary files where that is not the user's alone."""
    from rheostat.core.storage.private_folder import private_folder

    try:
        return private_folder(user_cache_path("rheostat"))
    except OSError:
        return Path(tempfile.gettempdir()) / f"rheostat-tests-{os.getuid()}"


os.environ.setdefault("OMP_NUM_THREADS", "1")
KEPT = _kept_between_runs()
# Tests replace XDG_CACHE_HOME; the engines' machine code stays where `make install` has put it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(KEPT))
# Commands run in processes of their own: Python's byte code, too, is made once, not by each.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(KEPT / "bytecode")

sys.path.append(str(Path(__file__).parents[1]))  # sites with known truth stand with the benchmarks

# No deadline: a busy machine is no defect.  The same examples every time, so that a red run is red
# again; HYPOTHESIS_PROFILE=fresh draws anew.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("fresh", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# an engine compiles for half a minute: files that share one run in the same process
COMPILED = {
    "site": ("test_site", "test_site_life", "test_site_power", "test_site_sized",
             "test_simulate_site", "test_report"),
    "play": ("test_env", "test_dras", "test_agents", "test_train", "test_objectives", "test_actor",
             "test_values", "test_released", "test_threads"),
    "rank": ("test_learned_priority", "test_train_ours", "test_distill", "test_export"),
}  # fmt: skip

SHARED = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real traces and measured runs; a test that asks for it is skipped without it."""
    if not SHARED.is_dir():
        pytest.skip(f"measured data not found at {SHARED}; set RHEOSTAT_DATA")
    return SHARED


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("xdg")
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))


@pytest.fixture(autouse=True)
def _own_programs_once(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    """What verification loads beside programs is compiled once for all slow tests, not by each."""
    kept = sys.modules.get("rheostat.measurement.code.kept_results")
    if kept is None or request.node.get_closest_marker("slow") is None:
        return

    def ours(cls: type, sandbox: str) -> object:
        folder = tmp_path_factory.getbasetemp() / "own programs" / sandbox
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder)

    monkeypatch.setattr(kept.KeptResults, "ours", classmethod(ours))


@pytest.fixture(autouse=True)
def _loggers_are_on() -> None:
    """The linter of imports and a peer of a benchmark switch loggers off, each for the process."""
    logging.disable(logging.NOTSET)
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("rheostat") and isinstance(logger, logging.Logger):
            logger.disabled = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep files that need the same compiled engine together."""
    group = {name: of for of, names in COMPILED.items() for name in names}
    for item in items:
        if item.path.stem in group:
            item.add_marker(pytest.mark.xdist_group(group[item.path.stem]))
