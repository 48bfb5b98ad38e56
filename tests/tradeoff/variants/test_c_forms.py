"""Forms of C: which loops count, what a body reads and writes, when two subscripts are equal."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.errors import DataError
from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.accesses import READ, UPDATE, WRITE, Body, declared_name
from rheostat.tradeoff.variants.array_moves import exchanged
from rheostat.tradeoff.variants.c_source import CSource, identifiers
from rheostat.tradeoff.variants.polynomial import added, names_in, polynomial, split
from rheostat.tradeoff.variants.scalar_sums import accumulated


def in_function(body: str) -> CSource:
    return CSource(f"void f(long n, double *a, double *b, long *x) {{\n{body}\n}}\n")


@pytest.mark.parametrize("head", [
    "long i = 0; i < n; i++", "i = 0; i <= n; ++i", "i = n; i > 0; i--", "i = n; i >= 0; i -= 2",
    "i = 0; i != n; i += n", "i = 0; i < n; i = i + 2", "i = n; i > 0; i = i - 1",
])  # fmt: skip
def test_a_loop_counts_one_variable_in_equal_steps(head) -> None:
    (loop,) = in_function(f"long i; for ({head}) a[i] = 0;").loops
    assert (loop.variable, loop.function, loop.line) == ("i", "f", 2)
    assert loop.step == head.split("; ")[2]


@pytest.mark.parametrize("head", [
    "; i < n; i++", "i = 0; ; i++", "i = 0; i < n;", "i = 0; n; i++",
    "long i = 0, j = 1; i < n; i++",
    "long i; i < n; i++", "a[0] = 0; i < n; i++", "g(); i < n; i++", "i += 0; i == n; i++",
    "i = 0; n > i; i++", "i = 0; i == n; i++", "i = 0; i && n; i++", "i = 0; i < n; j++",
    "i = 0; i < n; g()", "i = 0; i < n; i += i", "i = 0; i < n; i -= i", "i = 0; i < n; i *= 2",
    "i = 0; i < n; j += 2", "i = 0; i < n; i = i * 2", "i = 0; i < n; i = j + 2",
    "i = 0; i < n; i = n", "i = 0; i < n; i = 2 + i", "i = 0; i < n; i = g()",
    "i = 0; i < n; i = ij + 1",
])  # fmt: skip
def test_what_openmp_does_not_share_is_no_loop(head) -> None:
    assert in_function(f"long i, j, ij; for ({head}) a[i] = 0;").loops == []


def test_loops_know_those_within_and_around_them() -> None:
    source = in_function("for (long i = 0; i < n; i++) {\n for (long j = 0; j < n; j++)\n"
                         "  for (long k = 0; k < n; k++) a[k] = 0;\n}\n"
                         "for (long m = 0; m < n; m++) a[m] = 0;")  # fmt: skip
    i, _, k, m = source.loops
    assert [x.variable for x in source.inside(i)] == ["j", "k"]
    assert [x.variable for x in source.around(k)] == ["i", "j"]
    assert source.inside(m) == source.around(m) == source.around(i) == []
    assert [x.line for x in source.loops] == [2, 3, 4, 6]


def test_a_function_is_known_by_its_name_however_it_is_declared() -> None:
    source = CSource("static double *g(void) { return 0; }\nint main(int c, char **v) { g(); }")
    assert list(source.functions) == ["g", "main"]
    assert identifiers(source, source.functions["main"]) == {"main", "c", "v", "g"}


def test_edits_are_made_in_bytes_and_of_two_in_one_place_both_stand() -> None:
    source = CSource("/* \u00fc */ int a;")
    at = source.bytes.index(b"int")
    assert source.edited([(at, at + 3, "long"), (at, at, "static "),
    (len(source.bytes),) * 2 + ("!",)
                          ]) == "/* \u00fc */ static long a;!"  # fmt: skip
    assert source.edited([]) == source.text


def of(expression: str, known=None):
    source = CSource(f"void f(void) {{ x = {expression}; }}")
    node = next(n for n in walk(source.tree.root_node) if n.type == "assignment_expression")
    return polynomial(source, node.child_by_field_name("right"), known or {})


@pytest.mark.parametrize(("text", "expected"), [
    ("3 + 4", {(): 7}), ("7UL", {(): 7}), ("0", {}), ("0x1f", {("0x1f",): 1}),
    ("1.5", {("1.5",): 1}), ("-i", {("i",): -1}), ("-3", {(): -3}), ("-(i - 2)", {("i",): -1,
     (): 2}),
    ("(long)i * 3", {("i",): 3}), ("i - i", {}), ("i << 3", {("i",): 8}), ("i << k",
     {("i << k",): 1}),
    ("(i + 1) << 2", {("i",): 4, (): 4}), ("n * i + i * n", {("i", "n"): 2}), ("i << 0",
     {("i << 0",): 1}),
    ("i / 2", {("i / 2",): 1}), ("i % 2", {("i % 2",): 1}), ("!i", {("!i",): 1}),
    ("(i + j) * (i - j)", {("i", "i"): 1, ("j", "j"): -1}), ("a[i] + 1", {("a[i]",): 1, (): 1}),
])  # fmt: skip
def test_an_expression_is_its_polynomial(text, expected) -> None:
    assert of(text) == expected


def test_what_is_known_of_a_local_is_put_in() -> None:
    known = {"r": {("i", "n"): 1, (): 2}}
    assert of("r * 2 - i * n", known) == {("i", "n"): 1, (): 4}
    assert of("r", known) == known["r"]
    assert added({("i",): 1}, {("i",): 1}, -1) == {}
    assert added({("i",): 1}, {("j",): 2}) == {("i",): 1, ("j",): 2}


def test_a_polynomial_is_split_where_it_is_linear_in_the_variable() -> None:
    assert split(of("i * n + 2 * i + j"), "i") == ({("n",): 1, (): 2}, {("j",): 1})
    assert split(of("j + 1"), "i") == ({}, {("j",): 1, (): 1})
    for text in ("i * i", "a[i] + i", "i / 2", "n * a[i] * i"):
        assert split(of(text), "i") is None
    assert names_in(of("a[i] * n + 3")) == {"a", "i", "n"}


def accesses(body: str, place: int = 0):
    source = in_function(f"double s; long k; struct p q, *r;\n{body}")
    made = Body(source, source.loops[place])
    return made, [(x.kind, x.name, x.subscripts, x.operator, x.conditional) for x in made.accesses]


AT_I = ({("i",): 1},)
N: tuple = ()


@pytest.mark.parametrize(("statement", "expected"), [
    ("a[i] = b[i];", [(READ, "i", N), (READ, "i", N), (READ, "b", AT_I), (WRITE, "a", AT_I)]),
    ("s += b[i];", [(READ, "i", N), (READ, "b", AT_I), (UPDATE, "s", N)]),
    ("s = s - b[i];", [(READ, "i", N), (READ, "b", AT_I), (UPDATE, "s", N)]),
    ("s = b[i] * s;", [(READ, "i", N), (READ, "b", AT_I), (UPDATE, "s", N)]),
    ("s = b[i] - s;", [(READ, "i", N), (READ, "b", AT_I), (READ, "s", N), (WRITE, "s", N)]),
    ("s = s / k;", [(READ, "s", N), (READ, "k", N), (WRITE, "s", N)]),
    ("s = s + s;", [(READ, "s", N), (UPDATE, "s", N)]),
    ("k++;", [(UPDATE, "k", N)]),
    ("x[i]--;", [(READ, "i", N), (UPDATE, "x", AT_I)]),
    ("s = *a;", [(READ, "a", N), (WRITE, "s", N)]),
    ("*a = s;", [(READ, "s", N), (WRITE, "a", ({("*",): 1},))]),
    ("q.v = s;", [(READ, "s", N), (WRITE, "q", N)]),
    ("(a)[i] = s;", [(READ, "i", N), (READ, "s", N), (WRITE, "a", AT_I)]),
    ("s = b[x[i]];", [(READ, "i", N), (READ, "x", AT_I), (READ, "b", ({("x[i]",): 1},)),
                      (WRITE, "s", N)]),
])  # fmt: skip
def test_a_statement_reads_before_it_writes(statement, expected) -> None:
    _, found = accesses(f"for (long i = 0; i < n; i++) {{ {statement} }}")
    assert [f[:3] for f in found] == expected
    assert not any(f[4] for f in found)


def test_an_update_knows_its_operator() -> None:
    for statement, operator in (("s += 1;", "+"), ("s *= 2;", "*"), ("s = s - 1;", "-"),
                                ("s = 2 * s;", "*"), ("k--;", "+"), ("s <<= 1;",
                                 "<<")):  # fmt: skip
        _, found = accesses(f"for (long i = 0; i < n; i++) {{ {statement} }}")
        assert [f[3] for f in found if f[0] == UPDATE] == [operator]


@pytest.mark.parametrize(("statement", "sure", "perhaps"), [
    ("if (s > 0) k = 1; else b[0] = 2;", {"s"}, {"k", "b"}),
    ("s = k > 0 ? a[0] : b[0];", {"s", "k"}, {"a", "b"}),
    ("while (k < 3) k++;", set(), {"k"}),
    ("for (k = 0; k < 3; k++) s = 1;", {"k", "s"}, set()),
    ("do k++; while (k < 3);", {"k"}, set()),
    ("switch (k) { case 1: s = 1; break; }", {"k", "s"}, set()),
])  # fmt: skip
def test_what_may_not_happen_is_conditional(statement, sure, perhaps) -> None:
    made, found = accesses(f"for (long i = 0; i < n; i++) {{ {statement} }}")
    assert {f[1] for f in found if not f[4]} == sure
    assert {f[1] for f in found if f[4]} == perhaps
    assert not made.leaves


@pytest.mark.parametrize(("statement", "leaves"), [
    ("break;", True), ("return;", True), ("if (s > 0) break;", True), ("goto out;", True),
    ("while (k) break;", False), ("while (k) return;", True), ("switch (k) { default: break; }",
     False),
    ("continue;", False), ("for (k = 0; k < 3; k++) { if (s) break; }", False),
])  # fmt: skip
def test_a_body_leaves_its_loop_by_its_own_breaks_and_returns(statement, leaves) -> None:
    made, _ = accesses(f"for (long i = 0; i < n; i++) {{ {statement} out: ; }}")
    assert made.leaves is leaves


def test_locals_that_never_change_are_put_into_subscripts() -> None:
    made, found = accesses("for (long i = 0; i < n; i++) { long r = 2 * i, c = r, *p = x;\n"
                           "c++; a[r + 1] = b[c]; }")  # fmt: skip
    assert made.local == {"r", "c", "p"}
    by_name = {f[1]: f[2] for f in found}
    assert by_name["a"] == ({("i",): 2, (): 1},)
    assert by_name["b"] == ({("c",): 1},)
    changed, later = accesses("for (long i = 0; i < n; i++) { long r = i; r = 0; a[r] = 1; }")
    assert {f[1]: f[2] for f in later}["a"] == ({("r",): 1},)
    assert changed.local == {"r"}


def test_calls_are_listed_and_their_arguments_read() -> None:
    made, found = accesses("for (long i = 0; i < n; i++) a[i] = g(s, h(k));")
    assert made.calls == ["g", "h"]
    assert [(f[0], f[1]) for f in found] == [
        (READ, "i"), (READ, "s"), (READ, "k"), (WRITE, "a")]  # fmt: skip


def test_the_name_of_a_declarator_is_its_first() -> None:
    source = CSource("double *a[n] = {0};")
    (declarator,) = source.tree.root_node.named_children[0].children_by_field_name("declarator")
    assert declared_name(source, declarator) == "a"
    number = next(x for x in walk(source.tree.root_node) if x.type == "number_literal")
    assert declared_name(source, number) == ""


SUM = "void f(long n, double *a, double *b) {{\n{}\n}}"
LOOP = "for (long k = 0; k < n; k++) "


@pytest.mark.parametrize("body", [
    LOOP + "a[k] += b[k];", LOOP + "a[3] = b[k];", LOOP + "a[3] = b[k] - a[3];",
    LOOP + "{ a[3] += b[k]; g(a); }", LOOP + "*a += b[k];", LOOP + "a[3] += a[k];",
    LOOP + "{ a[n] += b[k]; n++; }", LOOP + "{ long m = k; a[m] += b[k]; }",
    LOOP + "{ if (b[k] > 0) a[3] += b[k]; }", LOOP + "{ a[3] += b[k]; if (b[k] < 0) return; }",
    "\n#pragma ivdep\n" + LOOP + "a[3] += b[k];", LOOP + ";",
    "if (n) " + LOOP + "a[3] += b[k];", "double sum0; " + LOOP + "a[3] += b[k];",
])  # fmt: skip
def test_only_a_sum_into_one_place_is_kept_in_a_scalar(body) -> None:
    assert accumulated(SUM.format(body)) is None


def test_sums_are_kept_each_under_its_number() -> None:
    text = SUM.format(
        f"{LOOP}{{ a[3] += b[k]; }}\nfor (long i = 0; i < n; i++)\n{LOOP}a[i] += b[k];"
    )
    assert accumulated(text) == SUM.format(
        f"{{\n  double sum0 = a[3];\n  {LOOP}{{ sum0 += b[k]; }}\n  a[3] = sum0;\n}}\n"
        f"for (long i = 0; i < n; i++)\n{{\n  double sum2 = a[i];\n"
        f"  {LOOP}sum2 += b[k];\n  a[i] = sum2;\n}}"
    )


def test_several_sums_of_a_loop_are_kept_and_what_else_it_sets_stays() -> None:
    body = "{ t[n] = b[k] + t[n]; b[k] = 0; t[1] -= 2; }"
    text = SUM.format(f"{LOOP}{body}").replace("double *a", "real *u").replace("t[1]", "u[1]")
    made = accumulated(text)
    assert made is not None
    assert "__typeof__(t[n]) sum0_0 = t[n];" in made
    assert "{ sum0_0 = b[k] + sum0_0; b[k] = 0; sum0_1 -= 2; }" in made
    assert made.index("t[n] = sum0_0;") < made.index("u[1] = sum0_1;")


DECLARED = "void f(long n) {{\n  double *a = g(), *b = g(), c[9];\n  float *e;\n  n++;\n  {}\n}}"


def test_a_copy_of_a_nest_becomes_one_exchange() -> None:
    nest = f"for (long i = 0; i < n; i++) {{ {LOOP}{{ a[i * n + k] = b[k + i * n]; }} }}"
    assert exchanged(DECLARED.format(nest)) == DECLARED.format(
        "{\ndouble *other0 = a;\na = b;\nb = other0;\n}"
    )


@pytest.mark.parametrize("body", [
    "a[k] += b[k];", "a[k] = 2 * b[k];", "a[k] = b[k + 1];", "a[k] = a[k];", "a[3] = b[3];",
    "a[k] = c[k];", "c[k] = a[k];", "a[k] = e[k];", "{ a[k] = b[k]; n++; }", "*a = b[k];", "g(k);",
    "{ }",
])  # fmt: skip
def test_anything_but_a_copy_between_like_pointers_stays(body) -> None:
    assert exchanged(DECLARED.format(LOOP + body)) is None


@pytest.mark.parametrize("brackets", ['{"a":', "([", "}{{"])
def test_brackets_that_no_compiler_takes_are_refused_before_they_are_parsed(brackets):
    CSource(brackets * 500)
    with pytest.raises(DataError, match="no compiler takes it"):
        CSource(brackets * 200_000)
