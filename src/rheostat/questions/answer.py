"""`Answer`: what every question returns, for people, for notebooks and for machines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from rheostat.core.report import Grid, Report, Section
from rheostat.errors import DataError

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rheostat.explanation.pictures.drawing import Drawing


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer(ABC):
    """The answer to a question: typed results, and one way to see them.

    Parameters
    ----------
    notes : tuple of str
        What was noticed on the way: odd rows, columns that were guessed, proposals.

    Notes
    -----
    ``str(answer)`` is the text of a terminal, ``answer.to_dict()`` the document of ``--json``.
    """

    notes: tuple[str, ...] = ()
    schema: ClassVar[str]
    """Name and version of the document."""
    verbatim: ClassVar[bool] = False
    """Whether a program prints its text alone, whatever form was asked for."""

    @abstractmethod
    def report(self) -> Report:
        """Sections of sentences, tables and pictures, as a terminal shows them."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """The answer as data."""

    @property
    def refusal(self) -> str:
        """Why what was asked about is not accepted; a program that shows the answer fails, then."""
        return ""

    def page_report(self) -> Report:
        """The report of a page, where nothing stands beside it: with notes, which precede it."""
        return self.with_notes(self.report())

    def with_notes(self, report: Report) -> Report:
        """The report with those notes of the answer that it does not state."""
        said = {s for section in report.sections for s in section.sentences}
        if not (more := tuple(n for n in self.notes if n not in said)):
            return report
        return replace(report, sections=[*report.sections, Section("notes", more)])

    def grids(self) -> tuple[Grid, ...]:
        """Whole tables, for a pipe; none where the report's text is all there is."""
        return ()

    def text(self) -> str:
        """What is to be run, pasted or read by line: printed as it is, in place of the report."""
        return ""

    def pictures(self) -> Report:
        """The report whose charts are drawn as figures."""
        return self.page_report()

    def beside(self) -> tuple[str, ...]:
        """Sentences that go beside the text, or the tables of a pipe: no report is shown there."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The document that ``--json`` prints, as plain numbers, texts, lists and mappings."""
        from rheostat.explanation.formats.json import plain

        return {"schema": self.schema, **plain(self.facts())}

    def table(self) -> pl.DataFrame:
        """The whole table, a row per setting, job or whatever was asked about."""
        import polars as pl

        if not (grids := self.grids()):
            raise DataError(type(self).__name__, ["has no table: see .to_dict() or .report()"])
        return pl.DataFrame(list(grids[0].rows), list(grids[0].heads), orient="row")

    def to_html(self) -> str:
        """A page that needs no other file."""
        from rheostat.explanation.formats.html import page

        return page(self.page_report(), type(self).__name__)

    def figure(self) -> Figure:
        """The first picture of the report, drawn by matplotlib (extra ``figures``)."""
        from rheostat.explanation.pictures.figure import figure

        return figure(self._drawing())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the first picture on axes, as pandas and scikit-learn do.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; a new figure of pyplot's by default, which a notebook shows.

        Returns
        -------
        matplotlib.axes.Axes
            The axes, to be changed further: ``answer.plot().set_title("October")``.

        Raises
        ------
        DataError
            The answer has no picture.
        """
        from rheostat._optional import require
        from rheostat.explanation.pictures.figure import draw_on

        drawn = self._drawing()
        if ax is None:
            require("matplotlib", extra="figures")
            from matplotlib import pyplot

            ax = pyplot.subplots(layout="constrained")[1]
        return draw_on(ax, drawn)

    def _drawing(self) -> Drawing:
        from rheostat.explanation.pictures.draw import drawing

        charts = [s.chart for s in self.pictures().sections if s.chart is not None]
        if not charts:
            raise DataError(type(self).__name__, ["has no picture: see .table() or .report()"])
        return drawing(charts[0])

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        from rheostat.explanation.formats.text import render

        return self.text() or render(self.report())

    def __repr__(self) -> str:
        first = next((s for part in self.report().sections for s in part.sentences), "")
        return f"<{type(self).__name__}: {first}>"
