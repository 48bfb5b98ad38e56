"""Which serving configuration takes the least energy per token?  EnergyLens, wired from parts.

The mechanisms are `rheostat.prediction.serving_law` and `rheostat.tradeoff`; here are the settings
that a table of runs offers, the limits, and the simple rules that every answer is compared with.

References
----------
Palladino, Palermo, Papka, Lan: EnergyLens, arXiv 2605.10556 (2026).  Its equation, data and code
are not public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.front import Front
from rheostat.core.jobs import Column, JobTable, Moment, Note, Schema
from rheostat.core.space import Knob, Setting, Space, few_enough
from rheostat.decision.serving.engine_line import ENGINE_COLUMN, OPTION_COLUMN
from rheostat.errors import DataError
from rheostat.measurement.serving.word_levels import word_levels
from rheostat.prediction.accelerators import accelerator, accelerators
from rheostat.prediction.features.model_columns import learnable
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.predictor import sampled
from rheostat.prediction.serving_law.unlike_repeats import unlike_repeats
from rheostat.tradeoff import all_settings
from rheostat.tradeoff.decisive import most_decisive

OBJECTIVES = ("itl_s", "energy_per_token_j")
PLACEMENT = ("gpu_model", "gpus", "tp", "pp", "ep", "dp")
SPLIT = ("gpus", "tp", "pp", "dp")
KNOBS = (*PLACEMENT, "batch_cap", "power_cap_w")
PRECISION = "weight_precision"
SAME_WORK = ("workload", "prompt_tokens", "output_tokens")
USABLE = 0.9
"""Share of a GPU's memory that weights and cache may take."""
CANDIDATES, MOST_OFFERED = 1500, 10_000


def of_service(runs: JobTable, app: str, workload: str = "") -> JobTable:
    """Runs of one language model (and workload); names that do not occur are refused."""
    wanted = {"app": app, **({"workload": workload} if workload else {})}
    keep = np.ones(len(runs), dtype=bool)
    for name, value in wanted.items():
        runs.require(name)
        there = (runs.frame[name].cast(pl.String) == value).fill_null(False).to_numpy()
        if not (keep & there).any():
            known = runs.frame.filter(pl.Series(keep))[name].unique(maintain_order=True).to_list()
            raise DataError(name, [f"no run of {value!r}; there are {', '.join(map(str, known))}"])
        keep &= there
    return runs.rows(np.flatnonzero(keep))


def known_gpus(runs: JobTable) -> tuple[JobTable, tuple[Note, ...]]:
    """Rows on types of GPU that the law knows, and a note on the others; all where it knows none.

    >>> from rheostat import table
    >>> kept, notes = known_gpus(table({"gpu_model": ["H100", "TPU v5", "H100"]}))
    >>> len(kept), notes[0].message
    (2, "rows on a type of GPU that is not known were left out: 'TPU v5'; --gpu states one")
    """
    if "gpu_model" not in runs.columns:
        return runs, ()
    names = runs.frame["gpu_model"].cast(pl.String).fill_null("")
    unknown = [n for n in names.unique(maintain_order=True) if not _known_gpu(n)]
    odd = names.is_in(unknown).to_numpy()
    if not odd.any() or odd.all():
        return runs, ()
    said = ", ".join(map(repr, unknown))
    note = Note(f"rows on a type of GPU that is not known were left out: {said}; --gpu states one",
                tuple(np.flatnonzero(odd)[:20].tolist()), int(odd.sum()), dropped=True)  # fmt: skip
    return runs.rows(np.flatnonzero(~odd)), (note,)


def _known_gpu(name: str) -> bool:
    try:
        accelerator(name)
    except DataError:
        return False
    return True


def mixed_precisions(own: JobTable) -> tuple[Note, ...]:
    """A note where one service ran in several precisions, of which a plan takes the best."""
    names = _names(own, PRECISION)
    if len(names) < 2:
        return ()
    said = "the weights' precision is chosen, too, whatever it does to the answers: --knob "
    said += f"{PRECISION}={names[0]} keeps one of {', '.join(names)}"
    return (Note(said),)


