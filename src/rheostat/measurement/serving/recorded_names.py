"""Columns of request logs in the names and units of whoever wrote them, given ours in seconds.

``arrival_time``, ``ttft_ms``, ``e2e_latency``, ``request_start_ns``, ``completion_tokens`` and the
like are known.  A unit that a name does not say is read from the numbers where these leave no
doubt, and noted; where they do, it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.dates import iso_seconds, since_1970

SECONDS = {"s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3,
           "milliseconds": 1e-3, "us": 1e-6, "ns": 1e-9}  # fmt: skip
_UNIT = rf"(_(in_)?(?P<unit>{'|'.join(SECONDS)}))?"
_AT = r"(_?(time|ts|at|timestamp|moment))"
MOMENTS = {
    "submit_s": rf"(queued{_AT}|submit({_AT}|ted{_AT}?)?|arriv(al|ed){_AT}?|(request_)?(sent|send|"
                rf"start){_AT}?|request_?(ts|timestamp)|creat(ed|ion){_AT}?|timestamp|time)",
    "start_s": rf"((first_token|first_response|first_chunk){_AT}?|completion_start{_AT})",
    "end_s": rf"(last_token|(request_)?(end|finish(ed)?|complet(ed|ion)|done)){_AT}?",
}  # fmt: skip
DURATIONS = {
    "ttft": r"(ttft|(time_to_)?first_token(_latency|_time)?|prefill_latency)",
    "tpot": r"((mean_|avg_)?(tpot|itl|time_per_output_token|inter_token_latency))",
    "latency": r"(latency|ttlt|time_to_last_token|(total|request|response|elapsed|operation)_"
               r"(latency|time|duration)|e2e(l|_latency|_time)?|end_to_end(_latency|_time)?|"
               r"duration|elapsed|runtime)",
}  # fmt: skip
TOKENS = {
    "prompt_tokens": r"((num|n|total)_)?(prompt|input|context)_?(tok(en)?s?(_count|_num|_len)?|"
                     r"lens?|length|sequence_length|size)|isl|request_?tokens",
    "output_tokens": r"((num|n|total)_)?(output|completion|generated|response|decode)_?"
                     r"(tok(en)?s?(_count|_num|_len)?|lens?|length|sequence_length|size)|osl",
}  # fmt: skip
CACHED = {"cached_tokens": r"((num|n|total)_)?(prefix_|prompt_)?cached_?(prompt_|input_)?tok(en)?s?"
                           r"(_count|_num)?"}  # fmt: skip
GEN_AI = re.compile(r"^gen_ai_(?:(?:client|server|usage)_)?")
CALLING = ("tool_calls", "function_call", "tool_use")
"""Reasons for which an answer ends that calls a tool: OpenAI's and Anthropic's."""
FAILED = {"success": False, "successful": False, "ok": False, "failed": True, "is_error": True}
FAILURE = r"^(fail(ed|ure)?|error(ed)?|cancel(l?ed)?|aborted|time(d )?-?out)$"
"""Words of columns such as LiteLLM's ``status`` and Langfuse's ``level``."""
SENT = re.compile("queued|submit|arriv")
"""Goes before other moments that may be the beginning of a server's work."""
WEEK_S = 7 * 86400.0
"""No request is answered later."""
IDLE, FEW, YEARS_S = 0.05, 10, 1e8
"""Requests at once, of so many or more, below which moments may well be in another unit, unless
they are seconds since 1970."""
SURE_S, SURE_MS = 0.4, 1.2
"""Durations per token below the first are seconds, above the second milliseconds."""


def is_recorded(names: Iterable[str]) -> bool:
    """Whether columns so named are requests with when they were answered."""
    columns = {ours for name in names for ours in ([name] if name in MOMENTS else _ours(name))}
    return {"submit_s", *TOKENS} <= columns and bool(columns & {"end_s", "latency", "tpot"})


