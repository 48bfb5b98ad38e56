"""Compile once, keep on disk: ``@compiled`` is numba's ``njit`` with a cache that cannot go stale.

The folder's name holds a hash of all sources of the engines (`rheostat._machine_code`).
"""

from __future__ import annotations

import ctypes
import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
from numba.core.runtime import rtsys  # type: ignore[attr-defined]

from rheostat._machine_code import LOG, code_folder, kept


def _folder() -> str:
    here = Path(__file__).parent
    rule = (
        here.parents[1] / "decision" / "serving" / "waiting_line.py"
    )  # its numbers are compiled in
    sources = [*sorted(here.rglob("*.py")), *sorted(here.with_name("serving").glob("*.py")), rule]
    return code_folder("engine", sources)


FOLDER = _folder()


@contextmanager
def _without_scipy() -> Iterator[None]:
    """Numba's array functions load without importing SciPy: 0.2 s less at every start.

    Numba imports it there only to ask whether BLAS is to be had, for `numpy.convolve`.  SciPy is
    installed with this project, so the answer is put back.
    """
    blas, functions = "scipy.linalg.cython_blas", "numba.np.arraymath"
    if blas in sys.modules or functions in sys.modules:
        yield
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[blas]
    if functions in sys.modules:
        vars(sys.modules[functions])["_HAVE_BLAS"] = True


F = TypeVar("F", bound=Callable[..., Any])


@overload
def compiled(function: F) -> F: ...
@overload
def compiled(**options: Any) -> Callable[[F], F]: ...
def compiled(function: Any = None, **options: Any) -> Any:
    """``numba.njit`` with its machine code in `FOLDER`."""
    if function is None:
        return lambda f: compiled(f, **options)
    made = kept(function, FOLDER, **options)
    _load_lightly(made)
    return made


@overload
def borrowed(function: F) -> F: ...
@overload
def borrowed(**options: Any) -> Callable[[F], F]: ...
def borrowed(function: Any = None, **options: Any) -> Any:
    """`compiled`, for what only works on arrays it is handed: references to them are not counted.

    Counting costs more than a list operation does: an atomic step per array, on entry and on exit.
    A function that makes or hands back an array does not compile so; one that takes a structure
    (`site_struct`) must not be, for reading a field of it counts.
    """
    return (
        compiled(_nrt=False, **options)(function) if function else compiled(_nrt=False, **options)
    )


def _load_lightly(made: Any) -> None:
    """Take machine code from disk without what numba needs to compile: 0.5 s less at every start.

    Numba readies all its types and functions before it looks into its cache.  It still does where
    something has to be compiled, and where a release of numba keeps its cache in another way.
    """
    cache = made._cache
    if not (
        hasattr(cache, "_load_overload") and hasattr(cache, "_guard_against_spurious_io_errors")
    ):
        return

    def load(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        with cache._guard_against_spurious_io_errors(), _without_scipy():
            kept = cache._load_overload(signature, context)
        if kept is None:
            LOG.info("compiling %s", made.__qualname__)
        return kept

    cache.load_overload = load


def compiled_score(score: Callable[..., Any]) -> Any:
    """``score(now, submit, estimate, processors)`` as a function the engines can call.

    What numba cannot compile, or would swallow the errors of, is called back as plain Python: slow,
    and it works.
    """
    if score not in _SCORES:
        try:
            with _without_scipy():
                _SCORES[score] = _compiled(score)
        except numba.core.errors.NumbaError:
            _SCORES[score] = _PlainScore(score)
    return _SCORES[score]


def _compiled(score: Callable[..., Any]) -> Any:
    plain = getattr(score, "py_func", score)
    if not inspect.isfunction(plain) or any(
        i.opname == "RAISE_VARARGS" for i in dis.get_instructions(plain)
    ):
        return _PlainScore(score)
    return numba.cfunc(_SIGNATURE, error_model="numpy")(plain)


_SIGNATURE = numba.float64(numba.float64, numba.float64, numba.float64, numba.float64)
_SCORES: dict[Callable[..., Any], Any] = {}


class _PlainScore(numba.types.WrapperAddressProtocol):
    """A Python function behind a C pointer, as numba's first-class function types allow.

    An error cannot pass through C: it is kept for `checked`, and every later score is NaN.
    """

    def __init__(self, score: Callable[..., Any]) -> None:
        self.score = score
        self.error: BaseException | None = None
        self._callback = ctypes.CFUNCTYPE(*[ctypes.c_double] * 5)(self._called)

    def _called(self, *seen: float) -> float:
        if self.error is None:
            try:
                return float(self.score(*seen))
            except BaseException as error:  # noqa: BLE001 - raised again by `checked`, an interruption too
                self.error = error
        return float("nan")

    def __wrapper_address__(self) -> int:
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def signature(self) -> Any:
        return _SIGNATURE


def checked(made: Any, result: Any) -> Any:
    """``result``, or the error raised that a score, as `compiled_score` made it, met."""
    error = getattr(made, "error", None)
    if error is not None:
        made.error = None
        raise error
    return result
