"""A command run in this process, and what it tells."""

from __future__ import annotations

from rheostat.cli import run

JOB = "1000490"


def told(capsys, *argv):
    """(exit code, stdout, stderr) of a command."""
    capsys.readouterr()
    code = run([str(a) for a in argv])
    found = capsys.readouterr()
    return code, found.out, found.err
