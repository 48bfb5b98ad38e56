"""Machine code is kept in a folder that is this user's alone; where there is none, in memory.

Numba keys its cache by the file of a function alone, so that a change in one it calls is not seen:
old machine code then runs against new arrays.  Here the folder's name holds a hash of all sources
that call each other.  To read such a cache is to run what lies in it, so that it is used only if
nobody else can write there (`rheostat.core.storage.private_folder`).  Under a read-only home, with
a full quota or in such a folder of others, every process compiles for itself, and one line says so.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from rheostat.core.storage.private_folder import private_folder

LOG = logging.getLogger("rheostat.compile")
"""One message of level INFO for each function that is compiled because no machine code is kept; one
of level WARNING where none can be."""


def _loaded() -> Any:
    """Numba; what it does not understand of the environment is one line, not its traceback."""
    with warnings.catch_warnings(record=True) as said:
        warnings.filterwarnings("always", "Environment variable", RuntimeWarning)
        import numba

        config: Any = numba.config
        # A .numba_config.yaml in the working folder, which others may have written, steers no
        # compiler.
        config._config_fname = ""
        config._env_reloader.update(force=True)  # and says again what it said when imported
    for told in dict.fromkeys(str(one.message).partition("\n")[0] for one in said):
        LOG.warning("%s", told)
    return numba


numba = _loaded()
_CONFIG: Any = numba.config


def code_folder(name: str, sources: Iterable[Path]) -> str:
    """Where machine code of these sources is kept, if it can be.

    Parameters
    ----------
    name : str
        Begins the folder's name.
    sources : iterable of Path
        All files whose functions call each other.

    Returns
    -------
    str
        Below ``NUMBA_CACHE_DIR`` or the user's cache folder; another one after any change.
    """
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:16]
    home = os.environ.get("NUMBA_CACHE_DIR") or user_cache_path("rheostat")
    folder = Path(home) / f"{name}-{digest}"
    _forget(folder, name)
    return str(folder)


def _forget(folder: Path, name: str) -> None:
    """Where the sources have changed, delete what older ones left a month ago."""
    month = time.time() - 30 * 86_400
    if folder.exists() or not folder.parent.is_dir():
        return
    for other in folder.parent.glob(f"{name}-*"):
        if other.stat().st_mtime < month:
            shutil.rmtree(other, ignore_errors=True)


def kept(function: Callable[..., Any], folder: str, **options: Any) -> Any:
    """``numba.njit`` with its machine code in ``folder``, or in memory where it cannot be there.

    Parameters
    ----------
    function : callable
        What is compiled when it is first called.
    folder : str
        As `code_folder` names it; other users of numba keep their own.
    options
        Of ``numba.njit``.

    Returns
    -------
    numba dispatcher
        To be called as the function.
    """
    options = {"error_model": "numpy", **options}
    if not can_keep(folder):
        return numba.njit(**options)(function)
    before, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, folder
    try:
        made = numba.njit(cache=True, **options)(function)
        _keep_by_contents(made._cache, function, folder)
    except (RuntimeError, OSError) as error:  # numba found no folder that it can write to
        _say(folder, error)
        return numba.njit(**options)(function)
    finally:
        _CONFIG.CACHE_DIR = before
    save = made._cache.save_overload

    def save_or_say(*what: Any) -> None:
        try:
            save(*what)
        except OSError as error:  # the disk or the quota is full
            _say(folder, error)

    made._cache.save_overload = save_or_say
    return made


def _keep_by_contents(kept_code: Any, function: Callable[..., Any], folder: str) -> None:
    """Let machine code be found again by what the sources hold, wherever they lie.

    Numba's own key is the path and the time of the source file: each checkout, and each
    installation of one release, would compile for four minutes what another had made.  The hash in
    the folder's name is of the engines; a function of another package is known by its own file too.
    """
    from numba.core.caching import IndexDataCacheFile

    place = Path(folder) / function.__module__
    place.mkdir(exist_ok=True)
    kept_code._cache_path = str(place)
    kept_code._cache_file = IndexDataCacheFile(
        str(place),
        kept_code._impl.filename_base,
        source_stamp=(Path(folder).name, _digest(function.__code__.co_filename)),
    )


@cache
def _digest(source: str) -> str:
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()


@cache
def can_keep(folder: str) -> bool:
    """Whether machine code may be read from a folder and written to it; if not, that is said.

    Parameters
    ----------
    folder : str
        As `code_folder` names it.

    Returns
    -------
    bool
        The folder is made if it is not there.
    """
    if folder.startswith("~"):
        _say(folder, OSError("this user has no home folder"))
        return False
    try:
        private_folder(folder)
    except OSError as error:
        _say(folder, error)
        return False
    return True


_said: list[str] = []


def _say(folder: str, error: Exception) -> None:
    """Once, and in the first process alone."""
    if _said or parent_process() is not None:
        return
    _said.append(folder)
    why = getattr(error, "strerror", None) or error
    LOG.warning(
        "machine code cannot be kept in %s (%s): it is compiled anew in every run; set "
        "NUMBA_CACHE_DIR to a folder that only you can write to", folder, why,
    )  # fmt: skip
