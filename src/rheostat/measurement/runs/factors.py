"""One of our columns from a product or a quotient of theirs: ``A/C``, ``A*B``, ``A*B/C``.

A step's time by its samples is that of one sample; times the epochs that a target took, it is the
time to the target for each sample of the data set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import polars as pl


def in_factors(theirs: str, headings: Collection[str], meant: Callable[[str], str]) -> Any:
    """The columns that a text names as factors, where all are there; else the text as it stands.

    ``meant`` finds the heading that a name is.

    >>> in_factors("step_ms / batch", ["step_ms", "batch"], str)
    {'from': ['step_ms'], 'over': 'batch'}
    >>> in_factors("step_ms*epochs/batch", ["step_ms", "batch", "epochs"], str)
    {'from': ['step_ms'], 'times': 'epochs', 'over': 'batch'}
    >>> in_factors("step_ms*epochs", ["step_ms"], str)
    'step_ms*epochs'
    """
    for top, over in [*_split(theirs, "/", meant), (theirs, "")]:
        for one, times in [(meant(top.strip()), ""), *_split(top, "*", meant)]:
            named = [n for n in (meant(one), times, over) if n]
            if (times or over) and set(named) <= set(headings):
                more = {"times": times} if times else {}
                return {"from": [meant(one)], **more, **({"over": over} if over else {})}
    return theirs


def _split(text: str, sign: str, meant: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """What is before and behind each of the signs: headings may hold one, too."""
    for at in (k for k, letter in enumerate(text) if letter == sign):
        yield text[:at].strip(), meant(text[at + 1 :].strip())


def name_of(one: str, times: str, over: str) -> str:
    """The name of a column that is made so.

    >>> name_of("step_ms", "epochs", "batch"), name_of("step_ms", "", "batch")
    ('step_ms*epochs/batch', 'step_ms/batch')
    """
    return f"{one}{f'*{times}' if times else ''}{f'/{over}' if over else ''}"


def value_of(one: str, times: str, over: str) -> pl.Expr:
    """What it holds, null where the divisor is not above 0.

    >>> runs = pl.DataFrame({"step_ms": [12.0, 6.0], "epochs": [90, 100], "batch": [4, 0]})
    >>> runs.select(value_of("step_ms", "epochs", "batch")).to_series().to_list()
    [270.0, None]
    """
    value = pl.col(one).cast(pl.Float64, strict=False)
    value = value * pl.col(times).cast(pl.Float64, strict=False) if times else value
    if not over:
        return value
    by = pl.col(over).cast(pl.Float64, strict=False)
    return pl.when(by > 0).then(value / by)
