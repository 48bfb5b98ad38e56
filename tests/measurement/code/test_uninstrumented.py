"""What the build that looks for races leaves out, by LLVM's own text of it."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import rungs_races
from rheostat.measurement.code.races import uninstrumented
from rheostat.measurement.code.races.uninstrumented import left_out_of
from rheostat.measurement.code.verdict import NOT_SHOWN, PASSED, Finding
from tests.measurement.code.rung_cases import of

TEXT = """\
define internal void @longest(ptr noundef %0, double noundef %1) #{group} !dbg !395 {{
  {body}, !dbg !400
  ret void, !dbg !400
}}

{declared}

attributes #0 = {{ noinline nounwind optnone sanitize_thread uwtable "frame-pointer"="all" }}
attributes #1 = {{ noinline nounwind optnone uwtable "frame-pointer"="all" }}
attributes #2 = {{ nounwind }}
attributes #3 = {{ nocallback nounwind willreturn memory(argmem: read) }}

!2 = !DIFile(filename: "a.c", directory: "/box", checksumkind: CSK_MD5)
!395 = distinct !DISubprogram(name: "longest", scope: !2, file: !2, line: 40, type: !396)
"""
STORE = "store double %1, ptr %0, align 8"
SCATTER = "llvm.x86.avx512.mask.scatter.dpd.512"
MASKED = "llvm.masked.store.v4f64.p0"
MASKLOAD = "llvm.x86.avx.maskload.pd.256"
MODES = "llvm.x86.sse.stmxcsr"


def left_out(body: str, group: int = 0, declared: str = "") -> list[str]:
    text = TEXT.format(body=body, group=group, declared=declared)
    return [f.words for f in left_out_of(text, {"main.c": "", "a.c": ""})]


@pytest.mark.parametrize(("body", "group", "named"), [
    (STORE, 0, False), (STORE, 1, True), ("%2 = load double, ptr %0, align 8", 1, True),
    ("call void @f(i32 1)", 1, False), ("%2 = atomicrmw add ptr %0, i32 1 monotonic", 1, True),
])  # fmt: skip
def test_a_function_that_is_taken_out_is_named_where_it_uses_memory(body, group, named):
    said = ["a.c:40: longest is left out of the build that looks for races"]
    assert left_out(body, group) == (said if named else [])


@pytest.mark.parametrize(("name", "group", "named"), [
    (SCATTER, 2, True), (MASKED, 2, True), (MASKLOAD, 3, False), (MODES, 2, False),
    ("llvm.memcpy.p0.p0.i64", 2, False),
])  # fmt: skip
def test_an_intrinsic_of_a_processor_that_writes_memory_is_named(name, group, named):
    declared = f"declare void @{name}(ptr, <8 x i1>) #{group}"
    said = f"a.c:40: {name} writes memory, which the build that looks for races does not see"
    assert left_out(f"call void @{name}(ptr %0, <8 x i1> %1)", 0, declared) == [said] * named
    assert left_out(STORE, 0, declared) == []


def test_assembler_is_named():
    (said,) = left_out('call void asm sideeffect "movl $$1,$0", "=*m"(ptr %0) #2')
    assert said.startswith("a.c:40: assembler writes memory")
    (said,) = left_out(STORE, 0, 'module asm "f: movl $1,(%rdi)"')
    assert "assembler writes memory" in said


def test_what_the_checked_build_leaves_out_is_no_race_shown(case, monkeypatch):
    for name in ("_threads_race", "in_another_order", "last_first"):
        monkeypatch.setattr(rungs_races, name, lambda *_: ())
    one = of(case, "openmp")
    found = Finding("races", "a.c", 1, "f is left out")
    by_program = {id(one.candidate): [found], id(one.original): []}
    monkeypatch.setattr(uninstrumented, "_left_out", lambda _, p: by_program[id(p)])
    assert rungs_races.races(one).state == NOT_SHOWN
    by_program[id(one.original)] = [found]
    assert rungs_races.races(one).state == PASSED
