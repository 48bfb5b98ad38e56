"""What a search of variants of a program came to, whoever proposed them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from rheostat.core.report import Grid, Report
from rheostat.core.storage.files import replace_file
from rheostat.errors import Infeasible
from rheostat.explanation.formats.junit import junit
from rheostat.explanation.formats.sarif import sarif
from rheostat.explanation.programs.variants import on_front, search_report, variant_grid, why_none
from rheostat.measurement.code.verdict import Verdict
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.code.code_search import CodeSearch


@dataclass(frozen=True)
class Wanted:
    """Files that a search writes where it is done, whatever came of it.

    Parameters
    ----------
    output, patch : Path, optional
        Text of the best variant, and its difference to the original.
    sarif, junit : Path, optional
        Evidence of the best variant; of all where none is accepted.
    """

    output: Path | None = None
    patch: Path | None = None
    sarif: Path | None = None
    junit: Path | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class VariantsAnswer(Answer):
    """Variants of a program, each verified.

    Parameters
    ----------
    rows : tuple of mapping
        Every variant with its verdict and figures, in the order they were run.
    best : mapping or None
        The one to take; None where the original stays.
    variant_text : str or None
        Its text.
    diffs : mapping of str to str
        By variant: those on the front.
    cost : mapping
        Seconds, tokens and joules of the search.
    objective : str
        runtime_s or energy_j.
    name : str
        Of the original.
    verdicts : tuple of Verdict
        Of the best variant; of all where there is none.
    evidence : mapping or None
        Verdict of the best variant, as it was kept.
    more : mapping or None
        What else is in the document, as the chains of a model.
    """

    schema: ClassVar[str] = "rheostat.code-search/1"
    rows: tuple[Mapping[str, Any], ...]
    best: Mapping[str, Any] | None
    variant_text: str | None
    diffs: Mapping[str, str]
    cost: Mapping[str, Any]
    objective: str
    name: str
    verdicts: tuple[Verdict, ...] = ()
    evidence: Mapping[str, Any] | None = None
    more: Mapping[str, Any] | None = None

    @property
    def chosen(self) -> str:
        """Identity of the best variant; empty where the original stays."""
        return str(self.best["variant"]) if self.best else ""

    @property
    def diff(self) -> str:
        """The difference of the best variant to the original."""
        return self.diffs.get(self.chosen, "")

    def report(self) -> Report:
        """What was tried, what is right, what it gains, and what the search took."""
        return search_report(self.rows, self.best, self.cost, self.diffs, self.evidence, self.name,
                             self.more, self.objective)  # fmt: skip

    def facts(self) -> dict[str, Any]:
        """The same as data, with text and difference of the best variant."""
        return {**self.report().facts, "diff": self.diff, "text": self.variant_text,
                **(self.more or {})}  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row a variant."""
        return (variant_grid(self.rows, self.chosen),)

    def write(self, wanted: Wanted) -> None:
        """Write text and difference of the best variant, and the evidence."""
        for path, content in (
            (wanted.output, self.variant_text),
            (wanted.patch, self.diff if self.chosen else None),
            (wanted.sarif, json.dumps(sarif(*self.verdicts), indent=1) + "\n"),
            (wanted.junit, junit(*self.verdicts)),
        ):
            if path is not None and content is not None:
                replace_file(path, content)
                listener.line(f"wrote {path}")


MOST_REASONS = 3
"""Of variants, in an error; the report and its files have all."""

V = TypeVar("V", bound=VariantsAnswer)


def answered(
    result: CodeSearch, objective: str, wanted: Wanted, kind: type[V],
    more: Mapping[str, Any] | None = None,
) -> V:  # fmt: skip
    """The answer, its files written; an error that carries it where nothing may be used."""
    rows, best = result.rows, result.best(objective)
    chosen = best["variant"] if best else ""
    shown = [r["variant"] for r, front in zip(rows, on_front(rows), strict=True) if front]
    names = [chosen] if chosen else [r["variant"] for r in rows]
    answer = kind(
        rows=tuple(rows), best=best, variant_text=result.text(chosen) if best else None,
        diffs={n: result.diff(n) for n in dict.fromkeys([chosen, *shown]) if n}, cost=result.cost,
        objective=objective, name=result.original.name, more=more,
        verdicts=tuple(Verdict.of(v) for n in names if (v := result.store.verdict(n))),
        evidence=result.store.verdict(chosen),
    )  # fmt: skip
    answer.write(wanted)
    if best is None:
        raise Infeasible(f"{why_none(rows, objective)}{_because(answer.verdicts)}", -1, answer)
    return answer


def _because(verdicts: Sequence[Verdict]) -> str:
    """What keeps the first variants from being accepted, in the words of their rungs."""
    if any(v.accepted for v in verdicts):
        return ""
    said = [f"{v.candidate or 'one'} is {v.state}: {v.why}" for v in verdicts if v.why]
    return "".join(f"; {x}" for x in dict.fromkeys(said[:MOST_REASONS]))
