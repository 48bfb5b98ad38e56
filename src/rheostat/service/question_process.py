"""The process in which questions are asked: it holds log and model, and is ended when it is late.

The process that answers requests holds neither, so that an advice never waits for a question.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from json import dumps
from typing import Any

from rheostat.errors import DataError, Infeasible, RheostatError
from rheostat.service.question_fields import QUESTIONS, SERVED
from rheostat.service.served import ServedFiles

OK, INFEASIBLE, UNANSWERABLE, FAILED = 200, 409, 422, 500
NICE = 5


@dataclass(frozen=True)
class Reply:
    """A document as bytes of JSON, and the status that it is sent with."""

    status: int
    body: bytes


def begin() -> None:
    """Leave the processor to who answers requests."""
    with suppress(OSError):
        os.nice(NICE)


def ask(served: ServedFiles, version: str, name: str, sent: dict[str, Any], user: str) -> Reply:
    """The document of a question, or of the error that it ends in.

    Parameters
    ----------
    served : ServedFiles
        The files.
    version : str
        Theirs, when the question came.
    name, sent
        The question and what the client set, checked before.
    user : str
        Whose jobs alone are seen; empty: everybody's.
    """
    question = QUESTIONS[name]
    try:
        answer = question.function()(**_given(served, version, name, sent, user))
    except Infeasible as stop:
        beside = None if stop.answer is None else stop.answer.to_dict()
        return Reply(INFEASIBLE, _written({"error": str(stop), "answer": beside}))
    except RheostatError as error:
        return Reply(UNANSWERABLE, _written({"error": str(error)}))
    return Reply(OK, _written({**answer.to_dict(), "notes": list(answer.notes)}))


def _written(document: dict[str, Any]) -> bytes:
    return dumps(document, allow_nan=False, separators=(",", ":")).encode()


def _given(
    served: ServedFiles, version: str, name: str, sent: dict[str, Any], user: str
) -> dict[str, Any]:
    """The arguments of a question: what is served, and over it what was sent."""
    import inspect

    question = QUESTIONS[name]
    taken = inspect.signature(question.function()).parameters
    here = {"log": None, "model": None, "machine": served.machine, "knobs": list(served.knobs)}
    given: dict[str, Any] = {}
    for parameter, what in SERVED.items():
        if parameter not in taken:
            continue
        if what == "log":
            given[parameter] = _rows_of(log_of(served, version), user)
        elif what == "model":
            given[parameter] = None if served.model is None else model_of(served, version)
        elif here[what]:
            given[parameter] = here[what]
    rows = sent.get("rows")
    given |= {k: v for k, v in sent.items() if v is not None and k != "rows"}
    if rows:
        if "past" in taken:
            given["past"] = given[question.rows]
        given[question.rows] = _sent_rows(rows, user)
    return given


def _rows_of(jobs: Any, user: str) -> Any:
    """The jobs of one user, where only theirs may be seen."""
    if not user:
        return jobs
    jobs.require("user")
    own = jobs.rows((jobs.frame["user"] == user).fill_null(value=False).to_numpy())
    if not len(own):
        raise DataError("log", ["you have no jobs in it"])
    return replace(own, notes=())


def _sent_rows(rows: list[dict[str, Any]], user: str) -> Any:
    """A table of what a client sent; each column of one type."""
    import polars as pl

    from rheostat.core.vocabulary import table

    names = list(dict.fromkeys(k for row in rows for k in row))
    try:
        frame = pl.DataFrame({n: [row.get(n) for row in rows] for n in names}, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise DataError("rows", [f"expected one type in a column: {str(error)[:200]}"]) from None
    return table(frame.with_columns(user=pl.lit(user)) if user else frame)


@lru_cache(maxsize=2)
def log_of(served: ServedFiles, version: str) -> Any:
    """The log, read once for each version of the files."""
    from rheostat.measurement.read import guess_format, read

    return read(served.log, served.format or guess_format(served.log))


@lru_cache(maxsize=2)
def model_of(served: ServedFiles, version: str) -> Any:
    """The model, read once for each version of the files."""
    from rheostat.prediction.saved_models.persist import PREDICTORS, load

    assert served.model is not None
    return load(served.model, PREDICTORS)
