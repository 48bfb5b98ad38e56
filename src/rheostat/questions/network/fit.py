"""`network.fit`: learn the iteration times of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Grid, Report, Section
from rheostat.prediction.iteration_time.iteration_model import IterationModel
from rheostat.prediction.saved_models.persist import save
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.network.runs import Run, applications, opened
from rheostat.questions.parse import Names
from rheostat.recipes.smart import ALWAYS, OURS, compare_methods, fitted


@dataclass(frozen=True, kw_only=True, repr=False)
class IterationFit(Answer):
    """A model of iteration times, and its errors beside baselines.

    Parameters
    ----------
    model : IterationModel
        Fitted.
    name : str
        Of the run.
    errors : mapping
        Mean absolute error one iteration ahead in per cent, by application and method.
    """

    schema: ClassVar[str] = "rheostat.network-fit/1"
    model: IterationModel
    name: str
    errors: Mapping[str, Mapping[str, float]]

    def report(self) -> Report:
        """Errors by application and method."""
        heads = ("app", *next(iter(self.errors.values())))
        grid = Grid(heads, tuple((app, *e.values()) for app, e in self.errors.items()))
        said = "Mean absolute error one iteration ahead over the newest 70 %, in per cent."
        return Report("", [Section("fit", (*self.beside(), said), grid)], self.facts())

    def beside(self) -> tuple[str, ...]:
        """How far off the nearest method is, in the application where it is farthest off."""
        nearest = {app: min(e, key=lambda m: e[m]) for app, e in self.errors.items()}
        app = max(nearest, key=lambda a: self.errors[a][nearest[a]])
        off, most = self.errors[app][nearest[app]], "at most " * (len(nearest) > 1)
        return (f"The next iteration is forecast within {most}{off:.2f} % on average: {app}, by "
                f"{nearest[app]}.",)  # fmt: skip

    def facts(self) -> dict[str, Any]:
        """Errors by application and method."""
        return {"run": self.name, "mape": self.errors}

    def text(self) -> str:
        """A line an application."""
        return "".join(
            f"{app}\t{', '.join(f'{m} {v:.2f} %' for m, v in methods.items())}\n"
            for app, methods in self.errors.items()
        )


@question
def fit(run: Run, apps: Names = (), *, out: Path | str | None = None) -> IterationFit:
    """Learn the iteration times of a run; says how far off forecasts one iteration ahead are.

    Parameters
    ----------
    run : NetworkRun or path
        What `read` takes.
    apps : str or sequence of str
        Applications; by default all that are long enough.
    out : path, optional
        Where the model goes.

    Returns
    -------
    IterationFit
        With ``model`` and ``errors``.

    Raises
    ------
    DataError
        No application is long enough, or one is unknown.

    Examples
    --------
    >>> import tempfile, polars as pl, rheostat as rh
    >>> file = tempfile.mkdtemp() + "/times.csv"
    >>> pl.DataFrame({"app": "halo", "iteration": range(40), "rank": 0,
    ...               "runtime_s": [0.5, 0.6] * 20}).write_csv(file)
    >>> list(rh.network.fit(file).errors)
    ['halo']
    """
    opened_run = opened(run)
    chosen = applications(opened_run, apps)
    with listener.working("learning"):
        errors = {a: compare_methods(opened_run, a, (OURS, *ALWAYS)) for a in chosen}
        model = fitted(opened_run, chosen)
    if out is not None:
        save(model, Path(out))
        listener.line(f"wrote {out}")
    return IterationFit(model=model, name=opened_run.name, errors=errors)
