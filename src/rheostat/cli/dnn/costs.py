"""``rheostat dnn fit`` and ``predict``: what a training step takes, and what to request for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o
from rheostat.cli.dnn import network_options as n

if TYPE_CHECKING:
    from rheostat.core.graph import Graph
    from rheostat.core.jobs import JobTable
    from rheostat.core.outcome import Outcome
    from rheostat.core.report import Grid
    from rheostat.prediction.step_cost import StepCost

Graphs = Annotated[
    Path | None,
    typer.Option(
        "--graphs", file_okay=False, exists=True,
        help="Folder where the files named in column graph lie.  [default: that of TABLE]",
    ),
]  # fmt: skip
QUANTITIES = ("runtime_s", "sample_s", "epoch_s", "memory_peak_b", "energy_j", "power_w")


def fit(
    runs: Annotated[
        Path,
        typer.Argument(
            help="Measured training runs: PROFET, Justus, records with graphs, or a table with "
            "app, device, batch_size and runtime_s (--map, --column).",
            metavar="TABLE",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where the model goes.", writable=True,
                           dir_okay=False)
    ] = Path("dnn.rheo"),
    target: Annotated[
        str, typer.Option(help="Quantities to learn, comma-separated.  [default: those there]")
    ] = "",
    graphs: Graphs = None,
    next_count: Annotated[
        int,
        typer.Option("--next", min=0, max=10_000, help="Also name so many configurations to "
                     "measure: those that reduce the error on --device most."),
    ] = 0,
    wanted: Annotated[
        list[str] | None,
        typer.Option("--wanted", help="Whose predictions --next is to improve, as app=VGG16.  "
                     "[default: all of TABLE]"),
    ] = None,
    device: Annotated[
        str, typer.Option(help="Where those are to be measured.  [default: the device least run]")
    ] = "",
    where: o.Where = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    json: o.Json = False,
) -> None:  # fmt: skip
    """Learn what training steps take, and save the model; says how right it is.

    The errors are those on runs, and on whole networks, that were left out; the trivial baseline
    beside them is the median of the device's other runs at the same batch size.
    """
    from rheostat.cli.output import put_json, put_report, tell, tell_notes, working
    from rheostat.core.report import Report, Section
    from rheostat.prediction.persist import save
    from rheostat.prediction.step_cost import StepCost
    from rheostat.questions import inputs
    from rheostat.questions.parse import parse_names
    from rheostat.recipes.dnnperf import least_run, left_out_errors, to_measure

    jobs = inputs.only(_load(runs, form, mapped, column), where)
    model = StepCost(parse_names(target) or None, seed=seed).knowing(_graphs(jobs, runs, graphs))
    with working(f"learning from {len(jobs):,} runs"):
        model.fit(jobs)
    tell_notes(model.notes_)
    errors = {name: left_out_errors(model, name) for name in model.fits_}
    path = save(model, out)
    tell(f"wrote {path}")
    place = device or least_run(model)
    named, expected = to_measure(model, jobs, place, next_count, inputs.only(jobs, wanted))
    facts: dict[str, Any] = {
        "model": str(path), "rows": len(jobs), "devices": model.devices_, "networks": model.apps_,
        "configurations": {name: len(fit.log_y) for name, fit in model.fits_.items()},
        "median_ape": errors,
        "next": named, "expected_error": expected.tolist(),
    }  # fmt: skip
    if len(named) < next_count:
        tell(
            f"note: --next {next_count}: {len(named)} named, as every other configuration of the "
            f"table was run on {place}"
        )
    if json:
        put_json("rheostat.dnn-fit/1", facts)
        return
    learned = max(len(fit.log_y) for fit in model.fits_.values())
    said = [
        f"{learned:,} configurations from {len(jobs):,} runs; {len(model.apps_)} networks on "
        f"{', '.join(model.devices_)}."
    ]
    said += [
        f"{name}: median error {100 * e['run']:.1f} % on a run left out, {100 * e['network']:.1f} %"
        f" on a network left out, {100 * e['baseline']:.0f} % of the trivial baseline."
        for name, e in errors.items()
    ]
    said += [
        "Measure next: "
        + ", ".join(f"{k}={v}" for k, v in row.items() if v is not None)
        + f"; the error to expect of wanted predictions falls to {100 * after:.1f} %."
        for row, after in zip(named, expected[1:], strict=False)
    ]
    put_report(Report("", [Section("fit", tuple(said))], facts))


def predict(
    model: Annotated[Path, typer.Argument(help="A model saved by rheostat dnn fit.")],
    file: Annotated[
        Path | None, typer.Argument(help="Runs to predict, a row each.", metavar="[TABLE]")
    ] = None,
    name: Annotated[
        str, typer.Option("--model-name", help="Instead of TABLE: a network by name, as resnet50.")
    ] = "",
    device: n.Device = "",
    batch_size: n.BatchSize = 32,
    image_px: n.ImagePx = 224,
    classes: n.Classes = 1000,
    optimizer: n.Optimizer = "sgd",
    precision_bits: n.PrecisionBits = None,
    gpus: n.Gpus = 1,
    samples: n.Samples = None,
    epochs: Annotated[float, typer.Option(min=0.0, help="Passes over the data.")] = 1.0,
    risk: Annotated[
        float, typer.Option(min=0.0001, max=0.5, help="Probability that the request is too small.")
    ] = 0.05,
    graphs: Graphs = None,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    json: o.Json = False,
) -> None:
    """Say what training takes: time of a step and a pass, memory, energy, with 90 % intervals.

    With --samples the wall time to request is named, and where memory was learned the memory: the
    run needs more with probability --risk.  The trivial baseline stands beside: the median of runs
    on this device at the nearest batch size.
    """
    from rheostat.cli.output import put_json, put_report, tell, tell_notes
    from rheostat.core.jobs import Moment
    from rheostat.core.report import Report, Section
    from rheostat.prediction.persist import load
    from rheostat.prediction.step_cost.rows import TrainingRows
    from rheostat.recipes.dnnperf import one_run, request

    if bool(name) == (file is not None):
        raise typer.BadParameter("expected a TABLE or --model-name, one of the two")
    learner: StepCost = load(model, ["step-cost"])
    if file is not None:
        jobs = _load(file, form, mapped, column).known_at(Moment.SUBMIT)
        learner.knowing(_graphs(jobs, file, graphs))
    else:
        jobs = one_run(name, device=device or learner.devices_[0], batch_size=batch_size,
                       image_px=image_px, classes=classes, optimizer=optimizer,
                       precision_bits=precision_bits, gpus=gpus, samples=samples)  # fmt: skip
    outcome = learner.predict(jobs)
    grid = _grid(learner, jobs, outcome, request(outcome, risk, epochs=epochs))
    if unknown := set(TrainingRows.of(jobs, learner.terms).device) - set(learner.devices_):
        tell(
            f"note: no run on {', '.join(sorted(unknown))} was learned from, only on "
            f"{', '.join(learner.devices_)}: intervals are wide"
        )
    tell_notes(outcome.notes)
    if json:
        rows = [dict(zip(grid.heads, map(_plain, row), strict=True)) for row in grid.rows]
        put_json("rheostat.dnn-predict/1", {"model": str(model), "level": 0.9, "risk": risk,
                                            "runs": rows})  # fmt: skip
        return
    said = f"{len(jobs):,} runs; requests are too small with probability {risk:g}."
    put_report(Report("", [Section("predict", (said,), grid)]), grid)


def _load(file: Path, form: str, mapped: Path | None, column: list[str] | None) -> JobTable:
    """A table in our names, whatever theirs."""
    from rheostat.questions import inputs

    return inputs.load(file, form, mapped, column, otherwise="training")


def _graphs(jobs: JobTable, table: Path, folder: Path | None) -> dict[str, Graph]:
    """Graphs that column ``graph`` names, if there is one."""
    if "graph" not in jobs.columns:
        return {}
    from rheostat.cli.output import working
    from rheostat.measurement.graphs.read_graph import graphs_of

    with working("reading graphs"):
        return graphs_of(jobs, folder or table.parent)


def _grid(learner: StepCost, jobs: JobTable, outcome: Outcome, asked: dict[str, Any]) -> Grid:
    from rheostat.core.report import Grid
    from rheostat.explanation.number_words import unit_of
    from rheostat.recipes.dnnperf import nearest_runs

    who = [c for c in ("app", "device", "batch_size", "image_px", "gpus") if c in jobs.columns]
    columns: list[list[Any]] = [jobs.frame[c].to_list() for c in who]
    heads: list[str] = list(who)
    units = [""] * len(who)
    for q in (q for q in QUANTITIES if q in outcome):
        low, high = outcome.interval(q)
        middle = outcome.quantile(q, 0.5)
        columns.append(list(zip(middle.tolist(), low.tolist(), high.tolist(), strict=True)))
        heads, units = [*heads, q], [*units, unit_of(q)]
        if q in learner.fits_:
            columns.append(nearest_runs(learner, jobs, q).tolist())
            heads, units = [*heads, f"baseline_{q}"], [*units, unit_of(q)]
    for q, values in asked.items():
        columns.append(values.tolist())
        heads, units = [*heads, q], [*units, unit_of(q)]
    return Grid(tuple(heads), tuple(zip(*columns, strict=True)), tuple(units))


def _plain(value: Any) -> Any:
    keys = ("median", "low", "high")
    return dict(zip(keys, value, strict=True)) if isinstance(value, tuple) else value
