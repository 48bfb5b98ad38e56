"""The original: built, run on inputs that only the harness knows, its outputs kept.

An input is admitted if the original ends well on it, prints the same twice, and is clean under the
sanitizers.  In single precision the original's own rounding widens the tolerance: a right
candidate cannot do better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from rheostat.errors import DataError
from rheostat.measurement.code import toolchain
from rheostat.measurement.code.costs.work_counts import WorkCounts, count_flops, count_work
from rheostat.measurement.code.device_kernels.opencl_on_host import NotKnown, on_own_library
from rheostat.measurement.code.parsing import diagnostics
from rheostat.measurement.code.parsing.compare_output import (
    Tolerance,
    computed_times,
    differences,
    output_lines,
    repeated_times,
)
from rheostat.measurement.code.parsing.precision import within_precision
from rheostat.measurement.code.programs.expected import SPARE_S, Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput, powers_of_two
from rheostat.measurement.code.sandboxed.capture import SandboxLimits, SandboxRun
from rheostat.measurement.code.surroundings import own_agreement, own_faults
from rheostat.measurement.code.toolchain import SANITIZER_OPTIONS, compiler_absent, family_of
from rheostat.measurement.code.tried_together import tried_together
from rheostat.measurement.code.workbench import Built, Workbench, roomy

INPUTS = 4
SMALL_PART, LARGE_PART = (0.0, 0.25), (0.75, 1.0)
QUICK_S = 0.04
"""CPU seconds of a run up to which many more are made."""
VARIED_PART, LOW_PART = (0.5, 1.0), (0.0, 0.03)
"""All but small sizes; the smallest: where something may be empty."""
MANY, MANY_SMALL, MANY_S, MOST_MANY_B = 8192, 2048, 2.5, 2**22
"""Inputs and small ones that are run one after the other, CPU seconds and bytes of each.  Mistakes
that others wrote are found by one small input in a hundred, by one large one in up to 5,000."""
CORNER_SEEDS, FEW_NEAR = 12, 4
"""Seeds at each corner of the sizes; inputs at a candidate's own numbers where starts are dear."""
MOST_AGAIN_S = 1.0
"""CPU seconds of an original without inputs that is run in one more way."""
PLAIN = {"gcc": toolchain.GCC, "clang": toolchain.CLANG, "nvcc": toolchain.NVCC}
OneKind = tuple[str, str, bool, frozenset[str]]
"""Comparisons with one outcome: a text, eq, lt or gt, if it never held, what is done behind it."""
OneWay = Counter[OneKind]
DRAWS = 12
"""Inputs that are drawn for each admitted one, at most."""


