"""Throughput, time between tokens and batch of serving runs, one from the others.

While B requests run, tokens per second = B / time between tokens (Little's law): which of the three
is not stated follows row by row from the two that are.

Notation
--------
B  requests that run at once    t  time between tokens    o, p  tokens of an answer, of a prompt
tokens/s = B / t = tokens/s of a GPU x GPUs = requests/s x o = all tokens/s x o / (o + p)
t = 1 / (tokens/s of a user) = (whole answer - first token) / (o - 1) = whole answer / o
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.serving.serving_names import BARE, SECONDS, TIMES

CLOSE = 5.0
"""Factor within which throughput and batch tell the unit of a time, and beyond which they say that
one of the three is in another unit."""
ALIKE = 1.1
"""Factor within which two throughputs are the same."""
FAR = 1.5
"""Factor by which prompts have to change a throughput for numbers to say whether they count."""
SLOWEST_S, FASTEST_MS = 2.0, 0.2
"""A time between tokens that is as large in s, or as small in ms, is in the other unit."""
OFTEN = 20.0
"""Tokens that come at once (speculation) make the time between chunks longer, but less than so."""


def with_times(
    frame: pl.DataFrame, stated: Mapping[str, str], problems: list[str], notes: list[Note]
) -> pl.DataFrame:
    """The frame with ``tokens_per_s``, ``itl_s`` and ``batch_cap`` where they can be known.

    Parameters
    ----------
    frame
        Columns by our names; times without a unit end in `BARE`.
    stated
        ``{"time": "ms"}``, what the user says.
    problems, notes
        What has to be stated, and what was derived, is added here.

    Examples
    --------
    >>> said = []
    >>> runs = pl.DataFrame({"batch_cap": [64], "tokens_per_s": [3200.0]})
    >>> with_times(runs, {}, [], said)["itl_s"].to_list(), said[0].message
    ([0.02], 'itl_s is not stated: it is batch over tokens per second, as in full batches')
    """
    frame = _throughput(_lengths(frame, notes), notes)
    frame = _units(frame, stated.get("time"), problems, notes)
    frame = _throughput_of_latency(frame, notes)
    frame = _first(frame, "itl_s", _between_tokens(frame), notes)
    both = _quotient(frame, "batch_cap", "tokens_per_s")
    frame = _first(
        frame, "itl_s", {"batch over tokens per second, as in full batches": both}, notes
    )
    product = _product(frame, "tokens_per_s", "itl_s")
    running = None if product is None else _whole(product)
    words = "tokens per second times the time between tokens, the requests that ran"
    frame = _first(frame, "batch_cap", {words: running}, notes)
    _contradictions(frame, problems)
    return frame


def with_full_batches(frame: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """The frame with ``tokens_per_s`` where it is not stated: of a batch that is full.

    >>> runs = pl.DataFrame({"batch_cap": [64], "itl_s": [0.02]})
    >>> with_full_batches(runs, [])["tokens_per_s"].to_list()
    [3200.0]
    """
    speed = _quotient(frame, "batch_cap", "itl_s")
    words = "batch over the time between tokens, as in full batches"
    return _first(frame, "tokens_per_s", {words: speed}, notes)


def _lengths(frame: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """Tokens of a prompt and of an answer, the mean, where those of all requests are stated."""
    for part in ("prompt", "output"):
        mean = _quotient(frame, f"total_{part}_tokens", "completed")
        words = f"total_{part}_tokens over the requests completed"
        frame = _first(frame, f"{part}_tokens", {words: mean}, notes)
    return frame


def _throughput(frame: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """Tokens of the answers per second, of all GPUs."""
    if "tokens_per_s_all_gpu" in frame.columns and "gpus" in frame.columns:
        every = _product(frame, "tokens_per_s_all_gpu", "gpus")
        frame = _first(frame, "tokens_per_s_all", {"that of a GPU times GPUs": every}, [])
    share = None
    if {"prompt_tokens", "output_tokens"} <= set(frame.columns):
        share = number("output_tokens") / (number("output_tokens") + number("prompt_tokens"))
    total = alone = None
    if share is not None and "tokens_per_s_all" in frame.columns:
        alone = number("tokens_per_s_all") if _answers_alone(frame, share) else None
        total = number("tokens_per_s_all") * share
    frame = frame if share is None else _of_answers(frame, share, notes)
    ways = {
        "that of a GPU times GPUs": _product(frame, "tokens_per_s_gpu", "gpus"),
        "requests per second times the tokens of an answer":
            _product(frame, "requests_per_s", "output_tokens"),
        "the answers' tokens over the run's duration":
            _quotient(frame, "total_output_tokens", "duration_s"),
        "tokens per second, the answers' alone as batch over time between tokens says": alone,
        "the answers' share of all tokens per second": total,
    }  # fmt: skip
    return _first(frame, "tokens_per_s", ways, notes)


def _answers_alone(frame: pl.DataFrame, share: pl.Expr) -> bool:
    """Whether throughput is that of full batches by the answers' tokens, and far from it by all."""
    full = _quotient(frame, "batch_cap", "itl_s")
    if full is None:
        return False
    over = (number("tokens_per_s_all") / full).log().abs()
    near, apart = frame.select(a=over.median(), b=share.log().abs().median()).row(0)
    return None not in (near, apart) and near < math.log(ALIKE) and apart > math.log(FAR)


