"""Requests to a language model, with how long the answers were: JSON lines, parquet or CSV.

JSON lines are read as OpenAI-style logs: ``prompt``, or ``messages`` (the last of the user first,
and what was said before as `rheostat.core.texts.turns` has it), or ``instruction`` with ``input``;
the answer's length from ``output_tokens``, ``usage`` or the answer itself, whose words are counted,
and each character of scripts that put no spaces between words.  What stands under ``request`` and
``response`` (and their ``body``) counts as if it stood outside.  Conversations (ShareGPT's
``conversations``, or ``messages`` that end with the model's) are read as the request for their last
answer.  JSON may be a list, too.  Tables need a column ``prompt``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.storage.bounded_read import read_bytes
from rheostat.core.storage.files import json_or_none, ordinary_file, parse_json
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.checks import rows_where
from rheostat.measurement.dates import iso_seconds
from rheostat.measurement.serving.frames import frame_of, not_found
from rheostat.measurement.serving.named_columns import named_columns
from rheostat.measurement.serving.prefix_text import text_blocks, text_in_order
from rheostat.measurement.serving.prompt_text import prompt_text, text_of

COLUMNS = (
    Column("prompt", "", Moment.SUBMIT, "text of the request"),
    Column("prompt_tokens", "", Moment.SUBMIT, "tokens of the request"),
    Column("output_tokens", "", Moment.END, "tokens of the answer"),
    Column("predicted_tokens", "", Moment.SUBMIT, "expected tokens of the answer"),
    Column("cached_tokens", "", Moment.END, "tokens of the request that a prefix cache held"),
    Column("tool_calls", "", Moment.END, "whether the answer calls a tool"),
    Column("prefix_blocks", "", Moment.SUBMIT, "blocks of the prompt, alike where prompts are"),
)
WORD = re.compile(
    r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|[^\s\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+"
)
"""A word, or a character of Thai, Lao, Japanese or Chinese."""
COUNTED, IN_ORDER, CAME = "__counted", "__in_order", "__came"
LENGTHS = ("completion_tokens", "output_tokens", "generated_tokens")
ANSWERS = ("response", "output", "completion", "answer")
CONVERSATIONS = ("conversations", "conversation")
ROLES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bard": "assistant"}
"""Who speaks in ShareGPT, in OpenAI's words."""
LONGEST = 1_000_000
"""Characters of a prompt; a longer one is no prompt but a file in the wrong place."""


def is_requests(names: Collection[str]) -> bool:
    """Whether fields so named are requests with their texts and something of the answer."""
    if {"request", "response"} <= set(names) or {*CONVERSATIONS} & set(names):
        return True
    answer = {*LENGTHS, "usage", *ANSWERS} & set(names)
    return bool(answer and {"messages", "prompt", "instruction", "question"} & set(names))


def read_requests(
    path: str | Path, *, columns: Mapping[str, str] | None = None, in_order: bool = False
) -> JobTable:
    """Requests in the order of the file.

    Parameters
    ----------
    path
        JSON lines, parquet or CSV.
    columns
        Our name to the file's, where they differ: ``{"output_tokens": "out_words"}``.
    in_order
        Make ``prefix_blocks`` of the texts as a server reads them.

    Returns
    -------
    JobTable
        ``prompt`` and ``output_tokens``, and ``prompt_tokens``, ``cached_tokens`` and ``submit_s``
        where known.

    Raises
    ------
    DataError
        No row has both a prompt and a length.
    """
    path = ordinary_file(path)
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    frame = (
        _of_json(path, in_order)
        if start[:1] in (b"{", b"[")
        else frame_of(path, "table of requests")
    )
    frame = named_columns(frame, columns)
    missing = [c for c in ("prompt", "output_tokens") if c not in frame.columns]
    if missing and is_requests(frame.columns):
        frame, missing = _of_rows(frame.iter_rows(named=True), in_order), []
    if missing:
        raise DataError(str(path), [not_found(missing, frame)])
    return _checked(frame, path)


def _checked(frame: pl.DataFrame, path: Path) -> JobTable:
    """Rows with a prompt of text and a length above 0; the others are noted."""
    length, text = pl.col("output_tokens"), pl.col("prompt")
    frame = frame.with_columns(
        text.cast(pl.String, strict=False), length.cast(pl.Float64, strict=False)
    )
    good = length.is_finite() & (length > 0) & text.str.len_chars().is_between(1, LONGEST)
    said = f"no prompt of 1 to {LONGEST:,} characters, or no length of an answer above 0"
    kept, notes = rows_where(frame, good, said)
    if not len(kept):
        raise DataError(str(path), ["no row has a prompt and a length of its answer above 0"])
    if COUNTED in kept.columns and (words := int(kept[COUNTED].sum())):
        notes.append(Note("the length of the answer is not stated: its words are counted",
                          count=words))  # fmt: skip
    wanted = ("prompt", "prompt_tokens", "output_tokens", "submit_s", "cached_tokens")
    names = [c for c in wanted if c in kept.columns and kept[c].null_count() < len(kept)]
    made = kept.select(names)
    if IN_ORDER in kept.columns and "prompt_tokens" in names:
        blocks = text_blocks(kept[IN_ORDER], kept["prompt_tokens"])
        made = made.with_columns(blocks.alias("prefix_blocks"))
    return table(made, COLUMNS, notes)


