"""Columns that mean another thing than their name says alone, by what stands beside or in them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.dates import iso_seconds
from rheostat.measurement.runs.cell_units import seconds_of_cell
from rheostat.measurement.runs.guess import NO_RUN, guess_known, guess_name, no_unit
from rheostat.measurement.runs.header_units import split_unit

LIKELY = 0.9
COUNTED = r"\D(\d+)$"
LABELS = {"name", "run name", "run_name", "display_name", "experiment_name"}
"""Headings of what a tracker calls a run, which may be the application's."""
TURNED = ("nodes", "gpus", "cores", "threads", "batch_size", "cap_w", "frequency_hz")
RAN = re.compile("run|ran|elapsed|real|exec|actual|used|taken|took|service|processing|duration")
"""Words of times that jobs of a log ran, and did not ask for."""
RAN_TO_ITS_END = re.compile("run_?time|elapsed|real")
"""Those of them that are of the whole run where a run may be timed in parts, too."""
PIECE = re.compile(
    r"(?:time|energy)_per_(?P<behind>epoch|step|iter(?:ation)?|run)"
    r"|(?P<ahead>epoch|step|iter(?:ation)?)_(?:time|energy)"
)
FEWEST = 3
"""Runs whose names may show that they only count."""


def not_as_named(frame: pl.DataFrame) -> dict[str, str]:
    """Columns that mean another thing than their name says alone, and what.

    ``cpu`` beside ``slots``, or with fractions, is time of processors; ``gpu`` beside ``gpus``, or
    with a 0, is which one; ``duration`` beside a run time may be asked for; and of two columns of
    nodes the one that says so has those asked for.  ``queue`` may be how long a job waited.  A
    ``name`` that counts the rows, as of a tracker of experiments, is that of a run alone.

    >>> not_as_named(pl.DataFrame({"cpu": [177.63], "num_nodes": [2], "num_nodes_req": [4]}))
    {'cpu': '', 'num_nodes_req': 'nodes_requested'}
    >>> not_as_named(pl.DataFrame({"gpu": [0, 1], "cap_w": [200, 200]}))
    {'gpu': ''}
    >>> not_as_named(pl.DataFrame({"name": ["calm-owl-7", "big-ox-8", "old-elk-9"]}))
    {'name': 'job_id'}
    """
    named: dict[str | None, list[str]] = {}
    for c in frame.columns:
        named.setdefault(guess_name(c), []).append(c)
    made = {}
    for c in (c for c in named.get("cores", []) if c.lower() == "cpu"):
        values = frame[c].drop_nulls()
        if len(named["cores"]) > 1 or (values.dtype.is_float() and (values % 1 != 0).any()):
            made[c] = ""
    made |= {
        c: "" if "job_id" in named else "job_id"
        for c in named.get("app", [])
        if len(named["app"]) == 1 and c.lower() in LABELS and _of_runs(c, frame, named)
    }
    made |= dict.fromkeys(
        [*_least(frame.columns), *_most(named.get("time_limit_s", []), frame.columns)], ""
    )
    times = [c for c in named.get("runtime_s", []) if c not in made]
    made |= {c: "" for c in times if c.lower() == "duration" and len(times) > 1}
    made |= {c: "time_limit_s" for c in _asked_times({**named, "runtime_s": times}, frame)}
    made |= {c: of for c in named.get("partition", []) if (of := _waited(c, frame, named)) != c}
    if "energy_j" not in named and "power_w" not in named:
        made |= dict.fromkeys(_of_same_piece(frame.columns, times or _timed(frame)), "energy_j")
    memory = named.get("memory_b", [])
    made |= {c: "" for c in memory if not _asked_memory(c, frame, alone=len(memory) == 1)}
    for size in ("nodes", "gpus", "cores"):
        made |= {c: "" for c in named.get(size, []) if _is_which(c, size, frame, named[size])}
        asked = [c for c in named.get(size, []) if "req" in c.lower()]
        both = len(asked) == 1 and len(named[size]) == 2
        if both and f"{size}_requested" not in frame.columns:
            made[asked[0]] = f"{size}_requested"
    return made


def _least(columns: Sequence[str]) -> list[str]:
    """Names that end in ``min`` beside one that ends in ``max`` or ``mean``: no minutes.

    >>> _least(["run_min", "run_max", "exec_min", "power_max"])
    ['run_min']
    """
    low = {c.lower(): c for c in columns}
    ends = ("max", "maximum", "mean", "avg", "average", "median")
    minutes = {n: c for n, c in low.items() if n.endswith("min") and split_unit(c)[3] == 60.0}
    stems = {n.removesuffix("min"): c for n, c in minutes.items()}
    return [c for stem, c in stems.items() if any(stem + end in low for end in ends)]


