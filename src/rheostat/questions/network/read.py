"""`network.read`: what is in a simulated run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rheostat.core.report import Grid, Report, Section
from rheostat.explanation.number_words import listed
from rheostat.measurement.network.folder import NetworkRun
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.network.runs import Run, opened


@dataclass(frozen=True, kw_only=True, repr=False)
class NetworkAnswer(Answer):
    """A simulated run, checked.

    Parameters
    ----------
    run : NetworkRun
        Iterations by application, and what there is of the network and its ports.
    """

    schema: ClassVar[str] = "rheostat.network-read/1"
    run: NetworkRun

    def report(self) -> Report:
        """Applications, the network, and windows of telemetry."""
        facts = self.run.summary()
        sections = [Section("applications", self._counted(facts), self._grid(facts))]
        sections += [Section(name, (_said(facts[name]),)) for name in ("network", "windows")
                     if facts[name]]  # fmt: skip
        return Report(f"{self.run.name}: {facts['end_s']:.6g} s simulated", sections)

    def facts(self) -> dict[str, Any]:
        """The same as data."""
        noticed = [{"message": n.message, "count": n.count} for n in self.run.notes]
        return {**self.run.summary(), "notes": noticed}

    def grids(self) -> tuple[Grid, ...]:
        """A row an application."""
        return (self._grid(self.run.summary()),)

    @staticmethod
    def _counted(facts: Mapping[str, Any]) -> tuple[str, ...]:
        apps = facts["applications"]
        steps = sum(f["iterations"] for f in apps.values())
        medians = {app: f["median_iteration_s"] for app, f in apps.items()}
        takes = [f"{app} {t:.6g} s" for app, t in medians.items() if t is not None]
        said = f"An iteration takes in the median: {listed(takes)}" if takes else "No time is known"
        return (f"{said}; {steps:,} iterations were simulated.",)

    @staticmethod
    def _grid(facts: Mapping[str, Any]) -> Grid:
        heads = ("app", "ranks", "iterations", "median iteration", "ended")
        rows = tuple((app, *f.values()) for app, f in facts["applications"].items())
        return Grid(heads, rows, ("", "", "", "s", "s"))


def _said(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}"
                     for k, v in facts.items())  # fmt: skip


@question
def read(run: Run) -> NetworkAnswer:
    """Read a folder of what CODES wrote, check it, and say what is in it.

    Parameters
    ----------
    run : path
        A folder with an iteration log, and what there is of net.conf, wl.conf, alloc.conf and port
        telemetry; or a log, also of training (``step_time_ms=41``), or a CSV of iteration times.

    Returns
    -------
    NetworkAnswer
        With ``run``.

    Raises
    ------
    DataError
        Nothing there is an iteration log, or files contradict each other.

    Examples
    --------
    >>> import tempfile, polars as pl, rheostat as rh
    >>> file = tempfile.mkdtemp() + "/times.csv"
    >>> pl.DataFrame({"app": "halo", "iteration": range(40), "rank": 0,
    ...               "runtime_s": [0.5, 0.6] * 20}).write_csv(file)
    >>> rh.network.read(file).table()["iterations"].to_list()  # marks: the start is one
    [41]
    """
    return NetworkAnswer(run=opened(run))
