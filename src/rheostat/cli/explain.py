"""``rheostat explain``: the rules of a scheduling policy, in plain words, and as source code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o
from rheostat.cli.batch_options import MachineSize
from rheostat.core.storage.file_kinds import kind_in

if TYPE_CHECKING:
    from rheostat.decision.policies.batch_policy import BatchPolicy
    from rheostat.decision.policies.priority_tree import PriorityTree
    from rheostat.simulation.policies.learned_policy import LearnedPolicy
    from rheostat.simulation.policies.policy import Policy

LANGUAGES = ("python", "c", "lua", "slurm")


def explain(
    policy: Annotated[
        str,
        typer.Argument(
            help="A tree's file, or with --trace an order (wfp3) or agent:FILE (a learned order, "
            "or DRAS)."
        ),
    ],
    trace: Annotated[
        Path | None,
        typer.Option(help="A job log on which a tree learns to decide as POLICY does."),
    ] = None,
    machine: MachineSize = "",
    depth: Annotated[int, typer.Option(min=0, max=20, help="Questions at most.")] = 6,
    features: Annotated[
        str,
        typer.Option(
            help="What the tree may ask: site (what any site knows of a job) or full (the queue "
            "and ended jobs as well).  [default: site; full of a learned order]"
        ),
    ] = "",
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Of learning (DAgger).")] = 3,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            help="Write the tree here, for simulate --policy tree:FILE.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    export: Annotated[
        str,
        typer.Option(
            help="Source code instead of words: python, c or lua; or slurm: weights of "
            "priority/multifactor (needs --trace)."
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the source here.  [default: standard output]",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Say how POLICY decides: its rules, how often each is used, how far they can be trusted.

    A tree explains itself.  Any other policy is imitated by a tree on --trace first; the
    certificate says how often the two put the same job first, on the last fifth of the trace.
    """
    from rheostat.questions.policies import open_policy

    made = open_policy(policy)
    _check(policy, made, trace, export)
    if export == "slurm":
        _weights(made, trace, machine, form, out, seed=seed)
        return
    how = {"depth": depth, "features": features, "rounds": rounds, "seed": seed}
    tree = _tree(policy, made, trace, machine, form, how)
    if save is not None:
        from rheostat.cli.output import tell

        tree.save(save)
        tell(f"wrote {save}")
    _show(tree, policy, export, out, html=html, figure=figure, json=json)


def _show(
    tree: PriorityTree,
    policy: str,
    export: str,
    out: Path | None,
    *,
    html: Path | None,
    figure: Path | None,
    json: bool,
) -> None:
    from rheostat.cli.output import put_json, put_report, write_files
    from rheostat.explanation.schedules.tree import rule_grid, tree_facts, tree_report

    name = Path(policy.rpartition(":")[2]).stem
    if html or figure:
        write_files(tree_report(tree, name, page=True), html, figure)
    if export:
        from rheostat.decision.policies.export import export as source

        _put(source(tree, export), out)
    elif json:
        put_json("rheostat.explain/1", {"policy": policy, **tree_facts(tree)})
    else:
        put_report(tree_report(tree, name), rule_grid(tree))


def _check(policy: str, made: Policy, trace: Path | None, export: str) -> None:
    from rheostat.errors import DataError
    from rheostat.prediction.saved_models.persist import title

    problems, kind = [], kind_in(policy.partition(":")[2] or policy)
    if kind == "actor-critic-agent":
        wanted = f"expected {title('dras-agent')} or {title('learned-priority')}"
        problems.append(f"{wanted}, got {title(kind)}: no tree learns to decide as it does")
    if export and export not in LANGUAGES:
        problems.append(f"--export: expected one of {', '.join(LANGUAGES)}, got {export!r}")
    if trace is None and (export == "slurm" or _own_tree(made) is None):
        problems.append(
            f"expected {title('priority-tree')}, got {title(kind) if kind else 'no file of one'}: "
            "name a job log with --trace, on which a tree learns to decide as it does"
        )
    if problems:
        raise DataError(policy, problems)


