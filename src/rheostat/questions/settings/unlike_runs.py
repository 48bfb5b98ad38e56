"""What is said of runs whose settings do not compare: other problems, machines, times or states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.space import Space
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import QuestionError
from rheostat.explanation.number_words import cost_name, setting_words
from rheostat.measurement.runs.levels_apart import LevelsApart, levels_apart
from rheostat.measurement.serving.word_levels import of_words
from rheostat.questions import listener
from rheostat.questions.settings.machine_kinds import MachineKinds, apart, few, machine_kinds
from rheostat.questions.settings.problem_size import grown, refuse_unlike_sizes
from rheostat.questions.settings.to_target import tell_targets
from rheostat.questions.settings.unlike_work import refuse_parts, refuse_unlike_steps, unlike_work
from rheostat.questions.settings.weak_scaling import refuse_weak_scaling
from rheostat.recipes import nodecount

QUANTITIES = ("runtime_s", "power_w", "energy_j")
NAMED = 3
"""Odd runs that are named."""
UNEVEN = 1.5
"""A factor between runs of one setting from which a mean of some of them is no other's."""
FAR_APART = 1.5
"""A factor between two runs of one setting from which their mean is nobody's."""
SLIGHT_DRIFT = 0.02
"""A share of the run time that no choice hangs on."""


def of_one_kind(jobs: JobTable, own: JobTable, space: Space) -> tuple[JobTable, JobTable]:
    """Both as if they had run on hosts of one kind, where ``own`` shares settings unevenly.

    Runs on the other kind are left out where the setting ran on the kept one, too, and else brought
    to it.  Hosts that ran nothing of ``own`` stay.
    """
    for column in nodecount.differing(own, space.names):
        kinds = machine_kinds(own, column, space.names)
        if kinds is not None and kinds.uneven:
            kept, alike = (_on_one_kind(t, own, kinds) for t in (jobs, own))
            listener.note(_kind_words(kinds, own, alike))
            return kept, alike
    return jobs, own


def _on_one_kind(jobs: JobTable, own: JobTable, kinds: MachineKinds) -> JobTable:
    """The table without the kind left out, but at settings that ``own`` ran there alone."""
    out = kinds.runs_of(kinds.left_out)
    there = own.frame.filter(~out).select(kinds.knobs).unique()
    moved = [
        pl.when(out).then(pl.col(q) * f).otherwise(pl.col(q)).alias(q)
        for q, f in kinds.to_kept().items()
    ]
    ran = jobs.frame.join(there.with_columns(_ran=True), on=kinds.knobs, how="left")["_ran"]
    kept = jobs.rows(~(jobs.frame.select(out).to_series() & ran.fill_null(value=False)).to_numpy())
    return replace(kept, frame=kept.frame.with_columns(moved))


def _kind_words(kinds: MachineKinds, own: JobTable, alike: JobTable) -> str:
    """What the kinds are, which runs are compared, and what to type for others."""
    said = f"{kinds.words()}; {len(own) - len(alike)} of {len(own)} runs, on {few(kinds.left_out)},"
    said += " are left out, as the other kind ran their settings"
    if kinds.on_fast if kinds.fast_left else kinds.on_slow:
        by = ", ".join(f"{cost_name(q)} times {f:.3g}" for q, f in kinds.to_kept().items())
        said += f"; others count with {by}, as the kinds differ where both ran"
    return f"{said}; {kinds.where(kinds.left_out[0])} takes that {kinds.column} alone"


def refuse_split(runs: JobTable, space: Space) -> None:
    """Refuse settings of which no machine, or no problem, ran all; say what each ran."""
    if (split := nodecount.split_settings(runs, space.names)) is None:
        return
    column, ran = split
    each = "; ".join(
        f"--where {quote(f'{column}={v}')} (has {', '.join(own)})" for v, own in ran.items()
    )
    said = f"no {column} ran all settings of {space.names[0]}, and unlike ones do not compare"
    raise QuestionError(f"{said}; name one: {each}")


