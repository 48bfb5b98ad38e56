"""`explain_policy`: the rules of a scheduling policy, in plain words, and as source code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.file_kinds import kind_in
from rheostat.core.storage.files import code_digest, file_digest, replace_file, text_digest
from rheostat.decision.policies.batch_policy import BatchPolicy, batch_policy
from rheostat.decision.policies.export import export
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.errors import DataError
from rheostat.explanation.schedules.tree import rule_grid, tree_facts, tree_report
from rheostat.measurement.read import read
from rheostat.prediction.saved_models.persist import title
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.inputs import Place, machine_of
from rheostat.questions.listener import question
from rheostat.questions.scheduling.policies import open_policy
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.policies.policy import Policy
from rheostat.training.distill.dagger import imitate
from rheostat.training.distill.slurm_weights import slurm_lines, weights_of
from rheostat.training.distill.value_tree import Student, imitate_agent
from rheostat.training.rl.agent_policy import AgentPolicy

SLURM = "slurm"
LANGUAGES = ("python", "c", "lua", SLURM)


@dataclass(frozen=True)
class ImitationSettings:
    """How a tree learns to decide as a policy does, and from which log.

    Parameters
    ----------
    trace : path, optional
        A job log; without one the policy has to be a tree itself.
    machine : Machine, int, str or path, optional
        Processors, or a TOML file; the trace's header by default.
    format : str
        Of the trace; guessed by default.
    depth, rounds : int
        Questions at most, and rounds of learning (DAgger).
    features : str
        What the tree may ask: site, or full (the queue and ended jobs as well); site by default,
        full of a learned order.
    seed : int
        Of everything that draws.
    """

    trace: Path | None = None
    machine: Place = None
    format: str = ""
    depth: int = 6
    features: str = ""
    rounds: int = 3
    seed: int = 0

    @property
    def how(self) -> dict[str, Any]:
        """What learning is told."""
        return {"depth": self.depth, "features": self.features, "rounds": self.rounds,
                "seed": self.seed}  # fmt: skip

    def log(self) -> JobTable:
        """The jobs of the trace."""
        assert self.trace is not None
        return read(self.trace, self.format or None)


USUAL = ImitationSettings()


@dataclass(frozen=True, kw_only=True, repr=False)
class PolicyAnswer(Answer):
    """How a policy decides.

    Parameters
    ----------
    policy : str
        Its name.
    tree : PriorityTree
        The policy itself, or what imitates it.
    """

    schema: ClassVar[str] = "rheostat.explain/1"
    policy: str
    tree: PriorityTree

    @property
    def _name(self) -> str:
        return Path(self.policy.rpartition(":")[2]).stem

    def report(self) -> Report:
        """Rules, picture and certificate."""
        return tree_report(self.tree, self._name)

    def page_report(self) -> Report:
        """The same, for a page."""
        return tree_report(self.tree, self._name, page=True)

    def facts(self) -> Mapping[str, Any]:
        """The rules as data."""
        return {"policy": self.policy, **tree_facts(self.tree)}

    def grids(self) -> tuple[Grid, ...]:
        """A row a rule."""
        return (rule_grid(self.tree),)

    def source(self, language: str) -> str:
        """The tree as a program.

        Parameters
        ----------
        language : str
            python, c or lua.

        Returns
        -------
        str
            Source code.
        """
        return export(self.tree, language)


@dataclass(frozen=True, kw_only=True, repr=False)
class SourceAnswer(PolicyAnswer):
    """A policy as source code, which is printed as it is.

    Parameters
    ----------
    language : str
        python, c or lua.
    out : Path, optional
        Where it was written; then nothing is printed.
    """

    verbatim: ClassVar[bool] = True
    language: str
    out: Path | None = None

    def report(self) -> Report:
        """Nothing beside the source."""
        return Report("", [])

    def grids(self) -> tuple[Grid, ...]:
        """None."""
        return ()

    def text(self) -> str:
        """The source."""
        return "" if self.out else self.source(self.language)


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightsAnswer(Answer):
    """Weights of Slurm's priority/multifactor that order jobs as a policy does.

    Parameters
    ----------
    lines : str
        Lines of slurm.conf.
    words : str
        How far they agree with the policy.
    out : Path, optional
        Where they were written; then nothing is printed.
    """

    schema: ClassVar[str] = "rheostat.explain-slurm/1"
    verbatim: ClassVar[bool] = True
    lines: str
    words: str
    out: Path | None = None

    def report(self) -> Report:
        """The lines, and how far they agree."""
        lines = Section("slurm.conf", (self.words,), listing=self.lines)
        return Report("Weights of Slurm's priority/multifactor", [lines])

    def facts(self) -> Mapping[str, Any]:
        """The lines and how far they agree."""
        return {"lines": self.lines, "words": self.words}

    def text(self) -> str:
        """The lines."""
        return "" if self.out else self.lines


@question
def explain_policy(
    policy: str, teaching: ImitationSettings = USUAL, *, save: Path | str | None = None
) -> PolicyAnswer:
    """Say how a policy decides: its rules, how often each is used, how far they can be trusted.

    A tree explains itself.  Any other policy is imitated by a tree on a trace first; the
    certificate says how often the two put the same job first, on the last fifth of the trace.

    Parameters
    ----------
    policy : str
        A tree's file, or an order (wfp3) or agent:FILE, a learned order or DRAS.
    teaching : ImitationSettings
        The trace, and how a tree learns on it.
    save : path, optional
        Where the tree goes, for ``simulate``.

    Returns
    -------
    PolicyAnswer
        With ``tree``.

    Raises
    ------
    DataError
        There is no such policy, no tree learns to decide as it does, or a trace is needed.
    """
    made = open_policy(policy)
    _check(policy, made, teaching.trace, "")
    return PolicyAnswer(policy=policy, tree=_saved(_tree(policy, made, teaching), save))


@question
def export_policy(
    policy: str,
    language: str,
    teaching: ImitationSettings = USUAL,
    *,
    save: Path | str | None = None,
    out: Path | str | None = None,
) -> SourceAnswer | WeightsAnswer:
    """The rules of a policy as source code, or as weights of Slurm's priority/multifactor.

    Parameters
    ----------
    policy, teaching, save
        As for `explain_policy`.
    language : str
        python, c, lua; or slurm, which needs a trace.
    out : path, optional
        Where the source goes.

    Returns
    -------
    SourceAnswer or WeightsAnswer
        A tree's source code, or lines of slurm.conf.

    Raises
    ------
    DataError
        As of `explain_policy`, and where the language is none of these.
    """
    made, file = open_policy(policy), None if out is None else Path(out)
    _check(policy, made, teaching.trace, language)
    if language == SLURM:
        return _weights(made, teaching, file)
    tree = _saved(_tree(policy, made, teaching), save)
    answer = SourceAnswer(policy=policy, tree=tree, language=language, out=file)
    _write(answer.source(language), file)
    return answer


def _saved(tree: PriorityTree, save: Path | str | None) -> PriorityTree:
    if save is not None:
        tree.save(Path(save))
        listener.line(f"wrote {save}")
    return tree


def _write(text: str, out: Path | None) -> None:
    if out is not None:
        replace_file(out, text)
        listener.line(f"wrote {out}")


def _weights(made: Policy, teaching: ImitationSettings, out: Path | None) -> WeightsAnswer:
    jobs = teaching.log()
    with listener.stages() as progress:
        weights = weights_of(_teacher(made), jobs, machine_of(jobs, teaching.machine),
                             seed=teaching.seed, progress=progress)  # fmt: skip
    answer = WeightsAnswer(lines=slurm_lines(weights), words=weights.words, out=out)
    _write(answer.lines, out)
    listener.line(answer.words)
    return answer


def _check(policy: str, made: Policy, trace: Path | None, language: str) -> None:
    problems, kind = [], kind_in(policy.partition(":")[2] or policy)
    if kind == "actor-critic-agent":
        wanted = f"expected {title('dras-agent')} or {title('learned-priority')}"
        problems.append(f"{wanted}, got {title(kind)}: no tree learns to decide as it does")
    if language and language not in LANGUAGES:
        problems.append(f"--export: expected one of {', '.join(LANGUAGES)}, got {language!r}")
    if trace is None and (language == SLURM or _own_tree(made) is None):
        problems.append(
            f"expected {title('priority-tree')}, got {title(kind) if kind else 'no file of one'}: "
            "name a job log with --trace, on which a tree learns to decide as it does"
        )
    if problems:
        raise DataError(policy, problems)


def _own_tree(policy: Policy) -> PriorityTree | None:
    """The tree that the policy is, or None."""
    if isinstance(policy, BatchPolicy):
        return policy.order.tree
    agent = policy.agent if isinstance(policy, AgentPolicy) else None
    return agent.tree if isinstance(agent, Student) else None


def _teacher(policy: Policy) -> BatchPolicy | LearnedPolicy:
    """An order alone is imitated under EASY."""
    if isinstance(policy, BatchPolicy):
        return batch_policy(policy.order) if policy.backfill == "none" else policy
    if isinstance(policy, LearnedPolicy):
        return policy
    raise DataError(policy.name, ["expected an order of the queue: an agent has none"])


def _tree(policy: str, made: Policy, teaching: ImitationSettings) -> PriorityTree:
    own = _own_tree(made)
    if own is not None:
        return own
    jobs, how = teaching.log(), teaching.how
    place = machine_of(jobs, teaching.machine)
    with listener.stages() as progress, _checkpoint(policy, teaching) as folder:
        watched: dict[str, Any] = {"progress": progress, "checkpoint": folder}
        if isinstance(made, AgentPolicy):
            how = {k: how[k] for k in ("depth", "rounds")}
            return imitate_agent(made.agent, jobs, place, name=made.name, **watched, **how)
        simple = isinstance(made, BatchPolicy)
        how["features"] = how["features"] or ("site" if simple else "full")
        return imitate(_teacher(made), jobs, place, **watched, **how).tree


@contextmanager
def _checkpoint(policy: str, teaching: ImitationSettings) -> Iterator[Path | None]:
    """The folder of this very call, from which it goes on if it was interrupted before."""
    from platformdirs import user_cache_path

    code = code_digest("measurement", "decision/policies", "simulation", "training")
    place = "" if teaching.machine is None else str(teaching.machine)
    files = (Path(str(teaching.trace)), Path(policy),
             Path(policy.partition(":")[2].partition("+")[0]), Path(place))  # fmt: skip
    named = [p for p in files if p.is_file()]
    key = text_digest(code, policy, place, teaching.format, repr(teaching.how),
                      *map(file_digest, named))  # fmt: skip
    folder = user_cache_path("rheostat", appauthor=False) / "explain" / key
    try:
        folder.mkdir(parents=True, exist_ok=True)
        done = sorted(f.stem for f in folder.iterdir())
    except OSError as error:
        listener.note(f"nothing is kept for a call that goes on: {folder}: {error.strerror}")
        yield None
        return
    if done:
        listener.line(f"goes on after {', '.join(done)}: kept in {folder}")
    try:
        yield folder
    except KeyboardInterrupt as stop:
        stop.add_note("the same command goes on from the stages that are done")
        raise
