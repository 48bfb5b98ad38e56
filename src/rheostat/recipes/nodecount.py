"""How many nodes should a job take?  The first system, wired from the library's parts.

A reconstruction of the idea of "Attention-Informed Surrogates for Navigating Power-Performance
Trade-offs in HPC": learn runtime and power of jobs from the log of a machine, with an attention
embedding of what was asked for, from a subset of samples chosen by how hard they are; look for the
front of one job over its node counts; pick from it.  The paper's acquisition function, budget,
reference point and splits are not public, so this is not a reproduction, and no number here is the
paper's.

References
----------
Ahmed, A. N., Banday, B., Jones, T., Islam, T. Z.: arXiv 2601.15399 (2026), NeurIPS 2025 workshop on
machine learning for systems.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import polars as pl
from scipy.special import stdtrit

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Predictor
from rheostat.core.space import Knob, powers_of_two
from rheostat.core.vocabulary import VOCABULARY
from rheostat.decision.accuracy import Accuracy, accuracy
from rheostat.decision.backtest import divided, end_s
from rheostat.errors import DataError
from rheostat.measurement.repairs import TOTALS, per_node_requests
from rheostat.measurement.runs.setting_words import SETTING
from rheostat.measurement.serving.energy_names import plain

OBJECTIVES = ("runtime_s", "energy_j")
TARGETS = ("runtime_s", "power_w")
FEWEST_REPEATS, ODD, ALIKE = 3, 3.0, 1.5
SLIGHT, SPREADS = 1.2, 5
"""Where three others or more agree, a run is odd by a fifth and five times what they differ by."""
FEWEST_FREE, CHANCE = 2, 0.01
REPEAT = re.compile(
    r"(rep|repeat|repetition|run|trial|iter|iteration|sample|round|attempt)s?(_?(no|nr|id|index|number))?"
)
PROBLEM = re.compile(
    r"(^|_)(cells?|size|problem|deck|grid|mesh|particles|atoms|elements|dofs?|unknowns|points|inputs?|"
    r"dataset|cases?|matrix|rows|tokens|resolution|molecules|bodies|steps|iterations|epochs)(_|$)|^n[xyz]?$"
)
"""Words of columns that say how much there was to do."""
WORK = re.compile(rf"{PROBLEM.pattern}|(^|_)(precision|dtype|data_?type)(_|$)")
"""Those, and words of columns that say with what numbers it was done."""
HARDWARE = re.compile(
    r"((gpu|cpu|accelerator|device|hardware)(_?(type|model|name|kind))?|arch(itecture)?|cluster"
    r"|machine|system|platform|partition|(power |energy )?(meter|sensor|source))"
)
"""Names of columns that say what a run ran on, or what measured it."""
SHARED = 3
"""Settings that ran one named problem: where it grows with the knob it is at each another one."""
WARM_UP = 1.2
"""A first run that takes longer by this factor than those after it, at most settings."""


def knob(largest: int = 256) -> Knob:
    """Node counts in powers of two up to ``largest``.

    >>> knob(8).values
    (1, 2, 4, 8)
    """
    return Knob("nodes", powers_of_two(1, largest))


def prepared(jobs: JobTable) -> JobTable:
    """Amounts that go out of date when nodes are turned (cores, GPUs, tasks), per node instead.

    Parameters
    ----------
    jobs : JobTable
        As read.

    Returns
    -------
    JobTable
        With the amounts per node where there are nodes.
    """
    if "nodes" in jobs.columns and set(TOTALS) & set(jobs.columns):
        return per_node_requests(jobs)
    return jobs


def kind_of(kind: str, jobs: JobTable, knobs: Sequence[str] = ()) -> str:
    """The model that "auto" stands for: the best for the table that the installed libraries allow.

    A table of measured runs (no clock, power or energy known) teaches scaling laws over knobs that
    are numbers; a log teaches habits, which boosted trees learn best.

    >>> from rheostat import table
    >>> kind_of("auto", table({"os": ["a"], "runtime_s": [9.0], "energy_j": [70.0]}), ["os"])
    'xgboost'
    """
    if kind != "auto":
        return kind
    named = any(k in jobs.columns and not jobs.frame[k].dtype.is_numeric() for k in knobs)
    measured = "submit_s" not in jobs.columns and len(targets_in(jobs)) == len(TARGETS)
    runs = measured and not named
    return "law" if runs and find_spec("gpytorch") else trees()


def trees() -> str:
    """The boosted trees that the installed libraries allow."""
    return next((k for k in ("xgboost", "lightgbm") if find_spec(k)), "boosting")


def targets_in(jobs: JobTable) -> tuple[str, ...]:
    """What the log can teach: runtime, and power or else energy, where any row has it."""
    have = [q for q in (*TARGETS, "energy_j") if q in jobs.columns and jobs.frame[q].count()]
    return tuple(q for q in have if q != "energy_j" or "power_w" not in have)


def earlier(jobs: JobTable, row: int) -> JobTable:
    """Jobs that had ended when the job in ``row`` was submitted; all others without a clock.

    A forecast of a past job must not learn from its future, or from itself.
    """
    others = np.arange(len(jobs)) != row
    if "submit_s" not in jobs.columns:
        return jobs.rows(others)
    if not jobs.frame["submit_s"].count():
        said = "no job says when it was submitted, so that none is known to come before another: "
        said += "export Submit and Start, too, or, of runs of one problem: --format runs"
        raise DataError("front", [said])
    known = jobs.rows(others & (end_s(jobs) <= jobs.numpy("submit_s")[row]))
    if not len(known):
        raise DataError("front", ["no job had ended when this one was submitted: give --model"])
    return known


def own_runs(jobs: JobTable, row: int, by: Sequence[str] | None) -> JobTable | None:
    """Runs of the same application as ``row`` in a table of measured runs; None for a log.

    Jobs of a log that look alike may hide other work, so what they took is not taken as measured.
    ``by`` are the columns that make runs alike, else ``app``, else ``user``, where there is one.
    """
    if "submit_s" in jobs.columns:
        return None
    alike = tuple(by or ()) or tuple(c for c in ("app", "user") if c in jobs.columns)[:1]
    same = np.ones(len(jobs), bool)
    for c in alike:
        if (own := jobs.frame[c][row]) is None:
            same &= jobs.frame[c].is_null().to_numpy()
        else:
            same &= (jobs.frame[c] == own).fill_null(False).to_numpy()
    return jobs.rows(same)


def differing(runs: JobTable, knobs: Sequence[str]) -> tuple[str, ...]:
    """Columns known at submission that differ among runs at one setting of ``knobs``.

    Such runs count as repeats of one another, which they may not be.

    >>> from rheostat import table
    >>> differing(table({"nodes": [1, 1], "optimizer": ["sgd", "adam"]}), ["nodes"])
    ('optimizer',)
    """
    known = runs.known_at(Moment.SUBMIT).columns
    others = [c for c in known if c not in knobs and not c.endswith("_id")]
    if not others or not set(knobs) <= set(runs.columns):
        return ()
    counts = runs.frame.group_by(list(knobs)).agg(pl.col(c).n_unique() for c in others)
    unlike = [c for c in others if (counts[c] > 1).any()]
    return tuple(c for c in unlike if not _counts_repeats(runs.frame, c, knobs))


def _counts_repeats(frame: pl.DataFrame, column: str, knobs: Sequence[str]) -> bool:
    """Whether a column numbers or names runs: its heading says so, and none of a setting twice."""
    if not REPEAT.fullmatch(plain(column)):
        return False
    if not frame[column].dtype.is_integer():
        return frame[column].n_unique() == frame.height
    return not frame.select(*knobs, column).is_duplicated().any()


def confounded(runs: JobTable, knobs: Sequence[str]) -> tuple[str, ...]:
    """Columns of words or settings that go with the knobs: one value at each, several over all.

    What they do cannot be told from what the knobs do.  A column with a value of its own for each
    setting is its name.

    >>> from rheostat import table
    >>> runs = {"nodes": [1, 2, 3, 4], "cluster": ["a", "b", "a", "b"], "name": list("klmn")}
    >>> confounded(table(runs), ["nodes"])
    ('cluster',)
    >>> runs = {"nodes": [1, 2, 4, 8], "ranks_per_node": [32, 32, 16, 16], "rows": [5, 5, 9, 9]}
    >>> confounded(table(runs), ["nodes"])
    ('ranks_per_node',)
    """
    if not set(knobs) <= set(runs.columns):
        return ()
    settings = runs.frame.select(knobs).n_unique()
    words = [
        c
        for c in runs.known_at(Moment.SUBMIT).columns
        if (runs.frame[c].dtype == pl.String or SETTING.search(plain(c)))
        and c not in (*knobs, "app", "user", "account", *TOTALS)
    ]
    mixed = differing(runs, knobs)
    return tuple(
        c for c in words
        if c not in mixed and 1 < runs.frame[c].drop_nulls().n_unique() < settings
    )  # fmt: skip


def _is_hardware(runs: JobTable, column: str) -> bool:
    return bool(HARDWARE.fullmatch(plain(column))) and runs.frame[column].dtype == pl.String


def split_settings(
    runs: JobTable, knobs: Sequence[str]
) -> tuple[str, dict[str, tuple[str, ...]]] | None:
    """A column of hardware or work of which no value ran all settings: its name, what each ran.

    Settings of one knob are then compared across machines or problems; None where that is not so.
    A size of which some value ran one setting alone may follow from the knob (weak scaling), unless
    it is a name that several settings share.  A system of its own for each setting, of one
    accelerator or processor, is the setting's name.

    >>> from rheostat import table
    >>> runs = {"batch_size": [8, 16, 16, 32], "gpu": ["H100", "H100", "A100", "A100"]}
    >>> split_settings(table(runs), ["batch_size"])
    ('gpu', {'A100': ('16', '32'), 'H100': ('8', '16')})
    """
    if len(knobs) != 1 or knobs[0] not in runs.columns:
        return None
    knob, hardware = knobs[0], [c for c in runs.columns if _is_hardware(runs, c)]
    one_kind = any(runs.frame[c].drop_nulls().n_unique() == 1 for c in hardware)
    for column in (c for c in runs.columns if c != knob):
        machine = column in hardware
        size = column not in VOCABULARY and WORK.search(plain(column))
        if not (machine or size):
            continue
        pairs = runs.frame.select(column, knob).drop_nulls().unique().sort(column, knob)
        ran = {
            f"{v:g}" if isinstance(v, float) else str(v): tuple(map(str, own[knob]))
            for (v,), own in pairs.group_by(column, maintain_order=True)
        }
        each = [len(own) for own in ran.values()]
        if one_kind and max(each, default=0) == 1 and len(ran) == pairs[knob].n_unique():
            continue
        named = runs.frame[column].dtype == pl.String and max(each, default=0) >= SHARED
        some = machine or named or min(each, default=0) > 1
        if len(ran) > 1 and max(each) < pairs[knob].n_unique() and some:
            return column, ran
    return None


def warm_up(runs: JobTable, knobs: Sequence[str]) -> tuple[int, int, float] | None:
    """Whether the first run of a setting takes longer: settings where so, of how many, by what.

    Of settings with three runs or more, three at least and four in five; the factor is that of the
    setting in the middle.

    >>> from rheostat import table
    >>> nodes, times = [1, 1, 1, 2, 2, 2, 4, 4, 4], [9.0, 3, 3, 8, 2, 2, 7, 1, 1]
    >>> warm_up(table({"nodes": nodes, "runtime_s": times}), ["nodes"])
    (3, 3, 4.0)
    """
    if not {"runtime_s", *knobs} <= set(runs.columns) or differing(runs, knobs):
        return None
    frame = runs.frame.sort("start_s") if "start_s" in runs.columns else runs.frame
    factors = []
    for _, group in frame.group_by(list(knobs), maintain_order=True):
        times = group["runtime_s"].drop_nulls().to_numpy()
        if len(times) >= FEWEST_REPEATS and times[0] > 0:
            factors.append(float(times[0] / np.median(times[1:])))
    slow = sum(f > WARM_UP for f in factors)
    if slow < max(FEWEST_REPEATS, 0.8 * len(factors)):
        return None
    return slow, len(factors), float(np.median(factors))


def odd_repeats(
    runs: JobTable, knobs: Sequence[str], of: str = "runtime_s"
) -> list[tuple[str, float, float]]:
    """Runs unlike all others at their setting: (setting, seconds, seconds of the others).

    Or what they are ``of``, as watts.

    Of three runs or more, one that took three times as long as the others in the middle, or a
    third, where those agree within a half; of four or more, one that is a fifth off where the
    others agree much better: something else ran beside it, or it did not do the work.
    Runs that are known not to have ended well count as such already; those that differ in a column
    known before are no repeats, unless it is of words that are each run's own, as its hosts.

    >>> from rheostat import table
    >>> odd_repeats(table({"nodes": [1] * 4, "runtime_s": [2.0, 2.1, 18.0, 2.0]}), ["nodes"])
    [('nodes 1', 18.0, 2.0)]
    """
    odd_runs: list[tuple[str, float, float]] = []
    words = [c for c in runs.columns if runs.frame[c].dtype == pl.String]
    own = {c for c in words if not runs.frame[c].is_duplicated().any()}
    if not {of, *knobs} <= set(runs.columns) or {*differing(runs, knobs)} - own:
        return odd_runs
    ended = runs.frame
    if "censored" in runs.columns:
        ended = ended.filter(~pl.col("censored").fill_null(value=False))
    for setting, group in ended.group_by(list(knobs), maintain_order=True):
        times = np.sort(group[of].drop_nulls().to_numpy())
        if len(times) < FEWEST_REPEATS or times[0] <= 0:
            continue
        named = ", ".join(f"{k} {v:g}" if isinstance(v, (int, float)) else f"{k} {v}"
                          for k, v in zip(knobs, setting, strict=True))  # fmt: skip
        for odd, rest in ((times[-1], times[:-1]), (times[0], times[1:])):
            middle = float(np.median(rest))
            apart = max(odd / middle, middle / odd)
            alike = rest[-1] / rest[0]
            close = len(rest) >= FEWEST_REPEATS and apart > max(SLIGHT, alike**SPREADS)
            if close or (apart > ODD and alike < ALIKE):
                odd_runs.append((named, float(odd), middle))
    return odd_runs


def drift(runs: JobTable, knobs: Sequence[str]) -> float:
    """By what factor repeats of a setting took longer at the end of all runs than at their start.

    The slope of the logarithm of run time over the clock among repeats of the same setting; 1 where
    chance explains it (1 in 100), where no clock is known, or runs are of several problems.

    >>> from rheostat import table
    >>> again = {"nodes": [1, 2, 1, 2, 1], "start_s": [0.0, 60.0, 120.0, 180.0, 240.0]}
    >>> round(drift(table({**again, "runtime_s": [10.0, 5.25, 11.0, 5.78, 12.1]}), ["nodes"]), 2)
    1.21
    """
    if not {"runtime_s", "start_s", *knobs} <= set(runs.columns) or differing(runs, knobs):
        return 1.0
    clock, took = pl.col("start_s").cast(pl.Float64), pl.col("runtime_s").cast(pl.Float64)
    known = runs.frame.filter(clock.is_not_null(), took > 0)
    again = known.select(
        setting=pl.struct(knobs),
        at=clock - clock.mean().over(knobs),
        seconds=took.log() - took.log().mean().over(knobs),
    )
    at, seconds = again["at"].to_numpy(), again["seconds"].to_numpy()
    free, spread = len(again) - again["setting"].n_unique() - 1, float(at @ at)
    if free < FEWEST_FREE or not spread > 0:
        return 1.0
    slope = float(at @ seconds) / spread
    rest = seconds - slope * at
    error = float(np.sqrt(rest @ rest / free / spread))
    if abs(slope) <= float(stdtrit(free, 1 - CHANCE / 2)) * error:
        return 1.0
    span = known.select(clock.max() - clock.min()).item()
    return float(np.exp(slope * span))


def accuracy_on_newest(jobs: JobTable, new: Predictor, share: float) -> dict[str, Accuracy]:
    """Error and coverage on the newest ``share`` of jobs, of a model that has not seen them."""
    past, recent, _ = divided(jobs, 1.0 - share)
    fitted = new.fit(past)
    return accuracy(fitted.predict(recent.known_at(Moment.SUBMIT)), recent, targets_in(jobs))


def model(
    kind: str,
    jobs: JobTable,
    *,
    knobs: Sequence[str] = ("nodes",),
    by: Sequence[str] | None = None,
    seed: int = 0,
) -> Predictor:
    """An unfitted model for ``jobs``.

    "within" compares settings within applications and knows what the log identifies, "law" has
    scaling laws over measured runs; others are direct regressors or embeddings.

    ``by`` names the columns that make runs the same application, where the usual ones do not.
    """
    kind, targets = kind_of(kind, jobs, knobs), targets_in(jobs)
    if kind == "within":
        from rheostat.prediction.effects import WithinApplication

        return WithinApplication(tuple(knobs), targets=targets, group_by=by, seed=seed)
    if kind == "law":
        from rheostat.prediction.scaling_law import LawGP

        return LawGP(tuple(knobs), group_by=by, seed=seed)
    from rheostat.prediction.surrogate.surrogate import Surrogate

    if kind == "attention":
        return Surrogate("xgboost", embedding="attention", targets=targets, group_by=by, seed=seed)
    return Surrogate(kind, targets=targets, group_by=by, seed=seed)
