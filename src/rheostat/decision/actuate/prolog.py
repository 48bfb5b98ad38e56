"""Prolog and epilog: the two scripts with which Slurm applies a plan on its nodes.

Slurm runs the prolog as root on every node before a job, and the epilog after it.  Slurm itself has
had no plugin for power caps since they were removed; these scripts are what remains to a site.  A
prolog that fails drains the node, so ours never does: without a plan, or without the node in it, it
leaves the caps as they are.

As root runs them, nothing that somebody typed reaches them but as one quoted word, and what has few
values has no others.

References
----------
Slurm documentation, Prolog and Epilog Guide.
"""

from __future__ import annotations

import re
import shlex

from rheostat.decision.actuate.actuators import GPUS
from rheostat.errors import DataError

_HEAD = """#!/bin/sh
# Written by rheostat budget slurm.  {what}
# An error goes to the node's syslog; the job starts (or ends) all the same.
PLAN={plan}
JOURNAL={journals}/"$SLURMD_NODENAME".journal
"""


def scripts(
    plan: str, journals: str, program: str = "rheostat", gpu: str = "nvml"
) -> dict[str, str]:
    """The scripts by file name.

    Parameters
    ----------
    plan, journals : str
        The plan's file and the folder of journals, as absolute paths on the nodes.
    program : str
        The rheostat of the nodes: a name in root's PATH or an absolute path.
    gpu : str
        How GPU caps are set: nvml, amd or none.

    >>> print(scripts("/shared/plan.json", "/var/lib/rheostat")["epilog.sh"].splitlines()[-3])
    [ -f "$JOURNAL" ] || exit 0
    """
    problems = [
        f"{name}: expected an absolute path, got {path!r}"
        for name, path in (("PLAN.json", plan), ("--journals", journals))
        if not path.startswith("/")
    ]
    if not program.startswith("/") and not re.fullmatch(r"[A-Za-z0-9_][\w.+-]*", program):
        problems.append(f"--program: expected a name or an absolute path, got {program!r}")
    if gpu not in GPUS:
        problems.append(f"--gpu: expected {', '.join(GPUS)}, got {gpu!r}")
    if problems:
        raise DataError("slurm", problems)
    fields = {"plan": shlex.quote(plan), "journals": shlex.quote(journals)}
    call, more = f"{shlex.quote(program)} budget", f"--gpu {shlex.quote(gpu)}"
    log = " 2>&1 | logger -t rheostat\nexit 0\n"
    prolog = _HEAD.format(what="Prolog: sets the caps of this node.", **fields)
    prolog += '[ -f "$PLAN" ] || exit 0\n'
    prolog += f'{call} apply "$PLAN" --node "$SLURMD_NODENAME" --journal "$JOURNAL" {more}{log}'
    epilog = _HEAD.format(what="Epilog: puts the caps of this node back.", **fields)
    epilog += f'[ -f "$JOURNAL" ] || exit 0\n{call} restore --journal "$JOURNAL" {more}{log}'
    return {"prolog.sh": prolog, "epilog.sh": epilog}
