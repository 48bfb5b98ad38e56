"""`counters`: power and runtime from hardware counters, and which counter matters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.jobs import Moment
from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import plain_name
from rheostat.errors import QuestionError
from rheostat.explanation.counters import leverage_section
from rheostat.explanation.number_words import share
from rheostat.prediction.counters.counter_model import CounterModel
from rheostat.prediction.saved_models import persist
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import Names, parse_names
from rheostat.recipes import mummi

TITLE = "Models from counters"
Files = Path | str | Sequence[Path | str]


@dataclass(frozen=True, kw_only=True, repr=False)
class CountersAnswer(Answer):
    """How right each method is on what it has not seen, and what a change of a counter would do.

    Parameters
    ----------
    study : mapping
        The document: ``marks`` of each method, ``leverage``, ``what_if``, ``predicted``.
    """

    schema: ClassVar[str] = "rheostat.counters/1"
    study: Mapping[str, Any]

    def report(self) -> Report:
        """How right, which counter, what if, and what was predicted."""
        return _report(self.study)

    def facts(self) -> Mapping[str, Any]:
        """The study."""
        return self.study

    def grids(self) -> tuple[Grid, ...]:
        """A row a method and target; none where more was asked than how right they are."""
        more = self.study["what_if"] or "predicted" in self.study
        return () if more else (_scores(self.study),)


@dataclass(frozen=True, kw_only=True, repr=False)
class CountersForecast(Answer):
    """Runs predicted by a saved model.

    Parameters
    ----------
    model : str
        The file.
    predicted : tuple of mapping
        ``run``, ``target``, ``mean`` and ``interval`` of each.
    """

    schema: ClassVar[str] = "rheostat.counters-predict/1"
    model: str
    predicted: tuple[Mapping[str, Any], ...]

    def report(self) -> Report:
        """A row a run and target."""
        return Report(TITLE, (_prediction_section(self.predicted),), self.facts())

    def facts(self) -> Mapping[str, Any]:
        """The model and the runs."""
        return {"model": self.model, "predicted": list(self.predicted)}

    def grids(self) -> tuple[Grid, ...]:
        """A row a run and target."""
        grid = _prediction_section(self.predicted).grid
        return () if grid is None else (grid,)


@question
def counters(
    files: Files,
    *,
    methods: Names = "mummi,law",
    target: Names = "",
    leave_out: Names = "application,random",
    group_by: str = "app",
    what_if: Mapping[str, float] | Iterable[str] = (),
    predict: Path | str | None = None,
    save: Path | str | None = None,
    seed: int = 0,
    format: str = "",
) -> CountersAnswer:
    """Model the power of runs from their counters; score it on applications it has not seen.

    Parameters
    ----------
    files : path or sequence of path
        Counters of metered runs: pcm, perf stat, likwid, papi or a table.
    methods : str or sequence of str
        mummi, law, law+trees, ten (all learners) or learners by name; the last one is asked which
        counters matter.
    target : str or sequence of str
        runtime_s, power_w, package_power_w, dram_power_w; all there are by default.
    leave_out : str or sequence of str
        What is tested on: whole applications, runs at random, or both.
    group_by : str
        Column that names the application.
    what_if : mapping or sequence of str
        Factors by counter, also as ``"llc_misses_per_s=0.8"``.
    predict : path, optional
        Also predict the runs of this file, metered or not.
    save : path, optional
        Where the model of the last method goes, fitted on all runs.
    seed : int
        Of everything that draws.
    format : str
        Of the files; guessed by default.

    Returns
    -------
    CountersAnswer
        With ``study``.

    Raises
    ------
    DataError
        The files are no counters, too few, or have no power.
    QuestionError
        A factor is no number.
    """
    chosen = tuple(n for m in parse_names(methods) for n in (mummi.TEN if m == "ten" else (m,)))
    factors = dict(what_if) if isinstance(what_if, Mapping) else _factors(what_if)
    jobs = mummi.recording(inputs.paths(files), format)
    listener.notes(jobs.notes)
    with listener.working(f"{len(chosen)} methods"):
        facts = mummi.study(jobs, methods=chosen, targets=parse_names(target),
                            splits=parse_names(leave_out), by=group_by, changes=factors,
                            seed=seed)  # fmt: skip
    for line in _used(facts):
        listener.line(line)
    if predict is not None or save is not None:
        last = facts["method_explained"]
        targets = tuple(dict.fromkeys(m["target"] for m in facts["marks"] if m["method"] == last))
        _, fitted = mummi.fitted(
            mummi.usable(jobs, group_by).jobs, last, targets, by=group_by, seed=seed
        )
        if predict is not None:
            facts["predicted"] = _predicted(fitted, inputs.paths(predict), format)
        if save is not None:
            persist.save(fitted, Path(save))
            listener.line(f"wrote {save}")
    return CountersAnswer(study=facts)


@question
def predict_counters(files: Files, model: Path | str, *, format: str = "") -> CountersForecast:
    """Predict runs, metered or not, with a model that `counters` saved.

    Parameters
    ----------
    files : path or sequence of path
        Counters of runs.
    model : path
        The saved model.
    format : str
        Of the files; guessed by default.

    Returns
    -------
    CountersForecast
        With ``predicted``.

    Raises
    ------
    DataError
        The files are no counters, or the model is of another kind.
    """
    known = persist.load(Path(model), ["counters"])
    rows = _predicted(known, inputs.paths(files), format)
    return CountersForecast(model=str(model), predicted=tuple(rows))


def _used(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What the models look at, and what they do not, with the reason."""
    gone = facts["runs_left_out"]
    return (
        f"features: {', '.join(facts['features'])}",
        *(f"note: column {c} is not used: {why}" for c, why in facts["ignored"].items()),
        *(f"note: {m} is left out: {why}" for m, why in facts["left_out"].items()),
        *([f"note: {gone['runs']} runs are left out: {', '.join(gone['why'])}"] if gone["runs"]
          else []),
    )  # fmt: skip


