"""The command line: the verbs of the library, one module each.

Results go to stdout, everything else to stderr.  Exit codes: 0 done, 1 failed with a message,
2 wrong usage, 3 no feasible setting, 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

FAILED, INFEASIBLE, INTERRUPTED = 1, 3, 130


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    signal.signal(signal.SIGINT, _leave)  # while the commands load there is nothing to undo
    atexit.register(_leave_interrupted)  # registered first, so called last
    import rheostat.cli.app  # noqa: F401

    signal.signal(signal.SIGINT, signal.default_int_handler)
    _code[:] = [run(sys.argv[1:] if argv is None else argv)]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command has ended: its code stands
    gc.freeze()  # what is left goes with the process: collecting it takes 0.4 s
    sys.exit(_code[0])


_code: list[int] = []


def _leave(*_: Any) -> None:
    os.write(2, b"rheostat: interrupted\n")
    os._exit(INTERRUPTED)


def _leave_interrupted() -> None:
    """Python itself ends by the signal, not with our code, if it fell into what exec ran."""
    if _code == [INTERRUPTED]:
        sys.stdout.flush()
        os._exit(INTERRUPTED)


def run(argv: Sequence[str]) -> int:
    """Run the command line; errors of the library become one message and an exit code."""
    from rheostat.errors import RheostatError

    try:
        _command(argv)
    except SystemExit as stop:
        return _left(stop)
    except KeyboardInterrupt as stop:
        return _interrupted(stop)
    except (RheostatError, OSError) as error:
        return _failed(error)
    return 0


def _command(argv: Sequence[str]) -> None:
    from rheostat.cli.app import app
    from rheostat.cli.config import PROJECT, TRUST, defaults

    _prepare(argv)
    ours = list(argv[: argv.index("--")] if "--" in argv else argv)
    given, ignored = defaults(trust=TRUST in ours)
    if ignored:
        what = f"{', '.join(ignored)} names a program or an address"
        print(f"note: {PROJECT}: {what}: ignored without {TRUST}", file=sys.stderr)
    words = [*(a for a in ours if a != TRUST), *argv[len(ours) :]]
    app(args=words, prog_name="rheostat", default_map=given)


def _left(stop: SystemExit) -> int:
    """The code of a command that typer has ended; typer ends one that was interrupted, too."""
    cause = getattr(stop.__context__, "__cause__", None)
    if isinstance(cause, KeyboardInterrupt):
        return _interrupted(cause)
    return stop.code if isinstance(stop.code, int) else int(stop.code is not None)


def _failed(error: Exception) -> int:
    from rheostat.errors import FileKindError, Infeasible

    if isinstance(error, OSError):
        return _say(f"{error.filename or 'file'}: {error.strerror or error}", FAILED)
    if isinstance(error, FileKindError):
        from rheostat.cli.arguments import takers
        from rheostat.cli.output import ASKED

        takes = "".join(f"; {flag} takes: {what}" for flag, what in takers(ASKED[1:], str(error)))
        return _say(f"{error}{takes}", FAILED)
    return _say(str(error), INFEASIBLE if isinstance(error, Infeasible) else FAILED)


def _prepare(argv: Sequence[str]) -> None:
    """Pages name the command; the compiler is heard."""
    import logging

    from rheostat.cli.output import ASKED, COMPILING

    ASKED[:] = ["rheostat", *argv]
    log = logging.getLogger("rheostat.compile")
    log.setLevel(logging.INFO)
    log.addHandler(COMPILING)


def _interrupted(stop: KeyboardInterrupt) -> int:
    """Say what is kept and how to go on, where the work that was interrupted has noted it."""
    return _say("; ".join(["interrupted", *getattr(stop, "__notes__", ())]), INTERRUPTED)


def _say(message: str, code: int) -> int:
    print(f"rheostat: {message}", file=sys.stderr)
    return code
