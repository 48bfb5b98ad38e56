"""Blocks of prompts from their texts, the same where texts begin alike, as a prefix cache has them.

A block stands for everything up to its end.  All texts are cut after the same number of
characters, as many as `BLOCK` tokens have in the whole table: vLLM's blocks have 16 tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import polars as pl

from rheostat.measurement.serving.prompt_text import text_of

BLOCK = 16
"""Tokens of a block."""
LISTS = ("prefix_blocks", "hash_ids", "block_hashes", "block_hash_ids")
"""Columns of blocks that a trace itself has."""


def text_in_order(given: Mapping[str, Any]) -> str | None:
    r"""The text of a request as a server reads it: tools, messages in their order, or the prompt.

    >>> text_in_order({"messages": [{"role": "system", "content": "Be kind."},
    ...                             {"role": "user", "content": "Hi"}]})
    'system\x1fBe kind.\x1euser\x1fHi\x1e'
    """
    messages = given.get("messages")
    if not isinstance(messages, list):
        prompt = given.get("prompt")
        return prompt if isinstance(prompt, str) and prompt else None
    said = [f"{m.get('role')}\x1f{text_of(m.get('content'))}\x1e"
            for m in messages if isinstance(m, Mapping)]  # fmt: skip
    tools = given.get("tools")
    return "".join([json.dumps(tools, default=str) if tools else "", *said]) or None


def text_blocks(texts: pl.Series, tokens: pl.Series) -> pl.Series:
    """Lists of blocks, one a text.

    Parameters
    ----------
    texts
        In the order of a server; None where not known.
    tokens
        Of each text, by which the characters of a block are counted.

    Examples
    --------
    >>> made = text_blocks(pl.Series(["abcdabcd", "abcdxyz", None]), pl.Series([32, 28, 9]))
    >>> [len(blocks) for blocks in made], made[0][0] == made[1][0], made[0][1] == made[1][1]
    ([2, 2, 0], True, False)
    """
    known = texts.is_not_null() & (tokens > 0).fill_null(False)
    counted = float(tokens.filter(known).sum())
    per_token = float(texts.filter(known).str.len_chars().sum()) / max(counted, 1.0)
    size = max(1, round(BLOCK * per_token))
    return pl.Series([_chain(t, size) if t else [] for t in texts], dtype=pl.List(pl.Int64))


def prefix_blocks_of(frame: pl.DataFrame, tokens: pl.Series) -> pl.Series | None:
    """Blocks of each row: those that the table has, or from its texts; None where it has neither.

    Parameters
    ----------
    frame
        A row a request.
    tokens
        Of each prompt.
    """
    for name in LISTS:
        if isinstance(frame.schema.get(name), pl.List):
            return frame[name]
    names = [c for c in ("messages", "prompt", "tools") if c in frame.columns]
    if not {"messages", "prompt"} & set(names):
        return None
    texts = [text_in_order(row) for row in frame.select(names).iter_rows(named=True)]
    return text_blocks(pl.Series(texts, dtype=pl.String), tokens) if any(texts) else None


def _chain(text: str, size: int) -> list[int]:
    """Each block's number is made of its characters and of the number before it."""
    number, made = b"", []
    for at in range(0, len(text), size):
        part = text[at : at + size].encode("utf-8", "replace")
        number = blake2b(number + part, digest_size=8).digest()
        made.append(int.from_bytes(number, "little", signed=True))
    return made
