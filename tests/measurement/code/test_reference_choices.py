"""Which inputs an original is asked for, how often it is run, and what confines it."""

from __future__ import annotations

import resource
from dataclasses import replace

import numpy as np
import pytest

from rheostat.measurement.code import rungs_run, toolchain
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import (
    InputRange,
    ProgramInput,
    ProgramInputs,
)
from rheostat.measurement.code.reached.marked_runs import unreached
from rheostat.measurement.code.reference import (
    MANY,
    MANY_S,
    MOST_MANY_B,
)
from rheostat.measurement.code.rungs_run import ELSEWHERE, NONE_ENDED
from rheostat.measurement.code.sandboxed import group_memory
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.sandboxed.sandbox import (
    NOBODY,
    Apptainer,
    Bubblewrap,
    SandboxUnavailable,
    Unsafe,
    limited,
    sandbox,
)
from rheostat.measurement.code.sandboxed.system_calls import (
    ANYWHERE,
    ENOSYS,
    EPERM,
    MACHINES,
    NOT_THERE,
    NUMBERS,
    call_filter,
)
from rheostat.measurement.code.toolchain import SANITIZER_OPTIONS
from rheostat.measurement.code.workbench import roomy
from tests.measurement.code.rung_cases import (
    INPUTS,
    LARGE,
    MIDDLE,
    SMALL,
    SMALLER,
    given,
    program,
    reference_of,
)
from tests.measurement.scripted import done

# --- how often an input is run -----------------------------------------------------------------


def reference(box, tmp_path, **more):
    made = reference_of(box, tmp_path, **more)
    made.expected, made.small, made.clean = (LARGE, MIDDLE), (SMALL, SMALLER), True
    return made


def test_a_run_under_the_sanitizers_that_prints_the_same_spares_the_second(tools, box, tmp_path):
    made = reference(box, tmp_path)
    why, expected = made._try(given(9).given, least=1)
    assert (why, expected.output, expected.filled) == ("", "sum 9", "sum 9")
    assert len(box.asked("run gcc")) == 1
    (checked,) = box.asked("run sanitizers")
    assert SANITIZER_OPTIONS.items() <= checked.environment.items()
    box.log.clear()
    made._try(given(9).given)
    assert len(box.asked("run gcc")) == 2
    for says in (done("sum 8"), done("sum 9", "x", 1)):
        box.says["original", "run sanitizers"] = says
        box.log.clear()
        why, expected = made._try(given(9).given, least=1)
        assert len(box.asked("run gcc")) == 2
        assert (expected is None) is (says.status == 1)
    box.log.clear()
    made.clean = False
    assert made._try(given(9).given, least=1)[1].filled == ""
    assert (len(box.asked("run gcc")), box.asked("run sanitizers")) == (2, [])


def test_what_prints_nothing_is_run_twice_however_quick(tools, box, tmp_path):
    made = reference(box, tmp_path)
    box.says["original", "run gcc"] = done("", "")
    why, expected = made._try(given(9).given, least=1)
    assert expected is None
    assert why == "with n=9 the original prints nothing that could be compared"
    assert len(box.asked("run gcc")) == 2


def test_a_second_run_that_fails_is_told(tools, box, tmp_path):
    ends = iter([done("sum 1"), done("sum 1", "", 7)])
    box.says["original", "run gcc"] = lambda a: next(ends)
    made = reference(box, tmp_path)
    assert made._try(given(1).given) == ("with n=1 the original ended with status 7", None)


def test_times_that_repeat_every_time_are_results(tools, box, tmp_path):
    count = iter(range(99))
    box.says["original", "run gcc"] = lambda a: done(
        f"sum 1\nmean wait: 1.2345678 s\ntook {1.2345678 + next(count)} s\n")  # fmt: skip
    made = reference_of(box, tmp_path, count=1)
    assert made.agreed.computed == frozenset({"mean wait: # s"})


@pytest.mark.parametrize(("step", "computed"), [(0.0, {"took # s"}), (0.25, set())])
def test_times_of_few_digits_are_results_where_they_repeat_for_each_input(
    tools, box, tmp_path, step, computed
):
    count = iter(range(99))
    box.says["original", "run gcc"] = lambda a: done(
        f"sum 1\ntook {1.25 + step * next(count):.2f} s\n")  # fmt: skip
    assert reference_of(box, tmp_path).agreed.computed == computed


