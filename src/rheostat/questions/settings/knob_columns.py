"""Which columns of a table may be knobs: what people set before a run, at a few values each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from shlex import quote

import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.space import Knob, Space
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.measurement.runs.setting_words import LABELLED, SETTING
from rheostat.measurement.serving.energy_names import plain
from rheostat.questions import listener
from rheostat.questions.parse import Knobs, parse_space
from rheostat.questions.settings.problem_size import grown
from rheostat.questions.settings.unlike_work import of_a_step
from rheostat.recipes.nodecount import HARDWARE, PROBLEM

MOST_VALUES, MOST_WORDS, MOST_NAMED = 40, 12, 5
SAME = 1e-3
"""Numbers that differ by less, relatively, are one setting measured again."""
NO_KNOBS = {"app", "job_id", "run_id", "row", "user", "account", "partition", "qos", "group",
            "censored", "submit_s", "start_s", "end_s", "time_limit_s"}  # fmt: skip
REPEATS = re.compile(r"(run|rep|repeat|repetition|trial|try|attempt|iter|iteration|seed)"
                     r"[ _.#-]*(no|nr|num|number|id|idx|index)?"
                     r"|((n|no|num|number)[ _.]*(of[ _]*)?)?"
                     r"(runs|reps|repeats|repetitions|trials|measurements)",
                     re.IGNORECASE)  # fmt: skip
"""Which run of a setting it is, or how many runs its mean is of."""
LABELS = r"^(?i:[a-z]|(run|rep|repeat|try|trial|seed|[rst])?[ _.#-]*\d+)$"
"""What counts measurements of one setting: a number, or a letter or such a word with one."""
DAY = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})\.?([T ]\s*\d.*)?\s*$"
"""A day, with a time of the day or not: when a run was, which nobody set for what it does."""
MACHINE = {"nodes", "cores", "cores_per_task", "tasks", "threads", "gpus", "frequency_hz", "cap_w",
           "cpu_cap_w", "gpu_cap_w"}  # fmt: skip


def space_of(
    jobs: JobTable, knobs: Knobs, fixed: Collection[str] = (), *, measured: bool = True
) -> Space:
    """What is asked to be turned; where nobody says, the settings that ``measured`` runs turned.

    Columns of which one value is ``fixed`` are none.  Where what varies may be anything, it is
    asked for.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"cap_w": [200, 300], "runtime_s": [9.0, 7.0]})
    >>> space_of(runs, None).names, space_of(runs, "cap_w=200..300/50").knobs[0].values
    (('cap_w',), (200, 250, 300))
    """
    turned: dict[str, str] = {}
    if not knobs and "submit_s" not in jobs.columns and measured:
        turned = _meant({n: v for n, v in turned_columns(jobs) if n not in fixed}, jobs)
    if not turned:
        space = parse_space(valued(jobs, knobs))
        turnable(jobs, space.names)
        return space
    if "nodes" in turned:
        turned["nodes"] = _with_powers(jobs)
    own = [f"{n}={values}" for n, values in turned.items()]
    said = " ".join(f"--knob {quote(text)}" for text in own)
    listener.note(f"turned, as no knob was named: {said}")
    return parse_space(own)


def _meant(turned: dict[str, str], jobs: JobTable) -> dict[str, str]:
    """What was turned for its price: settings of machines and programs, or the one that varies.

    What tells runs apart by name, host or day is none, nor is the size of the work; of what may be
    either nothing is taken.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"host": ["a", "b"], "batch_size": [8, 9], "runtime_s": [9.0, 7.0]})
    >>> _meant({"host": "a,b", "batch_size": "8,9"}, runs), _meant({"colour": "1,2"}, runs)
    ({'batch_size': '8,9'}, {'colour': '1,2'})
    """
    timed = "runtime_s" in jobs.columns
    some = {n: v for n, v in turned.items()
            if not (_tells_apart(n) or (timed and of_a_step(jobs, n)))}  # fmt: skip
    own = {n: v for n, v in some.items() if n in MACHINE or SETTING.search(plain(n))}
    if len(own) < len(some) and any(not PROBLEM.search(plain(n)) for n in set(some) - set(own)):
        own = some if len(some) == 1 else {}
    return {} if own and set(own) != {"nodes"} and grown(jobs, list(own)) else own


def _with_powers(jobs: JobTable) -> str:
    """Node counts that were run, and the powers of two between them."""
    run = jobs.frame["nodes"].drop_nulls().unique().sort().to_list()
    between = [n for n in parse_space(None).knobs[0].values or () if run[0] < n < run[-1]]
    return ",".join(map(_written, sorted({*run, *between})))


def _tells_apart(name: str) -> bool:
    words = plain(name)
    return LABELLED.search(words) is not None or HARDWARE.fullmatch(words) is not None


def valued(jobs: JobTable, knobs: Knobs) -> Knobs:
    """Knobs, of which a column's name alone stands for the values that were run.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"cap_w": [300, 200, 300], "runtime_s": [9.0, 7.0, 9.1]})
    >>> parse_space(valued(runs, "cap_w")).knobs[0].values
    (200, 300)
    """
    if knobs is None or isinstance(knobs, (Space, Knob)):
        return knobs
    given = [knobs] if isinstance(knobs, str) else list(knobs)
    return [_as_run(jobs, k.strip()) if isinstance(k, str) and "=" not in k else k for k in given]


def _as_run(jobs: JobTable, name: str) -> Knob:
    turnable(jobs, [name])
    return Knob(name, jobs.frame[name].drop_nulls().unique().sort().to_list())


def turnable(jobs: JobTable, names: Iterable[str]) -> None:
    """A knob that is no column of ``jobs`` is a `DataError`, which names what was turned there.

    >>> from rheostat.core.vocabulary import table
    >>> turnable(table({"app": ["a", "a"], "cap_w": [200, 300]}), ["nodes"])
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: --knob: column nodes is missing; turned here: --knob cap_w=200,300
    """
    missing = [n for n in names if n not in jobs.columns]
    if not missing:
        return
    turned = [f"--knob {quote(f'{n}={values}')}" for n, values in turned_columns(jobs)]
    hint = [f"turned here: {' '.join(turned[:MOST_NAMED])}"] if turned else []
    raise DataError("--knob", [*(f"column {n} is missing" for n in missing), *hint])


def turned_columns(jobs: JobTable) -> Iterator[tuple[str, str]]:
    """Columns with the values that ``--knob`` takes; of two that go together the first.

    >>> from rheostat.core.jobs import Column
    >>> from rheostat.core.vocabulary import table
    >>> columns = {"lang": ["C", "C", "Go", "Go"], "opt": [0, 3, 0, 3], "aborts": [3, 9, 4, 7]}
    >>> columns |= {"kind": ["c", "c", "g", "g"], "runtime_s": [9.0, 7.0, 8.0, 6.0]}
    >>> list(turned_columns(table(columns, [Column("aborts", "", Moment.END)])))
    [('lang', 'C,Go'), ('opt', '0,3')]
    """
    some = [jobs.frame[c] for c in jobs.columns if _may_be_set(jobs, c)]
    taken: list[pl.Series] = []
    for values in sorted(some, key=lambda v: bool(LABELLED.search(plain(v.name)))):
        if not any(_together(values, other) for other in taken):
            taken.append(values)
    for own in (v for v in some if any(v is t for t in taken)):
        yield own.name, ",".join(map(_written, own.drop_nulls().unique().sort().to_list()))


def _may_be_set(jobs: JobTable, name: str) -> bool:
    """A word or a number that takes a few values, and that nobody measured."""
    values = jobs.frame[name].drop_nulls()
    known, distinct = jobs.schema[name].known, values.n_unique()
    if name in NO_KNOBS or (name in VOCABULARY and known is not Moment.SUBMIT) or distinct < 2:
        return False
    again = REPEATS.fullmatch(name.strip())
    if values.dtype == pl.String:
        if again and values.str.contains(LABELS).all():
            return False
        if values.str.contains(DAY).all():
            return False
        plain = not values.str.contains(r"[,=]").any()
        return plain and distinct <= MOST_WORDS and known is Moment.SUBMIT
    if again or not values.dtype.is_numeric() or distinct > MOST_VALUES or _spread(values) < SAME:
        return False
    repeats = distinct <= len(values) / 2 and (values % 1 == 0).all()
    return known is Moment.SUBMIT or repeats


def _spread(values: pl.Series) -> float:
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    return (high - low) / max(abs(low), abs(high))


def _together(one: pl.Series, other: pl.Series) -> bool:
    """Whether each value of one stands beside one value of the other alone."""
    pairs = pl.DataFrame([one.alias("a"), other.alias("b")]).n_unique()
    return pairs == one.n_unique() == other.n_unique()


def _written(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if isinstance(value, float) and whole else str(value)
