"""What compilers and checkers print becomes findings, and these a verdict."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from rheostat.measurement.code.parsing.diagnostics import (
    MOST,
    compiler_findings,
    not_on_host,
    oclgrind_findings,
    race_findings,
    sanitizer_findings,
)
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.verdict import (
    ACCEPTED,
    FAILED,
    NOT_AVAILABLE,
    PASSED,
    REJECTED,
    SKIPPED,
    UNDECIDED,
    Evidence,
    Finding,
    Verdict,
)

# --- findings ----------------------------------------------------------------------------------


def test_errors_go_before_warnings_and_each_is_there_once():
    text = (
        "/sandbox/a.c:3:5: warning: odd\na.c:9: error: bad \na.c:9:1: error: bad\n"
        "b.cu(7): warning #20-D: slow\nld: undefined reference to `f'\ncannot find -lx\n"
    )
    assert compiler_findings(text) == (
        Finding("compile", "a.c", 9, "bad"),
        Finding("compile", "", 0, "undefined reference to `f'"),
        Finding("compile", "", 0, "cannot find -lx"),
    )
    warned = "".join(x for x in text.splitlines(keepends=True) if "warning" in x)
    assert compiler_findings(warned, "parse") == (
        Finding("parse", "a.c", 3, "odd", "warning"),
        Finding("parse", "b.cu", 7, "slow", "warning"),
    )
    many = "".join(f"a.c:{k}:1: error: e\n" for k in range(1, 99))
    assert [f.line for f in compiler_findings(many)] == list(range(1, 21))
    assert (compiler_findings("well"), MOST) == ((), 20)


def test_what_the_host_cannot_build_has_a_reason():
    said = SandboxRun(1, "", "a.cu:2:1: error: no tex\na.cu:3:1: error: x\n", 0.1, 0.1, 0)
    begun = "no CUDA device, and the host cannot build it: "
    assert not_on_host(said) == f"{begun}a.cu:2: no tex"
    textured = "y[i] = tex1Dfetch<float>(t, i); // curandState"
    assert (
        not_on_host(said, textured) == f"{begun}it has no cuRAND and no textures (a.cu:2: no tex)"
    )
    assert not_on_host(replace(said, stderr="")) == f"{begun}ended with status 1"


def test_reports_of_sanitizers_have_the_first_line_of_the_program_itself():
    asan = ("=1=ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x5)\n"
            " #0 0x1 in memcpy /usr/src/x.c:1\n #1 0x2 in g /sandbox/cuda_on_host.h:8\n"
            " #2 0x2 in f /sandbox/d/b.cpp:31:2\n #3 0x3 in main a.c:4\n")  # fmt: skip
    ubsan = "/sandbox/a.c:7:3: runtime error: shift exponent 40\n"
    none = "ERROR: LeakSanitizer: detected leaks\n"
    assert sanitizer_findings(asan + ubsan + ubsan, "x") == (
        Finding("x", "a.c", 7, "shift exponent 40"),
        Finding("x", "d/b.cpp", 31, "AddressSanitizer: SEGV"),
    )  # fmt: skip
    assert sanitizer_findings(none) == (
        Finding("sanitizers", "", 0, "LeakSanitizer: detected leaks"),)  # fmt: skip
    many = "".join(f"a.c:{k}:3: runtime error: e\n" for k in range(1, 99))
    assert [f.line for f in sanitizer_findings(many)] == list(range(1, 21))


def race(*lines, kind="data race"):
    parts = [f"  {how} of size 8 at 0x7 by thread T1:\n    #0 f {place} (a+1)\n"
             for how, place in lines]  # fmt: skip
    return f"WARNING: ThreadSanitizer: {kind} (pid=3)\n" + "\n".join(parts)


def test_a_race_has_the_lines_of_both_accesses():
    both = race(("Write", "/sandbox/a.c:9:5"), ("Previous atomic read", "/sandbox/a.c:11:5"))
    twice = race(("Read", "/sandbox/a.c:9:5"), ("Previous write", "/sandbox/a.c:9:5"))
    beyond = race(("Read", "/usr/x.c:2"), ("Previous write", "b.c:4"), ("Location", "b.c:5"))
    none = race(("Read", "/usr/x.c:2"), kind="heap-use-after-free ")
    assert race_findings(both + twice + beyond + none + none) == (
        Finding("races", "a.c", 9, "data race, with a.c:11"),
        Finding("races", "a.c", 9, "data race"),
        Finding("races", "b.c", 4, "data race"),
        Finding("races", "", 0, "heap-use-after-free"),
    )
    assert race_findings("well") == ()
    many = "".join(race(("Read", f"a.c:{k}:1")) for k in range(1, 99))
    assert [f.line for f in race_findings(many, "x")] == list(range(1, 21))


def test_reports_of_oclgrind_have_the_line_of_the_kernel():
    first = ("Write-write data race at local memory address 0x10\n\tKernel: k\n"
             "\tAt line 14 (column 3) of /sandbox/in.cl:\n\t  x\n\n")  # fmt: skip
    second = "Invalid read of size 4 at global memory address 0x2\n\tKernel: k\n\tno place\nend\n"
    assert oclgrind_findings("x\n" + first + first + second) == (
        Finding("races", "in.cl", 14, "Write-write data race"),
        Finding("races", "", 0, "Invalid read of size 4"),
    )  # fmt: skip
    many = "".join(first.replace("14", str(k)) for k in range(1, 99))
    assert [f.line for f in oclgrind_findings(many, "x")] == list(range(1, 21))


# --- verdicts ----------------------------------------------------------------------------------


def test_a_verdict_follows_from_the_states_of_its_rungs():
    def of(*states, required=("output",)):
        names = ("parse", "output", "races")
        made = tuple(map(Evidence, names, states))
        verdict = Verdict(made, required=required)
        return verdict.state, verdict.rejected_by, verdict.missing, verdict.accepted

    assert of(PASSED, PASSED) == (ACCEPTED, "", (), True)
    assert of(PASSED, FAILED, FAILED) == (REJECTED, "output", (), False)
    assert of(PASSED, SKIPPED) == (UNDECIDED, "", ("output",), False)
    assert of(PASSED, PASSED, NOT_AVAILABLE, required=("races",)) == (
        UNDECIDED, "", ("races",), False)  # fmt: skip
    assert Verdict(()).seed == 0


def test_a_verdict_is_kept_whole_as_plain_values():
    finding = Finding("time", "a.c", 0, "look", "warning")
    wrong = Finding("output", "a.c", 3, "odd")
    failed = Evidence("output", FAILED, "odd", (wrong,), 0.5, {"n": 1})
    passed = Evidence("time", PASSED, "", (finding,))
    made = Verdict((failed, passed), 7, "box", "o", "c", ("n",), ("x",))
    facts = made.facts()
    assert {k: v for k, v in facts.items() if k != "rungs"} == {
        "verdict": REJECTED, "rejected_by": "output", "reason": "output: odd", "missing": ["x"],
        "required": ["x"],
        "no_gain": "",
        "flags": ["a.c: look"], "original": "o", "candidate": "c", "seed": 7, "sandbox": "box",
        "notes": ["n"]}  # fmt: skip
    assert Verdict.of(facts) == made
    empty = json.loads(
        json.dumps(Verdict((Evidence("parse", PASSED),)).facts()).replace("NaN", "null")
    )
    assert (empty["rejected_by"], math.isnan(Verdict.of(empty).evidence[0].seconds)) == (None, True)
    assert Verdict.of({k: v for k, v in empty.items() if k != "required"}).required == ("output",)
    assert (made.findings, made.rung("time").findings) == ((wrong, finding), (finding,))
    assert [f.words for f in (wrong, finding, Finding("x", "", 0, "m"))] == [
        "a.c:3: odd", "a.c: look", "m"]  # fmt: skip