def _most(limits: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Largest of several times, by the least or mean of the same beside it: no time limits.

    >>> _most(["max_time_s", "max_runtime"], ["median_time_s", "max_time_s", "max_runtime"])
    ['max_time_s']
    """
    low = {c.lower() for c in columns}
    others = ("min", "mean", "avg", "average", "median")
    begun = [(c, c.lower().removeprefix("max")) for c in limits if c.lower().startswith("max")]
    return [c for c, rest in begun if any(other + rest in low for other in others)]


def _of_same_piece(columns: Sequence[str], times: Sequence[str]) -> list[str]:
    """The energy of a step where the only time is that of a step, too.

    >>> _of_same_piece(["time per step (ms)", "energy per step (J)"], ["time per step (ms)"])
    ['energy per step (J)']
    >>> _of_same_piece(["epoch_time_s", "energy_per_epoch_kJ"], ["epoch_time_s"])
    ['energy_per_epoch_kJ']
    >>> _of_same_piece(["wall_s", "energy per step (J)"], ["wall_s"])
    []
    """
    matches = {c: PIECE.fullmatch(split_unit(c)[0].lower()) for c in columns}
    pieces = {c: m["behind"] or m["ahead"] for c, m in matches.items() if m}
    timed = {pieces.get(c) for c in times}
    spent = [c for c, piece in pieces.items() if split_unit(c)[1] == "_j" and {piece} == timed]
    return spent if len(spent) == 1 else []


def _timed(frame: pl.DataFrame) -> list[str]:
    """The time of a step or an epoch, in a table that has no other time."""
    seconds = [c for c in frame.columns if split_unit(c)[2] == "s"]
    return [c for c in seconds if len(seconds) == 1 and PIECE.fullmatch(split_unit(c)[0].lower())]


def _of_runs(column: str, frame: pl.DataFrame, named: Mapping[str | None, Sequence[str]]) -> bool:
    """Whether names count the rows, or each row has its own where settings are turned."""
    if _counts(frame[column]):
        return True
    alone = frame.height > FEWEST and not frame[column].is_duplicated().any()
    knobs = [c for k in TURNED for c in named.get(k, [])]
    turned = alone and any(frame[c].n_unique() > 1 for c in knobs)
    return turned and ("job_id" not in named or _of_one_stem(frame[column]))


def _of_one_stem(names: pl.Series) -> bool:
    """Whether names differ in their numbers alone, most of them.

    >>> _of_one_stem(pl.Series(["run-150-0", "run-200-0", "run-200-x"]))
    True
    >>> _of_one_stem(pl.Series(["lulesh-1", "miniFE-1", "hpl-2"]))
    False
    """
    if names.dtype != pl.String or not names.count():
        return False
    stems = names.drop_nulls().str.replace_all(r"[\d.]+", "0")
    return 2 * Counter(stems.to_list()).most_common(1)[0][1] > names.len()


def _counts(names: pl.Series) -> bool:
    """Whether each row has a name that ends in a number of its own, most of them in a row.

    >>> [_counts(pl.Series(["bert-128", "bert-256", last])) for last in ("bert-512", "bert-130")]
    [False, False]
    """
    if names.dtype != pl.String or names.len() < FEWEST:
        return False
    number = names.str.extract(COUNTED).cast(pl.Int64, strict=False)
    if number.null_count() or number.n_unique() < names.len():
        return False
    return int(number.max()) - int(number.min()) < 2 * names.len()  # type: ignore[arg-type]


def _is_which(column: str, size: str, frame: pl.DataFrame, alike: Sequence[str]) -> bool:
    """Whether ``gpu`` numbers the GPU that ran, and does not count them."""
    if column.lower() != size.removesuffix("s") or column.lower() == "cpu":
        return False
    values = frame[column]
    return len(alike) > 1 or (values.dtype.is_numeric() and (values == 0).any())


def _waited(column: str, frame: pl.DataFrame, named: Mapping[str | None, Sequence[str]]) -> str:
    """What a queue of numbers is: ``wait_s`` where the clocks say so, else where it is no number.

    Queues are numbered one after the other, or come again and again; seconds are neither.

    >>> log = pl.DataFrame({"queue": [0, 60], "submit": [5.0, 9.0], "start": [5.0, 69.0]})
    >>> _waited("queue", log, {"submit_s": ["submit"], "start_s": ["start"]})
    'wait_s'
    >>> _waited("queue", log, {}), _waited("queue", pl.DataFrame({"queue": [0, 1, 3]}), {})
    ('wait_s', 'queue')
    """
    values = frame[column].drop_nulls()
    if "wait_s" in named or not values.dtype.is_numeric() or not values.len():
        return column
    submit, start = (named.get(name, []) for name in ("submit_s", "start_s"))
    if len(submit) == len(start) == 1:
        waits = _in_seconds(frame[start[0]]) - _in_seconds(frame[submit[0]])
        near = ((waits - frame[column]).abs() <= 1.0).filter(waits > 1.0).mean()
        return "wait_s" if isinstance(near, float) and near > LIKELY else column
    kinds, largest = values.n_unique(), values.cast(pl.Float64).to_numpy().max()
    return column if largest < 2 * kinds or 10 * kinds <= len(values) else "wait_s"


def _asked_times(named: Mapping[str | None, Sequence[str]], frame: pl.DataFrame) -> list[str]:
    """A wall time beside a run time that never is longer was asked for, as in logs of Cobalt.

    >>> log = pl.DataFrame({"walltime_h": [2.0, 0.5], "runtime_min": [60.0, 29.0]})
    >>> _asked_times({"runtime_s": log.columns}, log)
    ['walltime_h']
    """
    times = named.get("runtime_s", [])
    wall = [c for c in times if "wall" in c.lower()]
    words = RAN if {"submit_s", "wait_s"} & set(named) else RAN_TO_ITS_END
    ran = [c for c in times if c not in wall and words.search(c.lower())]
    start, end = (named.get(name, []) for name in ("start_s", "end_s"))
    if len(wall) != 1:
        return []
    if ran:
        took = pl.select(pl.max_horizontal(*map(_in_seconds, frame[ran]))).to_series()
    elif len(start) == len(end) == 1:
        took = _in_seconds(frame[end[0]]) - _in_seconds(frame[start[0]])
    else:
        return []
    asked = _in_seconds(frame[wall[0]])
    shorter, longer = took < 0.99 * asked - 1.0, took > asked
    return wall if shorter.any() and longer.sum() < 0.1 * frame.height else []


def other_run_times(frame: pl.DataFrame, read_as: Mapping[str, str]) -> list[Note]:
    """A note where another column than the one taken may be how long runs took.

    Of the same kind of name, or in a log of jobs beside a wall time, which most jobs end before.

    >>> log = pl.DataFrame({"submit": [0], "wall_h": [2.0], "compute_s": [60.0]})
    >>> read_as = {"submit": "submit_s", "wall_h": "runtime_s", "compute_s": "compute_s"}
    >>> other_run_times(log, read_as)[0].message
    'runtime_s is wall_h, but it may be compute_s: --column runtime_s=compute_s \
--column time_limit_s=wall_h says so'
    """
    taken = next((c for c, ours in read_as.items() if ours == "runtime_s"), None)
    if taken is None:
        return []
    took = _in_seconds(frame[taken])
    log = "wall" in taken.lower() and {"submit_s", "wait_s"} & set(read_as.values())
    aside = {taken, *_least(frame.columns)}
    rest = [c for c, n in read_as.items() if n not in VOCABULARY and c not in aside]
    rest = [c for c in rest if not PIECE.search(c.lower())]
    alike = [c for c in rest if guess_name(c) == "runtime_s"]
    alike += [c for c in rest if log and guess_name(c) is None and _is_time(frame[c])]
    doubts = []
    for c in alike:
        other = _in_seconds(frame[c])
        differs = ((other - took).abs() > 0.01 * took + 1.0).any()
        if differs and (guess_name(c) or (other > took).sum() < 0.1 * frame.height):
            doubts.append(c)
    if not doubts:
        return []
    typed = f"--column runtime_s={shlex.quote(doubts[0])}"
    typed += f" --column time_limit_s={shlex.quote(taken)}" * bool(log)
    said = f"runtime_s is {taken}, but it may be {' or '.join(doubts)}: {typed} says so"
    return [Note(said)]


def _is_time(values: pl.Series) -> bool:
    stem, suffix, _, _ = split_unit(values.name, timed=True)
    if values.dtype == pl.String and values.str.contains(r"^\s*(\d+-)?\d+(:\d\d)+").any():
        return not NO_RUN.search(values.name.lower())  # hours and minutes of a clock
    return suffix == "_s" and values.dtype.is_numeric() and not NO_RUN.search(stem.lower())


def _in_seconds(values: pl.Series) -> pl.Series:
    """A time in seconds, by the unit in its name or in its cells; a moment since 1970."""
    if values.dtype.is_temporal():
        return values.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    if values.dtype.is_numeric():
        return values.cast(pl.Float64) * split_unit(values.name, timed=True)[3]
    length = values.cast(pl.String).map_elements(seconds_of_cell, return_dtype=pl.Float64)
    return length.fill_null(pl.select(iso_seconds(pl.lit(values))).to_series())


def _asked_memory(column: str, frame: pl.DataFrame, *, alone: bool) -> bool:
    """Whether it tells what was asked for, in a unit: the name says so, or jobs were submitted."""
    values = frame[column]
    if column == "memory_b" or not values.dtype.is_numeric() or no_unit(column, values):
        return column == "memory_b"
    if re.search("req|limit|asked", column.lower()):
        return True
    submitted = any(guess_name(c) == "submit_s" for c in frame.columns)
    return alone and (submitted or guess_known(column, values) is Moment.SUBMIT)


def words_by_ours(jobs: JobTable, theirs: str) -> list[str]:
    """The column of words, as a job's name, that readers know by another name, and took as ours.

    >>> from rheostat.core.vocabulary import table
    >>> words_by_ours(table({"app": ["lbm"], "nodes": [4]}), "JobName")
    ['app']
    """
    ours = guess_name(theirs)
    if ours is None or ours not in jobs.columns or jobs.frame[ours].dtype != pl.String:
        return []
    taken = jobs.schema[ours].meaning.startswith("from ")  # from another one than this
    return [] if taken else [ours]
