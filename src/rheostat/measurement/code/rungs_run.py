"""Rungs that run the candidate: sanitizers, output, threads, mapping; races have their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.altered.guided_data import guided_data
from rheostat.measurement.code.altered.other_data import WHY as DATA
from rheostat.measurement.code.altered.other_data import other_data
from rheostat.measurement.code.altered.weak_hashes import WHY as ALIKE
from rheostat.measurement.code.altered.weak_hashes import weak_hashes
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.device_kernels.cuda_on_host import ORDERS
from rheostat.measurement.code.device_kernels.idle_kernels import WHY as IDLE
from rheostat.measurement.code.device_kernels.idle_kernels import idle_kernels
from rheostat.measurement.code.device_kernels.item_orders import in_another_order
from rheostat.measurement.code.device_kernels.two_libraries import by_both, left_to_pocl
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.parsing.diagnostics import sanitizer_findings, without_lines
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.marked_runs import WHY, unreached
from rheostat.measurement.code.reached.mutant_runs import WHY as NO_EFFECT
from rheostat.measurement.code.reached.mutant_runs import never_shown
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.surroundings.another_library import elsewhere
from rheostat.measurement.code.surroundings.device_regions import (
    always_on_device,
    never_on_device,
    with_closed_memory,
)
from rheostat.measurement.code.surroundings.error_runs import error_runs
from rheostat.measurement.code.surroundings.few_threads import on_few_threads
from rheostat.measurement.code.surroundings.fused_sums import WHY as FUSED
from rheostat.measurement.code.surroundings.fused_sums import fused_sums
from rheostat.measurement.code.surroundings.hidden_digits import WHY as HIDDEN
from rheostat.measurement.code.surroundings.hidden_digits import hidden_digits
from rheostat.measurement.code.surroundings.narrow_types import WHY as NARROW
from rheostat.measurement.code.surroundings.narrow_types import narrow_types
from rheostat.measurement.code.surroundings.other_settings import set_otherwise
from rheostat.measurement.code.surroundings.thousand_threads import (
    BY_NUMBER,
    NOT_MADE,
    with_a_thousand,
)
from rheostat.measurement.code.toolchain import (
    DEVICE,
    SANITIZED,
    SANITIZER_OPTIONS,
)
from rheostat.measurement.code.tried_together import not_shown_together
from rheostat.measurement.code.verdict import Evidence, Finding
from rheostat.measurement.code.workbench import OWN_SHADOW_B, Built, roomy

ON_DEVICE = {"OMP_TARGET_OFFLOAD": "MANDATORY", "MALLOC_PERTURB_": "128"}
"""A device's memory that nobody set holds bytes of 0x7f: 1.4e306, or 2139062143."""
ON_HOST = "a region that a condition leaves on the host has to find its data there"
MANY_THREADS = (3, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 24, 32, 48, 64)
"""Those that people use, their neighbours, and more than an array of a fixed size may hold."""
ALL_THREADS = tuple(range(2, 65))
"""For a candidate that asks for the number, which may go by any."""
MORE_THREADS = (100, 129, 257)
"""More than a name of two digits, seven bits or a byte tell apart."""
FEW_THREADS = 8
"""More than small inputs have work for."""
QUICK_S = 0.05
FEW = 3
"""Inputs where a run starts a library that compiles: half a CPU second under the sanitizers, which
see the host's code alone."""
MOST_SUSPECT = 4
"""Of many inputs, how many on which the output seemed wrong are tried again by themselves."""
MANY_S, FIRST = 5.0, 8
"""CPU seconds that a candidate has for them at the most, and what part of them is run first: most
of what is wrong shows there."""
ELSEWHERE = " in one of many runs from one start, and not alone"
DOUBTS = (
    ((hidden_digits, HIDDEN),), ((narrow_types, NARROW), (fused_sums, FUSED)),
    ((other_data, DATA),),
    ((unreached, WHY), (idle_kernels, IDLE), (weak_hashes, ALIKE), (never_shown, NO_EFFECT)),
    ((guided_data, DATA),),
)  # fmt: skip
"""What leaves it undecided: other outputs first, then, at once, lines for a person to read."""
NONE_ENDED = "alone its runs end well, but none of those that are begun by a process that forks"
PROBE = """int main(void) {
  int changed = 0;
#pragma omp target map(to : changed)
  changed = 1;
  return changed;
}
"""
"""Ends with 0 where the device has memory of its own."""


