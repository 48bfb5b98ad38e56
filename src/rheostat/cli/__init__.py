"""The command line: the verbs of the library, one module each.

Results go to stdout, everything else to stderr.  Exit codes: 0 done, 1 failed with a message,
2 wrong usage, 3 no feasible setting, 130 interrupted.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

FAILED, WRONG_USE, INFEASIBLE, INTERRUPTED = 1, 2, 3, 130
LONGEST = 4000
"""Letters of a message."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    _open_streams()
    _keep_to_one_line()
    signal.signal(signal.SIGINT, _leave)  # while the commands load there is nothing to undo
    atexit.register(_leave_interrupted)  # registered first, so called last
    import rheostat.cli.app  # noqa: F401

    signal.signal(signal.SIGINT, signal.default_int_handler)
    _code[:] = [run(sys.argv[1:] if argv is None else argv)]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command has ended: its code stands
    gc.freeze()  # what is left goes with the process: collecting it takes 0.4 s
    sys.exit(_code[0])


_code: list[int] = []


def _open_streams() -> None:
    """A stream that is closed (``>&-``) goes nowhere: the next file would get its number.

    Letters that the terminal's encoding lacks are written as escapes, as Python does on stderr.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.encoding.lower().startswith("utf"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _keep_to_one_line() -> None:
    """What numba does not understand of the environment `rheostat._machine_code` says."""
    warnings.filterwarnings("ignore", "Environment variable 'NUMBA_", RuntimeWarning)


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
    from typer.main import get_command

    from rheostat.cli.app import app
    from rheostat.cli.config import TRUST, defaults
    from rheostat.explanation.terminal.terminal import Terminal
    from rheostat.questions.listener import listening

    _prepare(argv)
    ours = list(argv[: argv.index("--")] if "--" in argv else argv)
    root = get_command(app)
    settings = defaults(root, trust=TRUST in ours)
    if noted := settings.notes(ours):
        from rheostat.explanation.terminal.terminal import tell

        for note in noted:
            tell(f"note: {note}")
    words = [*(a for a in ours if a != TRUST), *argv[len(ours) :]]
    with listening(Terminal()):
        root(args=words, prog_name="rheostat", default_map=settings.values)


def _left(stop: SystemExit) -> int:
    """The code of a command that typer has ended; typer ends one that was interrupted, too."""
    cause = getattr(stop.__context__, "__cause__", None)
    if isinstance(cause, KeyboardInterrupt):
        return _interrupted(cause)
    return stop.code if isinstance(stop.code, int) else int(stop.code is not None)


def _failed(error: Exception) -> int:
    from rheostat.errors import CommandError, FileKindError, Infeasible, QuestionError

    if isinstance(error, CommandError):
        return _say(str(error), error.status)
    if isinstance(error, OSError):
        full = "standard output" if error.errno == errno.ENOSPC else ""  # files name themselves
        where = error.filename or full
        return _say(f"{where}: {error.strerror or error}" if where else str(error), FAILED)
    if isinstance(error, FileKindError):
        from rheostat.cli.arguments import takers
        from rheostat.cli.output import ASKED

        takes = "".join(f"; {flag} takes: {what}" for flag, what in takers(ASKED[1:], str(error)))
        return _say(f"{error}{takes}", FAILED)
    code = WRONG_USE if isinstance(error, QuestionError) else FAILED
    return _say(str(error), INFEASIBLE if isinstance(error, Infeasible) else code)


def _prepare(argv: Sequence[str]) -> None:
    """Pages name the command; the compiler is heard."""
    import logging

    from rheostat.cli.output import ASKED
    from rheostat.explanation.terminal.terminal import COMPILING

    ASKED[:] = ["rheostat", *argv]
    log = logging.getLogger("rheostat.compile")
    log.setLevel(logging.INFO)
    log.addHandler(COMPILING)


def _interrupted(stop: KeyboardInterrupt) -> int:
    """Say what is kept and how to go on, where the work that was interrupted has noted it."""
    return _say("; ".join(["interrupted", *getattr(stop, "__notes__", ())]), INTERRUPTED)


def _say(message: str, code: int) -> int:
    """One line, whatever names of others it repeats: no escape codes, no second line."""
    shown = message if len(message) <= LONGEST else f"{message[:LONGEST]} ..."
    from rheostat.core.texts.printable import printable

    plain = printable(shown).replace("\n", "\\n")
    print(f"rheostat: {plain}", file=sys.stderr)
    return code
