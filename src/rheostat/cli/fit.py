"""``rheostat fit``: learn from a log once, forecast often."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rheostat.cli import options as o

Files = Annotated[
    list[Path], typer.Argument(help="A job log, or the parts of one.", metavar="FILE...")
]


def fit(
    files: Files,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Where the model goes.", writable=True, dir_okay=False),
    ] = Path("model.rheo"),
    kind: o.Kind = "auto",
    test_fraction: o.TestFraction = 0.2,
    knobs: Annotated[
        str, typer.Option(help="Columns that will be turned; only the law model needs to know.")
    ] = "nodes",
    seed: o.Seed = 0,
    out_of_core: Annotated[
        bool, typer.Option("--out-of-core", help="Never hold all jobs in memory.")
    ] = False,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Fit on Dask workers: tcp://host:8786, or local."),
    ] = None,
    slurm: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="Fit on Dask workers submitted to Slurm.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=10_000, help="Workers to start (local, Slurm).")
    ] = 2,
    memory: Annotated[str, typer.Option(help="Memory of one started worker.")] = "8GB",
    work: Annotated[
        Path | None,
        typer.Option(
            help="Folder from where an interrupted out-of-core fit goes on.", file_okay=False
        ),
    ] = None,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Learn from a job log and save the model; says how right it is on the newest jobs.

    The saved model has learnt from all finished jobs of FILE; the scores come from a model that had
    not seen the newest of them.

    Several FILES in time order (the months of a trace, say), --out-of-core, --dask and --slurm make
    an XGBoost or LightGBM model part by part; what --test-fraction holds back is then not
    learned from.
    """
    from rheostat.cli.output import put_json, put_report, tell
    from rheostat.core.report import Report, Section
    from rheostat.decision.accuracy import accuracy_facts
    from rheostat.explanation.advice import accuracy_words
    from rheostat.prediction.persist import save
    from rheostat.questions import inputs
    from rheostat.questions.parse import parse_names
    from rheostat.recipes.nodecount import accuracy_on_newest, kind_of, targets_in
    from rheostat.recipes.nodecount import model as new_model

    if len(files) > 1 or out_of_core or dask or slurm:
        from rheostat.cli import large

        cluster = large.workers_of(dask, slurm, workers, memory)
        how: dict[str, Any] = {
            "kind": kind,
            "test_fraction": test_fraction,
            "seed": seed,
            "workers": cluster,
            "work": work,
        }
        facts = large.fit_files(files, out, **how, form=form, mapped=mapped)
        if json:
            put_json("rheostat.fit/1", facts)
        else:
            put_report(Report("", [Section("fit", large.words(facts))], facts))
        return
    jobs = inputs.load(files[0], form, mapped)
    chosen, names = kind_of(kind, jobs), parse_names(knobs)
    clock = test_fraction > 0 and "submit_s" in jobs.columns
    new = new_model(chosen, jobs, knobs=names, seed=seed)
    scores = accuracy_on_newest(jobs, new, test_fraction) if clock else {}
    model = inputs.fitted(jobs, None, chosen, seed, names)
    path = save(model, out)
    tell(f"wrote {path}")
    facts = {
        "model": str(path),
        "kind": chosen,
        "rows": len(jobs),
        "targets": list(targets_in(jobs)),
        "features": list(getattr(model, "features_", ())),
        "accuracy": accuracy_facts(scores),
    }
    if json:
        put_json("rheostat.fit/1", facts)
        return
    said = [f"{chosen}, learnt from {len(jobs):,} jobs."]
    said += [accuracy_words(q, a) for q, a in scores.items()]
    put_report(Report("", [Section("fit", tuple(said))], facts))
