"""The command line: the verbs of the library, one module each.

Results go to stdout, everything else to stderr.  Exit codes: 0 done, 1 failed with a message,
2 wrong usage, 3 no feasible setting, 130 interrupted.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Sequence
from typing import NoReturn

FAILED, INFEASIBLE, INTERRUPTED = 1, 3, 130


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    code = run(sys.argv[1:] if argv is None else argv)
    gc.freeze()  # what is left goes with the process: collecting it takes 0.4 s
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run the command line; errors of the library become one message and an exit code."""
    from rheostat.cli.app import app
    from rheostat.cli.config import PROJECT, TRUST, defaults
    from rheostat.errors import Infeasible, RheostatError

    _prepare(argv)
    try:
        ours = list(argv[: argv.index("--")] if "--" in argv else argv)
        given, ignored = defaults(trust=TRUST in ours)
        if ignored:
            what = f"{', '.join(ignored)} names a program or an address"
            print(f"note: {PROJECT}: {what}: ignored without {TRUST}", file=sys.stderr)
        words = [*(a for a in ours if a != TRUST), *argv[len(ours) :]]
        app(args=words, prog_name="rheostat", default_map=given)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt as stop:
        return _say("; ".join(["interrupted", *getattr(stop, "__notes__", ())]), INTERRUPTED)
    except Infeasible as error:
        return _say(str(error), INFEASIBLE)
    except RheostatError as error:
        return _say(str(error), FAILED)
    except OSError as error:
        return _say(f"{error.filename or 'file'}: {error.strerror or error}", FAILED)
    return 0


def _prepare(argv: Sequence[str]) -> None:
    """Pages name the command; the compiler is heard."""
    from rheostat.cli.output import ASKED, COMPILING

    ASKED[:] = ["rheostat", *argv]
    log = logging.getLogger("rheostat.compile")
    log.setLevel(logging.INFO)
    log.addHandler(COMPILING)


def _say(message: str, code: int) -> int:
    print(f"rheostat: {message}", file=sys.stderr)
    return code
