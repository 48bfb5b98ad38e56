"""``rheostat compare``: methods of forecasting side by side, on jobs that came later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.predict.compare import Row


def compare(
    file: o.File,
    kinds: Annotated[
        str, typer.Option(help="Methods: forest, xgboost, lightgbm, tabnet, attention, law.")
    ] = "forest,xgboost,lightgbm",
    split: Annotated[float, typer.Option(help="Share of jobs, by time, to learn from.")] = 0.8,
    seed: o.Seed = 0,
    html: o.Html = None,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Let several methods learn from the same past and mark them on the same recent jobs."""
    from rheostat.cli.output import put_json, put_report, tell, working, write_page
    from rheostat.decide.backtest import divided
    from rheostat.explain.narrate import explain
    from rheostat.predict.compare import compare as run
    from rheostat.recipes.nodecount import model, targets_in

    jobs = o.load(file, form, mapped)
    past, recent, _ = divided(jobs, split)
    targets = targets_in(jobs)
    methods = {k: model(k, jobs, seed=seed) for k in o.names(kinds)}
    with working(f"{len(methods)} methods learn from {len(past):,} jobs"):
        rows = run(methods, past, recent, targets=targets, seed=seed)
    report = explain(rows)
    if json:
        put_json("rheostat.compare/1", _steady(report.facts))
    else:
        put_report(report, report.sections[0].grid)
    for name, seconds in _times(rows).items():
        tell(f"{name}: learnt in {seconds:.1f} s")
    if html is not None:
        write_page(report, html)


def _times(rows: list[Row]) -> dict[str, float]:
    return {r.method: r.fit_s for r in rows}


def _steady(facts: Any) -> dict[str, Any]:
    """The facts without times, so that the same seed gives the same bytes."""
    return {"rows": [{k: v for k, v in r.items() if k != "fit_s"} for r in facts["rows"]]}
