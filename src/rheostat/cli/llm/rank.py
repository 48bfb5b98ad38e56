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
    from rheostat.cli.output import printed
    from rheostat.questions.llm import rank as ask

    with printed(json=json) as put:
        put(ask(requests, model, test_fraction=test_fraction, networks=networks, encoder=encoder,
                seed=seed, out=save, columns=column or ()))  # fmt: skip