def _factors(given: Iterable[str]) -> dict[str, float]:
    factors = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            factors[name.strip()] = float(number)
        except ValueError as error:
            problem = f"expected COUNTER=FACTOR such as llc_misses_per_s=0.8, got {text!r}"
            raise QuestionError("--what-if", [problem]) from error
    return factors


def _predicted(model: CounterModel, files: Sequence[Path], form: str) -> list[dict[str, Any]]:
    """What a model predicts for the runs of the files."""
    recorded = mummi.recording(files, form)
    listener.notes(recorded.notes)
    runs, outcome = model.predict_runs(recorded)
    named = (model.group_by, "region", *runs.known_at(Moment.SUBMIT).columns)
    who = [c for c in named if c in runs.columns]
    rows = []
    for i, row in enumerate(runs.frame.select(list(dict.fromkeys(who))).rows(named=True)):
        for t in model.targets:
            low, high = outcome.interval(t)
            value = {"mean": float(outcome.mean(t)[i]), "interval": [float(low[i]), float(high[i])]}
            rows.append({"run": dict(row), "target": t, **value})
    return rows


def _scores(facts: Mapping[str, Any]) -> Grid:
    heads = ("target", "split", "method", "MAPE %", "low", "high", "worst application", "its %",
             "coverage of 90 %", "width %")  # fmt: skip
    rows = [
        (m["target"], m["split"], m["method"], *(round(100 * v, 2) for v in m["mape"]),
         m["worst_application"], round(100 * m["worst_mape"], 1), round(m["coverage"], 2),
         round(100 * m["width"], 1))
        for m in facts["marks"]
    ]  # fmt: skip
    return Grid(heads, tuple(rows))


def _report(facts: Mapping[str, Any]) -> Report:
    sentences = (
        _first(facts),
        f"Learnt from {facts['runs']} runs, {facts['rows']} rows. MAPE with its 95 % interval over "
        "applications; cap is the mean per power cap.",
        *_used(facts),
    )
    sections = [Section("how right", sentences, _scores(facts))]
    said = f"What {facts['method_explained']} says, other counters held; no promise."
    for title, key in (("which counter, 20 % less of it", "leverage"), ("what if", "what_if")):
        if facts[key]:
            sections.append(leverage_section(title, facts[key], said))
    if facts.get("predicted"):
        sections.append(_prediction_section(facts["predicted"]))
    return Report(TITLE, tuple(sections), facts)


def _first(facts: Mapping[str, Any]) -> str:
    """How far off the method that is explained is, beside the mean per power cap."""
    asked = [m for m in facts["marks"] if m["method"] == facts["method_explained"]]
    mark = next((m for m in asked if m["target"] == "power_w"), asked[0])
    cap = [m["mape"][0] for m in facts["marks"] if m["method"] == "cap"
           and (m["target"], m["split"]) == (mark["target"], mark["split"])]  # fmt: skip
    beside = f", the mean per power cap by {share(cap[0], 1)}" if cap else ""
    left = "an application" if mark["split"] == "application" else "a run"
    error, low, high = mark["mape"]
    return (
        f"On {left} left out {mark['method']} is off by {share(error, 1)} "
        f"[{100 * low:.1f} {100 * high:.1f}] of {plain_name(mark['target'])}{beside}."
    )


def _prediction_section(predicted: Sequence[Mapping[str, Any]]) -> Section:
    rows = tuple(
        (" ".join(str(v) for v in p["run"].values()), p["target"], round(p["mean"], 2),
         *(round(v, 2) for v in p["interval"]))
        for p in predicted
    )  # fmt: skip
    return Section("predicted", (), Grid(("run", "target", "mean", "low", "high"), rows))