def in_engines(
    own: JobTable, settings: Sequence[Setting]
) -> tuple[list[dict[str, Any]], tuple[Note, ...]]:
    """Settings in each engine, where a service ran in several whose runs differ clearly; a note.

    So with an option of the engine, as speculative decoding, where that parts them.

    Their mean is of neither.  A column that the settings turn already stays as it is.
    """
    columns = [c for kind in (ENGINE_COLUMN, OPTION_COLUMN) for c in own.columns
               if kind.fullmatch(c) and c not in settings[0]]  # fmt: skip
    ran = set(OBJECTIVES) <= set(own.columns)
    keys = [c for c in (*settings[0], *SAME_WORK) if c in own.columns]
    for column in columns if ran else ():
        names = _names(own, column)
        if word_levels(own.select([*keys, column, *OBJECTIVES]), keys, OBJECTIVES):
            said = f"the {column} is chosen, too: --knob {column}={names[0]} keeps one of "
            made = turned(settings, [{column: n} for n in names])
            return made, (Note(said + ", ".join(names)),)
    return [dict(s) for s in settings], ()


def _names(own: JobTable, column: str) -> list[str]:
    """Different values of a column as text, none where it is not there."""
    if column not in own.columns:
        return []
    return own.frame[column].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()


def mixed_workloads(own: JobTable) -> tuple[Note, ...]:
    """A note where one service's runs are of several workloads, whose means are compared."""
    names = _names(own, "workload")
    if len(names) < 2:
        return ()
    said = f"runs of {len(names)} workloads are taken together, though some settings ran under one "
    said += f"alone: --workload chooses one of {', '.join(names)}"
    return (Note(said),)


def notes_on(runs: JobTable) -> tuple[Note, ...]:
    """What the law does not learn from ``runs``, and repeats of a configuration that disagree."""
    kept, values, notes = learnable(runs, OBJECTIVES)
    notes += sampled(len(kept))
    keys = [c for c in ("app", *knobs_in(kept), PRECISION, *SAME_WORK) if c in kept.columns]
    levels = word_levels(kept, keys, OBJECTIVES)
    odd = unlike_repeats(kept.frame, dict(zip(OBJECTIVES, values.T, strict=True)), keys)
    return notes + (levels or odd)


def knobs_in(runs: JobTable) -> tuple[str, ...]:
    """Knobs of serving that the table has."""
    return tuple(k for k in KNOBS if k in runs.columns)