def _of_json(path: Path, in_order: bool) -> pl.DataFrame:
    """Requests of a list of objects, or of one object a line."""
    return _of_rows(_objects(path), in_order)


def _of_rows(given: Iterable[Any], in_order: bool) -> pl.DataFrame:
    """Requests of objects, or of rows of a table, in any of the forms that `_row` knows."""
    rows = [_row(one, in_order) for one in given]
    names = ("prompt_tokens", "output_tokens", "submit_s", "cached_tokens")
    texts = {IN_ORDER: pl.String} if in_order else {}
    schema = {"prompt": pl.String, **dict.fromkeys(names, pl.Float64), COUNTED: pl.Boolean, **texts}
    frame = pl.DataFrame(rows, schema={**schema, CAME: pl.String})
    return frame.with_columns(pl.coalesce("submit_s", iso_seconds(pl.col(CAME)))).drop(CAME)


def _objects(path: Path) -> list[Any]:
    """What stands in the list, or on each line; None for a line that is no JSON."""
    text = read_bytes(path)
    if text.lstrip()[:1] == b"[":
        try:
            return list(parse_json(text))
        except ValueError as error:
            raise DataError(str(path), [f"expected a list of objects as JSON: {error}"]) from error
    return [json_or_none(line) for line in text.splitlines() if line.strip()]


def _row(given: Any, in_order: bool) -> dict[str, Any]:
    """One request; what cannot be read is None and counted by the caller."""
    if not isinstance(given, dict):
        return {}
    given = _answered(_opened(given))
    came = given.get("submit_s", given.get("created", given.get("timestamp")))
    usage = given["usage"] if isinstance(given.get("usage"), dict) else {}
    length, counted = _length(given, usage)
    asked = given.get("prompt_tokens", usage.get("prompt_tokens", usage.get("input_tokens")))
    return {
        "prompt": prompt_text(given),
        "prompt_tokens": _number(asked),
        "output_tokens": length,
        COUNTED: counted,
        "submit_s": _number(came),
        CAME: came if isinstance(came, str) else None,
        "cached_tokens": _number(given.get("cached_tokens", _cached(usage))),
        **({IN_ORDER: text_in_order(given)} if in_order else {}),
    }


def _cached(usage: Mapping[str, Any]) -> Any:
    """Tokens of the prompt that a prefix cache held, as OpenAI's API states them."""
    details = usage.get("prompt_tokens_details")
    return details.get("cached_tokens") if isinstance(details, dict) else None


def _opened(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record with what its ``request`` and ``response``, or their ``body``, hold beside it."""
    for name in ("request", "response"):
        inner = given.get(name)
        if isinstance(inner, dict):
            body = inner.get("body")
            given = {**(body if isinstance(body, dict) else inner), **given}
    return given


def _answered(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A conversation as the request for its last answer, where no answer stands beside it."""
    turns = next((given[k] for k in (*CONVERSATIONS, "messages") if k in given), None)
    said = [_turn(t) for t in turns if isinstance(t, dict)] if isinstance(turns, list) else []
    if {*ANSWERS, *LENGTHS, "choices", "usage"} & set(given):
        return {**given, "messages": said} if {*CONVERSATIONS} & set(given) else given
    answers = [i for i, turn in enumerate(said) if turn["role"] == "assistant"]
    if not answers:
        return given
    last = answers[-1]
    return {**given, "messages": said[:last], "response": text_of(said[last]["content"])}


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    role = str(turn.get("role", turn.get("from", "")))
    return {
        **turn,
        "role": ROLES.get(role, role),
        "content": turn.get("content", turn.get("value")),
    }


def _number(value: Any) -> float | None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if good else None


def _length(given: Mapping[str, Any], usage: Mapping[str, Any]) -> tuple[float | None, bool]:
    """Tokens of the answer where they are stated, else its words; whether they were counted."""
    said = (_number(g.get(name)) for g in (given, usage) for name in LENGTHS)
    stated = next((n for n in said if n is not None), None)
    if stated is not None:
        return stated, False
    answer = next((given[k] for k in ANSWERS if isinstance(given.get(k), str)), None)
    if answer is None and isinstance(given.get("choices"), list):
        answer = _chosen(next(iter(given["choices"]), None))
    return (None, False) if answer is None else (float(len(WORD.findall(answer))), True)


def _chosen(choice: Any) -> str | None:
    """The text of a choice, with what it calls tools with."""
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return text_of(choice.get("text")) if isinstance(choice, dict) else None
    calls = message.get("tool_calls")
    called = [c["function"] for c in calls if isinstance(c, dict) and isinstance(
        c.get("function"), dict)] if isinstance(calls, list) else []  # fmt: skip
    return "\n".join(
        [text_of(message.get("content")), *(text_of(f.get("arguments")) for f in called)]
    )
