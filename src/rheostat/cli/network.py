"""``rheostat network``: simulated runs on a Dragonfly, and forecasts of their iterations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.measurement.network.folder import NetworkRun
    from rheostat.measurement.network.network_jobs import NetworkJob
    from rheostat.prediction.iteration_time.iteration_model import IterationModel
    from rheostat.simulation.network.port_telemetry import GrowingTelemetry

Read = TypeVar("Read")
network = typer.Typer(
    help="Applications on a shared network: read a simulated run, forecast its iterations.",
    no_args_is_help=True,
)

Folder = Annotated[
    Path,
    typer.Argument(
        help="Folder of a simulated run: an iteration log, and what there is of net.conf, wl.conf, "
        "alloc.conf and port telemetry. Or a file: a log or a CSV of iteration times alone.",
        metavar="FOLDER",
    ),
]
App = Annotated[
    list[str] | None, typer.Option(help="Only this application, as wl.conf names it. Repeatable.")
]
Save = Annotated[
    Path | None, typer.Option("--save", "-o", help="Keep the model in this file.", writable=True)
]
Ahead = Annotated[int, typer.Option("--steps", help="Iterations ahead.", min=1, max=30)]


@network.command()
def read(folder: Folder, json: o.Json = False) -> None:
    """Read a folder of what CODES wrote, check it, and say what is in it."""
    from rheostat.cli.output import put_json, put_report, tell_notes
    from rheostat.core.report import Grid, Report, Section
    from rheostat.measurement.network.folder import read_network_run

    run = read_network_run(folder)
    facts = run.summary()
    tell_notes(run.notes)
    if json:
        notes = [{"message": n.message, "count": n.count} for n in run.notes]
        put_json("rheostat.network-read/1", {**facts, "notes": notes})
        return
    heads = ("app", "ranks", "iterations", "median iteration", "ended")
    rows = tuple((app, *f.values()) for app, f in facts["applications"].items())
    grid = Grid(heads, rows, ("", "", "", "s", "s"))
    sections = [Section("applications", (), grid)]
    sections += [Section(name, (_said(facts[name]),)) for name in ("network", "windows")
                 if facts[name]]  # fmt: skip
    put_report(Report(f"{run.name}: {facts['end_s']:.6g} s simulated", sections), grid)


def _said(facts: dict[str, Any]) -> str:
    return ", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}"
                     for k, v in facts.items())  # fmt: skip


@network.command()
def generate(
    folder: Annotated[
        Path,
        typer.Argument(help="Written here, as read takes it.", metavar="FOLDER", writable=True),
    ],
    sizes: Annotated[
        str,
        typer.Option(help="Groups, routers of a group, terminals and global links of a router."),
    ] = "9,4,2,2",
    iterations: Annotated[int, typer.Option(help="Of each application.", min=2, max=100_000)] = 60,
    load: Annotated[
        float, typer.Option(help="Share of its link that a source of noise sends.", min=1e-3)
    ] = 0.1,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Simulate two applications and noise on a Dragonfly with SimGrid (Debian: python3-simgrid).

    A halo exchange, an all-reduce whose every tenth iteration is longer, and random messages whose
    rate changes.  SimGrid shares the bandwidth of links among flows; it has no queues to sample.
    """
    from rheostat.cli.output import put_json, tell, working
    from rheostat.errors import DataError
    from rheostat.measurement.network.dragonfly import Dragonfly
    from rheostat.measurement.network.generate import generate_network_run

    try:
        groups, routers, terminals, wide = map(int, sizes.split(","))
    except ValueError as error:
        raise DataError("--sizes", [f"expected four counts, got {sizes!r}"]) from error
    place = Dragonfly(groups, routers, terminals, wide)
    with working("simulating"):
        generate_network_run(folder, place, iterations=iterations, load=load, seed=seed)
    tell(f"wrote {folder}")
    if json:
        facts = {"folder": str(folder), "groups": groups, "routers_per_group": routers,
                 "terminals_per_router": terminals, "global_links_per_router": wide,
                 "iterations": iterations, "load": load, "seed": seed}  # fmt: skip
        put_json("rheostat.network-generate/1", facts)