@pytest.mark.parametrize(("first", "step", "computed"), [
    (482, 0, {"time #"}), (482, 1, set()), (4000, 0, set()),
])  # fmt: skip
def test_whole_times_that_repeat_for_each_input_are_results(
    tools, box, tmp_path, first, step, computed
):
    count = iter(range(99))
    box.says["original", "run gcc"] = lambda a: done(f"sum 1\ntime {first + step * next(count)}\n")
    assert reference_of(box, tmp_path).agreed.computed == computed


# --- which inputs ------------------------------------------------------------------------------


def test_edges_that_are_new_are_run_within_the_time_of_the_longest(tools, box, tmp_path):
    made = reference(box, tmp_path)
    made.expected = (given(1000, 0.5, 0.6), MIDDLE)
    box.says["original", "run gcc"] = lambda a: done(
        f"sum {a.command[-1]}", status=int(a.command[-1] == "64"))  # fmt: skip
    edges = made.edges
    asked = [g.values["n"] for g in INPUTS.edges()]
    assert [e.given.values["n"] for e in edges] == [n for n in asked if n not in ("1000", "64")]
    assert box.asked("run gcc")[0].limits == SandboxLimits(wall_s=1 + 20 * 0.6, cpu_s=1 + 20 * 0.5)


def test_sizes_around_numbers_are_run_for_a_second_at_most(tools, box, tmp_path):
    made = reference(box, tmp_path)
    made.expected = made.small = ()
    assert [e.given.values["n"] for e in made.around([17, 999, 1000])] == [
        "17", "18", "999", "1000", "1000"]  # fmt: skip
    assert box.asked("run gcc")[0].limits == SandboxLimits(wall_s=5.0, cpu_s=1.0)
    two = ProgramInputs({"n": InputRange(1, 1000), "s": InputRange(1, 9**6, kind="seed")},
                        ("{n}", "{s}"))  # fmt: skip
    drawn = [reference(box, tmp_path, seed=s, original=program("original", inputs=two)).around([7])
             for s in (3, 3, 4)]  # fmt: skip
    seeds = [[e.given.values["s"] for e in some] for some in drawn]
    assert seeds[0] == seeds[1] != seeds[2]


def test_without_inputs_an_original_is_run_under_its_name(tools, box, tmp_path):
    made = reference(box, tmp_path, original=program("original", inputs=ProgramInputs()))
    made.expected = (given(1, 1.0),)
    (one,) = made.without_arguments
    assert (one.given.called, one.given.arguments) == ("a", ())
    assert box.asked("run gcc")[0].limits == SandboxLimits(wall_s=1.4, cpu_s=21.0)
    slow = reference(box, tmp_path, original=program("original", inputs=ProgramInputs()))
    slow.expected = (given(1, 1.01),)
    assert slow.without_arguments == ()
    ranged = reference(box, tmp_path)
    ranged.expected = (given(1, 9.0),)
    (bare,) = ranged.without_arguments
    assert bare.given == ProgramInput()
    box.says["original", "run gcc"] = done("", "", 1)
    assert reference(box, tmp_path).without_arguments == ()


def many_of(made, monkeypatch, says):
    """Which inputs a reference runs one after the other, by what each run prints."""
    asked = []

    def run_many(built, every, limits, most_cpu_s):
        assert most_cpu_s == MANY_S
        asked.append((every, limits))
        return says(every)

    monkeypatch.setattr(made.bench, "run_many", run_many)
    return made.many, asked


def test_small_inputs_and_others_are_run_as_many_as_there_is_time_for(
    tools, box, tmp_path, monkeypatch
):
    made = reference(box, tmp_path, seed=9)
    wide = ProgramInputs({"n": InputRange(1, 10**9)}, ("{n}",))
    made.original = replace(made.original, inputs=wide)
    made.small, made.expected = (given(5, 0.01), given(3, 0.02)), (given(900, 0.04),)
    many, asked = many_of(
        made, monkeypatch, lambda every: [None if k == 1 else g.words for k, g in enumerate(every)]
    )
    (small, few), (large, most) = asked
    assert (few, most) == (made.small[1].limits(), made.expected[0].limits())
    assert 200 < len({g.words for g in small}) == len(small) <= MANY
    assert max(int(g.values["n"]) for g in small) < 400 < 10**8 < max(
        int(g.values["n"]) for g in large)  # fmt: skip
    assert [g.words for g, _ in many] == [
        g.words for some in (small, large) for k, g in enumerate(some) if k != 1]  # fmt: skip
    again = reference(box, tmp_path, seed=9)
    again.original, again.small, again.expected = made.original, made.small, made.expected
    many, _ = many_of(again, monkeypatch, lambda every: ["x"] * 7)  # then the time was over
    assert [g for g, _ in many] == [*small[:7], *large[:7]]


