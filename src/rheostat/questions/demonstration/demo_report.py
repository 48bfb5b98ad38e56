"""The demonstration as a report: short for the terminal, complete for the page, data for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.core.report import Chart, Section
from rheostat.core.units import plain_name
from rheostat.decision.accuracy import accuracy_facts
from rheostat.explanation.choices.advice import advice_grid
from rheostat.explanation.choices.checked_forecasts import accuracy_words, calibration_chart
from rheostat.explanation.choices.choice import changes, explain_choice
from rheostat.explanation.choices.front import explain_front, row_of
from rheostat.explanation.models import explain_importance
from rheostat.explanation.narrate import Narrative
from rheostat.explanation.number_words import listed, setting_words, share, signed
from rheostat.questions.demonstration.demo import Demo, leaning

NEXT = (
    "rheostat front YOUR_JOBS.parquet --job ID     one of your own jobs",
    "rheostat decide YOUR_JOBS.parquet             all of them",
    "rheostat doctor                               what can be measured here",
)
KINDS = {
    "xgboost": "Boosted trees (XGBoost)",
    "lightgbm": "Boosted trees (LightGBM)",
    "boosting": "Boosted trees (scikit-learn)",
    "forest": "A random forest",
    "law": "Scaling laws",
}


def short(demo: Demo) -> Narrative:
    """What the terminal shows."""
    return Narrative(
        "Which node count should this job take?  (generated log: the truth is known)",
        [*_one_job(demo), _truth(demo), _race(demo), *_opening(demo)],
        facts(demo),
        NEXT,
    )


def complete(demo: Demo) -> Narrative:
    """What the page shows: also calibration, the race and all recent jobs."""
    read, fitted = _opening(demo)
    fitted = Section(fitted.title, fitted.sentences, None, calibration_chart(demo.accuracy))
    race = _race(demo)
    every = Section(
        "all recent jobs",
        (f"{demo.advice.counts()['advised']} of {len(demo.advice)} jobs of the last fifth should "
         "change; the largest savings first.",),
        advice_grid(demo.advice, 20),
    )  # fmt: skip
    importance = leaning(demo)
    leans = [] if importance is None else explain_importance(importance)[0]
    raced = Section(race.title, race.sentences, None, _race_chart(demo))
    one = [*_one_job(demo, with_truth=True), _truth(demo)]
    sections = [*one, raced, read, fitted, *leans, every]
    return Narrative("Which node count should this job take?", sections, facts(demo), NEXT)


def _opening(demo: Demo) -> list[Section]:
    jobs = demo.jobs
    cut = int(jobs.cut_off.sum())
    read = f"{len(jobs):,} jobs, {len(jobs.columns)} columns, no row dropped; {cut} were cut off"
    said = [accuracy_words(q, a) for q, a in demo.accuracy.items()]
    model = KINDS.get(demo.kind, demo.kind)
    fitted = f"{model} on the first {demo.learnt:,} jobs, checked on the rest:"
    return [
        Section("read", (f"{read} and count as lower bounds only.",)),
        Section("fit", (fitted, *said)),
    ]


def _one_job(demo: Demo, *, with_truth: bool = False) -> list[Section]:
    job = demo.job.frame.row(0, named=True)
    request = {"nodes": job["nodes"]}
    (section,), _ = explain_front(demo.front, demo.choice.index, request)
    who = f"Job {job['job_id']} ({job['user']}, {job['app']}) asked for {setting_words(request)}."
    chart = section.chart
    if with_truth and chart is not None:
        x, y = chart.axes
        true = {
            "name": "truth",
            "x": demo.truth.mean(x).tolist(),
            "y": demo.truth.mean(y).tolist(),
            "kind": "true",
            "text": chart.series[0]["text"],
        }
        chart = Chart(chart.kind, (*chart.series, true), chart.axes, chart.log)
    shown = Section("front", (who, *section.sentences), section.grid, chart)
    sections, _ = explain_choice(demo.choice, demo.front, demo.job)
    answer, *reasons = sections
    return [answer, shown, *reasons]


def _truth(demo: Demo) -> Section:
    row, base = demo.choice.index, row_of(demo.front, {"nodes": demo.job.frame["nodes"][0]})
    said = []
    if base is not None:
        change = changes(demo.truth, row, base)
        real = [f"{plain_name(q)} {signed(v[0])}" for q, v in change.items()]
        said.append(f"Really, the choice changes {listed(real)} against the request.")
    known = np.isfinite(demo.front.values).all(axis=1)
    held, few, count = [], 0, 0
    for q in (o.name for o in demo.front.objectives):
        low, high = demo.front.interval(q)
        true = demo.truth.mean(q)
        inside = int(((low <= true) & (true <= high))[known].sum())
        few, count = few + inside, count + int(known.sum())
        held.append(f"{plain_name(q)} of {inside} of {int(known.sum())} settings")
    said.append(f"The intervals above hold the true {listed(held)}.")
    if 2 * few < count:
        said.append(
            "They err together: what no column shows of a job moves all its settings alike. Over "
            "all recent jobs intervals hold what they promise, as said under fit."
        )
    return Section("truth", tuple(said))


def _race(demo: Demo) -> Section:
    k = min(3, len(demo.race.searched)) - 1
    return Section(
        "measure",
        (
            f"Measuring {k + 1} of {len(demo.front)} node counts, planned on the forecasts, finds "
            f"{share(demo.race.searched[k])} of the true front's area; "
            f"{k + 1} at random find {share(demo.race.random[k])}.",
        ),
    )


def _race_chart(demo: Demo) -> Chart:
    count = list(range(1, len(demo.race.searched) + 1))
    series = (
        {"name": "planned on the forecasts", "x": count, "y": demo.race.searched.tolist()},
        {"name": "at random, mean", "x": count, "y": demo.race.random.tolist()},
    )
    axes = ("settings measured", "share of the true front's hypervolume")
    return Chart("line", series, axes, units=("", "share"))


def facts(demo: Demo) -> dict[str, Any]:
    """The one document of ``--json``."""
    _, shown = explain_front(demo.front, None, None)
    _, choice = explain_choice(demo.choice, demo.front, demo.job)
    truth = {q: demo.truth.mean(q) for q in ("runtime_s", "energy_j", "power_w")}
    for i, entry in enumerate(shown["front"]):
        entry["true"] = {q: float(v[i]) for q, v in truth.items()}
    return {
        "front": shown["front"],
        "choice": choice["choice"],
        "because": choice["because"],
        "objectives": shown["objectives"],
        "level": shown["level"],
        "job": demo.job.frame.row(0, named=True),
        "requested": choice["requested"],
        "jobs": len(demo.jobs),
        "model": demo.kind,
        "learnt": demo.learnt,
        "accuracy": accuracy_facts(demo.accuracy),
        "hypervolume": {
            "evaluations": list(range(1, len(demo.race.searched) + 1)),
            "search": demo.race.searched,
            "random": demo.race.random,
        },
    }
