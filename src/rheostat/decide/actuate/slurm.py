"""Prolog and epilog: the two scripts with which Slurm applies a plan on its nodes.

Slurm runs the prolog as root on every node before a job, and the epilog after it.  Slurm itself has
had no plugin for power caps since they were removed; these scripts are what remains to a site.  A
prolog that fails drains the node, so ours never does: without a plan, or without the node in it, it
leaves the caps as they are.

References
----------
Slurm documentation, Prolog and Epilog Guide.
"""

from __future__ import annotations

import shlex

_HEAD = """#!/bin/sh
# Written by rheostat budget slurm.  {what}
# An error goes to the node's syslog; the job starts (or ends) all the same.
PLAN={plan}
JOURNAL={journals}/"$SLURMD_NODENAME".journal
"""


def scripts(
    plan: str, journals: str, rheostat: str = "rheostat", options: str = ""
) -> dict[str, str]:
    """The scripts by file name; ``options`` are passed to apply and restore.

    >>> print(scripts("/shared/plan.json", "/var/lib/rheostat")["epilog.sh"].splitlines()[-3])
    [ -f "$JOURNAL" ] || exit 0
    """
    fields = {"plan": shlex.quote(plan), "journals": shlex.quote(journals)}
    call = f"{shlex.quote(rheostat)} budget"
    more = f" {options}" if options else ""
    log = " 2>&1 | logger -t rheostat\nexit 0\n"
    prolog = _HEAD.format(what="Prolog: sets the caps of this node.", **fields)
    prolog += '[ -f "$PLAN" ] || exit 0\n'
    prolog += f'{call} apply "$PLAN" --node "$SLURMD_NODENAME" --journal "$JOURNAL"{more}{log}'
    epilog = _HEAD.format(what="Epilog: puts the caps of this node back.", **fields)
    epilog += f'[ -f "$JOURNAL" ] || exit 0\n{call} restore --journal "$JOURNAL"{more}{log}'
    return {"prolog.sh": prolog, "epilog.sh": epilog}
