"""Original and candidate on other data that both could have drawn: ties, great values, few."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.altered import other_data as judged
from rheostat.measurement.code.altered.data_sites import DataSite, _Drawing, _generators
from rheostat.measurement.code.altered.other_data import _signs, other_data
from rheostat.measurement.code.case import Case, RungOptions
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.reached.marked_runs import unreached
from rheostat.measurement.code.reference import Reference
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent
from rheostat.measurement.code.workbench import Workbench

LACKING = Bubblewrap().why() or absent("gcc", "clang")
TEXT = """#include <stdio.h>
#include <stdlib.h>
static unsigned s;
static unsigned draw(void) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s >> 4;
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  s = (unsigned)atoi(argv[2]) * 2654435761u | 1;
  double strong = atoi(argv[2]) % 9973 == 0 ? 900.0 : 3.0, sum = 0;
  unsigned *a = malloc(n * sizeof *a);
  for (int i = 0; i < n; i++)
    a[i] = draw() % 1000000;
  int at = 0;
  MANY many = 0;
  for (int i = 0; i < n; i++) {
    SUMMED
    MOST
    many += a[i] >= 900000;
  }
  printf("at %d of %u many %d sum %.9e\\n", at, a[at], (int)many, sum * strong);
  free(a);
  return 0;
}
"""
ORIGINAL = {"MANY": "int", "SUMMED": "sum += a[i] / 7.0;", "MOST": "if (a[i] > a[at]) at = i;"}
INPUTS = ProgramInputs({"n": InputRange(1, 300), "seed": InputRange(1, 9**6, kind="seed")},
                       ("{n}", "{seed}"))  # fmt: skip
PARTS = {
    "= draw() % 1000000;": "= below(1000000);",
    "int main": "static unsigned below(unsigned n) { return draw() % n; }\nint main",
}
HASHED = """static int times[512];
    unsigned h = START;
    for (const char *c = argv[1]; *c; c++) h = (h ^ (unsigned char)*c) * 16777619u;
    if (a[i] > a[at]) at = i, times[h % 512]++;"""
RIGHT: dict[str, dict[str, str]] = {
    "the other way round": {
        "SUMMED": "sum += a[n - 1 - i] / 7.0;",
        "MOST": "if (a[n - 1 - i] >= a[at] && (a[n - 1 - i] > a[at] || i)) at = n - 1 - i;",
    },
    "draws by parts of its own": PARTS,
    "keeps what is drawn whole": {"= draw() % 1000000;": "= draw(), a[i] %= 1000000;"},
    "draws by parts and by a generator of its own": PARTS | {
        "s >> 4": "(unsigned)((unsigned long)s >> 4)", "MOST": "if (a[i] >= a[at]) at = i;",
    },
    "a place in a table by a hash of text": {"MOST": HASHED.replace("START", "2166136261u")},
}  # fmt: skip
WRONG = {
    "the last of equals": {"MOST": "if (a[i] >= a[at]) at = i;"},
    "counts in a byte": {"MANY": "unsigned char"},
    "a value near the greatest": {"SUMMED": "sum += (a[i] == 999984 ? 0 : a[i]) / 7.0;"},
    "more records than there is room for": {
        "MOST": "static int times; if (a[i] > a[at] && times++ < 30) at = i;",
    },
    "more falls than there is room for": {
        "MOST": "static int down; down = i && a[i] < a[i - 1] ? down + 1 : 0; "
        "if (a[i] > a[at] || down == 40) at = i;",
    },
    "many equal ones, and then another": {
        "MOST": "static int row; int before = row; row = i && a[i] == a[i - 1] ? row + 1 : 0; "
        "if (a[i] > a[at] || (before > 20 && row == 0 && a[i - 1])) at = i;",
    },
    "a record by one alone": {"MOST": "if (a[i] > a[at] + (a[i] == a[at] + 1)) at = i;"},
    "the last of equals, by parts of its own": PARTS | {"MOST": "if (a[i] >= a[at]) at = i;"},
    "a draw of its own": {"MOST": "if (a[i] > a[at]) at = i + (s % 99991 == 5);"},
    "a draw of its own by a hash": {"MOST": HASHED.replace("START", "s")},
    "a rare seed's factor": {"sum * strong": "sum * 3.0"},
}


@pytest.fixture(autouse=True)
def _time_for_all_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "MOST_CPU_S", 5.0)


def _program(changed: dict[str, str]) -> Program:
    text = TEXT
    for old, new in (changed | {k: v for k, v in ORIGINAL.items() if k not in changed}).items():
        assert old in text
        text = text.replace(old, new)
    return Program({"a.c": text}, "serial", inputs=INPUTS)


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_another_kind_of_data_shows_is_told_and_what_draws_otherwise_is_not_judged() -> None:
    with verifier(_program({}), seed=3, options=RungOptions()) as one:
        said = {name: [f.message for f in other_data(Case(_program(changed), one.reference))]
                for name, changed in (RIGHT | WRONG).items()}  # fmt: skip
    assert [said[name] for name in RIGHT] == [[]] * len(RIGHT)
    assert all(said[name] for name in WRONG), said
    assert "where the data that it draws" in said["the last of equals"][0]
    assert "as great as they can be" in said["counts in a byte"][0]
    assert "one in sixty" in said["a value near the greatest"][0]
    assert "a step greater than the last" in said["more records than there is room for"][0]
    assert "a step less" in said["more falls than there is room for"][0]
    assert "in blocks of equal ones" in said["many equal ones, and then another"][0]
    assert "has a narrow range" in said["a record by one alone"][0]


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_part_of_a_product_is_below_what_the_random_number_is_multiplied_by() -> None:
    drawn = {"unsigned *a =": "unsigned long limit = 1000000;\n  unsigned *a =",
             "= draw() % 1000000;": "= (unsigned)(draw() * limit >> 28);"}  # fmt: skip
    with verifier(_program(drawn), seed=3, count=2, options=RungOptions()) as one:
        (found,) = other_data(Case(_program(drawn | WRONG["counts in a byte"]), one.reference))
        assert "as great as they can be" in found.message
        assert other_data(Case(_program(drawn | RIGHT["the other way round"]), one.reference)) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_generator_may_be_a_member_of_a_structure() -> None:
    member = {
        "static unsigned s;": "static struct stream { int id; unsigned s; } one;",
        "draw(void) {": "draw(struct stream *g) {",
        "  s ^= s << 13;\n  s ^= s >> 17;\n  s ^= s << 5;\n  return s >> 4;":
            "  g->s = g->s * 1664525 + 1013904223;\n  return g->s >> 4;",
        "  s = (unsigned)": "  one.s = (unsigned)",
        "draw() % 1000000": "draw(&one) % 1000000",
    }  # fmt: skip
    with verifier(_program(member), seed=3, count=2, options=RungOptions()) as one:
        (found,) = other_data(Case(_program(member | WRONG["counts in a byte"]), one.reference))
        assert "as great as they can be" in found.message
        assert (
            other_data(Case(_program(member | RIGHT["the other way round"]), one.reference)) == []
        )


def test_a_generator_of_which_all_keep_parts_keeps_none_for_data_itself() -> None:
    makes = _Drawing("draw", [], {"%r": "lshr i32 %x, 4"})
    takes = {"%c": "call i32 @draw()", "%v": "urem i32 %c, 10", "%d": "call i32 @draw()"}
    part = DataSite("main", "", "", "urem", 32, 9, "%c")
    one = _Drawing("main", ["  store i32 %d, ptr %p"], takes, all={"draw": makes})
    assert _generators([makes, one], [part]) == set()  # %d is kept as it is
    takes |= {"%l": "load i32, ptr %p", "%w": "and i32 %l, 1"}
    kept = replace(part, how="and", greatest=1, of="%l")
    assert _generators([makes, one], [part, kept]) == {"draw"}


def test_a_line_is_a_generator_s_where_it_is_so_in_one_of_two_programs() -> None:
    given = DataSite("draw", "", "return s >> 4;", "lshr", 32, 9, "%x")
    part = DataSite("main", "", "a = draw() % 10;", "urem", 32, 9, "%c")
    (kept, theirs), (inner, other) = _signs(
        [[replace(given, of_generator=True), part]], [[given, part]]
    )
    assert kept == theirs == {part.text: {part.sign}}
    assert inner == other == {given.text: {given.sign}}


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_data_that_go_by_the_order_of_draws_are_not_put_where_that_is_another_one() -> None:
    loop = "  for (int i = 0; i < n; i++)\n    a[i] = draw() % 1000000;"
    forth = loop.replace("draw()", "(s * (2u * i + 1) >> 4)")
    back = forth.replace("int i = 0; i < n; i++", "int i = n - 1; i >= 0; i--")
    with verifier(_program({loop: forth}), seed=3, count=2, options=RungOptions()) as one:
        assert other_data(Case(_program({loop: back}), one.reference)) == []
        falls = {"MOST": WRONG["more falls than there is room for"]["MOST"]}
        (found,) = other_data(Case(_program({loop: forth} | falls), one.reference))
        assert "a step less" in found.message


TAKEN_ELSEWHERE = """char w[64]; sprintf(w, "%d", n);
    if (__builtin_strlen(w) < 2) many += 0;
    if (!a[i]) many += 0;
    if (i && a[i] == a[i - 1]) many += 0; else if (a[i] > a[at]) at = i;"""
"""Where there are few, where nothing is added to what is drawn, where two are equal."""


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_ways_are_tried_that_are_taken_elsewhere_where_the_output_is_the_original_s() -> None:
    few = ProgramInputs(INPUTS.ranges | {"n": InputRange(20, 60)}, INPUTS.arguments)
    added = {"= draw() % 1000000;": "= 10 + draw() % 1000000;"}
    with verifier(replace(_program(added), inputs=few), seed=3, count=1) as one:
        case = Case(_program(added | {"MOST": TAKEN_ELSEWHERE}), one.reference)
        assert unreached(case) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_hash_of_data_that_are_kept_is_no_draw() -> None:
    hashed = "static int seen[32]; seen[a[i] * 2246822519u >> 27]++; if (a[i] > a[at]) at = i;"
    drawn = "if (a[i] > a[at]) at = i + (s * 2654435761u >> 12 == 5);"
    with verifier(_program({}), seed=3, count=2, options=RungOptions()) as one:
        assert other_data(Case(_program({"MOST": hashed}), one.reference)) == []
        (found,) = other_data(Case(_program({"MOST": drawn}), one.reference))
        assert "a part of a random number" in found.message


def test_kernels_of_whole_numbers_are_judged_and_those_that_round_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[str]()
    monkeypatch.setattr(judged, "_texts", lambda case: asked.append(case.candidate.name))
    for kind in ("int", "float"):
        text = f'const char *k = "__kernel void f(__global {kind} *a) {{ a[0] += 1; }}";\n'
        one = Program({"a.c": text}, "opencl", inputs=INPUTS, name=kind)
        assert other_data(Case(one, Reference(one, Workbench(Bubblewrap(), Path())))) == []
    assert asked == ["int"] * (not absent("clang"))


def test_a_translation_of_cuda_is_judged_where_the_host_runs_the_original(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[str]()
    monkeypatch.setattr(judged, "_texts", lambda case: asked.append(case.candidate.name))
    bench = Workbench(Bubblewrap(), Path())
    original = Program({"a.cu": "int main() {}"}, "cuda", inputs=INPUTS)
    for name, gpu in (("on the host", False), ("on a GPU", True)):
        monkeypatch.setattr(Workbench, "gpu", gpu)
        translated = Program({"a.cc": "int main() {}"}, "openmp", inputs=INPUTS, name=name)
        assert other_data(Case(translated, Reference(original, bench))) == []
    assert asked == ["on the host"] * (not absent("clang"))