@network.command()
def forecast(
    folder: Folder,
    app: App = None,
    steps: Ahead = 30,
    html: o.Html = None,
    figure: o.Figure = None,
    json: o.Json = False,
) -> None:
    """Forecast the next iterations of each application, with intervals.

    The errors printed are of forecasts one iteration ahead over the newest 70 % of the run, each
    made before the iteration was shown.  Where the regime has changed, a line says to go back to
    simulation.
    """
    from rheostat.cli.output import put_json, put_report, tell, working, write_files
    from rheostat.explanation.iteration_times import explain_forecast

    run = _run(folder)
    with working("forecasting"):
        facts = [_forecast(run, a, steps) for a in _apps(run, app)]
    report = explain_forecast(run.name, facts)
    if json:
        put_json("rheostat.network-forecast/1", report.facts)
    else:
        put_report(report, report.sections[0].grid)
        for a in facts:
            if a.reason:
                tell(f"{a.app}: go back to simulation: {a.reason}")
    write_files(report, html, figure)


@network.command()
def fit(folder: Folder, save: Save = None, app: App = None, json: o.Json = False) -> None:
    """Learn the iteration times of a run, for `rheostat network serve --model`.

    Printed is the error one iteration ahead of ours and of the baselines, over the newest 70 %.
    """
    from rheostat.cli.output import put_json, tell, working
    from rheostat.prediction.saved_models import persist
    from rheostat.recipes.smart import ALWAYS, OURS, compare_methods, fitted

    run = _run(folder)
    apps = _apps(run, app)
    with working("learning"):
        scores = {a: compare_methods(run, a, (OURS, *ALWAYS)) for a in apps}
        model = fitted(run, apps)
    if save is not None:
        persist.save(model, save)
        tell(f"wrote {save}")
    if json:
        put_json("rheostat.network-fit/1", {"run": run.name, "mape": scores})
        return
    for name, methods in scores.items():
        said = ", ".join(f"{m} {v:.2f} %" for m, v in methods.items())
        print(f"{name}\t{said}")


def _run(folder: Path) -> NetworkRun:
    from rheostat.cli.output import tell_notes
    from rheostat.measurement.network.folder import read_network_run

    run = read_network_run(folder)
    tell_notes(run.notes)
    return run


def _apps(run: NetworkRun, wanted: list[str] | None) -> list[str]:
    """Applications that were asked for, or all that are long enough; others are named."""
    from rheostat.cli.output import tell
    from rheostat.errors import DataError
    from rheostat.recipes.smart import LEAST

    known = list(run.applications)
    if odd := [a for a in wanted or [] if a not in known]:
        raise DataError("--app", [f"expected {', '.join(known)}, got {a}" for a in odd])
    long = [a for a in known if len(run.iteration_s(a)) >= LEAST]
    if not (apps := list(dict.fromkeys(wanted or long))):
        counts = ", ".join(f"{a} with {len(run.iteration_s(a))}" for a in known)
        raise DataError(run.name, [
            f"expected an application of {LEAST} iterations or more, got {counts}"])  # fmt: skip
    for app in () if wanted else (a for a in known if a not in long):
        tell(f"{app} is left out: expected {LEAST} iterations, got {len(run.iteration_s(app))}")
    return apps


def _forecast(run: NetworkRun, app: str, steps: int) -> Any:
    from rheostat.explanation.iteration_times import ForecastFacts
    from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
    from rheostat.recipes.smart import LAST, backtest, method, scores

    model = AdaptiveForecaster()
    tested = backtest(run, app, model, steps=steps)
    one, last = (scores(t, (1,))[1] for t in (tested, backtest(run, app, method(LAST), steps=1)))
    return ForecastFacts(
        app, tested.time_s, tested.forecast_s[:, 0], tested.after.time_s, tested.after.low_s,
        tested.after.high_s, model.change.at, one["mape"], last["mape"], one["coverage"],
        tested.after.reason,
    )  # fmt: skip


