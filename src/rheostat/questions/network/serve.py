"""`network.serve`: answer the director of CODES while it simulates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rheostat.core.storage.file_kinds import describe_file
from rheostat.errors import DataError
from rheostat.measurement.network.dragonfly import read_dragonfly
from rheostat.measurement.network.network_jobs import NetworkJob, jobs_by_name, read_network_jobs
from rheostat.prediction.iteration_time.clients import ClientForecasts
from rheostat.prediction.iteration_time.hand_over import MOST_ERROR
from rheostat.prediction.iteration_time.iteration_model import IterationModel
from rheostat.prediction.saved_models.persist import load
from rheostat.questions import listener
from rheostat.simulation.network.director import DirectorService
from rheostat.simulation.network.director import serve as answer
from rheostat.simulation.network.port_telemetry import GrowingTelemetry

Read = TypeVar("Read")


def serve(
    endpoint: str = "tcp://127.0.0.1:5555",
    *,
    model: IterationModel | Path | str | None = None,
    workload: Path | None = None,
    allocation: Path | None = None,
    net: Path | None = None,
    telemetry: Path | None = None,
    models: Path | str = "models",
    stop_after_s: float = 0.0,
) -> int:
    """Answer the director of CODES, which asks for iteration times while it simulates.

    Parameters
    ----------
    endpoint : str
        Where to listen; port ``*`` takes a free one, which the listener is told.
    model : IterationModel or path, optional
        As `fit` learns it.
    workload, allocation : path, optional
        wl.conf and alloc.conf: ranks of a job share one forecast.
    net, telemetry : path, optional
        net.conf, and the port telemetry that the simulation writes.
    models : path
        Models are saved and loaded only here.
    stop_after_s : float
        Stop after so long without a request; 0 never does.

    Returns
    -------
    int
        Requests that were answered.

    Raises
    ------
    DataError
        One of two files that belong together is missing, or a model has several applications and
        nothing says where each runs.
    """
    learned = model if isinstance(model, IterationModel) or model is None else load(
        Path(model), ["iteration-times"])  # fmt: skip
    jobs = _jobs(workload, allocation)
    places = {t: name for name, job in jobs.items() for t in job.terminals}
    clients = ClientForecasts(places, learned, others(places, learned),
                              telemetry=_telemetry(net, telemetry, jobs),
                              most_error=MOST_ERROR)  # fmt: skip
    service = DirectorService(clients, Path(models))
    answer(service, endpoint, lambda bound: listener.line(f"listening at {bound}"),
           stop_after_s=stop_after_s)  # fmt: skip
    listener.line(f"answered {service.answered} requests")
    return service.answered


def others(places: dict[int, str], learned: IterationModel | None) -> str:
    """Application of terminals without a place: that of the model, where it has but one."""
    known = sorted(learned.forecasters_) if learned else []
    if places:
        there = ", ".join({*places.values()})
        for app in (a for a in known if a not in places.values()):
            listener.line(f"{app} of the model does not run here; these do: {there}")
        return ""
    if len(known) > 1:
        expected = "expected --workload and --allocation, which say where each runs"
        raise DataError("--model", [f"it has {', '.join(known)}: {expected}"])
    return known[0] if known else ""


def _jobs(workload: Path | None, allocation: Path | None) -> dict[str, NetworkJob]:
    """Jobs by name, with their terminals."""
    if workload is None and allocation is None:
        return {}
    if workload is None or allocation is None:
        raise DataError("--allocation", ["expected --workload and --allocation together"])
    return jobs_by_name(read_network_jobs(workload, allocation))


def _telemetry(
    net: Path | None, telemetry: Path | None, jobs: dict[str, NetworkJob]
) -> GrowingTelemetry | None:
    """What the simulation writes of its ports; sources of noise are background."""
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
    try:
        return read(path)
    except DataError as error:
        got = f"expected {kind}, got {describe_file(path)}"
        raise DataError(str(path), [f"{got}: {'; '.join(error.problems)}"]) from error
