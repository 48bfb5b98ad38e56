"""Options of how an answer is written: JSON, a page, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli.options.declared import option, written
from rheostat.cli.options.wanted import RUNTIME_ENERGY, Objectives

Html = Annotated[Path | None, written("Also write an HTML report here.")]


def _can_be_drawn(figure: Path | None) -> Path | None:
    """Refuses a name of no known ending, and a figure without matplotlib, before work begins."""
    if figure is not None:
        from rheostat._optional import require
        from rheostat.explanation.pictures.figure import ending_of

        ending_of(figure)
        require("matplotlib", extra="figures")
    return figure


def two_to_draw(figure: Path | None, objectives: str | Sequence[str]) -> None:
    """Refuses, before the runs, a figure of a front that has not two objectives."""
    if figure is None:
        return
    from rheostat.questions.parse import parse_names

    names = parse_names(objectives)
    if len(names) != 2:
        what = f"{len(names)}: {', '.join(names)}"
        raise typer.BadParameter(f"a front is drawn of two --objectives, got {what}",
                                 param_hint="--figure")  # fmt: skip


Figure = Annotated[
    Path | None,
    written(
        "Also write the picture here, for papers: .svg, .pdf or .png; further ones beside it.",
        callback=_can_be_drawn,
    ),
]

Json = Annotated[bool, option("One JSON document on stdout.", "--json")]


def shown(json: Json = False) -> None:
    """An answer that is printed."""


def paged(html: Html = None, json: Json = False) -> None:
    """One that is a page as well."""


def drawn(html: Html = None, figure: Figure = None, json: Json = False) -> None:
    """One with a picture."""


def front_drawn(
    objectives: Objectives = RUNTIME_ENERGY, html: Html = None, figure: Figure = None,
    json: Json = False,
) -> None:  # fmt: skip
    """A front, which is drawn of two objectives."""
    two_to_draw(figure, objectives)
