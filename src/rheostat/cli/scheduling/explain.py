"""``rheostat explain``: the rules of a scheduling policy, in plain words, and as source code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import Values, asks
from rheostat.cli.options.batch import MachineSize
from rheostat.cli.options.declared import argument, option, written


@asks("explain_policy", o.drawn, instead={"export": "export_policy"}, export="language")
def explain(
    policy: Annotated[
        str,
        argument(
            "A tree's file, or with --trace an order (wfp3) or agent:FILE (a learned order, "
            "or DRAS)."
        ),
    ],
    trace: Annotated[
        Path | None, option("A job log on which a tree learns to decide as POLICY does.")
    ] = None,
    machine: MachineSize = "",
    depth: Annotated[int, option("Questions at most.", min=0, max=20)] = 6,
    features: Annotated[
        str,
        option(
            "What the tree may ask: site (what any site knows of a job) or full (the queue "
            "and ended jobs as well).  [default: site; full of a learned order]"
        ),
    ] = "",
    rounds: Annotated[int, option("Of learning (DAgger).", min=1, max=1000)] = 3,
    save: Annotated[
        Path | None, written("Write the tree here, for simulate --policy tree:FILE.", "--save")
    ] = None,
    export: Annotated[
        str,
        option(
            "Source code instead of words: python, c or lua; or slurm: weights of "
            "priority/multifactor (needs --trace)."
        ),
    ] = "",
    out: Annotated[
        Path | None, written("Write the source here.  [default: standard output]", "--out", "-o")
    ] = None,
    seed: o.Seed = 0,
    form: o.Form = "",
) -> Values:
    """Say how POLICY decides: its rules, how often each is used, how far they can be trusted.

    A tree explains itself.  Any other policy is imitated by a tree on --trace first; the
    certificate says how often the two put the same job first, on the last fifth of the trace.
    """
    from rheostat.questions.scheduling.explain_policy import ImitationSettings

    how = ImitationSettings(trace, machine or None, form, depth, features, rounds, seed)
    return {"teaching": how}
