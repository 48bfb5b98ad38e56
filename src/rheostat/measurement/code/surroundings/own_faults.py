"""The line of an original's own fault: where it reads or writes amiss, or its threads race.

An original that stops, or prints another output in another order, is refused.  Who wrote it learns
where to mend it, as far as the checkers see that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.parsing.compare_output import Tolerance, differences
from rheostat.measurement.code.parsing.diagnostics import race_findings, sanitizer_findings
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits, SandboxRun
from rheostat.measurement.code.surroundings.own_agreement import WAYS, OwnRun, not_its_own
from rheostat.measurement.code.toolchain import RACES, SANITIZED, SANITIZER_OPTIONS
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built, Workbench, roomy

UNSET = list(WAYS)[-1]
OF_HOST = {"MALLOC_PERTURB_": "128"}
ALLOCATED = re.compile(r"\bcudaMalloc\w*\s*\(\s*(?:\([^()]*\)\s*)?&\s*(\w+)\s*,")
CLOCK_SEED = re.compile(
    r"\b(?:srand\w*|seed|mt19937(?:_64)?|default_random_engine)\b[^;]*?"
    r"(?:\btime\s*\(|\bclock\w*\s*\(|::now\s*\(|\brandom_device\b)|\bstd::random_device\b"
)
INVALID = ("AddressSanitizer: ", "out of bounds")
"""What no program may do on any input."""
SLOWER = 20.0
MEND = "mend it, so that there is a result to compare with"


@dataclass
class OwnFaults:
    """What the checkers see of an original that is no good as one.

    Parameters
    ----------
    bench : Workbench
        Where it is run.
    original : Program
        Races are looked for where it is in CUDA, whose threads are fibres of the host.
    """

    bench: Workbench
    original: Program
    is_named: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether an access that no program may make is known, of a program in CUDA.

        What lies behind an array of a device is other memory than in a translation.
        """
        return self.is_named and self.original.language == "cuda"

    def of_end(self, given: ProgramInput, run: SandboxRun) -> str:
        """How a run ended; of the first that a signal stopped also where it went astray."""
        if self.is_named or not run.ending.startswith("ended by signal"):
            return run.ending_and_words
        said = self._seen(given)
        self.is_named = bool(said)
        return f"{run.ending_and_words}{said}"

    def of_report(self, stderr: str) -> str:
        """What the sanitizers say first."""
        for finding in sanitizer_findings(stderr):
            self.is_named = self.is_named or is_invalid(finding)
            return f": {finding.words}" + f"; {MEND}" * self.is_refused
        return ""

    def each_time(
        self, given: ProgramInput, one: SandboxRun, other: SandboxRun, agreed: Tolerance
    ) -> str:
        """What two runs of one input print otherwise, where the text may ask the clock for it."""
        d = differences(other.stdout, one.stdout, agreed)[0]
        said = (f"with {given.words} the original prints something else each time: output line "
                f"{d.line} is {d.expected!r:.80}, then {d.got!r:.80}")  # fmt: skip
        for name, text in self.original.files.items():
            for n, row in enumerate(text.splitlines(), 1):
                if CLOCK_SEED.search(row):
                    return f"{said}; {name}:{n} draws by the clock: let an argument be the seed"
        return f"{said}; a time needs a word or a unit beside it, or a mask ([tolerance] masked)"

    def not_its_own(self, built: Built, runs: Sequence[OwnRun], agreed: Tolerance) -> str:
        """Why nothing can be compared with it, and where; empty where it agrees with itself."""
        for run in runs:
            if why := not_its_own([run], agreed):
                return f"{why}{self._where(built, run, agreed)}"
        return ""

    def _where(self, built: Built, run: OwnRun, agreed: Tolerance) -> str:
        given = run.expected.given
        if run.how != UNSET:
            return self._seen(given)
        again = self.bench.run(built, given, limits=run.expected.limits(), environment=OF_HOST)
        if not again.ok or differences(again.stdout, run.expected.output, agreed):
            return "; it is memory of the host (malloc, new) that is read before it is set"
        names = ", ".join(f"{name} (line {line})" for name, line in never_set(built.program.text))
        return f"; nothing is copied to or set on the device in {names}" * bool(names)

    def _seen(self, given: ProgramInput) -> str:
        """What is first, of memory and of races, which may be behind it."""
        seen = {f.rung: f for f in reversed([*self._findings(given)])}
        named = " and ".join(f.words for _, f in sorted(seen.items()))
        return f"; {named}: {MEND}" * bool(named)

    def _findings(self, given: ProgramInput) -> Iterator[Finding]:
        limits = roomy(SandboxLimits(), SLOWER)
        made = self.bench.build(self.original, SANITIZED)
        if made.ok:
            run = self.bench.run(made, given, limits=limits, environment=SANITIZER_OPTIONS)
            yield from (f for f in sanitizer_findings(run.stderr) if is_invalid(f))
        if self.original.language == "cuda" and not toolchain.absent("clang"):
            made = self.bench.build(self.original, RACES)
            options = {"TSAN_OPTIONS": "exitcode=0:report_bugs=1"}
            if made.ok:
                run = self.bench.run(made, given, limits=limits, environment=options)
                yield from (f for f in race_findings(run.stderr) if f.line)


def is_invalid(finding: Finding) -> bool:
    """Whether memory is read or written that is none of an array's."""
    return bool(finding.line) and any(x in finding.message for x in INVALID)


def never_set(text: str) -> list[tuple[str, int]]:
    r"""Memory of the device that the host neither sets nor copies to, with the line that gets it.

    Parameters
    ----------
    text : str
        In CUDA.

    Examples
    --------
    >>> never_set("cudaMalloc(&a, 8);\ncudaMalloc((void **)&b, 8); cudaMemset(a, 0, 8);")
    [('b', 2)]
    """
    return [
        (m[1], text.count("\n", 0, m.start()) + 1) for m in ALLOCATED.finditer(text)
        if not re.search(rf"\bcudaMem(?:cpy|set)\w*\s*\(\s*{m[1]}\b", text)
    ]  # fmt: skip
