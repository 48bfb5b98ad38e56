"""``rheostat llm fit``: what a served model takes, as a law with units and intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o
from rheostat.cli.llm.serving_runs import (
    Config,
    Gpus,
    Kernels,
    Runs,
    configured,
    kernel_medians,
    know_gpus,
    load_runs,
)

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.prediction.serving_law import ServingLaw
    from rheostat.prediction.serving_law.printed_placement import PrintedPlacement


def fit(
    context: typer.Context,
    runs: Runs,
    latex: Annotated[bool, typer.Option("--latex", help="Print the equation as LaTeX.")] = False,
    python: Annotated[bool, typer.Option("--python", help="Print a Python function.")] = False,
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            help="Print the law as it answers for these configurations of RUNS, as "
            "app=NAME,gpu_model=H100,gpus=2: their own parameters, what is left over, the answers.",
        ),
    ] = "",
    next_count: Annotated[
        int,
        typer.Option(
            "--next", min=0, max=10_000, help="Also name this many configurations to measure."
        ),
    ] = 0,
    symbolic: Annotated[
        str,
        typer.Option(
            help="Find a formula instead: products (sums of products of powers) or operon (genetic "
            "programming, extra symbolic)."
        ),
    ] = "",
    save: Annotated[
        Path | None, typer.Option("--save", "-o", help="Keep the law in this file.", writable=True)
    ] = None,
    config: Config = None,
    gpu: Gpus = None,
    kernels: Kernels = None,
    seed: o.Seed = 0,
    where: o.Where = None,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    unit: o.Units = None,
    json: o.Json = False,
) -> None:
    """Fit the law of time and energy per token to measured configurations, and print it.

    Each parameter has a unit and a 90 % interval: the prior of other machines, narrowed by RUNS.
    """
    from rheostat.cli.output import put_json, tell, tell_notes
    from rheostat.prediction.saved_models import persist
    from rheostat.prediction.serving_law import ServingLaw, equation
    from rheostat.questions import inputs
    from rheostat.recipes.energylens import notes_on

    know_gpus(context, gpu)
    jobs = inputs.only(load_runs(runs, form, mapped, column, unit), where)
    jobs, _ = configured(jobs, "", config)
    if symbolic:
        _formula(jobs, symbolic, save, seed, json=json)
        return
    law = ServingLaw(kernels=kernel_medians(kernels)).fit(jobs)
    tell_notes(notes_on(jobs))
    if save is not None:
        persist.save(law, save)
        tell(f"wrote {save}")
    wanted = _to_measure(law, jobs, next_count) if next_count else []
    if len(wanted) < next_count:
        tell(
            f"{len(wanted)} of {next_count} named: no other placement and batch cap in RUNS is open"
        )
    if json:
        intervals = equation.intervals(law)
        said = {k: {"value": v, "low": a, "high": b} for k, (v, a, b) in intervals.items()}
        put_json("rheostat.llm-law/1", {"runs": len(jobs), "parameters": said,
                                        "equation": equation.TEXT, "next": wanted,
                                        "sensitivity": _sensitivity(law)})  # fmt: skip
        return
    if for_:
        printed = _placement(law, jobs, for_)
        print(printed.as_latex() if latex else printed.as_python() if python else printed.as_text())
    else:
        write = equation.as_latex if latex else equation.as_python if python else equation.as_text
        print(write(law))
    for setting in wanted:
        print("next: " + ", ".join(f"{k}={v}" for k, v in setting.items()))


def _placement(law: ServingLaw, jobs: JobTable, wanted: str) -> PrintedPlacement:
    """The configurations of RUNS that ``wanted`` names, each once."""
    import numpy as np

    from rheostat.core.jobs import Moment
    from rheostat.prediction.serving_law.printed_placement import PrintedPlacement
    from rheostat.questions import inputs

    some = inputs.only(jobs, wanted.split(",")).known_at(Moment.SUBMIT)
    once = some.frame.with_row_index("_row").unique(some.columns, keep="first", maintain_order=True)
    return PrintedPlacement.of(law, some.rows(np.asarray(once["_row"].to_numpy())))


def _sensitivity(law: ServingLaw) -> dict[str, Any] | None:
    """Elasticities of the time of a step and of the energy per token, by parameter and batch."""
    from rheostat.prediction.serving_law.sensitivity import sensitivity

    made = sensitivity(law)
    if made is None:
        return None
    return {
        "placement": made.placement, "batch_cap": made.batch.tolist(),
        "step_time": {n: v.tolist() for n, v in made.step_time.items()},
        "energy_per_token": {n: v.tolist() for n, v in made.energy.items()},
    }  # fmt: skip


def _formula(jobs: JobTable, kind: str, save: Path | None, seed: int, *, json: bool) -> None:
    """A formula found in the runs, and how far it is from them."""
    import numpy as np

    from rheostat.cli.output import put_json, tell
    from rheostat.errors import DataError
    from rheostat.prediction.serving_law.operon_law import OperonLaw
    from rheostat.prediction.serving_law.products import TARGET, ProductLaw

    if kind not in ("products", "operon"):
        raise DataError("--symbolic", [f"expected products or operon, got {kind!r}"])
    if save is not None:
        raise DataError("--save", ["keeps the law; a formula is a line of text"])
    jobs.require(TARGET)
    model = ProductLaw() if kind == "products" else OperonLaw(seed=seed)
    model.fit(jobs)
    away = np.abs(model.predict(jobs).mean(TARGET) / jobs.numpy(TARGET) - 1)
    error = float(np.nanmedian(away))
    if json:
        put_json("rheostat.llm-formula/1", {"runs": len(jobs), "equation": model.as_text(),
                                            "median_error": error})  # fmt: skip
        return
    print(model.as_text())
    tell(f"median error of the {len(jobs)} runs learned from: {100 * error:.1f} %")


def _to_measure(law: ServingLaw, jobs: JobTable, count: int) -> list[dict[str, Any]]:
    from rheostat.recipes.energylens import knobs_in, to_measure

    names = [n for n in ("app", "workload", *knobs_in(jobs)) if n in jobs.columns]
    return to_measure(law, jobs, count).frame.select(names).rows(named=True)