def _own_tree(policy: Policy) -> PriorityTree | None:
    """The tree that the policy is, or None."""
    from rheostat.decision.policies.batch_policy import BatchPolicy
    from rheostat.training.distill.value_tree import Student
    from rheostat.training.rl.agent_policy import AgentPolicy

    if isinstance(policy, BatchPolicy):
        return policy.order.tree
    agent = policy.agent if isinstance(policy, AgentPolicy) else None
    return agent.tree if isinstance(agent, Student) else None


def _teacher(policy: Policy) -> BatchPolicy | LearnedPolicy:
    """An order alone is imitated under EASY."""
    from rheostat.decision.policies.batch_policy import BatchPolicy, batch_policy
    from rheostat.errors import DataError
    from rheostat.simulation.policies.learned_policy import LearnedPolicy

    if isinstance(policy, BatchPolicy):
        return batch_policy(policy.order) if policy.backfill == "none" else policy
    if isinstance(policy, LearnedPolicy):
        return policy
    raise DataError(policy.name, ["expected an order of the queue: an agent has none"])


def _tree(
    policy: str, made: Policy, trace: Path | None, machine: str, form: str, how: dict[str, Any]
) -> PriorityTree:
    own = _own_tree(made)
    if own is not None:
        return own
    from rheostat.cli.output import placed
    from rheostat.cli.progress import stages
    from rheostat.decision.policies.batch_policy import BatchPolicy
    from rheostat.measurement.read import read
    from rheostat.training.distill.dagger import imitate
    from rheostat.training.distill.value_tree import imitate_agent
    from rheostat.training.rl.agent_policy import AgentPolicy

    assert trace is not None
    jobs = read(trace, form or None)
    place = placed(jobs, machine)
    with stages() as progress, _checkpoint(policy, trace, machine, form, how) as folder:
        watched: dict[str, Any] = {"progress": progress, "checkpoint": folder}
        if isinstance(made, AgentPolicy):
            how = {k: how[k] for k in ("depth", "rounds")}
            return imitate_agent(made.agent, jobs, place, name=made.name, **watched, **how)
        simple = isinstance(made, BatchPolicy)
        how["features"] = how["features"] or ("site" if simple else "full")
        return imitate(_teacher(made), jobs, place, **watched, **how).tree


@contextmanager
def _checkpoint(
    policy: str, trace: Path, machine: str, form: str, how: dict[str, Any]
) -> Iterator[Path | None]:
    """The folder of this very call, from which it goes on if it was interrupted before."""
    from platformdirs import user_cache_path

    from rheostat.cli.output import tell
    from rheostat.core.storage.files import code_digest, file_digest, text_digest

    code = code_digest("measurement", "decision/policies", "simulation", "training")
    files = (trace, Path(policy), Path(policy.partition(":")[2].partition("+")[0]), Path(machine))
    named = [p for p in files if p.is_file()]
    key = text_digest(code, policy, machine, form, repr(how), *map(file_digest, named))
    folder = user_cache_path("rheostat", appauthor=False) / "explain" / key
    try:
        folder.mkdir(parents=True, exist_ok=True)
        done = sorted(f.stem for f in folder.iterdir())
    except OSError as error:
        tell(f"note: nothing is kept for a call that goes on: {folder}: {error.strerror}")
        yield None
        return
    if done:
        tell(f"goes on after {', '.join(done)}: kept in {folder}")
    try:
        yield folder
    except KeyboardInterrupt as stop:
        stop.add_note("the same command goes on from the stages that are done")
        raise


def _weights(
    policy: Policy, trace: Path | None, machine: str, form: str, out: Path | None, *, seed: int
) -> None:
    from rheostat.cli.output import placed, tell
    from rheostat.cli.progress import stages
    from rheostat.measurement.read import read
    from rheostat.training.distill.slurm_weights import slurm_lines, weights_of

    assert trace is not None
    jobs = read(trace, form or None)
    with stages() as progress:
        weights = weights_of(
            _teacher(policy), jobs, placed(jobs, machine), seed=seed, progress=progress
        )
    _put(slurm_lines(weights), out)
    tell(weights.words)


def _put(text: str, out: Path | None) -> None:
    import sys

    if out is None:
        sys.stdout.write(text)
        return
    from rheostat.cli.output import tell
    from rheostat.core.storage.files import replace_file

    replace_file(out, text)
    tell(f"wrote {out}")