def test_many_inputs_are_small_where_a_run_is_long_and_none_where_that_is(
    tools, box, tmp_path, monkeypatch
):
    made = reference(box, tmp_path)
    made.expected, made.small = (given(900, 0.041),), (given(5, 0.01), given(3, 0.03))
    many, _ = many_of(made, monkeypatch, lambda every: ["x"] * len(every))
    assert 0 < max(int(g.values["n"]) for g, _ in many) <= 10  # a quarter of the way to 1000
    for more, expected, small in (
        ({}, given(900, 0.5), given(5, 0.041)), ({"count": 3}, LARGE, SMALL),
        ({"original": program("original", inputs=ProgramInputs())}, SMALL, SMALL),
        ({"original": program("original", "opencl")}, SMALL, SMALL),
    ):  # fmt: skip
        none = reference(box, tmp_path, **more)
        none.expected, none.small = (expected,), (small,)
        assert none.many == ()


def test_where_each_start_loads_a_compiler_one_run_and_few_inputs_have_to_do(tools, box, tmp_path):
    ranges = ProgramInputs({k: InputRange(1, 99) for k in "nm"}, ("{n}", "{m}"))
    for language, near, runs in (("serial", 12, 2), ("opencl", 4, 1)):
        made = reference(box, tmp_path)
        made.original = replace(made.original, language=language, inputs=ranges)
        box.log.clear()
        assert len(made.around([7, 20, 50])) == near
        made._try(given(9).given, least=1)
        made.admitted(given(8).given)
        assert len([a for a in box.log if a.what.startswith("run")]) == (near + 1) * runs + (
            3 if language == "serial" else 1)  # fmt: skip
        made._try(given(9).given)
        assert any("sanitizers" in a.what for a in box.log) == (language == "serial")


def test_each_corner_of_the_sizes_has_twelve_seeds_where_a_run_is_quick(
    tools, box, tmp_path, monkeypatch
):
    ranges = {"n": InputRange(2, 9), "m": InputRange(10, 70), "s": InputRange(1, 9**9, kind="seed")}
    own = ProgramInputs(ranges, ("{n}", "{m}", "{s}"))

    def corners(cpu_s, inputs=own):
        made = reference(box, tmp_path)
        made.original = replace(made.original, inputs=inputs)
        made.expected, made.small = (given(900, cpu_s),), (given(5, 0.01),)
        _, asked = many_of(made, monkeypatch, lambda every: ["x"] * len(every))
        first = [g.arguments for g in asked[-1][0]][:48]
        return {a[:2] for a in first}, len({a[2] for a in first})

    every = {(n, m) for n in ("2", "9") for m in ("10", "70")}
    assert corners(0.01) == (every, 48)
    assert corners(0.041)[0] != every  # the largest are too long to be run so often
    assert corners(0.01, replace(own, guessed=True))[0] != every