def sanitizers(case: Case) -> Evidence:
    """AddressSanitizer and UndefinedBehaviorSanitizer on a small, the largest and edge inputs.

    A run that fails without a report is the business of the next rung.
    """
    case.need(case.cannot_run)
    if case.candidate.language == "opencl" and (known := by_both(case, sanitizers, "sanitizers")):
        return known
    if case.candidate.language == "cuda" and not case.on_host:
        return case.skipped("sanitizers", "the device's code has no sanitizer here")
    made = case.build(SANITIZED)
    case.need("" if case.reference.is_clean else "the original itself does not pass them")
    count = 2 if case.is_parallel else 1
    first = case.reference.small[0]
    plain = case.bench.run(case.built, first.given, threads=count, limits=case.limits(first, count))
    if plain.stopped:
        return case.skipped("sanitizers", f"without them it was {plain.stopped}: see output")
    reference = case.reference
    more = () if case.on_host else (*reference.expected[:1], *reference.edges, *case.own_edges)
    more = more[:FEW] if case.candidate.language == "opencl" else more
    others = _not_together(case, made, more[1:], count, SANITIZER_OPTIONS)
    for expected in (case.inputs()[0], *more[:1], *others):
        run = _filled(case, made, expected, count)
        reports = sanitizer_findings(run.stderr)
        if not (reports or run.ok):
            return case.passed("sanitizers", f"no report, but {run.ending}")
        named = without_lines(reports, toolchain.symbolizer_absent())
        findings = named or _never_set(case, made, expected, run)
        if findings:
            return case.failed("sanitizers", findings)
    return case.passed("sanitizers", "address, undefined behaviour")


def _not_together(
    case: Case, made: Built, known: Sequence[Expected], count: int = 1,
    environment: dict[str, str] | None = None,
) -> list[Expected]:  # fmt: skip
    """Inputs beside the first ones that it has to be run on by itself."""
    limits = roomy(case.limits(case.reference.expected[0], count), 3.0)
    return not_shown_together(case.bench, made, known, limits, case.reference.agreed, count,
                              environment)  # fmt: skip


def _filled(case: Case, made: Built, expected: Expected, count: int) -> SandboxRun:
    """A run under the sanitizers, where memory that nobody set is filled."""
    return case.bench.run(made, expected.given, threads=count, environment=SANITIZER_OPTIONS,
                          limits=roomy(case.limits(expected, count), 3.0))  # fmt: skip


def _never_set(case: Case, made: Built, expected: Expected, run: SandboxRun) -> list[Finding]:
    """An output that is right but where memory that nobody set is filled, on one thread.

    Where the original's changes with it, too, the candidate may print the same.
    """
    how = ", where memory that it never sets is filled"
    known = [expected, replace(expected, output=expected.filled or expected.output)]

    def wrong(run: SandboxRun) -> list[Finding]:
        return min((case.wrong("sanitizers", run, e, how) for e in known), key=len)

    if not wrong(run):
        return []
    plain = case.bench.run(case.built, expected.given, limits=case.limits(expected))
    return [] if wrong(plain) else wrong(_filled(case, made, expected, 1))


def output(case: Case) -> Evidence:
    """The original's output on every hidden input, and on none where the original takes none."""
    case.need(case.cannot_run)
    if findings := _on_each(case):
        return case.failed("output", findings)
    return by_both(case, output, "output") or left_to_pocl(case, _on_many(case))


def _on_each(case: Case) -> list[Finding]:
    """What is wrong on inputs that are run one by one; few by PoCL, where it is asked beside."""
    twice, reference = case.natively is not None, case.reference
    few = (*reference.small, *reference.expected[:1])
    known = () if case.on_host or twice else reference.without_arguments
    every = few if twice else (*case.inputs(), *case.own_edges)
    first, others = ([e for e in every if (e in few) is own] for own in (True, False))
    for expected in (*first, *_not_together(case, case.built, others), *known):
        run = case.bench.run(case.built, expected.given, limits=case.limits(expected))
        if findings := case.wrong("output", run, expected, ""):
            return findings
    return elsewhere(case) if twice else []


