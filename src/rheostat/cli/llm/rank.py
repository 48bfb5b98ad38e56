"""``rheostat llm rank``: whose answer will be short."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("llm.rank", o.shown, save="out")
def rank(
    requests: Annotated[
        list[Path],
        argument(
            "Answered requests, one or more files: JSON lines with prompt or messages and "
            "the answer or its tokens, or a table with prompt and output_tokens.",
            "REQUESTS...",
        ),
    ],
    model: Annotated[Path | None, option("Rank by this model, learn nothing.", "--model")] = None,
    save: Annotated[
        Path | None, option("Keep the model in this file.", "--save", "-o", writable=True)
    ] = None,
    column: o.Columns = None,
    test_fraction: Annotated[
        float,
        option("Share of the requests kept for the scores.", "--test-fraction", min=0.0, max=0.99),
    ] = 0.2,
    networks: Annotated[
        str,
        option(
            "Also train and score small networks, by their losses: margin (as PARS), "
            "listmle, pointwise, buckets; comma-separated (extra neural)."
        ),
    ] = "",
    encoder: Annotated[
        str,
        option(
            "int8: learn from the vectors of MiniLM, too (extra encoder, 10 ms a prompt), or "
            "from those of a folder with model.onnx and tokenizer.json, or from the state of "
            "a language model where its answer begins (extra gguf, 0.2 s a prompt). A folder "
            "with config.json, weights and tokeniser: also train that and score it, as PARS "
            "(extras neural and lm). Nothing is fetched.",
            "--encoder",
            metavar="int8|FOLDER|MODEL.gguf",
        ),
    ] = "",
    seed: o.Seed = 0,
) -> None:
    """Learn whose answer will be shorter, and say how well that orders other requests.

    Scores are Kendall's tau over all pairs, and the share of pairs in the right order among those
    whose lengths differ by a fifth or more.  The length of the prompt stands beside, as a baseline,
    and the ceiling: how well one answer to a prompt orders another, where prompts come repeatedly.
    With --model all requests are ranked by a model saved before.
    """