def test_outputs_of_many_inputs_take_four_megabytes_together(tools, box, tmp_path, monkeypatch):
    made = reference(box, tmp_path)
    made.small = (given(5, 0.5),)
    made.expected = (replace(given(900, 0.01), output="x" * (MOST_MANY_B // 7)),)
    many, _ = many_of(made, monkeypatch, lambda every: ["x"] * len(every))
    assert len(many) == 7


def test_what_differs_among_many_is_run_again_by_itself(case, box, monkeypatch):
    every = tuple((given(k).given, f"sum {k}") for k in range(10, 20))
    case.reference.many = every
    outputs = [o for _, o in every]
    for how in ("run_many", "run_each"):
        monkeypatch.setattr(type(case.bench), how, lambda bench, built, some, *_, **__: [
            outputs[int(g.values["n"]) - 10] for g in some])  # fmt: skip
    asked = []
    case.reference.admitted = lambda g: asked.append(g.words) or (
        None if g.values["n"] == "11" else given(int(g.values["n"])))  # fmt: skip
    assert rungs_run._among_many(case) == []
    assert asked == []
    outputs[1] = outputs[2] = None
    assert rungs_run._among_many(case) == []  # alone they are right
    assert asked == ["n=11"] * 2 + ["n=12"] * 2  # the first is of the eighth that is run first
    outputs[4] = "sum 99"
    (found,) = rungs_run._among_many(case)
    assert found.message == (
        f"with n=14{ELSEWHERE}, output line 1: expected 'sum 14', got 'sum 99'")  # fmt: skip
    box.says["candidate", "run gcc"] = lambda a: done(
        f"sum {0 if a.command[-1] == '14' else a.command[-1]}")  # fmt: skip
    (found,) = rungs_run._among_many(case)
    assert found.message == "with n=14, output line 1: expected 'sum 14', got 'sum 0'"
    asked.clear()
    for k in range(6):
        outputs[k] = None
    assert rungs_run._among_many(case) == [found] or asked == [
        "n=11",
        *(f"n={k}" for k in (15, 14, 13, 12)),
    ]
    box.says["candidate", "run gcc"] = lambda a: done(f"sum {a.command[-1]}")
    outputs[:] = [None] * 10
    assert [f.message for f in rungs_run._among_many(case)] == [NONE_ENDED]
    monkeypatch.setattr(type(case.bench), "run_each", lambda bench, built, some, *_, **__: [
        f"sum {g.values['n']}" for g in some])  # fmt: skip
    assert rungs_run._among_many(case) == []  # only where they shared memory was it otherwise
    assert case.among == 10
    case.reference.many = ()
    assert rungs_run._among_many(case) == []


def test_an_original_is_built_by_clang_where_no_gcc_is(tools, box, tmp_path):
    made = reference_of(box, tmp_path)
    assert made.family == "gcc"
    tools.add("gcc")
    assert reference_of(box, tmp_path).family == "clang"
    assert reference_of(box, tmp_path).built.kind == toolchain.CLANG


def test_an_expected_run_bounds_a_candidate_s():
    one = Expected(ProgramInput(), "", 0.2, 0.3)
    assert (one.limits().cpu_s, one.limits().wall_s) == (5.0, 25.0 + 6.0)
    assert roomy(one.limits(), 2.0).wall_s == 62.0
    assert Tolerance().close("1", "1")


# --- sandboxes ---------------------------------------------------------------------------------


def test_a_sandbox_says_why_it_cannot_be_used(monkeypatch):
    there = {"bwrap"}
    monkeypatch.setattr("shutil.which", lambda name: name if name in there else None)
    assert Bubblewrap().why() == (
        "prlimit and setpriv not installed: apt-get install bubblewrap util-linux"
    )
    there.clear()
    assert Bubblewrap().why().startswith("bwrap and prlimit and setpriv not installed: apt-get")
    assert Apptainer().why() == "apptainer not installed"
    there |= {"bwrap", "prlimit", "setpriv", "apptainer"}
    for says, why in ((done(), ""), (done("", " no namespaces \n", 1), "bubblewrap: no namespaces"),
                      (done("", "", 3), "bubblewrap: ended with status 3")):  # fmt: skip
        monkeypatch.setattr(Bubblewrap, "run", lambda *_, says=says, **__: says)
        assert Bubblewrap().why() == why


def test_the_first_sandbox_that_works_is_taken_or_all_reasons_are_told(monkeypatch):
    monkeypatch.setattr(Bubblewrap, "why", lambda self: "no room")
    monkeypatch.setattr(Apptainer, "why", lambda self: "")
    made = sandbox(image="gcc.sif")
    assert (made.name, made.image) == ("apptainer", "gcc.sif")
    with pytest.raises(SandboxUnavailable, match=r"\(bubblewrap: no room\); to run"):
        sandbox("bubblewrap")
    monkeypatch.setattr(Apptainer, "why", lambda self: "no image")
    with pytest.raises(SandboxUnavailable, match=r"bubblewrap: no room; apptainer: no image"):
        sandbox()
    with pytest.raises(SandboxUnavailable, match=r"expected bubblewrap, .* or none, got 'x'"):
        sandbox("x")
    monkeypatch.setattr(Bubblewrap, "why", lambda self: "")
    assert sandbox().name == "bubblewrap"
    assert sandbox("none") == Unsafe()


def test_valgrind_reads_no_debug_text_of_libraries(tmp_path, monkeypatch):
    named = "rheostat.measurement.code.sandboxed.sandbox.OF_LIBRARIES"
    monkeypatch.setattr(named, str(tmp_path))
    hidden = ["--tmpfs", str(tmp_path)]
    words = Bubblewrap().command(["prlimit", "--", "valgrind", "./a"], tmp_path, {})
    at = words.index(hidden[1])
    assert words[at - 1 : at + 1] == hidden
    assert at > words.index("/usr")  # what lies there is hidden once it is mounted
    assert "--tmpfs " + str(tmp_path) not in " ".join(Bubblewrap().command(["./a"], tmp_path, {}))
    monkeypatch.setattr(named, "/not/there")
    assert "/not/there" not in Bubblewrap().command(["valgrind", "./a"], tmp_path, {})


def test_walls_of_bubblewrap_in_full(tmp_path):
    box = Bubblewrap(read_only=(str(tmp_path), "/not/there"), gpu=True)
    words = box.command(["./a", "7"], tmp_path, {"A": "1"}, writable=True, cache=tmp_path)
    assert words[0] == "bwrap"
    assert words[-7:] == ["--", "sh", "-c", '"$@"; exit $?', "sh", "./a", "7"]
    line = " ".join(words)
    for part in ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--as-pid-1",
                 f"--uid {NOBODY} --gid {NOBODY}", f"--ro-bind {tmp_path} {tmp_path}",
                 "--size 268435456 --tmpfs /tmp", "--size 67108864 --tmpfs /dev/shm",
                 "--dev-bind-try /dev/nvidia0 /dev/nvidia0", f"--bind {tmp_path} /sandbox",
                 f"--bind {tmp_path} /cache", "--setenv A 1", "--chdir /sandbox",
                 "--remount-ro /dev --remount-ro /"):  # fmt: skip
        assert part in line, part
    assert "/not/there" not in line
    plain = " ".join(Bubblewrap().command(["./a"], tmp_path, {}))
    assert f"--ro-bind {tmp_path} /sandbox" in plain
    assert "nvidia" not in plain
    assert "/cache --" not in plain.replace("--dir /cache", "")
    kept = Apptainer().command(["a"], tmp_path, {}, writable=True, cache=tmp_path)
    assert f"--bind={tmp_path}:/sandbox:rw" in kept
    assert f"--bind={tmp_path}:/cache:rw" in kept
    assert Unsafe().command(["a", "b"], tmp_path, {"X": "y"}) == [
        "env", "-i", "-C", str(tmp_path), "X=y", "a", "b"]  # fmt: skip


def test_limits_are_set_where_the_command_is(monkeypatch):
    limits = SandboxLimits(cpu_s=0.2, address_space_b=0, file_b=7, processes=5)
    monkeypatch.setattr("resource.getrlimit", lambda _: (3, resource.RLIM_INFINITY))
    assert limited(["a", "b"], limits, 2) == [
        "prlimit", "--nproc=7", "--fsize=7", "--core=0", "--cpu=1", "--", "a", "b"]  # fmt: skip
    monkeypatch.setattr("resource.getrlimit", lambda _: (3, 6))
    more = limited(["a"], replace(limits, cpu_s=2.1, address_space_b=9), 2)
    assert more[1:6] == ["--nproc=6", "--fsize=7", "--core=0", "--cpu=3", "--as=9"]


def test_memory_of_a_group_is_that_of_all_descendants(tmp_path, monkeypatch):
    monkeypatch.setattr(group_memory, "PROCESSES", tmp_path)
    for number, kb, children in (("7", 3, "8 9"), ("8", 5, ""), ("9", 1, "10"), ("11", 100, "")):
        task = tmp_path / number / "task" / number
        task.mkdir(parents=True)
        (task / "children").write_text(children)
        (tmp_path / number / "status").write_text(
            f"Name:\tx\nRssAnon:\t   {kb} kB\nRssFile:\t 900 kB\nRssShmem:\t  2 kB\n")  # fmt: skip
    assert group_memory.group_memory_b(7) == (3 + 5 + 1 + 3 * 2) * 1024  # the tenth has just ended


# --- calls of the kernel -----------------------------------------------------------------------


def ran(code, machine, number, first=0):
    """What the kernel would return: the filter's instructions one after the other."""
    words = [np.frombuffer(code[i : i + 8], "<u2,u1,u1,<u4")[0] for i in range(0, len(code), 8)]
    data, value, at = {0: number, 4: machine, 16: first}, 0, 0
    while True:
        how, true, false, k = (int(x) for x in words[at])
        at += 1
        assert how not in (0x06, 0x20) or true == false == 0  # only comparisons skip
        if how == 0x06:
            return k
        if how == 0x20:
            value = data[k]
            continue
        holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[how]
        at += true if holds else false


@pytest.mark.parametrize("name", NUMBERS)
def test_the_filter_refuses_what_leads_out_and_nothing_else(name):
    code, machine = call_filter(name), MACHINES[name]
    allowed = 0x7FFF0000
    for call, number in {**NUMBERS[name], **ANYWHERE}.items():
        assert ran(code, machine, number) == (allowed if call == "clone" else EPERM), call
    for number in NOT_THERE.values():
        assert ran(code, machine, number) == ENOSYS
    assert ran(code, machine, NUMBERS[name]["clone"], 0x10000000) == EPERM  # a new user namespace
    assert ran(code, machine, NUMBERS[name]["clone"], 0x00010F00) == allowed  # a thread
    assert ran(code, machine, 0x40000001) == EPERM
    assert ran(code, 0x1234, 1) == EPERM
    known = {*NUMBERS[name].values(), *ANYWHERE.values(), *NOT_THERE.values()}
    assert {ran(code, machine, n) for n in range(500) if n not in known} == {allowed}


def test_few_inputs_do_where_pragmas_alone_tell_a_candidate_from_the_original(
    case, tools, box, tmp_path, monkeypatch
):
    loop, pragma = "for (;;) s += 1;\n", "#pragma omp parallel for \\\n  reduction(+ : s)\n"
    original = Program({"a.c": f"int original;\n{loop}"}, inputs=INPUTS)
    for text, few in (
        (f"int original;\n{pragma}  {loop}", True),
        (f"int original;\n#pragma omp declare reduction(m:int:omp_out)\n{pragma}{loop}", False),
        (f"int original;\n{pragma}{loop.replace('1', '2')}", False),
        (f"#pragma GCC optimize(3)\nint original;\n{loop}", False),
    ):
        made = replace(case, candidate=Program({"a.c": text}, "openmp"))
        made.reference.original = original
        assert made.only_pragmas == few
        assert (
            replace(made, candidate=replace(made.candidate, flags=("-O3",))).only_pragmas is False
        )
    case.reference.many, case.reference.few = (1, 2), (1,)
    assert case.many == (1, 2)
    assert replace(case, candidate=original).many == (1,)
    made = reference(box, tmp_path, seed=9)
    made.small, made.expected = (given(5, 0.01),), (given(900, 0.04),)
    counts = []
    monkeypatch.setattr(made.bench, "run_many", lambda built, every, limits, most_cpu_s:
                        counts.append(most_cpu_s) or ["x"] * len(every))  # fmt: skip
    assert 0 < len(made.few) < len(made.many)
    assert counts == [MANY_S / 8] * 2 + [MANY_S] * 2


@pytest.mark.parametrize(
    ("pragma", "text", "nothing"),
    [
        ("omp parallel for reduction(+ : s, x[ : n]) schedule(static, 8)", "", True),
        ("omp target teams distribute parallel for map(to : a[0 : 3 * n])", "", True),
        ("omp parallel for \\\n if (n > 100)", "", False),
        ("omp parallel for num_threads((char)n)", "", False),
        ("omp parallel for private(last)", "", False),
        ("omp parallel for simd", "", False),
        ("omp parallel for", "\n#ifdef _OPENMP\n#endif", False),
    ],
)
def test_plain_pragmas_ask_nothing_that_the_original_does_not(case, pragma, text, nothing):
    loop = f"for (;;) ;{text}"
    case.reference.original = replace(program("original"), files={"a.c": f"{loop}\n"})
    made = replace(case, candidate=Program({"a.c": f"#pragma {pragma}\n{loop}\n"}, "openmp"))
    assert made.asks_nothing_new is nothing
    assert made.only_pragmas
    changed = Program({"a.c": f"#pragma {pragma}\nif (n > 3) {loop}\n"}, "openmp")
    assert not replace(made, candidate=changed).asks_nothing_new
    if nothing:
        built = len(case.bench.builds)
        assert unreached(made) == []
        assert len(case.bench.builds) == built


def test_a_slow_candidate_is_run_on_as_many_as_there_is_time_for_the_largest_first(
    case, monkeypatch
):
    case.reference.many = tuple((given(k).given, f"sum {k}") for k in range(10, 20))
    asked = []

    def run_many(bench, built, every, limits, most_cpu_s):
        asked.append(([g.values["n"] for g in every], most_cpu_s))
        return [f"sum {g.values['n']}" for g in every][: 2 if len(asked) < 3 else 1]

    monkeypatch.setattr(type(case.bench), "run_many", run_many)
    assert rungs_run._among_many(case) == []
    first, rest = asked[-2:]
    assert first == (["19", "11"], rungs_run.MANY_S)  # most of what is wrong shows in an eighth
    assert rest == ([str(k) for k in range(18, 9, -1) if k != 11], rungs_run.MANY_S)
    assert case.among == 3