def _on_many(case: Case) -> Evidence:
    """Thousands of inputs, other libraries and data, and what no input reaches."""
    every = (*case.inputs(), *case.own_edges)
    known = () if case.on_host else case.reference.without_arguments
    rare = _among_many(case)
    if rare:
        return case.failed("output", rare)
    if otherwise := elsewhere(case) or error_runs(case):
        return case.failed("output", otherwise)
    reviewed = set[str]()
    for some in DOUBTS:
        asked = [(f, f"{f.file}:{f.line}", why) for doubts, why in some for f in doubts(case)]
        reviewed |= {at for _, at, _ in asked} & case.options.reviewed
        if left := [(f, why) for f, at, why in asked if at not in reviewed]:
            return case.not_shown("output", [f for f, _ in left], left[0][1])
    inputs = len(every) + case.among
    said = f"{inputs} inputs" if case.original.inputs.ranges else "the one input there is"
    none = "none at all" if case.original.inputs.ranges else "under its name, with text to be read"
    said += f", and {none}" if known else ""
    said += f"; not shown, but reviewed: {', '.join(sorted(reviewed))}" if reviewed else ""
    relative = case.reference.agreed.relative
    return case.passed("output", f"{said}; numbers agree to {relative:g}", inputs=inputs,
                       relative_tolerance=relative)  # fmt: skip


def _among_many(case: Case) -> list[Finding]:
    """What is wrong on one of many inputs that are run one after the other, an eighth at first."""
    many = (*case.many, *case.beside_multiples)[::-1]  # if time is over small ones are left out
    limits = case.limits(case.reference.expected[0])
    case.among = odd = 0
    for some in (many[::FIRST], [known for i, known in enumerate(many) if i % FIRST]):
        every = [given for given, _ in some]
        outputs = case.bench.run_many(case.built, every, limits, MANY_S)
        suspect = _suspect(case, some, outputs)
        if suspect:  # runs that share memory prove nothing
            if findings := _again(case, suspect, alone=True):
                return findings
            outputs = case.bench.run_each(case.built, every, limits, most_cpu_s=MANY_S)
            suspect = _suspect(case, some, outputs)
        if findings := _again(case, suspect):
            return findings
        case.among += len(outputs)
        odd += len(suspect)
    return [case.finding("output", NONE_ENDED)] if odd and odd == case.among else []


def _suspect(
    case: Case, known: Sequence[tuple[ProgramInput, str]], outputs: Sequence[str | None]
) -> list[tuple[ProgramInput, str | None]]:
    """Inputs on which the candidate printed something else, and what."""
    return [
        (given, got) for (given, wanted), got in zip(known, outputs, strict=False)
        if got != wanted and (got is None or differences(got, wanted, case.reference.agreed))
    ]  # fmt: skip


def _again(
    case: Case, suspect: Sequence[tuple[ProgramInput, str | None]], *, alone: bool = False
) -> list[Finding]:
    """What is wrong on those that seemed so, each run by itself; with ``alone`` only there."""
    for given, got in suspect[:MOST_SUSPECT]:
        expected = case.reference.admitted(given)
        if expected is None:
            continue
        run = case.bench.run(case.built, given, limits=case.limits(expected))
        findings = case.wrong("output", run, expected, "")
        if not (findings or alone) and got is not None:
            findings = case.wrong("output", replace(run, stdout=got), expected, ELSEWHERE)
        if findings:
            return findings
    return []


def threads(case: Case) -> Evidence:
    """The same output with each number of threads."""
    if case.on_host:
        return _orders(case)
    if case.candidate.language == "opencl":
        return _items(case)
    if not (case.is_parallel or case.shared_by_compiler):
        return case.skipped("threads", f"{case.candidate.language} code makes no OpenMP threads")
    counts = [*(t for t in case.options.threads if t > 1), case.drawn_threads]
    largest, small = case.reference.expected[0], case.reference.small[-1]
    own = ((e, counts[:1]) for e in case.own_edges)
    few = ((e, (FEW_THREADS,)) for e in case.reference.edges if e.cpu_s < QUICK_S)
    many = ALL_THREADS if by_number(case) else MANY_THREADS
    many = () if case.shared_by_compiler else many
    every = ((largest, counts), (small, counts), (_large_and_quick(case), many), *own, *few)
    for expected, numbers in every:
        for count in numbers:
            run = case.bench.run(
                case.built, expected.given, threads=count, limits=expected.limits(count)
            )
            findings = case.wrong("threads", run, expected, f" and {count} threads")
            if findings:
                return case.failed("threads", findings)
    more = () if case.shared_by_compiler else MORE_THREADS
    findings = on_few_threads(case) or _with_more(case, more) or set_otherwise(case, small)
    said = ""
    if not findings:
        findings, said = with_a_thousand(case, _large_and_quick(case))
    if findings:
        return case.failed("threads", findings)
    every_count = sorted({*counts, *many, *more})
    return case.passed("threads", f"{', '.join(map(str, every_count))} threads{said}")