@network.command()
def serve(
    endpoint: Annotated[
        str, typer.Option(help="Where to listen; port * takes a free one.")
    ] = "tcp://127.0.0.1:5555",
    model: Annotated[
        Path | None, typer.Option("--model", help="A model saved by rheostat network fit.")
    ] = None,
    workload: Annotated[
        Path | None, typer.Option(help="The file wl.conf of the simulation, with --allocation.")
    ] = None,
    allocation: Annotated[
        Path | None, typer.Option(help="The file alloc.conf: ranks of a job share one forecast.")
    ] = None,
    net: Annotated[
        Path | None, typer.Option(help="The file net.conf of the simulation, with --telemetry.")
    ] = None,
    telemetry: Annotated[
        Path | None,
        typer.Option(
            help="The file of port telemetry that the simulation writes (--model-stats=3); it may "
            "not be there yet.",
            dir_okay=False,
        ),
    ] = None,
    models: Annotated[
        Path,
        typer.Option(help="Models are saved and loaded only here.", writable=True),
    ] = Path("models"),
    stop_after: Annotated[
        float, typer.Option(help="Stop after so many seconds without a request; 0: never.", min=0.0)
    ] = 0.0,
) -> None:
    """Answer the director of CODES, which asks for iteration times while it simulates.

    Ends when it is asked to (exit), or with Ctrl-C.
    """
    from rheostat.cli.output import tell
    from rheostat.prediction.iteration_time.clients import ClientForecasts
    from rheostat.prediction.iteration_time.hand_over import MOST_ERROR
    from rheostat.prediction.saved_models import persist
    from rheostat.simulation.network.director import DirectorService
    from rheostat.simulation.network.director import serve as answer

    learned = None if model is None else persist.load(model, ["iteration-times"])
    jobs = _jobs(workload, allocation)
    places = {t: name for name, job in jobs.items() for t in job.terminals}
    clients = ClientForecasts(places, learned, _others(places, learned),
                              telemetry=_telemetry(net, telemetry, jobs),
                              most_error=MOST_ERROR)  # fmt: skip
    service = DirectorService(clients, models)
    answer(service, endpoint, lambda bound: tell(f"listening at {bound}"), stop_after_s=stop_after)
    tell(f"answered {service.answered} requests")


def _others(places: dict[int, str], learned: IterationModel | None) -> str:
    """Application of terminals without a place: that of the model, where it has but one."""
    from rheostat.cli.output import tell
    from rheostat.errors import DataError

    known = sorted(learned.forecasters_) if learned else []
    if places:
        for app in (a for a in known if a not in places.values()):
            tell(f"{app} of the model does not run here; these do: {', '.join({*places.values()})}")
        return ""
    if len(known) > 1:
        expected = "expected --workload and --allocation, which say where each runs"
        raise DataError("--model", [f"it has {', '.join(known)}: {expected}"])
    return known[0] if known else ""


def _jobs(workload: Path | None, allocation: Path | None) -> dict[str, NetworkJob]:
    """Jobs by name, with their terminals."""
    from rheostat.errors import DataError
    from rheostat.measurement.network.network_jobs import jobs_by_name, read_network_jobs

    if workload is None and allocation is None:
        return {}
    if workload is None or allocation is None:
        raise DataError("--allocation", ["expected --workload and --allocation together"])
    return jobs_by_name(read_network_jobs(workload, allocation))


def _telemetry(
    net: Path | None, telemetry: Path | None, jobs: dict[str, NetworkJob]
) -> GrowingTelemetry | None:
    """What the simulation writes of its ports; sources of noise are background."""
    from rheostat.errors import DataError
    from rheostat.measurement.network.dragonfly import read_dragonfly
    from rheostat.simulation.network.port_telemetry import GrowingTelemetry

    if net is None and telemetry is None:
        return None
    if net is None or telemetry is None or not jobs:
        raise DataError("--telemetry", ["expected --net, --workload and --allocation with it"])
    named = {name: job for name, job in jobs.items() if not job.interval_s}
    place = _of_kind(net, "net.conf of CODES", read_dragonfly)
    return _of_kind(telemetry, "port telemetry", lambda path: GrowingTelemetry(
        path, place, list(jobs.values()), named))  # fmt: skip


def _of_kind(path: Path, kind: str, read: Callable[[Path], Read]) -> Read:
    """What the file holds; another file is named by what it is."""
    from rheostat.core.storage.file_kinds import describe_file
    from rheostat.errors import DataError

    try:
        return read(path)
    except DataError as error:
        got = f"expected {kind}, got {describe_file(path)}"
        raise DataError(str(path), [f"{got}: {'; '.join(error.problems)}"]) from error
