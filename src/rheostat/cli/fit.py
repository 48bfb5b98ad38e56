"""``rheostat fit``: learn from a log once, forecast often."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def fit(
    file: o.File,
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = Path("model.rheo"),
    kind: o.Kind = "auto",
    check: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the newest jobs to be marked on.")
    ] = 0.2,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Learn from a job log and save the model; says how right it is on the newest jobs.

    The saved model has learnt from all finished jobs of FILE; the marks come from a model that had
    not seen the newest of them.
    """
    from rheostat.cli.output import put_json, put_report, tell
    from rheostat.core.report import Report, Section
    from rheostat.decide.accuracy import accuracy_facts
    from rheostat.explain.advice import accuracy_words
    from rheostat.predict.store import save
    from rheostat.recipes.nodecount import kind_of, marks, targets_in

    jobs = o.load(file, form, mapped)
    chosen = kind_of(kind, saved=True)
    found = marks(jobs, chosen, check, seed) if check > 0 else {}
    model = o.fitted(jobs, None, chosen, seed)
    path = save(model, out)  # type: ignore[arg-type]
    tell(f"wrote {path}")
    facts = {
        "model": str(path),
        "kind": chosen,
        "rows": len(jobs),
        "targets": list(targets_in(jobs)),
        "features": list(getattr(model, "features_", ())),
        "accuracy": accuracy_facts(found),
    }
    if json:
        put_json("rheostat.fit/1", facts)
        return
    said = [f"{chosen}, learnt from {len(jobs):,} jobs."]
    said += [accuracy_words(q, a) for q, a in found.items()]
    put_report(Report("", [Section("fit", tuple(said))], facts))
