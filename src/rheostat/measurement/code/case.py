"""One candidate on its way up the ladder: what every rung is given."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from rheostat.measurement.code.device_kernels.cuda_on_host import parser_absent
from rheostat.measurement.code.device_kernels.opencl_on_host import NotKnown
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.parsing.diagnostics import not_on_host
from rheostat.measurement.code.parsing.tokens import same_tokens
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import GAP, PRAGMA, Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.compared_numbers import (
    LEAST_NUMBER,
    MOST_SIZE,
    numbers_compared,
    numbers_in,
)
from rheostat.measurement.code.reference import Reference
from rheostat.measurement.code.sandboxed.capture import SandboxLimits, SandboxRun
from rheostat.measurement.code.toolchain import (
    CLANG,
    GCC,
    NVCC,
    BuildKind,
    compiler_absent,
    family_of,
)
from rheostat.measurement.code.verdict import (
    FAILED,
    NOT_SHOWN,
    PASSED,
    SKIPPED,
    Evidence,
    Finding,
)
from rheostat.measurement.code.workbench import Built, Workbench

MOST_NUMBERS = 3
MOST_PAIRED = 5
"""Numbers of a candidate that are tried as sizes; of how many the products are."""
MOST_MULTIPLIED, MULTIPLES, MOST_BESIDE, BESIDE_S = 6, 8, 512, 1.0
"""Numbers of a candidate whose multiples are tried, how many of each, inputs and CPU seconds."""
SAYS_WHY = re.compile(r"(?i)error|illegal|assert|terminate called|out of memory|cannot")
PARALLEL = ("openmp", "target")
DECLARES = re.compile(PRAGMA + rf"{GAP}+(?:declare|begin|end|tile|reverse|interchange|fuse)\b")
"""What brings code with it, or puts a loop's iterations in another order on one thread, too."""
ASKS = re.compile(
    r"private|linear|simd|copyin|scan|masked|cancel|error|[<>=?%/!~&|^]|\([^()]*\(|"
    r"\b(?!reduction|map|to|from|depend)\w+\s*\([^()]*[-+*]"
)
"""In a pragma: copies of variables, lanes, and what is calculated beside sizes of sections."""
CONDITIONAL = re.compile(rf"(?m)^{GAP}*#{GAP}*(?:if|elif)")
FOR_DEVICES = ("cuda", "opencl")
STARTS_THREADS = re.compile(r"pthread_create|thrd_create|std::thread::_M_start_thread|tbb::.*")
SHARES_LOOPS = re.compile(r"GOMP_parallel.*|__kmpc_fork_call")
HOST_S, HOST_EXTRA_S = 0.05, 30.0
"""CUDA on the host: CPU seconds of the original's inputs, and what is added to its limits."""


@dataclass(frozen=True)
class RungOptions:
    """What a person may set of the rungs.

    Parameters
    ----------
    threads : tuple of int
        Counts of threads under which the output has to be right.
    pairs : int
        Pairs of timed runs.
    minimum_effect : float
        Smallest change of time that is called one, as a share.
    most_slowdown : float
        A candidate that is slower by more than this factor is rejected.
    suspicious_speedup : float
        A candidate faster by more than this is flagged.
    least_work : float
        Smallest share of the original's instructions that is no deleted work; 0 allows any.
    timing_threads : int
        Threads of timed runs.
    most_pairs : int
        So many pairs are run, ``pairs`` at a time, while no change can be told.
    to_beat : float
        Share of the original's time that is of use; more pairs are run for what may fall below it.
    reviewed : frozenset of str
        ``FILE:LINE`` of the candidate that a person has read: what no run reaches there is allowed.
    """

    threads: tuple[int, ...] = (1, 2, 4)
    pairs: int = 7
    minimum_effect: float = 0.03
    most_slowdown: float = 10.0
    suspicious_speedup: float = 10.0
    least_work: float = 0.1
    timing_threads: int = 2
    most_pairs: int = 0
    to_beat: float = math.inf
    reviewed: frozenset[str] = frozenset()