def offered(
    runs: JobTable, own: JobTable, most: int = MOST_OFFERED
) -> tuple[list[dict[str, Any]], tuple[Note, ...]]:
    """Settings to choose from: every placement and batch cap in ``runs`` whose weights fit.

    Placements (type and number of GPUs and how the model is split over them) are those that a
    model of the same architecture was run on; batch caps those of this model, and precisions of
    its weights where it ran in several.  Of more than ``most`` so many are drawn, beside those
    that the service ran under; a note says so.
    """
    names = knobs_in(runs)
    ran_on = (
        _of_architecture(runs, own)
        .select(n for n in names if n != "batch_cap")
        .unique(maintain_order=True)
    )
    caps = own.frame["batch_cap"].unique().sort().to_list()
    places = runnable(_in_precisions(ran_on.rows(named=True), runs, own), own)
    number = len(places) * len(caps)
    if number <= most:
        return [{**p, "batch_cap": b} for p in places for b in caps], ()
    drawn = np.sort(np.random.default_rng(0).choice(number, most, replace=False)).tolist()
    made = [{**places[i // len(caps)], "batch_cap": caps[i % len(caps)]} for i in drawn]
    ran = own.frame.select(made[0].keys()).unique(maintain_order=True).rows(named=True)
    said = f"{most:,} of {number:,} configurations were drawn to choose from, beside those that ran"
    return _different([*ran, *made]), (Note(f"{said}: --knob names others"),)


def _of_architecture(runs: JobTable, own: JobTable) -> pl.DataFrame:
    """Runs of models alike: experts are split over GPUs where there are experts."""
    if "architecture" not in runs.columns:
        return runs.frame
    return runs.frame.filter(pl.col("architecture").eq_missing(own.frame["architecture"][0]))


def caps_between(runs: JobTable, own: JobTable) -> list[int]:
    """Batch caps that models alike ran and this one did not, between its least and its most."""
    ran = own.frame["batch_cap"]
    between = pl.col("batch_cap").is_between(ran.min(), ran.max())
    others = _of_architecture(runs, own).filter(between, ~pl.col("batch_cap").is_in(ran.implode()))
    return others["batch_cap"].unique().sort().to_list()


def _different(settings: Iterable[Setting]) -> list[dict[str, Any]]:
    """Each setting once."""
    return [*{tuple(s.items()): dict(s) for s in settings}.values()]


def _in_precisions(
    places: Sequence[dict[str, Any]], runs: JobTable, own: JobTable
) -> list[dict[str, Any]]:
    """Placements, where the service ran in several precisions in each that such a GPU ran."""
    if PRECISION not in own.columns or own.frame[PRECISION].n_unique() < 2:
        return list(places)
    values = own.frame[PRECISION].unique(maintain_order=True).to_list()
    ran = set(runs.frame.select("gpu_model", PRECISION).iter_rows())
    return [{**p, PRECISION: v} for p in places for v in values if (p["gpu_model"], v) in ran]


def fitting(settings: Sequence[Setting], own: JobTable) -> list[dict[str, Any]]:
    """Settings whose memory holds the weights of the service in ``own``, of each copy."""
    if not settings:
        return []
    at = Configurations.of(_space(settings).alternatives(own.rows([0]), settings))
    room_b = USABLE * at.gpus * np.array([a.memory_b for a in accelerators(at.gpu.tolist())])
    fits = at.copies * at.params * at.weight_b <= room_b
    return [dict(s) for s, fit in zip(settings, fits, strict=True) if fit]


def runnable(settings: Sequence[Setting], own: JobTable) -> list[dict[str, Any]]:
    """Settings whose memory holds the weights, then those that ran whatever a data sheet says."""
    fits = fitting(settings, own)
    names = tuple(settings[0]) if settings else ()
    if not names or not set(names) <= set(own.columns):
        return fits
    ran = set(own.frame.select(names).iter_rows()) - {tuple(s.values()) for s in fits}
    return fits + [dict(s) for s in settings if tuple(s.values()) in ran]


def turned(settings: Sequence[Setting], knobs: Sequence[Setting]) -> list[dict[str, Any]]:
    """Settings with other knobs; what these do not name stays as it is offered.

    A placement that is not offered is made of all that are; GPUs and their split stay in agreement.

    >>> turned([{"gpus": 1}], [{"power_cap_w": 400}, {"power_cap_w": 700}])
    [{'gpus': 1, 'power_cap_w': 400}, {'gpus': 1, 'power_cap_w': 700}]
    >>> turned([{"gpu_model": "A100", "gpus": 1}, {"gpu_model": "H100", "gpus": 2}], [{"gpus": 2}])
    [{'gpu_model': 'H100', 'gpus': 2}]
    >>> turned([{"gpus": 1, "tp": 1, "batch_cap": 8}], [{"gpus": 4}])
    [{'gpus': 4, 'tp': 4, 'batch_cap': 8}]
    """
    free = {n for knob in knobs for n in knob} - {*PLACEMENT}  # turned whatever it was
    settings = _different({n: None if n in free else v for n, v in s.items()} for s in settings)
    few_enough("--knob", len(settings) * len(knobs))
    made = []
    for knob in knobs:
        place = {n: v for n, v in knob.items() if n in PLACEMENT}.items()
        offered_there = [s for s in settings if place <= s.items()]
        there = [{**s, **knob} for s in offered_there]
        made += there or [_agreeing(s, knob) for s in settings]
    return _different(s for s in made if s)


def _agreeing(old: Setting, knobs: Setting) -> dict[str, Any]:
    """A setting with these knobs, where tensor, pipeline and data parallel make its GPUs; or {}."""
    new = {**old, **knobs}
    if not set(knobs) & set(SPLIT) or new.get("tp") is None or new.get("gpus") is None:
        return new
    rest = int((new.get("pp") or 1) * (new.get("dp") or 1))
    if "gpus" not in knobs:
        new["gpus"] = new["tp"] * rest
    elif "tp" not in knobs and new["gpus"] % rest == 0:
        new["tp"] = new["gpus"] // rest
    if "ep" not in knobs and (old.get("ep") or 1) > 1:
        new["ep"] = new["gpus"]
    return new if new["tp"] * rest == new["gpus"] else {}


def _space(settings: Sequence[Setting]) -> Space:
    """What is turned in these settings."""
    names = tuple(dict.fromkeys(k for s in settings for k in s))
    return Space(tuple(Knob(n, sorted({s[n] for s in settings}, key=str)) for n in names))


def plan(
    model: ServingLaw, runs: JobTable, own: JobTable, settings: Sequence[Setting] | None = None
) -> Front:
    """Latency and energy of every setting of the service in ``own``: measured, else predicted."""
    rows = list(settings) if settings is not None else offered(runs, own)[0]
    own = _with_power(own)
    return all_settings.front(
        own.rows([0]), model, _space(rows), OBJECTIVES, settings=rows, runs=own
    )


def _with_power(own: JobTable) -> JobTable:
    """Measured settings with the watts that tokens per second at their energy draw."""
    if "power_w" in own.columns or "tokens_per_s" not in own.columns:
        return own
    watts = own.numpy("energy_per_token_j") * own.numpy("tokens_per_s")
    column = Column("power_w", "W", Moment.END, "mean power of all GPUs")
    return JobTable(own.frame.with_columns(power_w=watts), own.schema.with_columns([column]))


def to_measure(model: ServingLaw, runs: JobTable, number: int) -> JobTable:
    """Settings of ``runs``' services whose measurement would decide most, energies unknown.

    Each service (model, workload) chooses among its offered settings at each batch cap; of a
    large table at most `CANDIDATES` settings are looked at, evenly spread.
    """
    services = [c for c in ("app", "workload") if c in runs.columns]
    tables, number_of = [], runs.frame.select(services).n_unique()
    for _, rows in runs.frame.with_row_index("_row").group_by(services, maintain_order=True):
        own = runs.rows(rows["_row"].to_numpy())
        settings, _ = offered(runs, own, 1 + 2 * CANDIDATES // number_of)
        space = Space(
            tuple(Knob(n, sorted({s[n] for s in settings}, key=str)) for n in settings[0])
        )
        tables.append(space.alternatives(own.rows([0]), settings).frame)
    offer = pl.concat(tables)
    offer = offer.gather_every(1 + len(offer) // CANDIDATES)
    frame = offer.select(c for c in runs.columns if runs.schema[c].known.name == "SUBMIT")
    every = JobTable(frame, Schema(runs.schema[c] for c in frame.columns))
    mean, covariance = model.posterior(Configurations.of(every), ["energy_per_token_j"])
    keys = [*services, "batch_cap"]
    groups = frame.with_row_index("_row").group_by(keys, maintain_order=True).agg(pl.col("_row"))
    done = runs.frame.select(frame.columns).unique()
    held = frame.with_row_index("_row").join(done, on=frame.columns, nulls_equal=True)["_row"]
    chosen = most_decisive(
        mean, covariance, [g.to_numpy() for g in groups["_row"]], number,
        measured=set(held.to_list()),
    )  # fmt: skip
    return every.rows(np.array(chosen, dtype=np.int64))


RULES: Mapping[str, Callable[[Mapping[str, Any]], tuple[float, ...]]] = {
    "fewest GPUs": lambda s: (s["gpus"], -s["batch_cap"]),
    "newest GPU, then fewest": lambda s: (
        -accelerator(s["gpu_model"]).flop_per_s, s["gpus"], -s["batch_cap"]),
    "most tokens per second and GPU": lambda s: (s["itl_s"] * s["gpus"] / s["batch_cap"],),
}  # fmt: skip
"""Simple rules, as what they sort by, least first; the last one asks the same forecast."""


def simple_rules(front: Front, allowed: np.ndarray) -> dict[str, int]:
    """The row each simple rule takes among the ``allowed`` ones."""
    places, itl_s = np.flatnonzero(allowed), front.mean("itl_s")
    frame = front.alternatives.frame.with_columns(pl.Series("itl_s", itl_s))
    rows = frame[places.tolist()].rows(named=True)
    return {
        name: int(places[min(range(len(rows)), key=lambda k: key(rows[k]))])
        for name, key in RULES.items()
    }
