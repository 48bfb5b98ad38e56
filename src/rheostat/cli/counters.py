"""``rheostat counters``: power and runtime from hardware counters, and which counter matters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.report import Grid, Report, Section
    from rheostat.prediction.counters.counter_model import CounterModel

Files = Annotated[
    list[Path],
    typer.Argument(
        help="Counters of metered runs: pcm, perf stat, likwid, papi or a table.", metavar="FILE..."
    ),
]


def counters(
    files: Files,
    methods: Annotated[
        str,
        typer.Option(
            help="mummi, law, law+trees, ten (all learners) or learners by name: ridge, elastic, "
            "quadratic, pls, neighbours, vectors, tree, forest, extra, boosting. The last one is "
            "asked which counters matter."
        ),
    ] = "mummi,law",
    target: Annotated[
        str,
        typer.Option(
            help="runtime_s, power_w, package_power_w, dram_power_w.  [default: all there are]"
        ),
    ] = "",
    leave_out: Annotated[
        str,
        typer.Option(
            help="What the model is tested on: whole applications, runs at random, or both."
        ),
    ] = "application,random",
    by: Annotated[str, typer.Option(help="Column that names the application.")] = "app",
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COUNTER=FACTOR", help="As llc_misses_per_s=0.8: what if. Repeatable."
        ),
    ] = None,
    predict: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also predict the runs of this file, metered or not."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            "-o",
            help="Save the model of the last method, fitted on all runs, for --model FILE.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Fit nothing: predict the runs of FILE with a saved model file."
        ),
    ] = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Model the power of runs from their counters; score it on applications it has not seen.

    The mean per power cap is always in the table: a method that does not beat it has learnt
    nothing.  Files of several intervals per run are best: power bends at a cap.

    With --model FILE need not be metered, and only its runs are predicted.
    """
    from rheostat.cli.output import put_json, put_report, tell, tell_notes, working, write_files
    from rheostat.prediction.saved_models import persist
    from rheostat.questions.parse import parse_names
    from rheostat.recipes import mummi

    if model is not None:
        if predict or save or what_if:
            problem = "fits nothing: leave out --predict, --save and --what-if"
            raise typer.BadParameter(problem, param_hint="--model")
        _saved(model, files, form, json=json, html=html, figure=figure)
        return

    chosen = tuple(n for m in parse_names(methods) for n in (mummi.TEN if m == "ten" else (m,)))
    factors = _factors(what_if or [])
    jobs = mummi.recording(files, form)
    tell_notes(jobs.notes)
    how = {
        "methods": chosen,
        "targets": parse_names(target),
        "splits": parse_names(leave_out),
    }
    with working(f"{len(chosen)} methods"):
        facts = mummi.study(jobs, **how, by=by, changes=factors, seed=seed)
    for line in _used(facts):
        tell(line)
    if predict is not None or save is not None:
        last = facts["method_explained"]
        targets = tuple(dict.fromkeys(m["target"] for m in facts["marks"] if m["method"] == last))
        _, fitted = mummi.fitted(mummi.usable(jobs, by).jobs, last, targets, by=by, seed=seed)
    if predict is not None:
        facts["predicted"] = _predicted(fitted, [predict], form)
    if save is not None:
        persist.save(fitted, save)
        tell(f"wrote {save}")
    report = _report(facts)
    if json:
        put_json("rheostat.counters/1", facts)
    else:
        put_report(report, None if factors or predict else _scores(facts))
    write_files(report, html, figure)


def _used(facts: dict[str, Any]) -> tuple[str, ...]:
    """What the models look at, and what they do not, with the reason."""
    gone = facts["runs_left_out"]
    return (
        f"features: {', '.join(facts['features'])}",
        *(f"note: column {c} is not used: {why}" for c, why in facts["ignored"].items()),
        *(f"note: {m} is left out: {why}" for m, why in facts["left_out"].items()),
        *([f"note: {gone['runs']} runs are left out: {', '.join(gone['why'])}"] if gone["runs"]
          else []),
    )  # fmt: skip


def _factors(flags: list[str]) -> dict[str, float]:
    factors = {}
    for flag in flags:
        name, _, text = flag.partition("=")
        try:
            factors[name.strip()] = float(text)
        except ValueError as error:
            problem = f"expected COUNTER=FACTOR such as llc_misses_per_s=0.8, got {flag!r}"
            raise typer.BadParameter(problem, param_hint="--what-if") from error
    return factors


def _saved(
    model: Path,
    files: list[Path],
    form: str,
    *,
    json: bool,
    html: Path | None,
    figure: Path | None,
) -> None:
    """Predict the runs of the files with a model saved before."""
    from rheostat.cli.output import put_json, put_report, write_files
    from rheostat.core.report import Report
    from rheostat.prediction.saved_models.persist import load

    predicted = _predicted(load(model, ["counters"]), files, form)
    facts = {"model": str(model), "predicted": predicted}
    section = _prediction_section(predicted)
    report = Report("Models from counters", (section,), facts)
    if json:
        put_json("rheostat.counters-predict/1", facts)
    else:
        put_report(report, section.grid)
    write_files(report, html, figure)


def _predicted(model: CounterModel, files: list[Path], form: str) -> list[dict[str, Any]]:
    """What a model predicts for the runs of the files."""
    from rheostat.cli.output import tell_notes
    from rheostat.core.jobs import Moment
    from rheostat.recipes.mummi import recording

    recorded = recording(files, form)
    tell_notes(recorded.notes)
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


def _scores(facts: dict[str, Any]) -> Grid:
    from rheostat.core.report import Grid

    heads = ("target", "split", "method", "MAPE %", "low", "high", "worst application", "its %",
             "coverage of 90 %", "width %")  # fmt: skip
    rows = [
        (m["target"], m["split"], m["method"], *(round(100 * v, 2) for v in m["mape"]),
         m["worst_application"], round(100 * m["worst_mape"], 1), round(m["coverage"], 2),
         round(100 * m["width"], 1))
        for m in facts["marks"]
    ]  # fmt: skip
    return Grid(heads, tuple(rows))


def _report(facts: dict[str, Any]) -> Report:
    from rheostat.core.report import Report, Section
    from rheostat.explanation.counters import leverage_section

    sentences = (
        f"{facts['runs']} runs, {facts['rows']} rows. MAPE with its 95 % interval over "
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
    return Report("Models from counters", tuple(sections), facts)


def _prediction_section(predicted: list[dict[str, Any]]) -> Section:
    from rheostat.core.report import Grid, Section

    rows = tuple(
        (" ".join(str(v) for v in p["run"].values()), p["target"], round(p["mean"], 2),
         *(round(v, 2) for v in p["interval"]))
        for p in predicted
    )  # fmt: skip
    return Section("predicted", (), Grid(("run", "target", "mean", "low", "high"), rows))