def _of_answers(frame: pl.DataFrame, share: pl.Expr, notes: list[Note]) -> pl.DataFrame:
    """Tokens per second of the answers, where requests per second say that prompts count, too."""
    answers = _product(frame, "requests_per_s", "output_tokens")
    if answers is None or "tokens_per_s" not in frame.columns:
        return frame
    over = (number("tokens_per_s") / answers).log()
    prompts = (over + share.log()).abs()
    apart, near = frame.select(a=(over.abs() - prompts).median(), b=prompts.median()).row(0)
    if apart is None or near is None or apart < math.log(ALIKE) or near > math.log(ALIKE):
        return frame
    notes.append(Note("tokens per second count the prompts, too, as requests per second say: the "
                      "answers' share is taken"))  # fmt: skip
    return frame.with_columns(tokens_per_s=number("tokens_per_s") * share)


def _throughput_of_latency(frame: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """Of a batch that was answered in so long, where no throughput is stated."""
    one_batch = not {"completed", "total_output_tokens"} & set(frame.columns)
    tokens = _product(frame, "batch_cap", "output_tokens")
    ways = {
        f"the tokens of a batch over its {name.removesuffix('_s')}":
            None if tokens is None or name not in frame.columns else tokens / number(name)
        for name in ("latency_s", *(("duration_s",) if one_batch else ()))
    }  # fmt: skip
    return _first(frame, "tokens_per_s", ways, notes)


def _between_tokens(frame: pl.DataFrame) -> dict[str, pl.Expr | None]:
    there = set(frame.columns)
    rest = None
    if {"latency_s", "ttft_s", "output_tokens"} <= there:
        more = (number("output_tokens") - 1).clip(1)
        rest = (number("latency_s") - number("ttft_s")) / more
    per_user = 1 / number("tokens_per_s_user") if "tokens_per_s_user" in there else None
    return {
        "one over the tokens per second of a user": per_user,
        "whole answers less first tokens, over the other tokens": rest,
        "whole answers over their tokens": _quotient(frame, "latency_s", "output_tokens"),
    }


def _units(
    frame: pl.DataFrame, stated: str | None, problems: list[str], notes: list[Note]
) -> pl.DataFrame:
    """Times whose heading says no unit: as stated, as throughput and batch say, or asked for."""
    bare = [t for t in TIMES if t + BARE in frame.columns]
    units = {t: stated or _by_throughput(frame, t) for t in bare}
    if units.get("itl_s", "") is None and (sized := _by_size(frame)):
        units["itl_s"] = sized
        other = "--unit time=" + ("s" if sized == "ms" else "ms")
        notes.append(Note(f"itl_s is taken to be in {sized}, by its size: else {other}"))
    known = next((u for u in units.values() if u), None)
    for name in bare:
        unit = units[name] or (known if name != "duration_s" else None)
        theirs = name + BARE
        if unit is None and name == "itl_s":
            problems.append(f"{name}: s or ms? state it: --unit time=ms or --unit time=s")
        if unit is None:
            frame = frame.drop(theirs)
            continue
        if not stated and units[name] != _by_size(frame, name):
            notes.append(Note(f"{name} is taken to be in {unit}, as throughput and batch say"))
        frame = frame.with_columns((number(theirs) * SECONDS[unit]).alias(name)).drop(theirs)
    return frame


def _by_throughput(frame: pl.DataFrame, name: str) -> str | None:
    """The unit in which a time agrees with throughput and batch."""
    if name not in ("itl_s", "latency_s") or not {"tokens_per_s", "batch_cap"} <= set(
        frame.columns
    ):
        return None
    seconds = number("batch_cap") / number("tokens_per_s")
    if name == "latency_s":
        if "output_tokens" not in frame.columns:
            return None
        seconds = seconds * number("output_tokens")
    ratio = frame.select((number(name + BARE) / seconds).median()).item()
    if ratio is None or not 0 < ratio < math.inf:
        return None
    near = [u for u in ("s", "ms", "us") if abs(math.log(ratio * SECONDS[u])) < math.log(CLOSE)]
    return near[0] if len(near) == 1 else None


def _by_size(frame: pl.DataFrame, name: str = "itl_s") -> str | None:
    """The unit of times between tokens, of which only one is of a GPU: 15 or .015."""
    middle = frame.select(number(name + BARE).median()).item() if name == "itl_s" else None
    if middle is None:
        return None
    if middle >= SLOWEST_S:
        return "ms" if middle < 1e3 * SLOWEST_S else "us"
    return "s" if 0 < middle <= FASTEST_MS else None


def _contradictions(frame: pl.DataFrame, problems: list[str]) -> None:
    """Throughput times the time between tokens is no more than the requests that may run."""
    needed = ("tokens_per_s", "itl_s", "batch_cap")
    if not set(needed) <= set(frame.columns):
        return
    numbers = frame.select(number(n) for n in needed).with_row_index("_row")
    running = pl.col(needed[0]) * pl.col(needed[1])
    odd = numbers.filter(running.is_finite() & (running > OFTEN * pl.col(needed[2])))
    if len(odd):
        row, speed, itl, batch = odd.row(0)
        problems.append(
            f"more requests run than may in {len(odd)} rows: row {row + 1} says {speed:g} "
            f"tokens/s x {itl:g} s between tokens = {speed * itl:.3g} requests, of at most "
            f"{batch:g}: one of the units is another (--unit, or a scale in --map)"
        )


def _first(
    frame: pl.DataFrame, name: str, ways: Mapping[str, pl.Expr | None], notes: list[Note]
) -> pl.DataFrame:
    """A column, its blanks filled by the first of the ways that are there; said so."""
    for words, way in ways.items():
        if way is None:
            continue
        before = number(name) if name in frame.columns else pl.lit(None, pl.Float64)
        blank = before.is_null() | before.is_nan()
        good = way.is_finite() & (way > 0)
        filled = frame.select((blank & good).fill_null(False).sum()).item()
        if not filled:
            continue
        frame = frame.with_columns(pl.when(blank).then(pl.when(good).then(way)).otherwise(before)
                                   .alias(name))  # fmt: skip
        notes.append(Note(f"{name} is not stated: it is {words}",
                          count=0 if filled == len(frame) else filled))  # fmt: skip
    return frame


def _whole(requests: pl.Expr) -> pl.Expr:
    """A whole number where it is within a hundredth, so that runs of one batch are of one cap."""
    near = (requests.round() / requests - 1).abs() < 0.01
    return pl.when(near).then(requests.round()).otherwise(requests)


def _product(frame: pl.DataFrame, a: str, b: str) -> pl.Expr | None:
    return number(a) * number(b) if {a, b} <= set(frame.columns) else None


def _quotient(frame: pl.DataFrame, a: str, b: str) -> pl.Expr | None:
    return number(a) / number(b) if {a, b} <= set(frame.columns) else None


def number(name: str) -> pl.Expr:
    """A column as numbers; what is none is null."""
    return pl.col(name).cast(pl.Float64, strict=False)
