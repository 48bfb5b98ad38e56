"""``rheostat llm rank``: whose answer will be short."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def rank(
    requests: Annotated[
        list[Path],
        typer.Argument(
            help="Answered requests, one or more files: JSON lines with prompt or messages and the "
            "answer or its tokens, or a table with prompt and output_tokens.",
            metavar="REQUESTS...",
        ),
    ],
    model: Annotated[
        Path | None, typer.Option("--model", help="Rank by this model, learn nothing.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", "-o", help="Keep the model in this file.", writable=True),
    ] = None,
    column: o.Columns = None,
    test_fraction: Annotated[
        float,
        typer.Option(
            "--test-fraction", min=0.0, max=0.99, help="Share of the requests kept for the scores."
        ),
    ] = 0.2,
    networks: Annotated[
        str,
        typer.Option(
            help="Also train and score small networks, by their losses: margin (as PARS), listmle, "
            "pointwise, buckets; comma-separated (extra neural)."
        ),
    ] = "",
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="int8|FOLDER|MODEL.gguf",
            help="int8: learn from the vectors of MiniLM, too (extra encoder, 10 ms a prompt), or "
            "from those of a folder with model.onnx and tokenizer.json, or from the state of a "
            "language model where its answer begins (extra gguf, 0.2 s a prompt). A folder with "
            "config.json, weights and tokeniser: also train that and score it, as PARS (extras "
            "neural and lm). Nothing is fetched.",
        ),
    ] = "",
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Learn whose answer will be shorter, and say how well that orders other requests.

    Scores are Kendall's tau over all pairs, and the share of pairs in the right order among those
    whose lengths differ by a fifth or more.  The length of the prompt stands beside, as a baseline,
    and the ceiling: how well one answer to a prompt orders another, where prompts come repeatedly.
    With --model all requests are ranked by a model saved before.
    """
    import math

    from rheostat.cli.output import put_json, tell, tell_notes, working
    from rheostat.errors import DataError
    from rheostat.measurement.serving.requests import read_requests
    from rheostat.prediction.saved_models import persist
    from rheostat.questions import inputs
    from rheostat.questions.parse import parse_names, parse_pairs
    from rheostat.recipes.pars import KNOWN_CEILING, evaluated, label_noise, ranked

    if model is not None and (save or networks or encoder):
        said = "learns nothing: expected no --save, --networks or --encoder beside it"
        raise DataError("--model", [said])
    columns = parse_pairs(column, "--column")
    jobs = inputs.together(requests, lambda f: read_requests(f, columns=columns))
    tell_notes(jobs.notes)
    if model is not None:
        scores = ranked(persist.load(model, ["prompt-length"]), jobs, seed)
    else:
        with working(f"learning from {len(jobs)} requests"):
            fitted, scores = evaluated(jobs, test_fraction, seed, parse_names(networks), encoder)
        if save is not None:
            persist.save(fitted, save)
            tell(f"wrote {save}")
    ceiling = label_noise(jobs)
    if json:
        put_json("rheostat.llm-rank/1", {"requests": len(jobs), "methods": scores,
                 "ceiling_tau": ceiling, "published_ceiling_tau": KNOWN_CEILING})  # fmt: skip
        return
    for name, score in scores.items():
        print(f"{name}\ttau {score['tau']:.3f}\tpairs {100 * score['pair_accuracy']:.1f} %"
              f"\ttests {score['tests']:.0f}")  # fmt: skip
    low, high = KNOWN_CEILING
    here = f"{ceiling:.2f} here" if math.isfinite(ceiling) else "not known here: no prompts repeat"
    tell(f"ceiling, tau between two answers to the same prompt: {here}; {low} to {high} published "
         "(Vicuna 7B, 20,000 prompts of Alpaca)")  # fmt: skip


def numbers(text: str, count: int, option: str) -> list[float]:
    """So many comma-separated numbers."""
    from rheostat.errors import DataError

    try:
        values = [float(v) for v in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count:
        raise DataError(option, [f"expected {count} numbers with commas between, got {text!r}"])
    return values
