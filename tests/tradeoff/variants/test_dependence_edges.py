"""Dependence and rewritings at their edges: against iterations run one by one, and exact texts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("tree_sitter_c")

from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.measurement.code.programs.program import Program
from rheostat.questions.code.code_search import searched_chains
from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.dependence import dependence
from rheostat.tradeoff.variants.openmp import PragmaSites
from rheostat.tradeoff.variants.refactorings import (
    REFACTORINGS,
    cheaper_powers,
    hoisted,
    multiplied,
    without_roots,
)
from rheostat.tradeoff.variants.subscripts import CONFLICT, SAFE, UNKNOWN

HEAD = "void f(long n, long m, double *a, double *b, long *x) {\n  double s, t;\n  long i, j, k;\n"


def found(body: str, extra: str = ""):
    source = CSource(f"{extra}{HEAD}{body}\n}}\n")
    return [dependence(source, loop) for loop in source.loops]


@settings(deadline=None, max_examples=60)
@given(slope=st.integers(0, 4), writes=st.integers(-4, 4), reads=st.integers(-4, 4))
def test_elements_of_equal_steps_are_apart_where_no_two_iterations_meet(
    slope, writes, reads
) -> None:
    (d,) = found(f"for (i = 0; i < n; i++) a[{slope} * i + {writes}] = a[{slope} * i + {reads}];")
    apart = slope > 0 and abs(writes - reads) < slope
    assert d.level == (SAFE if apart else CONFLICT)
    meets = any(slope * p + writes in (slope * q + reads, slope * q + writes)
                for p in range(20) for q in range(20) if p != q)  # fmt: skip
    assert d.level == CONFLICT or not meets


LOOP = "for (i = 0; i < n; i++) "
NEST = "for (i = 0; i < n; i++) for (j = 0; j < m; j++) "


@pytest.mark.parametrize(("body", "level"), [
    (NEST + "a[i * m + j] = a[i * m + j] + 1;", SAFE),
    (NEST + "a[i * m + j] = a[i * m + j + 1];", SAFE),  # as far as sizes tell: within a row
    (NEST + "a[i * m + j] = a[i * m + j + m];", CONFLICT),
    (NEST + "a[i * m + j] = a[i * m - m + j];", CONFLICT),
    (NEST + "a[i * m + j * m] = 1;", UNKNOWN),
    (NEST + "a[i * m + j] = a[i * n + j];", UNKNOWN),
    (NEST + "a[i + j] = 1;", UNKNOWN),
    (NEST + "a[2 * i + j] = 1;", SAFE),  # an inner loop over less than a step
    (NEST + "a[j] = 1;", CONFLICT),
    (NEST + "a[i * i] = 1;", UNKNOWN),
    (NEST + "a[i * m + j] = a[i * m + x[j]];", UNKNOWN),
    (NEST + "a[i * m + j / 2] = 1;", UNKNOWN),
    (LOOP + "a[k] = b[i];", CONFLICT),
    (LOOP + "a[i] = a[i + k];", CONFLICT),
    (LOOP + "a[i * m] = a[i * m + k];", CONFLICT),
    (LOOP + "a[3] = a[4];", CONFLICT),
    (LOOP + "a[x[3]] = 1;", UNKNOWN),
    (LOOP + "a[x[3]] = a[x[4]];", UNKNOWN),
    (LOOP + "a[x[3]] = a[k];", UNKNOWN),
    (LOOP + "a[k] = a[x[3]];", CONFLICT),
    (LOOP + "*a = 1;", UNKNOWN),
    (LOOP + "{ a[i] = 1; *a = 2; }", UNKNOWN),
    (LOOP + "{ a[i] = 1; i = i + 1; }", CONFLICT),
    (LOOP + "{ long r = m * i; a[r] = 1; }", SAFE),
    (LOOP + "s = fabs(b[i]);", SAFE),
    (LOOP + "{ double *p = malloc(8); p[0] = b[i]; a[i] = p[0]; free(p); }", SAFE),
    ("for (k = 0; k < n; k++) for (i = 0; i < n; i++) a[k * n + i] = a[(k - 1) * n + i];",
     CONFLICT),
])  # fmt: skip
def test_the_level_of_the_outermost_loop(body, level) -> None:
    assert found(body)[0].level == level


@pytest.mark.parametrize(("body", "reasons"), [
    ("for (i = 0; i < n; i++) { if (s) return; a[i] = g(); n = 3; i++; s = t; t = s; }",
     ["leaves the loop early", "g may do anything", "i is changed within the loop",
      "the bound is changed within the loop", "s is carried from one iteration to the next",
      "t is carried from one iteration to the next"]),
    ("for (i = 0; i < n; i++) a[x[i]] = 1;", ["a is written where another iteration may look"]),
    ("for (i = 0; i < n; i++) a[x[i]] += 1;",
     ["a is updated at places that iterations may share"]),
    ("for (i = 0; i < n; i++) a[x[i]] -= 1;",
     ["a is updated at places that iterations may share"]),
    ("for (i = 0; i < n; i++) a[x[i]] *= 2;", ["a is written where another iteration may look"]),
    ("for (i = 0; i < n; i++) a[x[i]] += a[i];", ["a is written where another iteration may look"]),
])  # fmt: skip
def test_the_reasons_are_given_in_order(body, reasons) -> None:
    assert found(body)[0].reasons == reasons


@pytest.mark.parametrize(("after", "last"), [
    ("m = s;", True), ("s = 1; m = s;", False), ("s += 1;", True), ("b[0] = s;", True),
    ("t = 1;", False), ("{ double s = 2; m = s; }", False), ("m = t + s;", True), ("s++;", True),
])  # fmt: skip
def test_a_value_is_kept_if_it_is_read_before_it_is_set_again(after, last) -> None:
    (d,) = found(f"for (i = 0; i < n; i++) {{ s = b[i]; a[i] = s; }}\n{after}")
    assert (d.private, d.lastprivate) == ((set(), {"s"}) if last else ({"s"}, set()))


@pytest.mark.parametrize(("statement", "operator"), [
    ("if (b[i] > s) { s = b[i]; }", "max"), ("if (b[i] >= s) s = b[i];", "max"),
    ("if ((s <= b[i])) s = b[i];", "max"), ("if (b[i] < s) s = b[i];", "min"),
    ("s = s < b[i] ? s : b[i];", "min"), ("s = s > b[i] ? s : b[i];", "max"),
    ("s = b[i] < s ? b[i] : s;", "min"), ("s = fmaxf(b[i], s);", "max"), ("s -= b[i];", "+"),
    ("if (b[i] > t) s = b[i];", None), ("if (b[i] != s) s = b[i];", None), ("if (s) s = b[i];",
     None),
    ("if (b[i] > s) s = b[i]; else t = 1;", None), ("if (b[i] > s) { s = b[i]; k = i; }", None),
    ("s = fmin(b[i], t) + s;", "+"), ("if (b[i] > s) s += b[i];", None), ("s /= 2;", None),
    ("s += 1; s *= 2;", None), ("s += 1; s -= 2;", "+"), ("s <<= 1;", None), ("k &= x[i];", "&"),
    # running extremes and sums, and values other than the one compared
    ("if (b[i] > s) s = b[i]; a[i] = s;", None), ("s = fmax(s, b[i]); a[i] = s;", None),
    ("s = b[i] > s ? b[i] : s; a[i] = s;", None), ("s = fmax(s + b[i], b[i]);", None),
    ("s = fmax(s, s + b[i]);", None), ("if (b[i] > s) s = 2 * b[i];", None),
    ("if (b[i] > s + 1) s = b[i];", None), ("s = b[i] > s ? s : 2;", None),
    ("s = ( s<b[i] ) ? b[ i ] : (s);", "max"), ("s = fmin(s, (b[i]));", "min"),
])  # fmt: skip
def test_what_is_reduced_and_with_what(statement, operator) -> None:
    (d,) = found(f"for (i = 0; i < n; i++) {{ {statement} }}")
    name = "k" if statement.startswith("k") else "s"
    assert d.reductions.get(name) == operator
    if operator is not None:
        assert d.level == SAFE


def test_functions_are_looked_through() -> None:
    extra = ("long total;\nvoid in(double *p, long q) { p[q] = 1; }\nvoid up(void) { total = 1; }\n"
             "double own(double v) { double w = v; long *z; w += 1; z[0] = 2; return w; }\n"
             "double kept(double v) { static double w; w = v; return w; }\n"
             "double far(double v) { return sqrt(own(v)) + own(v); }\n")  # fmt: skip
    for call, level, reason in (
        ("in(a, i)", UNKNOWN, "in writes through p"), ("up()", CONFLICT, "up changes total"),
        ("own(b[i])", SAFE, None), ("kept(b[i])", CONFLICT, "kept changes w"), ("far(1)", SAFE,
         None),
    ):  # fmt: skip
        (d,) = found(f"for (i = 0; i < n; i++) {{ {call}; }}", extra)
        assert (d.level, d.reasons) == (level, [] if reason is None else [reason]), call


def sites(body: str, extra: str = "") -> PragmaSites:
    return PragmaSites(CSource(f"{extra}{HEAD}{body}\n}}\n"))


@pytest.mark.parametrize(("body", "options"), [
    ("for (i = 0; i < n; i++) a[i] = 1;", ("static", "dynamic", "guided")),
    ("for (i = 0; i < n; i++) for (j = 0; j < m; j++) a[i * m + j] = 1;",
     ("static", "dynamic", "guided", "collapse")),
    ("for (i = 0; i < n; i++) { /* rows */ for (j = 0; j < m; j++) a[i * m + j] = 1; }",
     ("static", "dynamic", "guided", "collapse")),
    ("for (i = 0; i < n; i++) for (j = i; j < m; j++) a[i * m + j] = 1;",
     ("dynamic", "static", "guided")),
    ("for (i = 0; i < n; i++) for (j = 0; j < i; j++) a[i * m + j] = 1;",
     ("dynamic", "static", "guided")),
    ("for (i = 0; i < n; i++) { for (j = 0; j < m; j++) a[i * m + j] = 1; b[i] = 2; }",
     ("static", "dynamic", "guided")),
    ("for (i = 0; i < n; i++) a[x[i]] = b[i];", ("static", "access", "dynamic", "guided")),
    ("for (i = 0; i < n; i++) a[x[i]] = 2 * a[i];", ("static", "access", "dynamic", "guided")),
    ("for (i = 0; i < n; i++) { s += b[i]; a[x[i]] = s; }", None),
])  # fmt: skip
def test_ways_to_share_a_loop(body, options) -> None:
    here = sites(body)
    if options is None:
        assert here.loops == []
    else:
        assert here.options(here.loops[0]) == options


@pytest.mark.parametrize(("declared", "name"), [
    ("double h[8];", "h"), ("double u, h[n];", "h"), ("long *h = calloc(n + 1, 8);", "h[:n + 1]"),
    ("double *h = (double *)malloc(n * sizeof(double));", "h[:n]"),
    ("double *h = malloc(sizeof(double) * (n + 2));", "h[:(n + 2)]"), ("double *h = g(n);", ""),
])  # fmt: skip
def test_an_array_is_reduced_over_its_declared_size(declared, name) -> None:
    here = sites(f"{declared}\n  for (i = 0; i < n; i++)\n    h[x[i]] += 1;")
    (loop,) = here.loops
    assert here.section(here.dependence(loop), "h") == name
    assert here.options(loop) == (("array", "atomic") if name else ("atomic",))


def test_arrays_are_reduced_if_the_size_of_each_is_known() -> None:
    known, unknown = "double h[8];", "double *g = f(n);"
    for g, options in (("double g[n];", ("array", "atomic")), (unknown, ("atomic",))):
        here = sites(f"{known} {g}\n  for (i = 0; i < n; i++) {{ h[x[i]] += 1; g[x[i]] += 2; }}")
        assert here.options(here.loops[0]) == options


@pytest.mark.parametrize("place", [
    "u[i][x[i]]", "(*u)[x[i]]", "*(u + x[i])", "u->v[x[i]]", "(u + 1)[x[i]]", "(n ? a : b)[x[i]]",
    "f(u)[x[i]]", "u++[x[i]]", "((double *)u)[x[i]]", "u$v[x[i]]", "\\U00110000[x[i]]", "*u",
])  # fmt: skip
def test_no_pattern_is_built_of_what_a_program_says(place) -> None:
    """Text of a program with signs of patterns stands for itself, or for nothing."""
    body = f"double uuu[4];\n  for (i = 0; i < n; i++)\n    {place} += 2.0 / b[0];"
    here = sites(body)
    for loop in here.loops:
        assert not any(here.section(here.dependence(loop), name)
                       for name in here.dependence(loop).updated)  # fmt: skip
        for option in here.options(loop):
            assert place in here.text({loop.start: option})
    for change in REFACTORINGS.values():
        assert place in (change(here.source.text) or place)


def test_a_dollar_in_a_name_is_no_end_of_a_text() -> None:
    here = sites("double u$v[4];\n  for (i = 0; i < n; i++)\n    u$v[x[i]] += 1;")
    (loop,) = here.loops
    assert here.section(here.dependence(loop), "u$v") == "u$v"
    shared = (
        "void f(int n, double *a, double u$v) {\nfor (int i = 0; i < n; i++) a[i] = a[i] / u$v;\n}"
    )
    assert "1.0 / u$v" in (multiplied(shared) or "")


def test_pragmas_stand_on_lines_of_their_own_as_far_in_as_their_loop() -> None:
    body = "  for (i = 0; i < n; i++) {\n    t = b[i]; a[x[i]] += t;\n  }"
    here = sites(body)
    changed = here.text({here.loops[0].start: "atomic"})
    assert changed == f"{HEAD}" + (
        "  #pragma omp parallel for schedule(static) private(t)\n  for (i = 0; i < n; i++) {\n"
        "    t = b[i]; \n    #pragma omp atomic\n    a[x[i]] += t;\n  }\n}\n"
    )
    single = sites("  for (i = 0; i < n; i++) {\n    a[x[i]] = t;\n  }")
    assert single.text({single.loops[0].start: "access"}) == f"{HEAD}" + (
        "  #pragma omp parallel for schedule(static)\n  for (i = 0; i < n; i++) {\n"
        "    #pragma omp atomic write\n    a[x[i]] = t;\n  }\n}\n"
    )
    assert single.text({}) == single.source.text


def test_clauses_list_names_in_order_and_leave_out_the_inner_variable() -> None:
    body = ("  for (i = 0; i < n; i++)\n    for (j = 0; j < m; j++) {\n"
            "      t = b[j]; a[i * m + j] = t;\n    }\n  s = t;")  # fmt: skip
    here = sites(body)
    outer = here.loops[0]
    lines = {o: here.text({outer.start: o}).splitlines()[3].strip() for o in here.options(outer)}
    assert lines == {
        "static": "#pragma omp parallel for schedule(static) private(j) lastprivate(t)",
        "dynamic": "#pragma omp parallel for schedule(dynamic) private(j) lastprivate(t)",
        "guided": "#pragma omp parallel for schedule(guided) private(j) lastprivate(t)",
        "collapse": "#pragma omp parallel for collapse(2) schedule(static) lastprivate(t)",
    }
    reduced = sites("  for (i = 0; i < n; i++) {\n    s += b[i]; t *= 2; m += 1;\n  }")
    assert reduced.text({reduced.loops[0].start: "static"}).splitlines()[3].strip() == (
        "#pragma omp parallel for schedule(static) reduction(* : t) reduction(+ : m, s)"
    )


def test_functions_called_within_a_loop_are_followed() -> None:
    extra = "double g(double v) { return v; }\ndouble h(double v) { return g(v); }\n" \
            "double e(double v) { return v; }\n"  # fmt: skip
    here = sites("for (i = 0; i < n; i++) a[i] = h(b[i]);", extra)
    assert here.called_within(here.loops[0]) == {"h", "g"}
    nested = sites("for (i = 0; i < n; i++) for (j = 0; j < m; j++) a[i * m + j] = 1;")
    assert here.outermost(here.loops) == here.loops
    assert [x.variable for x in nested.outermost(nested.loops)] == ["i"]


def in_loop(statement: str, before: str = "") -> str:
    return (f"void f(long n, double t, double *a) {{\n  {before}for (long i = 0; i < n; i++) {{\n"
            f"    {statement}\n  }}\n}}")  # fmt: skip


def test_equal_calls_leave_a_loop_together_and_its_place_is_the_outermost() -> None:
    assert hoisted(in_loop("a[i] = exp(t) + a[i] * exp(t);")) == in_loop(
        "a[i] = fixed0 + a[i] * fixed0;", "const double fixed0 = exp(t);\n  "
    )
    nest = in_loop("for (long j = 0; j < n; j++) { a[j] = exp(t) + exp(t * i); }")
    inner = (
        "const double fixed1 = exp(t * i);\n    "
        "for (long j = 0; j < n; j++) { a[j] = fixed0 + fixed1; }"
    )
    assert hoisted(nest) == in_loop(inner, "const double fixed0 = exp(t);\n  ")


@pytest.mark.parametrize("statement", [
    "a[i] = exp(1.0);", "a[i] = exp(a[0]);", "a[i] = exp(g(t));", "a[i] = fabs(t);",
    "t++; a[i] = exp(t);",
    "double u = 1; a[i] = exp(u);", "h(&t); a[i] = exp(t);", "a[i] = exp(i);",
])  # fmt: skip
def test_what_is_cheap_or_may_change_stays_in_the_loop(statement) -> None:
    assert hoisted(in_loop(statement)) is None


def test_a_loop_that_is_no_statement_of_a_block_keeps_its_calls() -> None:
    loop = "for (long i = 0; i < n; i++) a[i] = exp(t);"
    text = f"void f(long n, double t, double *a) {{\n if (n) {loop}\n}}"
    assert hoisted(text) is None
    assert multiplied(text.replace("exp(t)", "a[i] / t")) is None


def test_reciprocals_are_shared_within_a_loop_and_made_once() -> None:
    text = in_loop("a[i] = a[i] / t + 1.0 / t - a[i] / 2.5;")
    head = "const double inverse0 = 1.0 / t;\n  const double inverse1 = 1.0 / 2.5;\n  "
    changed = multiplied(text)
    assert changed == in_loop("a[i] = a[i] * inverse0 + 1.0 * inverse0 - a[i] * inverse1;", head)
    assert multiplied(changed) is None


@pytest.mark.parametrize(("text", "changed"), [
    ("sqrt(x) <= 3", "(x) <= 3 * 3"), ("sqrt(x + y) > 0.5", "(x + y) > 0.5 * 0.5"),
    ("sqrt(x) >= 2.", "(x) >= 2. * 2."), ("sqrt(x) == 2.0", None), ("sqrt(x) < y", None),
    ("cbrt(x) < 2.0", None), ("x < 2.0", None), ("2.0 > sqrt(x)", None),
    ("pow(pow(x, 2), 2) + pow(x, 3)", None),
])  # fmt: skip
def test_roots_are_compared_as_squares(text, changed) -> None:
    whole = "int f(double x, double y) {{ return {}; }}"
    assert without_roots(whole.format(text)) == (changed and whole.format(changed))


@pytest.mark.parametrize(("text", "changed"), [
    ("pow(x, 3)", "(x * x * x)"), ("pow(x + 1, 4.0)", "((x + 1) * (x + 1) * (x + 1) * (x + 1))"),
    ("pow(x, y)", None), ("pow(x)", None), ("hypot(x, 2)", None), ("pow(x++, 2)", None),
    ("pow(x, 2) * pow(y, -1)", "(x * x) * (1.0 / y)"), ("pow(pow(x, 2), 2)", "pow((x * x), 2)"),
    ("pow(x, 20)", None), ("pow(x, 1.50)", None),
])  # fmt: skip
def test_powers_become_products(text, changed) -> None:
    whole = "double f(double x, double y) {{ return {}; }}"
    assert cheaper_powers(whole.format(text)) == (changed and whole.format(changed))


MACROS = (
    "#ifdef SINGLE\n#define VALUE(x) x##f\n#define ROOT(x) sqrtf(x)\n#else\n"
    "#define VALUE(x) x\n#define ROOT(x) sqrt(x)\n#endif\n"
    "#define TWICE(x) (VALUE(2.0) * ROOT(x))\n"
    "#define COUNT(x) (x)++\n#define STORE(x, y) x = y\n#define LOOPED(x) LOOPED(x)\n"
    "#define OTHER(x) elsewhere(x)\n"
)


@pytest.mark.parametrize(
    ("call", "level"),
    [("VALUE(0.2) * b[i]", SAFE), ("ROOT(b[i])", SAFE), ("TWICE(b[i])", SAFE),
     ("COUNT(b[i])", CONFLICT), ("STORE(b[0], i)", CONFLICT), ("OTHER(b[i])", CONFLICT),
     ("LOOPED(b[i])", CONFLICT), ("unknown(b[i])", CONFLICT)],
)  # fmt: skip
def test_macros_that_only_compute_are_no_calls(call, level) -> None:
    """Also where a header defines them, once for each type of numbers."""
    body = f"for (i = 0; i < n; i++) a[i] = {call};"
    (inside,) = found(body, MACROS)
    source = CSource(f"{HEAD}{body}\n}}\n", headers=MACROS)
    (apart,) = (dependence(source, loop) for loop in source.loops)
    assert (inside.level, apart.level) == (level, level)


def test_a_place_that_every_iteration_updates_is_no_site_for_atomics() -> None:
    body = (
        "for (i = 0; i < n; i++) { a[i] = 0; for (k = 0; k < m; k++) a[i] += b[k]; }\n"
        "for (i = 0; i < n; i++) a[x[i]] += b[i];"
    )
    sites = PragmaSites(CSource(f"{HEAD}{body}\n}}\n"))
    assert [(x.variable, sites.options(x)[0]) for x in sites.loops] == [
        ("i", "static"), ("i", "atomic")]  # fmt: skip


def test_of_a_shared_array_plain_reads_and_writes_alone_are_made_atomic() -> None:
    body = (
        "for (i = 0; i < n; i++) {\n{}a[x[i]] = 1;\n{}b[i] = a[i];\n"
        "b[i] = 2 * (a[k]);\na[i] *= 3;\n}"
    )
    source = CSource(f"{HEAD}{body.replace('{}', '')}\n}}\n")
    text = PragmaSites(source).text({source.loops[0].start: "access"})
    atomic = body.replace("{}", "#pragma omp atomic write\n", 1)
    assert atomic.replace("{}", "#pragma omp atomic read\n", 1) in text


PLACES = """#define AT(m, i, j) m->a[(i) * m->wide + (j)]
struct table { double *a; int high, wide; };
void f(struct table *p, struct table *q, int steps, int high, int wide) {
  for (int n = 0; n < steps; n++) {
    for (int i = 1; i < high - 1; i++)
      for (int j = 0; j < wide; j++)
        AT(q, i, j) = AT(p, i + 1,
                         j) + AT(p, i - 1, j);
    for (int i = 1; i < high - 1; i++)
      for (int j = 0; j < wide; j++) AT(p, i, j) = AT(q, i, j);
  }
}
int main() { f(0, 0, 1, 2, 3); }
"""


def test_macros_that_are_assigned_to_are_looked_into_and_written_out() -> None:
    program = Program({"f.c": PLACES}, "serial")
    steps, _ = searched_chains(program, "openmp", "runtime_s")(SimpleNamespace(seed=1))
    rows = next(steps).text.splitlines()
    shared = [rows[k + 1].strip() for k, row in enumerate(rows) if "#pragma" in row]
    assert shared == ["for (int i = 1; i < high - 1; i++)"] * 2  # and not the steps
    assert any(r.strip().startswith("q->a[(i) * q->wide + (j)] = p->a[(i + 1)") for r in rows)
    assert len(rows) == PLACES.count("\n") + 2


def test_what_a_call_gives_is_no_place_that_a_clause_can_name() -> None:
    (d,) = found("for (i = 0; i < n; i++) *at(a, i) = 1;", "double *at(double *p, long k);\n")
    assert d.level == CONFLICT


def test_a_loop_that_counts_in_floats_is_none_that_openmp_can_share() -> None:
    assert found("for (t = 0; t < 9; t += .5) a[0] += t;") == []
    assert CSource("void f(double *a) { for (double x = 0; x < 9; x++) a[0] += x; }").loops == []


@pytest.mark.parametrize(("body", "level"), [
    ("for (int i = 0; i < p->high; i++) p->a[i] = p->b[i];", SAFE),
    ("for (int i = 0; i < p->high; i++) p->high--;", CONFLICT),
    ("for (int i = 0; i < p->high; i++) *p = q[i];", CONFLICT),
    ("for (int i = 1; i < n; i++) x[i].re = x[i - 1].im;", SAFE),
    ("for (int i = 1; i < n; i++) x[i].re = x[i - 1].re;", CONFLICT),
    ("for (int i = 1; i < n; i++) x[i] = y[x[i - 1].re];", CONFLICT),
    ("for (int i = 0; i < n; i++) p->sum += a[i];", CONFLICT),
])  # fmt: skip
def test_fields_of_a_struct_are_places_of_their_own(body, level) -> None:
    """No clause can name one, so that a sum in a field stays as it is."""
    source = CSource(f"void f(struct grid *p, struct number *x, int n) {{ {body} }}")
    assert dependence(source, source.loops[0]).level == level


def test_an_index_that_is_assigned_once_stands_for_its_value() -> None:
    text = """void f(int n, int m, double *a, double *b) {
  int i, j, at, other;
  for (i = 0; i < n; i++)
    for (j = 0; j < m; j++) {
      at = i * m + j;
      a[at] = b[at + 1];
      SECOND
    }
}
"""
    plain = CSource(text.replace("SECOND", ""))
    assert [dependence(plain, x).level for x in plain.loops] == [SAFE, SAFE]
    assert dependence(plain, plain.loops[0]).private == {"at", "j"}
    for second in ("at = j;", "if (b[0] > 1) at = 3; a[at] = 1;", "other = at; a[other / 2] = 2;",
                   "a[other] = 1; other = j;"):  # fmt: skip
        source = CSource(text.replace("SECOND", second))
        assert dependence(source, source.loops[0]).level > SAFE, second
