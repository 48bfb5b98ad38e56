"""`search`: measure one's own code at a few well-chosen settings, and take one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.decision import Assignment
from rheostat.core.front import Constraint, Front, Rule
from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Section
from rheostat.core.space import Space
from rheostat.core.units import parse_duration
from rheostat.errors import Infeasible
from rheostat.explanation.choices.choice import explain_choice, nearest_section
from rheostat.explanation.choices.front import explain_front, front_table, ran_once
from rheostat.explanation.narrate import Narrative
from rheostat.measurement.commands.command import Command
from rheostat.measurement.commands.shell_line import ShellLine
from rheostat.measurement.meters import meters
from rheostat.prediction.saved_models.persist import PREDICTORS, load
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import (
    Knobs,
    Names,
    parse_objectives,
    parse_rules,
    parse_space,
    space_file,
)
from rheostat.questions.settings.lacking import without_energy
from rheostat.questions.settings.next_settings import (
    best_so_far,
    best_words,
    repeat_words,
    repeats,
    steering,
    tell_prior,
)
from rheostat.tradeoff import search as searching
from rheostat.tradeoff.all_settings import RUNTIME_ENERGY
from rheostat.tradeoff.measured_cells import tell_runs
from rheostat.tradeoff.predicted_power import PredictedPower
from rheostat.tradeoff.propose.base import Searcher
from rheostat.tradeoff.propose.proposer import distinct, proposer

NO_METER = (
    "nothing here reads energy ({why}): the command must print energy_j or power_w. If it "
    "cannot: --objectives {without} needs neither, --power-model predicts power"
)
UNUSED = "the command does not use {names}: runs differ by nothing there; put {places} into it"


@dataclass(frozen=True, kw_only=True, repr=False)
class MeasuredAnswer(Answer):
    """Settings that were measured; of an error, where none holds the limits.

    Parameters
    ----------
    front : Front
        A row per setting, as measured.
    repeats : tuple of mapping
        Settings that were measured once more, as runs differed.
    measured_by : tuple of str
        Where each quantity came from, and runs that failed.
    best : mapping
        As `rheostat.questions.settings.next_settings.best_so_far` gives it.
    nearest : mapping or None
        Where no setting holds the limits: the one that misses them least.
    """

    schema: ClassVar[str] = "rheostat.search/1"
    front: Front
    repeats: tuple[Mapping[str, Any], ...] = ()
    measured_by: tuple[str, ...] = ()
    best: Mapping[str, Any]
    nearest: Mapping[str, Any] | None = None

    def report(self) -> Narrative:
        """The settings, the picture, how they were measured, the choice and what may be better."""
        return self._explained

    def facts(self) -> dict[str, Any]:
        """Every setting as measured, and the choice."""
        return dict(self._explained.facts)

    def grids(self) -> tuple[Grid, ...]:
        """A row per setting in base units."""
        return (front_table(self.front, self._row, None),)

    def beside(self) -> tuple[str, ...]:
        """The choice, its price and how sure it is."""
        taken = () if self._taken is None else self._explained.sections[0].sentences
        return (*taken, *ran_once(self.front))

    @property
    def _taken(self) -> Assignment | None:
        return None

    @property
    def _row(self) -> int | None:
        return None if self._taken is None else self._taken.index

    @cached_property
    def _explained(self) -> Narrative:
        sections, facts = explain_front(self.front, self._row, None)
        facts |= {"evaluations": len(self.front), "feasible": self._taken is not None}
        facts |= {"choice": None, "repeats": list(self.repeats), "notes": list(self.measured_by)}
        if self.measured_by:
            sections = [*sections, Section("measured", tuple(f"{n}." for n in self.measured_by))]
        if self._taken is not None:
            (answer, why), reasons = explain_choice(self._taken, self.front)
            sections, facts = [answer, *sections, why], facts | reasons
        elif self.nearest is not None:
            facts["nearest"] = self.nearest
            sections = [nearest_section(self.front, self.nearest), *sections]
        facts |= self.best
        if self.best["expected_better"] is not None:
            sections = [*sections, Section("next", best_words(self.best))]
        return Narrative("", sections, facts)


@dataclass(frozen=True, kw_only=True, repr=False)
class SearchAnswer(MeasuredAnswer):
    """Settings that were measured, and the one to take.

    Parameters
    ----------
    choice : Assignment
        The setting to take, and why.
    """

    choice: Assignment

    @property
    def _taken(self) -> Assignment | None:
        return self.choice


@question
def search(
    space: Knobs | Path,
    measure: str | searching.Measure,
    *,
    budget: int = 8,
    journal: Path | str | None = None,
    repeat: int = 1,
    warm_up: int = 0,
    check: str = "",
    method: str | Searcher = "auto",
    prior: inputs.Jobs | None = None,
    known: inputs.Jobs | None = None,
    power_model: inputs.Model | None = None,
    timeout: str | float = "1d",
    objectives: Names = RUNTIME_ENERGY,
    rule: str | Rule = "knee",
    limits: Sequence[str | Constraint] = (),
    seed: int = 0,
    renamed: Sequence[str] = (),
) -> SearchAnswer:
    r"""Measure a few settings of your own code, well chosen, and take one.

    Parameters
    ----------
    space : Space, Knob, several Knobs, texts, or the path of a TOML file
        What may be turned; a file has a table ``[knobs]``.
    measure : str or callable
        A command in which ``{nodes}`` is the value of the knob nodes, run and timed here; or a
        function from a table of one row to its `Outcome`.
    budget : int
        Settings to measure in all.
    journal : path, optional
        Results on disk as they come; the same call continues.
    repeat, warm_up : int
        Of a command: runs of each setting, and runs before those that count.
    check : str
        Of a command: what the output of a right run contains, or ``cmd:`` and a command that
        reads it.
    method : str or Searcher
        As for `rheostat.proposer`, or a proposer of one's own over the same space.
    prior : JobTable or path, optional
        Runs of other applications that teach the method.
    known : JobTable or path, optional
        Runs of this code at hand; not counted.
    power_model : Predictor or path, optional
        Predicts the power of runs that are not metered.
    timeout : str or float
        Of a command: a longer run counts as failed; s, or a text.
    objectives, rule, limits, seed, renamed
        As those of `rheostat.front`; columns ``renamed`` are those of ``prior`` and ``known``.

    Returns
    -------
    SearchAnswer
        With ``front`` and ``choice``.

    Raises
    ------
    DataError
        No such method, a quantity that the command does not print, or a journal of another search.
    Infeasible
        No measured setting holds the limits; ``answer`` of the error has what was measured.

    Examples
    --------
    >>> import rheostat as rh
    >>> line = "printf '{\"runtime_s\": %s, \"power_w\": 9}' {threads}"
    >>> answer = rh.search("threads=1,2,4", line, budget=3, method="exhaustive", rule="energy=30J")
    >>> answer.choice.setting
    {'threads': 1}
    """
    knobs = space_file(space) if isinstance(space, Path) else parse_space(space)
    wanted = parse_objectives(objectives)
    inputs.countable(wanted, knobs.names)
    rules = parse_rules(rule, limits)
    past = None if prior is None else inputs.beside(prior, renamed, knobs.names)
    at_hand = None if known is None else inputs.beside(known, renamed, knobs.names)
    asker = method if not isinstance(method, str) else proposer(
        method, knobs, wanted, limits=steering(*rules), prior=past, seed=seed,
        budget=budget + (0 if at_hand is None else distinct(at_hand, knobs)),
    )  # fmt: skip
    if past is not None:
        tell_prior(asker, past)
    if at_hand is not None:
        listener.line(f"{tell_runs(asker, at_hand)} settings of {known} are measured already")
    for note in asker.notes:
        listener.note(note.message)
    seconds = parse_duration(timeout) if isinstance(timeout, str) else timeout
    runs = {"repeat": repeat, "timeout_s": seconds, "warm_up": warm_up, "check": check}
    meter = _meter(measure, knobs, wanted, runs, power_model)
    unused = _unused(measure, knobs)
    for message in unused:
        listener.note(message)
    options, again = _measured(asker, meter, budget, journal)
    said = (*options.outcome.notes, *getattr(meter, "notes", ()))
    messages = tuple(dict.fromkeys(n.message for n in said))
    for message in messages:
        listener.note(message)
    shown = options if at_hand is None else asker.front
    best = best_so_far(asker, *rules)
    return _chosen(
        MeasuredAnswer(front=shown, repeats=again, measured_by=(*unused, *messages), best=best),
        rules,
    )


def _measured(
    asker: Searcher, meter: searching.Measure, budget: int, journal: Path | str | None
) -> tuple[Front, tuple[dict[str, Any], ...]]:
    """All settings as measured, and those that were measured once more."""
    again: list[dict[str, Any]] = []

    def announce(asked: JobTable) -> None:
        for setting in repeats(asker, asked):
            again.append(setting)
            listener.line(repeat_words(setting))

    with listener.counted("measured") as progress:
        options = searching.search(
            asker, meter, budget, journal=journal, progress=progress, announce=announce
        )
    return options, tuple(again)


def _meter(
    given: str | searching.Measure,
    knobs: Space,
    wanted: tuple[str, ...],
    runs: dict[str, Any],
    model: inputs.Model | None,
) -> searching.Measure:
    """What measures a setting; before the first run, how its energy will be known."""
    if model is not None:
        model = load(Path(model), PREDICTORS) if isinstance(model, (str, Path)) else model
    if not isinstance(given, str):
        return given if model is None else PredictedPower(given, model)
    watts = {"energy_j", "power_w", "edp_js"} & set(wanted)
    sensors = meters(("rapl", "nvml", "zeus")) if watts and model is None else []
    if sensors and all(s.why() for s in sensors):
        why = "; ".join(f"{s.name}: {s.why()}" for s in sensors)
        without = without_energy(knobs.names)
        listener.note(NO_METER.format(why=why, without=without))
    derived = {"node_hours"} if "nodes" in knobs.names else set()
    printed = [q for q in wanted if q not in (watts | derived if model else derived)]
    run = Command(given, printed, meters=sensors, **runs)
    return run if model is None else PredictedPower(run, model)


def _unused(measure: str | searching.Measure, knobs: Space) -> tuple[str, ...]:
    """Before the first run: the knobs that a command does not use."""
    turned = [k.name for k in knobs.knobs if len(k.values) != 1]
    names = ShellLine(measure).unused(turned) if isinstance(measure, str) else ()
    places = ", ".join(f"{{{name}}}" for name in names)
    return (UNUSED.format(names=", ".join(names), places=places),) if names else ()


def _chosen(answer: MeasuredAnswer, rules: tuple[Any, tuple[Any, ...]]) -> SearchAnswer:
    """The answer with its choice; an error that carries what was measured where there is none."""
    try:
        choice = answer.front.choose(*rules)
    except Infeasible as stop:
        nearest = answer.front.setting(stop.nearest) if stop.nearest >= 0 else None
        stop.answer = replace(answer, nearest=nearest)
        raise
    return SearchAnswer(
        front=answer.front,
        repeats=answer.repeats,
        measured_by=answer.measured_by,
        best=answer.best,
        choice=choice,
    )