def tell_unlike(runs: JobTable, space: Space) -> None:
    """Say which columns tell that runs were not of one problem; refuse settings of two machines."""
    refuse_split(runs, space)
    refuse_unlike_steps(runs, space.names)
    refuse_unlike_sizes(runs, space.names)
    refuse_weak_scaling(runs, space.names)
    _tell_blank(runs, space.names)
    mixed = nodecount.differing(runs, space.names)
    refuse_parts(runs, space.names, mixed)
    kinds = [k for c in mixed if (k := machine_kinds(runs, c, space.names)) is not None]
    for kind in kinds:
        listener.note(f"{kind.words()}: {kind.where(kind.fast[0])} keeps one")
    ended = _ended(runs)
    for flag in _flags(ended):
        if (parted := machine_kinds(ended, flag, space.names)) is not None:
            listener.note(
                f"{parted.words()}: runs that do not compare count as repeats; "
                f"{parted.where(parted.fast[0])} leaves the others out"
            )
    if mixed and not kinds and not _tell_levels(runs, mixed, space.names):
        said = f"runs that differ in {', '.join(mixed)} count as repeats: --where tells apart"
        listener.note(said)
    targets = list(tell_targets(runs, space.names))
    listener.notes(map(Note, targets))
    if not targets and (larger := grown(runs, space.names)):
        said = f"{', '.join(larger)} differs between the settings: if that is the size of the work"
        listener.note(f"{said}, they are not of one problem and cannot be compared: --where")
    listener.notes(Note(said) for said in unlike_work(runs, space.names))
    knobs = " and ".join(space.names)
    for column in mixed:
        if (alone := apart(runs, column, space.names)) is not None:
            listener.note(
                f"only {column} {few(alone[0])} ran {knobs} {few(alone[1])}, and none of the other "
                f"settings: what {column} does counts as done by {knobs}; --where tells apart"
            )
    for column in nodecount.confounded(runs, space.names):
        said = f"each setting of {knobs} was measured at one {column} alone, some at another"
        listener.note(f"{said}: what {column} does counts as done by {knobs}; --where tells apart")
    if (first := nodecount.warm_up(runs, space.names)) is not None:
        slow, of, factor = first
        listener.note(
            f"the first run of {slow} of {of} settings took longer, {factor:.2g} times what the "
            "later ones took in the middle, and counts as they do: leave it out if it warmed up"
        )
    else:
        tell_odd(runs, space.names)
        _tell_odd_power(runs, space.names)
        _tell_far_pairs(runs, space.names, mixed)
    if abs((factor := nodecount.drift(runs, space.names)) - 1) > SLIGHT_DRIFT:
        said = f"repeats took {factor:.2f} times as long at the end of these runs as at their start"
        listener.note(
            f"{said}: settings that ran early and late are not alike; run them in random order"
        )


def _tell_blank(runs: JobTable, knobs: Sequence[str]) -> None:
    """Say which runs have no value of a knob: they stand at no setting."""
    for knob in (k for k in knobs if k in runs.columns and runs.frame[k].null_count() > 0):
        blank = runs.frame.filter(pl.col(knob).is_null())
        if len(blank) == len(runs):
            continue
        others = [k for k in knobs if k != knob and runs.frame[k].dtype == pl.String]
        of = [f"{k} {few(blank[k].drop_nulls().unique().sort().to_list())}" for k in others]
        said = f"{len(blank)} of {len(runs)} runs{', of ' + ', '.join(of) if of else ''}"
        listener.note(
            f"left out for want of a value of {knob}, {said}: where it does not apply, write none"
        )


def tell_ended_badly(runs: JobTable, setting: Mapping[str, Any]) -> None:
    """Say how many runs of the setting that is taken did not end well."""
    there = runs.rows(pl.all_horizontal(*(pl.col(k) == v for k, v in setting.items())))
    if cut := int(there.cut_off.sum()):
        listener.note(f"{setting_words(setting)}: {cut} of {len(there)} runs did not end well")


def _tell_levels(runs: JobTable, columns: Sequence[str], knobs: Sequence[str]) -> bool:
    """Say by which columns of words runs of one setting lie apart; whether any was."""
    there = [q for q in QUANTITIES if q in runs.columns]
    words = [c for c in columns if of_words(runs.frame[c])]
    apart = {c: far for c in words if (far := levels_apart(runs.frame, knobs, c, there))}
    for column, far in apart.items():
        _refuse_uneven(runs, column, far, knobs)
        one, both = (quote(f"{column}={v}") for v in (far.low, f"{far.low},{far.high}"))
        listener.note(
            f"{far.words(column)}, and they count as repeats of one setting, of whose mean the "
            f"choice is: --where {one} takes one alone, --knob {both} compares them"
        )
    return bool(apart)