class RungUnavailable(Exception):
    """A rung cannot be run here; the message says why and what would help."""


@dataclass
class Case:
    """A candidate, its reference, and where both are built and run."""

    candidate: Program
    reference: Reference
    options: RungOptions = field(default_factory=RungOptions)
    seed: int = 0
    evidence: list[Evidence] = field(default_factory=list)
    among: int = 0
    differed: list[ProgramInput] = field(default_factory=list)
    not_natively: NotKnown | None = None
    plain: Built | None = None  # of OpenCL: before kernels and a library were put in
    not_replayed: str = ""  # why its own build cannot be, where the original's is

    def known(self, rung: str) -> dict[str, Any]:
        """Figures of a rung below; none where it was not run."""
        return next((dict(e.numbers) for e in self.evidence if e.rung == rung), {})

    @property
    def bench(self) -> Workbench:
        """The reference's."""
        return self.reference.bench

    @property
    def original(self) -> Program:
        """What the candidate is compared with."""
        return self.reference.original

    @property
    def on_host(self) -> bool:
        """Whether the candidate is CUDA that a CPU runs, for want of a device."""
        return self.candidate.language == "cuda" and not self.bench.gpu

    @property
    def original_on_host(self) -> bool:
        """The same of the original."""
        return self.original.language == "cuda" and not self.bench.gpu

    @property
    def cannot_run(self) -> str:
        """Why the candidate cannot be run here; empty if it can."""
        if not self.on_host:
            return ""
        lacking = compiler_absent(self.candidate, self.kind.family) or parser_absent()
        return lacking or (
            "" if self.built.ok else not_on_host(self.built.said, self.candidate.text)
        )

    @property
    def cannot_time(self) -> str:
        """Why times and joules would mean nothing; empty if they can be measured."""
        languages = {self.candidate.language, self.original.language}
        host = languages & set(FOR_DEVICES) and not self.bench.gpu
        return "no device: the host's time tells nothing of a GPU's" if host else ""

    def inputs(self) -> tuple[Expected, ...]:
        """Admitted inputs on which the candidate is run; short ones in a device's place."""
        reference = self.reference
        every = (*reference.small, *reference.expected, *reference.edges)
        short = (e for e in every if e in self.reference.small or e.cpu_s < HOST_S)
        return tuple(short) if self.on_host else every

    @cached_property
    def own_edges(self) -> tuple[Expected, ...]:
        """Inputs at the numbers that stand in the candidate more often than in the original.

        A condition on such a number goes one way at it and the other way at the next; at one of the
        original's a quotient may be 1, of which a closed form divides by nothing.
        """
        ranges = [r for r in self.original.inputs.ranges.values() if r.kind == "size"]
        own = self._own_numbers
        products = sorted({a * b for a, b in combinations(own[-MOST_PAIRED:], 2)})  # n / a == b
        theirs = sorted({n for n in numbers_in(self.original.text) if n >= LEAST_NUMBER})
        reached = (
            [n for n in some if any(r.low <= n <= r.high for r in ranges)][-MOST_NUMBERS:]
            for some in (own, products, theirs)
        )
        numbers = sorted({n for some in reached for n in some})
        return self.reference.around(numbers) if numbers and not self.on_host else ()

    @cached_property
    def only_pragmas(self) -> bool:
        """Whether OpenMP's pragmas alone tell it from the original: on one thread both do the same.

        By the text and by what the compiler makes of it.
        """
        one, other = self.candidate, self.original
        alike = (one.flags, one.own_flags, one.build) == (other.flags, other.own_flags, other.build)
        alike &= len(one.files) == len(other.files) == 1 or one.files.keys() == other.files.keys()
        own = [DECLARES.search(t) for t in one.files.values()]
        if not alike or any(own) or one.without_pragmas != other.without_pragmas:
            return False
        made = [self.bench.build(replace(p, language=one.language), self.kind, output=("-E",))
                for p in (one, other)]  # fmt: skip
        return all(m.ok for m in made) and same_tokens(*(m.said.stdout for m in made))

    @cached_property
    def asks_nothing_new(self) -> bool:
        """Whether no comparison and no line of it may be reached otherwise than the original's.

        Its pragmas alone are others, and say no more than which loops are shared, what is summed.
        """
        one, other = self.candidate, self.original
        pragmas = one.pragmas
        by_build = one.language != other.language and CONDITIONAL.search(one.text)
        return self.only_pragmas and not by_build and not any(map(ASKS.search, pragmas))

    @property
    def many(self) -> tuple[tuple[ProgramInput, str], ...]:
        """Many inputs and the original's output; few where they could tell nothing."""
        return self.reference.few if self.only_pragmas else self.reference.many

    @cached_property
    def _own_numbers(self) -> list[int]:
        """Numbers that stand in the candidate more often than in the original.

        Also those that its compiler makes of macros, sizes and products to compare with them.
        """
        one, other = self.candidate, self.original
        counts = [Counter(numbers_in(p.text)) for p in (one, other)]
        known = {n for p in (one, other) for n in numbers_in(p.text)} | self._compared(other)
        own = {*(counts[0] - counts[1]), *(self._compared(one) - known)}
        return sorted(n for n in own if n >= LEAST_NUMBER)

    def _compared(self, program: Program) -> set[int]:
        """Whole numbers that it compares with in its own files, by the compiler."""
        if program.build or program.language in FOR_DEVICES or compiler_absent(program, "clang"):
            return set()
        texts = [made.said.stdout for made in self.bench.compiler_texts(program) if made.ok]
        return {
            n for text in texts for n in numbers_compared(text, program.files) if n <= MOST_SIZE
        }

    @cached_property
    def beside_multiples(self) -> tuple[tuple[ProgramInput, str], ...]:
        """Inputs at and beside multiples of the candidate's own numbers, and the original's output.

        A number of blocks is one too many, or a tail too long, where a size is a multiple.
        """
        reference, inputs = self.reference, self.original.inputs
        if not inputs.ranges or self.on_host or reference.starts_dearly:
            return ()
        rng = np.random.default_rng([reference.seed, 7])
        most = max((r.high for r in inputs.ranges.values() if r.kind == "size"), default=0.0)
        numbers = [n for n in self._own_numbers if n <= most][-MOST_MULTIPLIED:]
        drawn = inputs.beside_multiples(numbers, rng, MULTIPLES)
        each = [drawn[i] for i in rng.permutation(len(drawn))[:MOST_BESIDE]]
        limits = reference.expected[0].limits()
        outputs = self.bench.run_many(reference.built, each, limits, BESIDE_S)
        return tuple((g, o) for g, o in zip(each, outputs, strict=False) if o is not None)

    def limits(self, expected: Expected, threads: int = 1) -> SandboxLimits:
        """What the candidate may use on an input; more on the host in a device's place."""
        limits = expected.limits(threads)
        if not self.on_host or self.original.language == "cuda":
            return limits
        return replace(
            limits, wall_s=limits.wall_s + HOST_EXTRA_S, cpu_s=limits.cpu_s + HOST_EXTRA_S
        )

    @property
    def is_parallel(self) -> bool:
        """Whether pragmas make threads."""
        return self.candidate.language in PARALLEL

    @property
    def starts_threads(self) -> bool:
        """Whether the candidate starts threads by itself, as std::thread does."""
        names = self.bench.imports(self.built) if self.built.ok else None
        return any(STARTS_THREADS.fullmatch(n) for n in names or ())

    def cores(self, built: Built) -> int:
        """How many a build uses when it is timed: as many as threads, if it starts any."""
        names = self.bench.imports(built) or ()
        shares = any(p.fullmatch(n) for n in names for p in (STARTS_THREADS, SHARES_LOOPS))
        return self.options.timing_threads if shares else 1

    @property
    def drawn_threads(self) -> int:
        """A number of threads that only the harness knows."""
        return (3, 5, 6, 7)[self.seed % 4]

    @property
    def kind(self) -> BuildKind:
        """How the candidate is built for output and time: by the original's compiler if it can."""
        if self.candidate.language == "cuda" and self.bench.gpu:
            return NVCC
        family = family_of(self.candidate.flags) or self.reference.family
        family = "clang" if self.candidate.holds_kernels else family
        return CLANG if family == "clang" else GCC

    @cached_property
    def natively(self) -> Case | None:
        """The same with OpenCL's kernels compiled beforehand, so that thousands of inputs are run.

        None where neither program is in OpenCL, and where it cannot be done, which
        `not_natively` tells.
        """
        reference = self.reference.natively
        if reference is None or not self._in_opencl:
            return None
        program = self.candidate
        if program.language == "opencl":
            try:
                program = self.reference.with_kernels(self.built)
            except NotKnown as reason:
                self.not_natively = reason
                return None
        return replace(self, candidate=program, reference=reference, differed=[], plain=self.built)

    @property
    def _in_opencl(self) -> bool:
        return "opencl" in (self.candidate.language, self.original.language)

    @property
    def shared_by_compiler(self) -> bool:
        """Whether only flags, which one compiler knows, tell the candidate from the original."""
        own = family_of(self.candidate.flags)
        return bool(own) and self.candidate.files == self.original.files

    @property
    def built(self) -> Built:
        """The candidate as people build it."""
        return self.bench.build(self.candidate, self.kind)

    @property
    def file(self) -> str:
        """The file that findings without a place are about."""
        return next(iter(self.candidate.sources or self.candidate.files))

    def passed(self, rung: str, reason: str = "", **numbers: Any) -> Evidence:
        """Evidence for."""
        return Evidence(rung, PASSED, reason, numbers=numbers)

    def failed(self, rung: str, findings: Sequence[Finding], **numbers: Any) -> Evidence:
        """Evidence against."""
        return Evidence(rung, FAILED, findings[0].words, tuple(findings), numbers=numbers)

    def not_shown(self, rung: str, findings: Sequence[Finding], why: str) -> Evidence:
        """Evidence neither for nor against, with what speaks against."""
        return Evidence(rung, NOT_SHOWN, f"{findings[0].words}; {why}", tuple(findings))

    def need(self, missing: str) -> None:
        """Without what is missing this rung is not available."""
        if missing:
            raise RungUnavailable(missing)

    def build(self, kind: BuildKind, program: Program | None = None) -> Built:
        """The candidate built for a checker; a build that fails makes the rung not available.

        ``program`` is built in its place.
        """
        self.need(compiler_absent(self.candidate, kind.family))
        made = self.bench.build(program or self.candidate, kind)
        self.need("" if made.ok else f"no build: {made.said.ending}: {made.said.stderr[:200]}")
        return made

    def flagged(self, evidence: Evidence, findings: Sequence[Finding]) -> Evidence:
        """Evidence with findings that a person should look at."""
        return replace(evidence, findings=tuple(findings))

    def skipped(self, rung: str, reason: str) -> Evidence:
        """No evidence needed."""
        return Evidence(rung, SKIPPED, reason)

    def finding(self, rung: str, message: str, level: str = "error") -> Finding:
        """A finding about the candidate as a whole."""
        return Finding(rung, self.file, 0, message, level)

    def wrong(self, rung: str, run: SandboxRun, expected: Expected, how: str) -> list[Finding]:
        """What is wrong with a run: it did not end well, or printed something else."""
        where = f"with {expected.given.words}{how}"
        if not run.ok:
            self.differed.append(expected.given)
            lines = [x for x in run.stderr.splitlines() if x.strip()]
            said = next((x for x in lines if SAYS_WHY.search(x)), lines[-1] if lines else "")
            return [self.finding(rung, f"{where}: {run.ending}{': ' + said[:200] if said else ''}")]
        apart = differences(run.stdout, expected.output, self.reference.agreed)
        self.differed += [expected.given] * bool(apart)
        return [
            self.finding(rung, f"{where}, output line {d.line}: expected {d.expected!r:.120}, "
                         f"got {d.got!r:.120}")
            for d in apart
        ]  # fmt: skip