def in_seconds(frame: pl.DataFrame, path: Path) -> tuple[pl.DataFrame, list[Note]]:
    """Our columns, and what was concluded about units.

    Parameters
    ----------
    frame
        A row a request; columns by our names or others'.
    path
        Named in errors.

    Returns
    -------
    DataFrame
        ``submit_s``, ``start_s``, ``end_s``, ``prompt_tokens``, ``output_tokens``,
        ``cached_tokens`` (``usage.prompt_tokens_details`` of OpenAI's API has them), ``failed``,
        ``tool_calls`` (whether it calls one), those that can be known.

    Examples
    --------
    >>> log = pl.DataFrame({"arrival_time": [5.0], "ttft_ms": [200], "e2e_latency_ms": [1200],
    ...                     "input_len": [9], "output_len": [30]})
    >>> in_seconds(log, Path("log.csv"))[0].select("start_s", "end_s").rows()
    [(5.2, 6.2)]
    """
    notes: list[Note] = []
    made = {ours: _number(frame[theirs]) for ours, theirs in _columns(frame, TOKENS).items()}
    output = made.get("output_tokens")
    late = _durations(frame, output, path, notes)
    made |= _moments(frame, late, notes)
    if "submit_s" in made:
        at = made["submit_s"]
        if "start_s" not in made and "ttft" in late:
            made["start_s"] = at + late["ttft"]
        if "end_s" not in made and "latency" in late:
            made["end_s"] = at + late["latency"]
        if "end_s" not in made and {"start_s", "output_tokens"} <= set(made) and "tpot" in late:
            made["end_s"] = made["start_s"] + late["tpot"] * (made["output_tokens"] - 1)
    notes += _idle(frame, made)
    made |= _failed(frame) | said_of_answers(frame)
    return pl.DataFrame({name: values.alias(name) for name, values in made.items()}), notes


