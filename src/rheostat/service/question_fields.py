"""Which questions are asked over HTTP, and which of their parameters a client may set.

A parameter that is not in `FIELDS` is not offered: what names a file, a format or a machine is set
by whoever starts the service.  A new parameter of a question needs a line here before any client
can set it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

MOST_SEED = 2**31 - 1
Word = Annotated[str, Field(max_length=200)]
Words = Annotated[list[Word], Field(max_length=16)]
Value = int | float | Word | None
Row = Annotated[
    dict[Annotated[str, Field(max_length=64)], Value], Field(min_length=1, max_length=64)
]
Share = Annotated[float, Field(ge=0.01, le=0.9)]
Policy = Literal[
    "fcfs", "easy", "conservative", "sjf+easy", "saf+easy", "wfp3+easy", "unicef+easy", "f1+easy",
    "sjf", "ljf", "lxf", "sqf+easy", "largest+easy", "agent:ours",
]  # fmt: skip
FIELDS: dict[str, Any] = {
    "job": Word,
    "app": Word,
    "where": Words,
    "knobs": Words,
    "objectives": Annotated[list[Word], Field(max_length=8)],
    "rule": Word,
    "limits": Words,
    "slowdown": Annotated[float, Field(ge=0, le=1000)],
    "method": Literal["auto", "within", "law", "forest"],
    "test_fraction": Share,
    "test_period": Annotated[str, Field(pattern=r"^([0-9]{1,4}(\.[0-9])?d)?$")],
    "loss": Annotated[float, Field(ge=0, le=0.9)],
    "risk": Annotated[float, Field(ge=0.5, le=0.999)],
    "group_by": Annotated[list[Word], Field(max_length=8)],
    "seed": Annotated[int, Field(ge=0, le=MOST_SEED)],
    "days": Annotated[float, Field(ge=0.01, le=366)],
    "bins": Annotated[int, Field(ge=1, le=2000)],
    "policies": Annotated[list[Policy], Field(min_length=1, max_length=6)],
    "cap_w": Annotated[float, Field(gt=0, le=1e10)],
    "cap_share": Annotated[float, Field(gt=0, le=1)],
    "from_hour": Annotated[float, Field(ge=0, le=24)],
    "to_hour": Annotated[float, Field(ge=0, le=24)],
}
"""Type and bounds of each parameter that a client may set."""
SERVED = {"jobs": "log", "known": "log", "model": "model", "machine": "machine", "knobs": "knobs"}
"""Parameters that come from what is served, where a client sets nothing."""


@dataclass(frozen=True)
class ServedQuestion:
    """A question as it is asked over HTTP.

    Parameters
    ----------
    where : str
        Module and name of the function.
    whole_site : bool
        It answers of all jobs: refused to who may see their own alone.
    rows : str
        Parameter that may be rows of jobs sent by the client; empty: none.
    """

    where: str
    whole_site: bool = False
    rows: str = ""

    def function(self) -> Callable[..., Any]:
        """The question; importing it loads what it needs."""
        module, name = self.where.split(":")
        asked: Callable[..., Any] = getattr(import_module(f"rheostat.questions.{module}"), name)
        return asked


QUESTIONS: Mapping[str, ServedQuestion] = {
    "summary": ServedQuestion("logs.summary:summary"),
    "front": ServedQuestion("settings.front:front", rows="jobs"),
    "decide": ServedQuestion("advice.decide:decide", rows="jobs"),
    "predict": ServedQuestion("models.predict:predict", rows="jobs"),
    "backtest": ServedQuestion("advice.backtest:backtest", whole_site=True),
    "caps": ServedQuestion("settings.caps:caps", whole_site=True),
    "site-savings": ServedQuestion("site.savings:site_savings"),
    "site-power": ServedQuestion("site.drawn_power:site_power", whole_site=True),
    "site-daily-cap": ServedQuestion("site.last_weeks:site_daily_cap", whole_site=True),
    "site-policies": ServedQuestion("site.last_weeks:site_policies", whole_site=True),
}


def body_of(name: str) -> type[BaseModel]:
    """What a client may send for a question, from the question's signature and `FIELDS`.

    >>> sorted(body_of("front").model_fields)[:4]
    ['job', 'knobs', 'limits', 'method']
    """
    asked = QUESTIONS[name]
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(asked.function()).parameters.values():
        if parameter.name in FIELDS:
            kind, needed = FIELDS[parameter.name], parameter.default is parameter.empty
            fields[parameter.name] = (kind, ...) if needed else (kind | None, None)
    if asked.rows:
        fields["rows"] = (Annotated[list[Row], Field(min_length=1, max_length=500)] | None, None)
    words = (inspect.getdoc(asked.function()) or "").partition("\n\n")[0]
    return create_model(
        f"{name.title().replace('-', '')}Request", __doc__=words,
        __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **fields,
    )  # fmt: skip