def _refuse_uneven(runs: JobTable, column: str, far: LevelsApart, knobs: Sequence[str]) -> None:
    """Refuse means of levels far apart of which some settings ran one and some another."""
    ran = runs.frame.drop_nulls(column).group_by(knobs).agg(pl.col(column).n_unique())
    levels = runs.frame[column].drop_nulls().unique(maintain_order=True)
    if far.farthest < UNEVEN or (ran[column] == len(levels)).all():
        return
    each = ", ".join(f"--where {quote(f'{column}={v}')}" for v in levels[:NAMED])
    raise QuestionError(
        f"{far.words(column)}, and not every setting ran with each {column}: their means do not "
        f"compare; name one: {each}{', ...' * (len(levels) > NAMED)}"
    )


def _ended(runs: JobTable) -> JobTable:
    """The runs that count as repeats: those that failed or were cut off do not."""
    if "censored" not in runs.columns:
        return runs
    return runs.rows(~pl.col("censored").fill_null(value=False))


def _flags(runs: JobTable) -> list[str]:
    """Columns of two words that are known after a run, as whether it was throttled, or of one."""
    before = {*runs.known_at(Moment.SUBMIT).columns, "censored"}
    words = [c for c in runs.columns if runs.frame[c].dtype in (pl.String, pl.Boolean)]
    return [c for c in words if c not in before and runs.frame[c].n_unique() == 2]


def _tell_odd_power(runs: JobTable, knobs: Sequence[str]) -> None:
    """Say which runs drew far other power than their repeats, which a reading alone does."""
    if not {"runtime_s", *knobs} <= set(runs.columns) or not {"energy_j", "power_w"} & set(
        runs.columns
    ):
        return
    watts = pl.col("power_w") if "power_w" in runs.columns else pl.col("energy_j") / "runtime_s"
    drawn = runs.with_columns([VOCABULARY["power_w"]], power_w=watts.cast(pl.Float64))
    odd = nodecount.odd_repeats(drawn, knobs, "power_w")
    said = [f"one run at {setting} drew {w:.3g} W where the others there draw {middle:.3g} W"
            for setting, w, middle in odd[:NAMED]]  # fmt: skip
    if said:
        listener.note(
            f"{'; '.join(said)}, and counts as they do: take its row out if its reading is wrong"
        )


def _tell_far_pairs(runs: JobTable, knobs: Sequence[str], mixed: Sequence[str]) -> None:
    """Say where the only two runs of a setting are far apart: neither tells which was disturbed."""
    if mixed or not {"runtime_s", *knobs} <= set(runs.columns):
        return
    took = pl.col("runtime_s")
    pairs = _ended(runs).frame.filter(took > 0).group_by(list(knobs), maintain_order=True)
    both = pairs.agg(pl.len(), least=took.min(), most=took.max())
    far = both.filter(pl.col("len") == 2, pl.col("most") > FAR_APART * pl.col("least"))
    for row in far.head(NAMED).iter_rows(named=True):
        setting = setting_words({k: row[k] for k in knobs})
        listener.note(
            f"{setting}: its two runs took {row['least']:.3g} s and {row['most']:.3g} s, and their "
            "mean counts; which of them was disturbed two do not tell: run it again"
        )


def tell_odd(runs: JobTable, settings: Sequence[str]) -> None:
    """Say which runs the choice may hang on though they are unlike their repeats."""
    odd_runs = nodecount.odd_repeats(runs, settings)
    said = [
        f"one run at {setting} took {odd:.3g} s where the others there take {middle:.3g} s"
        for setting, odd, middle in odd_runs[:NAMED]
    ]
    if not said:
        return
    more = f" (and {len(odd_runs) - NAMED} more)" if len(odd_runs) > NAMED else ""
    listener.note(
        f"{'; '.join(said)}{more}, and counts as they do: take its row out if it was disturbed or "
        "did not do its work"
    )