def said_of_answers(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """``cached_tokens`` and ``tool_calls`` (whether it calls one), those that columns say.

    >>> log = pl.DataFrame({"cachedTokens": [9, 0], "finish_reason": ["stop", "tool_calls"]})
    >>> {name: values.to_list() for name, values in said_of_answers(log).items()}
    {'cached_tokens': [9.0, 0.0], 'tool_calls': [False, True]}
    """
    cached = _columns(frame, CACHED).items()
    return {ours: _number(frame[theirs]) for ours, theirs in cached} | _tool_calls(frame)


def _plain(name: str) -> str:
    """Small letters and underscores, without the names before OpenTelemetry's own.

    >>> _plain("gen_ai.usage.input_tokens"), _plain("startTime")
    ('input_tokens', 'start_time')
    """
    name = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return GEN_AI.sub("", name.strip("_"))


def _ours(name: str) -> list[str]:
    every = MOMENTS | DURATIONS | TOKENS
    plain = _plain(name)
    return [o for o, p in every.items() if plain == o or re.fullmatch(p + _UNIT, plain)]


def their_name(names: Iterable[str], ours: str) -> str | None:
    """The first of the names that can be ours, our own before others.

    >>> their_name(["id", "timestamp_s", "completion_tokens"], "output_tokens")
    'completion_tokens'
    """
    return min((n for n in names if ours in _ours(n)), key=lambda n: n != ours, default=None)


def seconds_of_moment(name: str) -> float | None:
    """Seconds of the unit that a name of a moment says, or None.

    >>> seconds_of_moment("timestamp_ms"), seconds_of_moment("arrival_time")
    (0.001, None)
    """
    return 1.0 if name == "submit_s" else _unit(name, MOMENTS["submit_s"])


def _columns(frame: pl.DataFrame, known: dict[str, str]) -> dict[str, str]:
    """Our names to the first of theirs; a column that has ours goes first."""
    columns: dict[str, str] = {}
    for ours, pattern in known.items():
        theirs = [c for c in frame.columns if re.fullmatch(pattern + _UNIT, _plain(c))]
        exact = [c for c in frame.columns if c == ours]
        if exact or theirs:
            columns[ours] = (exact or theirs)[0]
    return columns


def _number(values: pl.Series) -> pl.Series:
    return values.cast(pl.Float64, strict=False)


def _unit(name: str, pattern: str) -> float | None:
    """Seconds of the unit that a name says."""
    match = re.fullmatch(pattern + _UNIT, _plain(name))
    return SECONDS[match["unit"]] if match and match["unit"] else None


def _durations(
    frame: pl.DataFrame, output: pl.Series | None, path: Path, notes: list[Note]
) -> dict[str, pl.Series]:
    """Seconds; those whose names say no unit have one unit together."""
    columns = _columns(frame, DURATIONS)
    units = {ours: _unit(theirs, DURATIONS[ours]) for ours, theirs in columns.items()}
    unsaid = [ours for ours, unit in units.items() if unit is None]
    if unsaid:
        scale = _guessed(frame, columns, unsaid, output, path)
        if scale != 1.0:
            names = ", ".join(columns[o] for o in unsaid)
            notes.append(Note(f"{names}: taken as ms, since as s a token would take minutes"))
        units |= dict.fromkeys(unsaid, scale)
    return {o: _number(frame[t]) * units[o] for o, t in columns.items()}


def _guessed(
    frame: pl.DataFrame, columns: dict[str, str], unsaid: list[str], output: pl.Series | None,
    path: Path,
) -> float:  # fmt: skip
    """Seconds of a unit that is not said, from what a token takes in it."""
    name = next((o for o in ("latency", "tpot") if o in unsaid), None)
    if name is None:
        return _beside(frame, columns, path)
    values = _number(frame[columns[name]])
    per = output.clip(1) if name == "latency" and output is not None else 1.0
    each = (values / per).drop_nulls().drop_nans()
    middle = _median(each.filter(each > 0))
    if SURE_S <= middle <= SURE_MS:
        raise DataError(str(path), [_asked(columns[name])])
    return 1e-3 if middle > SURE_MS else 1.0


def _beside(frame: pl.DataFrame, columns: dict[str, str], path: Path) -> float:
    """Seconds of the unit of first tokens alone: as ms they would be later than the last one."""
    theirs, whole = columns["ttft"], columns.get("latency")
    first = _median(_number(frame[theirs]))
    if whole is None:
        if first >= SURE_S:
            raise DataError(str(path), [_asked(theirs)])
        return 1.0
    last = _median(_number(frame[whole])) * (_unit(whole, DURATIONS["latency"]) or 1.0)
    return 1e-3 if first > last else 1.0


def _asked(name: str) -> str:
    return f"{name}: seconds or milliseconds? say it in the name: {name}_s or {name}_ms"


def _median(values: pl.Series) -> float:
    """Of what is known; 0 of nothing."""
    known = values.drop_nulls().drop_nans()
    return float(known.median()) if len(known) else 0.0  # type: ignore[arg-type]


def _moments(
    frame: pl.DataFrame, late: dict[str, pl.Series], notes: list[Note]
) -> dict[str, pl.Series]:
    """Moments in seconds; of several that could be the submission one before the answers."""
    made: dict[str, pl.Series] = {}
    for ours in ("end_s", "start_s"):
        if theirs := _columns(frame, {ours: MOMENTS[ours]}):
            made[ours] = _seconds(frame, theirs[ours], MOMENTS[ours], notes)
    pattern = MOMENTS["submit_s"] + _UNIT
    others = [c for c in frame.columns if c not in ("start_s", "end_s")]
    named = [c for c in others if c == "submit_s" or re.fullmatch(pattern, _plain(c))]
    every = sorted(named, key=lambda c: (c != "submit_s", not SENT.match(_plain(c))))
    answered = made.get("start_s", made.get("end_s"))
    for name in every:
        said: list[Note] = []
        at = _seconds(frame, name, MOMENTS["submit_s"], said)
        if "submit_s" not in made or answered is None:
            best = name == every[0]
        else:
            best = _before(at, answered) > _before(made["submit_s"], answered)
        if best:
            made["submit_s"], noted = at, said
    if "submit_s" in made:
        notes += noted
    return made


def _before(submit: pl.Series, answered: pl.Series) -> int:
    """How many were answered within a week after they came."""
    late = answered - submit
    return int(((late >= 0) & (late < WEEK_S)).sum())


def _seconds(frame: pl.DataFrame, name: str, pattern: str, notes: list[Note]) -> pl.Series:
    values = frame[name]
    if values.dtype.is_temporal():
        return values.cast(pl.Datetime("us")).dt.timestamp("us") / 1e6
    numbers = _number(values)
    if values.dtype == pl.String and numbers.null_count() > len(values) // 2:
        return frame.select(iso_seconds(pl.col(name))).to_series()
    scale = 1.0 if name == "submit_s" else _unit(name, pattern)
    if scale is None or name.endswith("_s"):
        epoch, unit = since_1970(numbers)
        if unit != "s":
            notes.append(Note(f"{name}: taken as {unit} since 1970"))
            return numbers * epoch
    if scale is None and name == "timestamp" and "hash_ids" in frame.columns:
        notes.append(Note("timestamp: taken as ms, as in Mooncake's traces, which have hash_ids"))
        return numbers * 1e-3
    return numbers * (scale or 1.0)


def _idle(frame: pl.DataFrame, made: dict[str, pl.Series]) -> list[Note]:
    """A note where moments without a unit, taken as s, leave a server idle that ms would fill."""
    if not {"submit_s", "end_s"} <= set(made):
        return []
    submit, late = made["submit_s"], made["end_s"] - made["submit_s"]
    bare = [c for c in frame.columns if re.fullmatch(MOMENTS["submit_s"], _plain(c))
            and c != "submit_s" and _number(frame[c]).equals(submit)]  # fmt: skip
    known = submit.filter(submit.is_finite())
    if not bare or len(known) < FEW or _median(known) > YEARS_S:
        return []
    span = _median(known.sort().diff()) * len(known)
    at_once = _median(late) * len(known) / span if span > 0 else 1.0
    if not 0 < at_once < IDLE:
        return []
    return [Note(f"{bare[0]}: taken as s, so that {at_once:.2g} requests run at once; as ms it "
                 f"would be {1e3 * at_once:.2g}: if so name it {bare[0]}_ms")]  # fmt: skip


def _failed(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """Whether a request failed, where a column says so."""
    failed = pl.Series([False] * len(frame))
    for name in frame.columns:
        plain, values = _plain(name), frame[name]
        if plain in FAILED and values.dtype == pl.Boolean:
            failed |= (values == FAILED[plain]).fill_null(False)
        elif plain in ("error", "error_message") and values.dtype == pl.String:
            failed |= (values.str.strip_chars().str.len_chars() > 0).fill_null(False)
        elif plain in ("status", "status_code", "http_status") and values.dtype.is_numeric():
            failed |= (values >= 400).fill_null(False)
        elif plain in ("status", "level") and values.dtype == pl.String:
            failed |= values.str.to_lowercase().str.contains(FAILURE).fill_null(False)
    return {"failed": failed}


def _tool_calls(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """Whether an answer calls a tool, where a column says so; else nothing."""
    for name in frame.columns:
        plain, values = _plain(name), frame[name]
        if plain == "tool_calls" and (values.dtype == pl.Boolean or values.dtype.is_numeric()):
            return {"tool_calls": values.cast(pl.Boolean).fill_null(False)}
        if plain == "tool_calls" and isinstance(values.dtype, pl.List):
            return {"tool_calls": values.list.len().fill_null(0) > 0}
        if plain in ("finish_reason", "stop_reason") and values.dtype == pl.String:
            return {"tool_calls": values.is_in(CALLING).fill_null(False)}
    choices = frame.schema.get("choices")
    inner = choices.inner if isinstance(choices, pl.List) else None
    if isinstance(inner, pl.Struct) and "finish_reason" in (f.name for f in inner.fields):
        reason = frame["choices"].list.first().struct.field("finish_reason")
        return {"tool_calls": reason.cast(pl.String, strict=False).is_in(CALLING).fill_null(False)}
    return {}
