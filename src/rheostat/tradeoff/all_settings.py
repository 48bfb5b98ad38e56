"""`front`: predict every setting of one job and lay the answers side by side.

Which settings of this job deserve attention?  When a prediction costs microseconds there is nothing
to search: turn the knobs to every value they can take, ask the model about each, and keep those
that no other beats in everything.  Where a setting must be *measured* to be known, use
`rheostat.tradeoff.search` instead, which spends few measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front, Objective
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Outcome, Predictor
from rheostat.core.space import Knob, Setting, Space
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError, Infeasible
from rheostat.prediction.features.requested_settings import as_requested
from rheostat.tradeoff.measured_cells import filled, measured

RUNTIME_ENERGY = ("runtime_s", "energy_j")


def front(
    job: JobTable,
    model: Predictor | None,
    knobs: Space | Knob | Iterable[Knob],
    objectives: Sequence[str | Objective] = RUNTIME_ENERGY,
    *,
    settings: Sequence[Setting] | None = None,
    constraints: Iterable[Callable[[Setting], bool]] = (),
    runs: JobTable | None = None,
) -> Front:
    """The front of one job over its settings: as measured where they were, else as predicted.

    Parameters
    ----------
    job : JobTable
        One row.  Columns known only after submission are dropped before the model is asked.  Its
        own setting, or KNOB_requested where that is known, is what it asked for.
    model : Predictor or None
        Fitted; ``predict`` is called once with all alternatives that ``runs`` do not hold.  None
        where they hold all.
    knobs : Space, Knob or several Knobs
        What may be turned.  A knob that is a range needs ``settings``.
    objectives : sequence of str or Objective
        At least one; names are minimised.
    settings : sequence of mappings, optional
        These settings instead of all of the space's.
    constraints : predicates on a setting
        Settings for which one is false are left out, as are those the space itself forbids.
    runs : JobTable, optional
        Measured runs of this very application.  A setting they hold shows their mean and spread;
        the model fills the others.

    Returns
    -------
    Front
        A row per setting.

    Raises
    ------
    DataError
        ``job`` is not one row, a knob is a range, or the model gives no value for an objective.
    Infeasible
        The constraints leave no setting.

    Examples
    --------
    >>> import numpy as np
    >>> from rheostat import Knob, Outcome, table
    >>> class Amdahl:
    ...     def fit(self, jobs): return self
    ...     def predict(self, jobs):
    ...         n = jobs.numpy("nodes")[None, :]
    ...         return Outcome({"runtime_s": 10 + 90 / n, "power_w": 400.0 * n})
    >>> made = front(table({"app": ["lbm"], "nodes": [1]}), Amdahl(), Knob("nodes", [1, 2, 4]))
    >>> made.mean("energy_j"), made.mask
    (array([40000., 44000., 52000.]), array([ True,  True,  True]))
    """
    space = Space.of(knobs)
    space = Space(space.knobs, (*space.constraints, *constraints))
    rows = space.settings() if settings is None else [s for s in settings if space.allows(s)]
    if not rows:
        raise Infeasible("the constraints leave no setting of the knobs: loosen one", -1)
    if runs is None and set(space.names) <= set(job.columns):
        job = as_requested(job.known_at(Moment.SUBMIT), space.names)
    alternatives = space.alternatives(job, rows)
    wanted = tuple(_meant(Objective.of(o), runs) for o in objectives)
    outcome, repeats = _outcome(alternatives, model, runs, space, wanted)
    front = Front(alternatives, outcome, wanted, repeats, space.names)
    for objective in wanted:
        front.draws(objective.name)  # what the model does not give is an error here, not later
    return front


def _meant(objective: Objective, runs: JobTable | None) -> Objective:
    """The objective with what the table of runs says of it: seconds per epoch, say."""
    if runs is None or objective.name not in runs.schema or objective.meaning:
        return objective
    meaning = runs.schema[objective.name].meaning
    usual = objective.name in VOCABULARY and meaning == VOCABULARY[objective.name].meaning
    return objective if usual else replace(objective, meaning=meaning)


def _outcome(
    alternatives: JobTable,
    model: Predictor | None,
    runs: JobTable | None,
    space: Space,
    wanted: Sequence[Objective],
) -> tuple[Outcome, NDArray[np.int64] | None]:
    """The outcome, and the number of runs behind each row that was measured."""
    if runs is None:
        return _fitted(model).predict(alternatives), None
    own = measured(alternatives, runs, space.names, [o.name for o in wanted])
    blank = own.missing(len(alternatives))
    if not own.cells:
        return _fitted(model).predict(alternatives), None
    predicted = _fitted(model).predict(alternatives.rows(blank)) if len(blank) else None
    repeats = np.array([len(own.cells.get(i, ())) for i in range(len(alternatives))])
    return filled(alternatives, own, predicted, space.names), repeats


def _fitted(model: Predictor | None) -> Predictor:
    if model is None:
        raise DataError("front", ["some settings were not measured: expected a model for them"])
    return model
