"""The ladder, scripted: which rungs are run, what a verdict notes, admission to a benchmark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.ladder import NO_INPUT, Gain, Verifier, verifier, verify
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs import hecbench
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.verdict import (
    FAILED,
    NOT_AVAILABLE,
    PASSED,
    RUNGS,
    SKIPPED,
    Verdict,
)
from tests.measurement.code.rung_cases import INPUTS, program, reference_of
from tests.measurement.exactly import refused
from tests.measurement.scripted import done

# --- the ladder --------------------------------------------------------------------------------


def test_rungs_are_run_up_to_the_first_that_fails(case, box):
    box.says["candidate", "run gcc"] = done("sum 0")
    told = []
    one = Verifier(case.reference)
    verdict = one.verify(program("candidate"), rungs=("compile", "output", "threads"),
                         progress=lambda *x: told.append(x))  # fmt: skip
    states = {e.rung: (e.state, e.reason) for e in verdict.evidence if e.state == SKIPPED}
    assert states["parse"] == states["work"] == (SKIPPED, "not asked for")
    assert states["threads"] == (SKIPPED, "a rung below failed")
    assert verdict.rejected_by == "output"
    assert [(n, e and e.state) for n, e in told] == [
        ("compile", None), ("compile", PASSED), ("output", None), ("output", FAILED)]  # fmt: skip
    assert all(0 <= e.seconds < 60 for _, e in told if e)
    assert (verdict.seed, verdict.sandbox, verdict.original, verdict.candidate) == (
        1, "scripted", "original", "candidate")  # fmt: skip
    whole = one.verify(program("candidate"), rungs=("output", "threads"), all_rungs=True)
    assert whole.rung("threads").reason == "serial code makes no OpenMP threads"
    assert {b.program.name for b in case.bench.builds.values()} <= {"original", "", "probe"}


def test_what_would_not_be_taken_is_timed_and_not_verified_to_the_end(case, box):
    """Whatever is required: nothing is accepted that was not looked at."""
    seen = []
    gain = Gain(("time",), lambda evidence: seen.append([e.rung for e in evidence]) or "slow")
    one = Verifier(case.reference, required=(), gain=gain)
    verdict = one.verify(program("candidate"), rungs=("compile", "output", "time"))
    assert seen == [["parse", "compile", "calls", "sanitizers", "time"]]
    assert (verdict.state, verdict.why) == ("no gain", "slow")
    assert [e.rung for e in verdict.evidence] == list(RUNGS)
    assert (verdict.rung("output").state, verdict.rung("output").reason) == (SKIPPED, "slow")
    assert Verdict.of(verdict.facts()).state == "no gain"
    one.gain = Gain(("time",), lambda evidence: "")
    assert one.verify(program("candidate"), rungs=("compile", "output", "time")).accepted
    told, climbed = iter(["", "slow at the second time"]), []
    one.gain = Gain(("time",), lambda evidence: next(told))
    verdict = one.verify(program("candidate"), rungs=("compile", "output", "time"),
                         progress=lambda *x: climbed.append(x[0]) if x[1] else None)  # fmt: skip
    assert climbed == ["compile", "time", "output", "time"]
    assert (verdict.state, verdict.why) == ("no gain", "slow at the second time")
    assert [e.rung for e in verdict.evidence] == list(RUNGS)
    box.says["candidate", "run gcc"] = done("sum 0")
    one.gain = gain
    assert one.verify(program("candidate"), rungs=("output", "time")).state == "rejected"


def test_a_rung_that_is_not_available_says_why_and_only_what_was_asked_is_required(case, tools):
    tools.add("valgrind")
    one = Verifier(case.reference, required=("output", "races"))
    verdict = one.verify(program("candidate"), rungs=("work",))
    assert verdict.rung("work").state == NOT_AVAILABLE
    assert (verdict.required, verdict.state) == (("work",), "undecided")
    verdict = one.verify(program("candidate"), rungs=("output",))
    assert (verdict.required, verdict.missing) == (("output", "races"), ("races",))


def test_what_should_be_known_of_a_verdict_is_noted(case, tools, box, tmp_path):
    notes = lambda **more: Verifier(reference_of(box, tmp_path, **more))._notes()  # noqa: E731
    assert notes() == ()
    assert notes(original=program("original", inputs=ProgramInputs())) == (NO_INPUT,)
    guessed = program("original", inputs=replace(INPUTS, guessed=True))
    said = "inputs are guessed from the original: n 1 to 1000; a manifest names others"
    assert notes(original=guessed) == (said,)
    object.__setattr__(box, "name", "none (unsafe)")
    assert notes() == ("run without a sandbox: nothing kept the candidate from the host",)


def test_only_what_is_run_needs_an_original_that_works(case, box):
    box.says["original", "run gcc"] = done("", "", 1)
    del case.reference.__dict__["expected"]
    verdict = Verifier(case.reference).verify(program("candidate"), rungs=("parse",))
    assert verdict.rung("parse").state == PASSED
    with pytest.raises(DataError, match="no input is admitted"):
        Verifier(case.reference).verify(program("candidate"), rungs=("parse", "compile"))


def test_a_verifier_has_its_inputs_seed_and_tolerance(tools, box):
    tolerance, inputs = Tolerance(relative=0.5), ProgramInputs({"n": InputRange(3, 3)}, ("{n}",))
    with verifier(program("original"), tolerance=tolerance, inputs=inputs, confined_by=box, seed=0,
                  count=3, options=RungOptions(pairs=1)) as one:  # fmt: skip
        assert (one.reference.seed, one.reference.count, one.options.pairs) == (0, 3, 1)
        assert (one.reference.tolerance, one.reference.original.inputs) == (tolerance, inputs)
        assert one.reference.bench.folder.is_dir()
    assert not one.reference.bench.folder.exists()
    with verifier(program("original"), confined_by=box) as one, verifier(
        program("original"), confined_by=box) as two:  # fmt: skip
        assert one.reference.seed != two.reference.seed
        assert 0 <= one.reference.seed < 2**31
        assert (one.reference.tolerance, one.options) == (Tolerance(), RungOptions())
        assert (one.reference.original.inputs, one.reference.count) == (INPUTS, 4)


def test_verify_refuses_rungs_that_there_are_not(tools, box):
    both = program("original"), program("candidate")
    names = ("parse, compile, calls, sanitizers, output, races, threads, mapping, work, time, "
             "energy")  # fmt: skip
    refused(lambda: verify(*both, rungs=("parse", "odd", "even"), confined_by=box),
            f"expected {names}, got 'odd'", f"expected {names}, got 'even'")  # fmt: skip
    verdict = verify(*both, rungs=("output", "threads"), confined_by=box, seed=3)
    assert (verdict.state, verdict.seed) == ("accepted", 3)
    box.says["candidate", "run gcc"] = done("sum 0")
    verdict = verify(*both, rungs=("output", "threads"), confined_by=box, seed=3)
    assert verdict.rung("threads").reason == "a rung below failed"
    verdict = verify(*both, rungs=("output", "threads"), confined_by=box, seed=3, all_rungs=True)
    assert verdict.rung("threads").reason == "serial code makes no OpenMP threads"


# --- admission to a benchmark ------------------------------------------------------------------


@pytest.mark.parametrize(("run", "admitted", "reason"), [
    (done("sum 1", cpu_s=0.05), True, ""),
    (done("sum 1", cpu_s=0.04), False, "0.04 s is too short, expected 0.05 s: other arguments"),
    (done("sum 1 MISMATCH", cpu_s=9.0), False, "it prints 'MISMATCH'"),
    (done("", "", 3), False, "with no input the original ended with status 3; say in a manifest "
     "which inputs it takes ([inputs])"),
])  # fmt: skip
def test_a_baseline_is_admitted_once_it_ran_right(tools, box, run, admitted, reason):
    box.says["original", "run gcc"] = run
    given = program("original", inputs=ProgramInputs())
    made = hecbench.admit(given, confined_by=box)
    cpu_s = run.cpu_s if run.ok else 0.0
    assert made == hecbench.AdmittedProgram("original", admitted, reason, cpu_s)
    assert box.asked("run sanitizers") == []
    assert hecbench.with_arguments(given, "7", "x").inputs.arguments == ("7", "x")