@dataclass
class Reference:
    """The original program with its admitted inputs; shared by all candidates.

    Parameters
    ----------
    original : Program
        What candidates are compared with.
    bench : Workbench
        Where it is built and run.
    seed : int
        Draws the inputs.
    tolerance : Tolerance
        Of outputs.
    count : int
        Inputs of full size.
    one_way : tuple, optional
        Of the original's comparisons, by the line's text and by the number; lines not run.
    near_ends : Counter, optional
        Ends of what it keeps of values, which came near them.
    """

    original: Program
    bench: Workbench
    seed: int = 0
    tolerance: Tolerance = field(default_factory=Tolerance)
    count: int = INPUTS
    notes: list[str] = field(default_factory=list)
    refused: list[ProgramInput] = field(default_factory=list)
    one_way: tuple[OneWay, OneWay, tuple[str, ...]] | None = None
    near_ends: Counter[int] | None = None
    _times: dict[str, list[int]] = field(default_factory=dict)
    _counted: dict[tuple[str, str, bool], WorkCounts | str] = field(default_factory=dict)

    @cached_property
    def built(self) -> Built:
        """The original as people build it.

        Raises
        ------
        DataError
            Where it cannot be built: nothing can be compared with it.
        """
        family = self.family
        if missing := compiler_absent(self.original, family):
            raise DataError(self._name, [missing])
        made = self.bench.build(self.original, PLAIN[family])
        if not made.ok and self.original.language == "cuda" and family != "nvcc":
            raise DataError(self._name, [diagnostics.not_on_host(made.said, self.original.text)])
        if not made.ok:
            said = [f.words for f in diagnostics.compiler_findings(made.said.stderr)]
            raise DataError(f"{self._name}: the original does not build",
                            said or [made.said.ending, made.said.stderr[-400:]])  # fmt: skip
        return made

    @property
    def family(self) -> str:
        """The compiler of every figure: what its flags need, else gcc, or clang without that."""
        if self.original.language == "cuda" and self.bench.gpu:
            return "nvcc"
        if only := family_of(self.original.flags):
            return only
        if self.original.holds_kernels:
            return "clang"
        return "clang" if compiler_absent(self.original, "gcc") else "gcc"

    @property
    def _name(self) -> str:
        return self.original.name or "original"

    @property
    def _called(self) -> str:
        """What people call the program: as its first source."""
        return PurePosixPath(next(iter(self.original.sources), "original")).stem

    @cached_property
    def clean(self) -> bool:
        """Whether the original builds with sanitizers, so that inputs can be checked with them."""
        return not compiler_absent(self.original, "clang") and self.bench.build(
            self.original, toolchain.SANITIZED).ok  # fmt: skip

    @property
    def is_clean(self) -> bool:
        """Whether the original passes the sanitizers; admitted inputs of OpenCL do not tell."""
        if self.clean and self.original.language == "opencl":
            return self._checked(self.small[0]).ok
        return self.clean

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """Inputs of full size; the first is the largest."""
        return tuple(sorted(self._admitted(self.count, (0.0, 1.0), 0), key=lambda e: -e.cpu_s))

    @cached_property
    def small(self) -> tuple[Expected, ...]:
        """Two inputs for tools that slow a program down; the second is run as others may run it."""
        return self._admitted(min(2, self.count), SMALL_PART, 1)

    @cached_property
    def without_arguments(self) -> tuple[Expected, ...]:
        """What anyone could look at who wrote a candidate, where the original runs so.

        An answer that is known for it alone is right on every input that is drawn.  An original
        without inputs is run under its own name, with text on standard input.
        """
        longest, nothing = self.expected[0], ProgramInput()
        if not self.original.inputs.ranges and longest.cpu_s > MOST_AGAIN_S:
            return ()
        few = longest.limits_of_others()
        given = nothing if self.original.inputs.ranges else nothing.elsewhere(self._called)
        _, expected = self._try(given, few, least=1 if self.starts_dearly else 2)
        return () if expected is None else (expected,)

    @cached_property
    def edges(self) -> tuple[Expected, ...]:
        """Both ends of stated ranges, tails of vectors and blocks, where the original runs so."""
        return self._those_that_run(self.original.inputs.edges())

    @cached_property
    def many(self) -> tuple[tuple[ProgramInput, str], ...]:
        """Many more inputs and what the original prints on them; what differs is admitted first."""
        return self._many(2 if self.original.holds_kernels else 1)

    @cached_property
    def few(self) -> tuple[tuple[ProgramInput, str], ...]:
        """An eighth of them, for a candidate whose code is the original's."""
        return self._many(8)

    def _many(self, part: int) -> tuple[tuple[ProgramInput, str], ...]:
        """Inputs drawn from parts of the ranges, as many as are run in the time there is."""
        inputs = self.original.inputs
        made: list[tuple[ProgramInput, str | None]] = []
        most_s = MANY_S / part * (0.8 if self.original.takes_turns else 1.0)
        if not inputs.ranges or self.count < INPUTS or self.starts_dearly:
            return ()
        rng = np.random.default_rng([self.seed, 5])
        longest_small = max(self.small, key=lambda e: e.cpu_s)
        groups = (((LOW_PART, SMALL_PART), longest_small, MANY_SMALL),
                  ((LARGE_PART, (0.0, 1.0), VARIED_PART), self.expected[0], MANY))  # fmt: skip
        for parts, longest, most in groups:
            drawn = list(inputs.corners(rng, CORNER_SEEDS) if LARGE_PART in parts else ())
            drawn += [inputs.draw(rng, parts[i % len(parts)]) for i in range(most // part)]
            each = list({given.words: given for given in drawn}.values())
            each = each[: MOST_MANY_B // max(len(longest.output), 1)]
            if longest.cpu_s <= QUICK_S:
                limits, run = longest.limits(), self.bench.run_many
                made += zip(each, run(self.built, each, limits, most_s), strict=False)
        self.refused += [given for given, output in made if output is None]
        return tuple((g, o) for g, o in made if o is not None)

    @property
    def starts_dearly(self) -> bool:
        """Whether each start loads a library that compiles: few inputs have to do."""
        return self.original.language == "opencl"

    def admitted(self, given: ProgramInput) -> Expected | None:
        """An input as one that candidates are run on, where the original runs so."""
        return self._try(given, least=1 if self.starts_dearly else 2)[1]

    def _those_that_run(self, inputs: Iterable[ProgramInput]) -> tuple[Expected, ...]:
        """What the original prints on inputs that are not known yet, where it runs in time."""
        known = [e.given.values for e in (*self.expected, *self.small)]
        new = [given for given in inputs if given.values not in known]
        return self._each(new, self.expected[0].limits_of_others())

    def around(self, numbers: Sequence[int]) -> tuple[Expected, ...]:
        """Inputs at these sizes and beside them, where the original runs so in a quick run."""
        rng = np.random.default_rng([self.seed, 3])
        few = SandboxLimits(wall_s=5 * SPARE_S, cpu_s=SPARE_S)
        near = self.original.inputs.around(numbers, rng)
        near = near[:: max(1, len(near) // FEW_NEAR)] if self.starts_dearly else near
        return self._each(near, few)

    def _each(self, inputs: Sequence[ProgramInput], few: SandboxLimits) -> tuple[Expected, ...]:
        """Inputs as candidates are run on them, where the original ends well within limits."""
        quick = [] if self.starts_dearly or not self.clean else self.expected[:1]
        known = tried_together(self.bench, self.built, inputs, quick, few, self.tolerance)
        each = (e or self._try(g, few, least=1)[1] for g, e in zip(inputs, known, strict=True))
        return tuple(e for e in each if e is not None)

    @cached_property
    def agreed(self) -> Tolerance:
        """The tolerance that was asked for, else what the original's precision can hold.

        Times that the original prints alike in every second run are results of a calculation.
        """
        # that it builds comes first, and what it prints each time
        _ = self.built, self.expected, self.small
        tolerance = replace(self.tolerance, computed=computed_times(self._times))
        if tolerance.relative is None:
            text = "\n".join(self.original.files.values())
            tolerance = within_precision(tolerance, text, lambda: self._rounded)
        if why := self._faults.not_its_own(self.built, self._otherwise, tolerance):
            raise DataError(self._name, [why])
        return tolerance

    @cached_property
    def _faults(self) -> own_faults.OwnFaults:
        return own_faults.OwnFaults(self.bench, self.original)

    @cached_property
    def _otherwise(self) -> tuple[own_agreement.OwnRun, ...]:
        """The original in other orders of its threads, where a CPU plays them."""
        if self.original.language != "cuda" or self.bench.gpu:
            return ()
        return own_agreement.otherwise(self.bench, self.built, (*self.small, *self.expected[:1]))

    @property
    def _rounded(self) -> float:
        """How far the original's outputs in single precision are from each other, with a margin."""
        if self.original.language == "opencl" or self.family == "nvcc":
            return 0.0
        known = (*self.expected, *self.without_arguments)
        return own_agreement.own_spread(self.bench, self.built, known, self._otherwise)

    @cached_property
    def natively(self) -> Reference | None:
        """The same with OpenCL's kernels compiled beforehand; None where that cannot be done."""
        if self.original.language != "opencl":
            return self
        try:
            program = self.with_kernels(self.built)
        except NotKnown as reason:
            self.notes.append(f"few inputs are run, as PoCL runs them all: {reason}")
            return None
        return Reference(program, self.bench, self.seed, self.agreed, self.count)

    def with_kernels(self, built: Built) -> Program:
        """A build in OpenCL as a program with its kernels that prints what the original does."""
        known = [(e.given, e.output) for e in (*self.small, *self.expected)]
        limits = self.expected[0].limits()
        return on_own_library(self.bench, built, known, limits, self.agreed)

    def counts(self, built: Built, expected: Expected, *, flops: bool = False) -> WorkCounts | str:
        """Work of a build on an input, counted once; text says why there are no counts."""
        key = (built.folder.name, expected.given.words, flops)
        if key not in self._counted:
            count = count_flops if flops else count_work
            self._counted[key] = count(self.bench, built, expected.given, expected.limits())
        return self._counted[key]

    def _admitted(self, count: int, part: tuple[float, float], stream: int) -> tuple[Expected, ...]:
        inputs = self.original.inputs
        rng = np.random.default_rng([self.seed, stream])
        if not inputs.ranges:
            count = 1
        good: list[Expected] = []
        why = ""
        for _ in range(count * DRAWS if inputs.ranges else 1):
            if len(good) == count:
                break
            given = inputs.draw(rng, part)
            if part == SMALL_PART and good:
                given = given.elsewhere(self._called)
            if any(given.values == e.given.values for e in good) and inputs.ranges:
                continue
            reason, expected = self._try(given, least=1 if good and self.starts_dearly else 2)
            why = why or reason
            if expected is not None:
                good.append(expected)
        if not good and self.clean and "sanitizers" in why and not self._faults.is_refused:
            self.clean = False
            self.notes.append(f"{why}: inputs are not checked")
            return self._admitted(count, part, stream)
        if len(good) < count and inputs.guessed and inputs != (powers := powers_of_two(inputs)):
            self.original = replace(self.original, inputs=powers)
            return self._admitted(count, part, stream)
        if not good:
            problems = [why, "say in a manifest which inputs it takes ([inputs])"]
            raise DataError(f"{self._name}: no input is admitted", problems)
        return tuple(good)

    def _try(
        self, given: ProgramInput, limits: SandboxLimits | None = None, *, least: int = 2
    ) -> tuple[str, Expected | None]:
        """Why an input is no good, or the original's output on it.

        A run under the sanitizers that prints the same spares the second one, if ``least`` is 1;
        one run is enough then where each starts a library that compiles.
        """
        first = self.bench.run(self.built, given, limits=limits)
        if not first.ok:
            return f"with {given.words} the original {self._faults.of_end(given, first)}", None
        expected = Expected(given, first.stdout, first.cpu_s, first.wall_s)
        if least == 1 and (alone := self._by_one_run(expected)):
            return "", alone
        second = self.bench.run(self.built, given, limits=limits)
        if not second.ok:
            return f"with {given.words} the original {second.ending}", None
        for name, digits in repeated_times(first.stdout, second.stdout).items():
            self._times.setdefault(name, []).append(digits)
        if differences(second.stdout, first.stdout, self.tolerance):
            return self._faults.each_time(given, first, second, self.tolerance), None
        if not output_lines(first.stdout, self.tolerance):
            return self._by_stderr(given, limits, first)
        return self._sanitized(replace(expected, cpu_s=min(first.cpu_s, second.cpu_s),
                                       wall_s=min(first.wall_s, second.wall_s)))  # fmt: skip

    def _by_one_run(self, expected: Expected) -> Expected | None:
        """An input that needs no second plain run; None where it does."""
        if not output_lines(expected.output, self.tolerance):
            return None
        if self.starts_dearly:
            return expected
        if not (self.clean and (checked := self._checked(expected)).ok):
            return None
        apart = differences(checked.stdout, expected.output, self.tolerance)
        return None if apart else replace(expected, filled=checked.stdout)

    def _sanitized(self, expected: Expected) -> tuple[str, Expected | None]:
        """The same with its output under the sanitizers, where it is clean; not by PoCL."""
        if self.original.language == "opencl" or not self.clean:
            return "", expected
        checked = self._checked(expected)
        if not checked.ok:
            named = self._faults.of_report(checked.stderr)
            return f"the original itself fails the sanitizers{named}", None
        return "", replace(expected, filled=checked.stdout)

    def _checked(self, expected: Expected) -> SandboxRun:
        """The original under the sanitizers."""
        made = self.bench.build(self.original, toolchain.SANITIZED)
        return self.bench.run(made, expected.given, limits=roomy(expected.limits()),
                              environment=SANITIZER_OPTIONS)  # fmt: skip

    def _by_stderr(
        self, given: ProgramInput, limits: SandboxLimits | None, run: SandboxRun
    ) -> tuple[str, Expected | None]:
        """The same with what stands on standard error, where standard output holds nothing."""
        if self.bench.reads_stderr or not output_lines(run.stderr, self.tolerance):
            return f"with {given.words} the original prints nothing that could be compared", None
        self.bench.reads_stderr = True
        self.notes.append("results are on standard error, which is compared, too")
        return self._try(given, limits)
