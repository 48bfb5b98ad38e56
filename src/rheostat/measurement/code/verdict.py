"""What verification says: findings, the evidence of each rung, and the verdict of all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

PASSED, FAILED = "passed", "failed"
NOT_AVAILABLE, SKIPPED = "not available", "skipped"
NOT_SHOWN = "not shown"
"""Two checks of a rung disagree, or one cannot see what matters: neither for nor against."""
RUNGS = (
    "parse", "compile", "calls", "sanitizers", "output", "races", "threads", "mapping", "work",
    "time", "energy",
)  # fmt: skip
"""Cheapest first, but races before threads: a race is named as one whether or not it shows in the
output.  The first rung that fails rejects a candidate."""
ACCEPTED, REJECTED, UNDECIDED = "accepted", "rejected", "undecided"
NO_GAIN = "no gain"
"""Nothing is wrong so far, and the dearer rungs were not climbed: it would not be taken."""


@dataclass(frozen=True)
class Finding:
    """Something wrong, or to be looked at, with its place.

    ``line`` is 0 where none is known; ``level`` is error, warning or note.
    """

    rung: str
    file: str
    line: int
    message: str
    level: str = "error"

    @property
    def words(self) -> str:
        """As compilers write it: file:line: message."""
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return f"{place}{self.message}"


@dataclass(frozen=True)
class Evidence:
    """One rung: passed, failed, not shown, not available or skipped (with the reason), and figures.

    ``numbers`` holds figures by name with units, as runtime_ratio or instructions.
    """

    rung: str
    state: str
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    seconds: float = math.nan
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Evidence of all rungs for one candidate; ``sandbox`` and ``seed`` say how it was obtained.

    ``no_gain`` says why the dearer rungs were not climbed; empty where they were.
    """

    evidence: tuple[Evidence, ...]
    seed: int = 0
    sandbox: str = ""
    original: str = ""
    candidate: str = ""
    notes: tuple[str, ...] = ()
    required: tuple[str, ...] = ("output",)
    no_gain: str = ""

    @property
    def rejected_by(self) -> str:
        """The first rung that failed; empty if none did."""
        return next((e.rung for e in self.evidence if e.state == FAILED), "")

    @property
    def named_by(self) -> str:
        """The first rung that failed, else that shows nothing; empty if neither is."""
        unsure = (e.rung for e in self.evidence if e.state == NOT_SHOWN)
        return self.rejected_by or next(unsure, "")

    @property
    def missing(self) -> tuple[str, ...]:
        """Rungs that had to pass and neither passed nor failed."""
        passed = {e.rung for e in self.evidence if e.state in (PASSED, FAILED)}
        return tuple(r for r in self.required if r not in passed)

    @property
    def state(self) -> str:
        """Rejected if a rung failed, undecided if one shows nothing, else accepted.

        Without a gain it is none of them, whatever was required.
        """
        if self.rejected_by:
            return REJECTED
        if self.no_gain:
            return NO_GAIN
        unsure = self.missing or any(e.state == NOT_SHOWN for e in self.evidence)
        return UNDECIDED if unsure else ACCEPTED

    @property
    def accepted(self) -> bool:
        """Whether no rung failed and the required ones passed."""
        return self.state == ACCEPTED

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of all rungs."""
        return tuple(f for e in self.evidence for f in e.findings)

    @property
    def why(self) -> str:
        """What keeps it from being accepted, in the words of the rungs; empty if it is.

        >>> Verdict((Evidence("output", NOT_AVAILABLE, "textures are not known"),)).why
        'output: textures are not known'
        """
        if self.state == NO_GAIN:
            return self.no_gain
        unsure = [e for e in self.evidence if e.state == NOT_SHOWN or e.rung in self.missing]
        failed = [e for e in self.evidence if e.state == FAILED]
        return "; ".join(f"{e.rung}: {e.reason or e.state}" for e in failed or unsure)

    @property
    def flags(self) -> tuple[str, ...]:
        """What a person should look at although no rung failed."""
        return tuple(f.words for f in self.findings if f.level == "warning")

    def rung(self, name: str) -> Evidence:
        """The evidence of one rung."""
        return next(e for e in self.evidence if e.rung == name)

    def facts(self) -> dict[str, Any]:
        """Everything, as plain values for a JSON document."""
        return {
            "verdict": self.state,
            "rejected_by": self.rejected_by or None,
            "reason": self.why,
            "missing": list(self.missing),
            "required": list(self.required),
            "flags": list(self.flags),
            "original": self.original,
            "candidate": self.candidate,
            "seed": self.seed,
            "sandbox": self.sandbox,
            "notes": list(self.notes),
            "no_gain": self.no_gain,
            "rungs": [asdict(e) for e in self.evidence],
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Verdict:
        """The verdict whose `facts` these are, as they are kept in JSON.

        >>> verdict = Verdict((Evidence("parse", PASSED, "clang", seconds=0.5),), candidate="a.c")
        >>> Verdict.of(verdict.facts()) == verdict
        True
        """
        evidence = tuple(
            Evidence(**r | {"findings": tuple(Finding(**f) for f in r["findings"]),
                            "seconds": math.nan if r["seconds"] is None else r["seconds"]})
            for r in facts["rungs"]
        )  # fmt: skip
        texts = {k: facts[k] for k in ("seed", "sandbox", "original", "candidate")}
        return cls(evidence, **texts, notes=tuple(facts["notes"]),
                   required=tuple(facts.get("required", ("output",))),
                   no_gain=facts.get("no_gain", ""))  # fmt: skip
