"""LASSI's first stage: the target-language original is built, run, and timed against translations.

The published pipeline ends before it asks a model where this run fails; so does this one, also
where the original and the program that is translated do not print the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rheostat.errors import DataError
from rheostat.measurement.code.ladder import Verifier, verifier
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.verdict import ACCEPTED, REJECTED, Verdict
from rheostat.questions.code.code_search import SearchSettings


@dataclass
class TargetBaseline:
    """The target-language original after its run.

    Parameters
    ----------
    checking : Verifier
        Of the original; translations are timed against it.
    verdict : Verdict
        On the program that is translated, compared with it.
    """

    checking: Verifier
    verdict: Verdict

    @property
    def note(self) -> str:
        """Why the two could not be compared; empty where they print the same."""
        return "" if self.verdict.state == ACCEPTED else self.verdict.rung("output").reason

    def ratio(self, translation: Program) -> float:
        """Runtime of the original over that of a translation, in pairs of runs.

        Parameters
        ----------
        translation : Program
            An accepted one.

        Returns
        -------
        float
            Above 1 where the translation is faster; NaN where it could not be timed.
        """
        timed = self.checking.verify(translation, rungs=("compile", "time")).rung("time")
        return 1.0 / float(timed.numbers.get("runtime_ratio", math.nan))


@contextmanager
def target_baseline(
    reference: Program, program: Program, settings: SearchSettings
) -> Iterator[TargetBaseline]:
    """Build and run the target-language original, and compare it with what is translated.

    Parameters
    ----------
    reference : Program
        The target-language original; it is given the program's inputs.
    program : Program
        What is translated.
    settings : SearchSettings
        Tolerance, options, sandbox and seed.

    Yields
    ------
    TargetBaseline
        For translations; its builds are gone at the end.

    Raises
    ------
    DataError
        The original does not build or run, or prints something else than the program.
    """
    with verifier(
        reference, tolerance=settings.tolerance, inputs=program.inputs,
        confined_by=settings.confined_by, seed=settings.seed, options=settings.options,
    ) as checking:  # fmt: skip
        verdict = checking.verify(program, rungs=("compile", "output"))
        if verdict.state == REJECTED:
            said = [f.words for f in verdict.findings if f.level == "error"]
            what = f"{program.name or 'the program'} and the reference do not print the same"
            raise DataError(reference.name or "reference", [what, *said[:3]])
        yield TargetBaseline(checking, verdict)