def _with_more(case: Case, counts: Sequence[int]) -> list[Finding]:
    """What is wrong with more threads than most machines have; no word on time or their making."""
    expected = _large_and_quick(case)
    for count in counts:
        limits = replace(expected.limits(count), address_space_b=OWN_SHADOW_B)
        run = case.bench.run(case.built, expected.given, threads=count, limits=limits)
        if run.stopped or NOT_MADE.search(run.stderr):
            break
        if findings := case.wrong("threads", run, expected, f" and {count} threads"):
            return findings
    return []


def by_number(case: Case) -> bool:
    """Whether the candidate asks how many threads there are, and the original does not."""
    return bool(BY_NUMBER.search(case.candidate.text)) and not BY_NUMBER.search(case.original.text)


def _large_and_quick(case: Case) -> Expected:
    """The input of the largest numbers that is soon done, as each of many threads needs work."""
    quick = [e for e in case.inputs() if e.cpu_s < QUICK_S] or case.reference.small
    return max(quick, key=lambda e: e.given.size)


def _orders(case: Case) -> Evidence:
    """The same output whatever order CUDA's threads and blocks run in."""
    case.need(case.cannot_run)
    for how, number in ORDERS.items():
        for expected in (*case.reference.small, _large_and_quick(case)):
            run = case.bench.run(case.built, expected.given, limits=case.limits(expected),
                                 environment={"CUDA_ORDER": str(number)})  # fmt: skip
            where = f" and threads {how}, on another device"
            findings = case.wrong("threads", run, expected, where)
            if findings:
                return case.failed("threads", findings)
    return case.passed("threads", f"threads {', '.join(ORDERS)}, on the host")


def _items(case: Case) -> Evidence:
    """The same output whatever order OpenCL's work-items run in, and when copies are made."""
    if findings := in_another_order(case.natively or case):
        return case.failed("threads", findings)
    return case.passed("threads", "work-items backward and in drawn turns, copies late")


def mapping(case: Case) -> Evidence:
    """The same output from a device with memory of its own: what is not mapped is not there."""
    if case.candidate.language != "target":
        return case.skipped("mapping", f"{case.candidate.language} code has no target regions")
    case.need(toolchain.offload_absent())
    probe = case.bench.build(Program({"probe.c": PROBE}, "target", is_ours=True), DEVICE)
    works = probe.ok and case.bench.run(probe, ProgramInput(), environment=ON_DEVICE).ok
    case.need("" if works else "no device with memory of its own takes a target region here")
    anywhere = always_on_device(case.candidate)
    findings = _on_device(case, case.candidate, "")
    if not findings and anywhere != case.candidate:
        findings = _on_device(case, anywhere, " and the `if` clauses of its regions true")
    if findings:
        return case.failed("mapping", findings)
    beside = never_on_device(case.candidate)
    if beside != case.candidate:
        stale = _on_device(case, beside, " and the `if` clauses of its regions false")
        if stale:
            return case.not_shown("mapping", stale, ON_HOST)
    return case.passed("mapping", "x86_64 device with separate memory")


def _on_device(case: Case, program: Program, how: str) -> list[Finding]:
    made = case.bench.build(with_closed_memory(program), DEVICE)
    made = made if made.ok else case.build(DEVICE, program)
    for expected in case.reference.small:
        run = case.bench.run(made, expected.given, threads=2, limits=roomy(expected.limits(2), 5.0),
                             environment=ON_DEVICE)  # fmt: skip
        where = f" on a device with memory of its own{how}"
        if findings := case.wrong("mapping", run, expected, where):
            return findings
    return []
