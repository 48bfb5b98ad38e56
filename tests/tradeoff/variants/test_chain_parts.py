"""Chains of variants in parts: parents of islands, plans of pragmas, sets of flags."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.tradeoff.variants import placement, tuning
from rheostat.tradeoff.variants.islands import (
    AFTER,
    MIGRATION,
    MOST_REPEATS,
    PATIENCE,
    Islands,
    until_accepted,
)
from rheostat.tradeoff.variants.placement import PragmaPlacement
from rheostat.tradeoff.variants.tuning import FLAGS, Tuning, fast_flags
from rheostat.tradeoff.variants.variant import Variant, VariantResult, diff_lines

NAN = math.nan


def made(choices) -> Variant | None:
    text = "\n".join(f"{thing} {option}" for thing, option in sorted(choices))
    return None if "never" in text else Variant(text, "search", text)


def known(**figures) -> list:
    return [(frozenset({(name, "a")}), VariantResult(True, *values))
            for name, values in figures.items()]  # fmt: skip


def test_an_island_minimises_its_figure_and_the_time_where_there_is_no_energy() -> None:
    one = Islands({}, made, "x a\n")
    choices = frozenset({("x", "a"), ("y", "b")})
    for result, after, figure in (
        (VariantResult(True, 0.9, 1.0, 0.8), "runtime_s", 0.9),
        (VariantResult(True, 0.9, 1.0, 0.8), "energy_j", 0.8),
        (VariantResult(True, 0.9, 1.0, NAN), "energy_j", 0.9),
        (VariantResult(True, NAN, NAN, NAN), "energy_j", math.inf),
        (VariantResult(True, NAN, NAN, 0.5), "runtime_s", math.inf),
        (VariantResult(True, 0.9, 1.0, 1.1), "diff_lines", 1.0),
        (VariantResult(True, 1.1, 1.0, 0.9), "diff_lines", 1.0),
        (VariantResult(True, 1.0, 1.0, 1.0), "diff_lines", math.inf),
        (VariantResult(True, NAN, NAN, NAN), "diff_lines", math.inf),
    ):
        assert one._figure(choices, result, after) == figure
    never = frozenset({("never", "a")})
    assert one._figure(never, VariantResult(True, 0.5, 0.5, 0.5), "diff_lines") == math.inf


def test_the_best_of_a_figure_and_the_least_that_a_choice_cost() -> None:
    one = Islands({}, made, "", known(x=(0.9, 1, 0.5), y=(0.7, 1, 0.8)))
    x, y = (choices for choices, _ in one.known)
    assert (one._best("runtime_s"), one._best("energy_j")) == (y, x)
    one.known += known(x=(0.8, 1, 0.6))
    assert (one._cost(x, "runtime_s"), one._cost(x, "energy_j")) == (0.8, 0.5)


def test_islands_take_turns_and_every_fifth_round_take_their_neighbours_best() -> None:
    one = Islands({n: ("a",) for n in "abcdefghijklmnopqrstuvw"}, made, "",
                  known(x=(0.9, 1, 0.9)))  # fmt: skip
    asked, best = [], one._best
    one._best = lambda after: (asked.append(after), best(after))[1]
    assert (MIGRATION, PATIENCE, MOST_REPEATS) == (5, 8, 40)
    steps, turns = one.steps(), 3 * MIGRATION + 4
    next(steps)
    parents = [asked[0]]
    for k in range(turns):
        asked.clear()
        steps.send(VariantResult(accepted=True, runtime_ratio=0.9 * 0.9 ** (k + 1)))
        parents.append(asked[0])
    rounds = [list(AFTER)] * (MIGRATION - 1) + [[*AFTER[1:], AFTER[0]]] + [list(AFTER)] * 2
    assert parents == [after for one in rounds for after in one][: turns + 1]


def test_a_change_chooses_one_thing_otherwise() -> None:
    one = Islands({"x": ("a", "b"), "y": ("c",)}, made, "")
    start = frozenset({("x", "a")})
    rng, seen = np.random.default_rng(0), set()
    for _ in range(200):
        seen.add(one._changed(start, rng))
    assert seen == {frozenset(), frozenset({("x", "b")}), frozenset({("x", "a"), ("y", "c")})}


def test_more_is_changed_at_once_the_more_repeats_came_up() -> None:
    one = Islands({"x": ("a",)}, made, "", known(x=(0.9, 1, 0.9)))
    rng, start = np.random.default_rng(0), frozenset({("x", "a")})
    assert one._child(start, rng, {made(frozenset()).identity, made(start).identity}) is None
    choices, variant = one._child(start, rng, {made(start).identity})
    assert (choices, variant.text) == (frozenset(), "")
    counts, changed = [], one._changed
    one._changed = lambda c, r: (counts.append(1), changed(c, r))[1]
    one._child(start, rng, {made(frozenset()).identity, made(start).identity})
    assert sum(counts) == sum(1 + k // 4 for k in range(40))


@pytest.mark.parametrize(("accepted", "most", "asked"), [
    ((), 2, "abxy"), ((), 9, "abcxy"), ((), 0, "xy"), ((0,), 2, "abc"), ((1,), 2, "abc"),
    ((2,), 2, "abxy"), ((2,), 3, "abc"), ((2,), 9, "abc"),
])  # fmt: skip
def test_another_chain_begins_where_the_first_variants_are_all_rejected(
    accepted, most, asked
) -> None:
    def chain(names):
        for name in names:
            yield Variant(name, "p", name)

    steps, seen = until_accepted(chain("abc"), lambda: chain("xy"), most), []
    variant = next(steps, None)
    while variant is not None:
        seen.append(variant.text)
        try:
            variant = steps.send(VariantResult("abc".find(variant.text) in accepted))
        except StopIteration:
            variant = None
    assert "".join(seen) == asked


def test_lines_added_and_removed_are_counted() -> None:
    text = "".join(f"line {i}\n" for i in range(9))
    changed = text.replace("line 1", "LINE 1").replace("line 3\nline 4\n", "") + "--x\n++y\n"
    assert diff_lines(text, changed) == 2 + 2 + 2
    assert diff_lines(text, text) == diff_lines("", "") == 0
    assert diff_lines("--i;\n", "++i;\n") == 2


CALLED = """double g(long n, double *a) {
  double s = 0;
  for (long i = 0; i < n; i++) s += a[i];
  return s;
}
void f(long n, double *a, double *b) {
  for (long i = 0; i < n; i++) {
    b[i] = g(n, a);
  }
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < n; j++) {
      a[i * n + j] = 1;
    }
  }
  for (long k = 0; k < n; k++) a[x[k]] = 3;
}
"""


def starts(placement: PragmaPlacement) -> dict[int, int]:
    """Places of loops by their lines."""
    return {x.line: x.start for x in placement.sites.source.loops}


def test_a_loop_that_is_called_within_a_shared_one_is_not_shared() -> None:
    p = PragmaPlacement(CALLED)
    at = starts(p)
    plan = {at[3]: "static", at[7]: "static", at[10]: "static"}
    assert p._settled(plan) == {at[7]: "static", at[10]: "static"}
    assert p._settled({at[3]: "static"}) == {at[3]: "static"}
    assert set(p._first()) == {at[3], at[10]}  # a loop around its call makes it heavy
    assert [x.line for x in p._children(p.sites.source.loops[2])] == [11]


def test_lines_of_loops_move_down_with_the_pragmas_before_them() -> None:
    p = PragmaPlacement(CALLED)
    at = starts(p)
    plan = {at[7]: "static", at[10]: "collapse", at[15]: "access"}
    lines = p.sites.text(plan).splitlines()
    ends = {at[7]: "  }", at[10]: "  }", at[15]: "  a[x[k]] = 3;"}
    for start, (first, last) in p._lines(plan).items():
        assert "#pragma omp parallel for" in lines[first - 1]
        assert "for (long" in lines[first]
        assert lines[last - 1].startswith(ends[start][:3])
    assert p._lines({at[10]: "static"}) == {at[10]: (10, 15)}


@pytest.mark.parametrize(("findings", "blamed"), [
    ((), 15), (((8, "race"),), 7), (((9, "race"),), 7), (((99, "race"),), 15),
    (((8, "race"), (18, "race")), 15), (((12, "race"), (8, "race")), 7),
])  # fmt: skip
def test_blamed_is_where_a_finding_is_else_what_is_least_certain(findings, blamed) -> None:
    p = PragmaPlacement(CALLED)
    at = starts(p)
    plan = {at[7]: "static", at[10]: "static", at[15]: "static"}
    assert p._blamed(plan, VariantResult(False, findings=findings)) == [at[blamed]]
    sure = {at[7]: "static", at[10]: "static"}
    assert p._blamed(sure, VariantResult(False)) == [max(sure, key=p.sites.weights.get)]


def test_sums_keep_their_order_where_the_output_is_wrong_and_no_loop_is_blamed() -> None:
    p = PragmaPlacement("""double f(long n, double *a, double *b) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum += a[i] * a[i];
  for (long i = 0; i < n; i++) b[i] = a[i] / sum;
  return sum;
}
""")
    at = starts(p)
    plan = p._first()
    assert set(plan) == {at[3], at[4]}
    assert p._repaired(plan, VariantResult(False)) == {at[4]: "static"}
    assert p._in_another_order(plan, VariantResult(False, findings=((4, "race"),))) == []
    assert p._in_another_order({at[3]: "static"}, VariantResult(False)) == []


def test_a_plan_goes_outward_and_takes_in_the_light_loops() -> None:
    p = PragmaPlacement(CALLED)
    at = starts(p)
    inner = {at[11]: "static"}
    assert p._outward(inner) == {at[10]: "static"}
    assert p._outward({at[10]: "static"}) is None
    p._refused = {(at[10], "static")}
    assert p._outward(inner) is None
    assert p._everything(inner) == {at[11]: "static", at[7]: "static"}
    assert p._everything({at[10]: "dynamic"}) == {at[10]: "dynamic", at[7]: "static"}
    assert p._known_bad({})
    assert p._known_bad({at[10]: "static", at[7]: "static"})
    assert not p._known_bad({at[10]: "dynamic"})
    assert p._with(at[10], "guided")({at[10]: "static"}) == {at[10]: "guided"}
    assert p._with(at[7], "guided")({at[10]: "static"}) is None


def test_islands_of_pragmas_make_plans_that_go_together() -> None:
    p = PragmaPlacement(CALLED, ("-O3",))
    at, islands = starts(p), p.islands(7)
    assert set(islands.options) == {x.start for x in p.sites.loops}
    assert islands.options[at[10]] == ("static", "dynamic", "guided", "collapse")
    assert (islands.seed, islands.original) == (7, CALLED)
    assert islands.made(frozenset()) is None
    assert islands.made(frozenset({(at[3], "static"), (at[7], "static")})) is None
    variant = islands.made(frozenset({(at[10], "guided"), (at[7], "static")}))
    assert variant.change == "line 7: static, line 10: guided"
    assert variant.flags == ("-O3",)
    assert variant.text.count("#pragma") == 2


def test_a_gain_is_beyond_noise_up_to_the_upper_end() -> None:
    p = PragmaPlacement(CALLED)
    assert (placement.GAIN, tuning.GAIN) == (0.97, 0.99)
    for ratio, high, least, faster in ((placement.GAIN, NAN, 1.0, False),
                                       (placement.GAIN - 1e-9, NAN, 1.0, True),
                                       (0.9, NAN, 1.0, True), (0.9, 1.0, 1.0, False),
                                       (0.9, 0.99, 1.0, True), (0.999, 0.9, 1.0, False),
                                       (1.1, NAN, 1.0, False)):  # fmt: skip
        assert p._is_faster(VariantResult(True, ratio, high), least) is faster


def test_flags_of_speed_replace_levels_and_machines_and_keep_the_rest(monkeypatch) -> None:
    monkeypatch.setattr(tuning, "_instructions", lambda: {"avx2", "fma", "sse"})
    given = ("-O2", "-lm", "-march=native", "-ffast-math", "-O", "-DX")
    vectors = tuple(f"-m{v}" for v in tuning.VECTORS if v in ("avx2", "fma", "sse"))
    assert fast_flags(given, exact=True) == ("-O3", *vectors, "-lm", "-DX")
    assert fast_flags(given, exact=False) == ("-O3", *vectors, "-ffast-math", "-lm", "-DX")


@pytest.mark.parametrize(("text", "known"), [
    ("vendor_id : x\nflags\t\t: fpu avx2 fma\nbugs : none\n", {"fpu", "avx2", "fma"}),
    ("Features : neon\n", set()), (None, set()),
])  # fmt: skip
def test_instructions_are_those_that_the_kernel_lists(text, known, tmp_path, monkeypatch) -> None:
    file = tmp_path / "cpuinfo"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(tuning, "Path", lambda name: file)
    assert tuning._instructions() == known


TEXT = "double f(long n, double *a) { for (long i = 0; i < n; i++) a[i] = pow(a[i], 2); return 0; }"


def test_islands_of_tuning_choose_rewritings_and_one_set_of_flags(monkeypatch) -> None:
    monkeypatch.setattr(tuning, "_instructions", lambda: {"avx2"})
    tuned = Tuning(TEXT, ("-O2", "-lm"), "serial")
    islands = tuned.islands(3)
    assert islands.seed == 3
    assert islands.options[FLAGS] == (
        "-O3 -mavx2 -ffast-math -lm", "-O3 -mavx2 -lm", "-O3 -mavx2 -ffast-math -lm -funroll-loops",
        "-O3 -mavx2 -lm -funroll-loops", "-Os -lm")  # fmt: skip
    assert islands.made(frozenset()) is None
    assert islands.made(frozenset({(FLAGS, "-O2 -lm")})) is None
    assert islands.made(frozenset({("quotients as products", "made")})) is None  # nothing to do
    size = islands.made(frozenset({(FLAGS, "-Os -lm")}))
    assert (size.text, size.flags, size.change) == (TEXT, ("-Os", "-lm"), "flags -Os")
    both = islands.made(frozenset({("powers as products", "made"), (FLAGS, "-Os -lm")}))
    assert both.change == "powers as products, flags -Os"
    assert "pow" not in both.text
    assert islands.made(frozenset({("powers as products", "made")})).flags == ("-O2", "-lm")


def test_what_was_accepted_is_kept_with_what_it_changed() -> None:
    tuned = Tuning(TEXT)
    tuned._accepted(("powers as products", "quotients as products"), ("-O3",), VariantResult(True))
    tuned._accepted(("powers as products",), ("-O3",), VariantResult(False))
    ((choices, _),) = tuned.accepted
    assert choices == {("powers as products", "made"), (FLAGS, "-O3")}
    assert tuned._tested(()) == [("powers as products",)]
    assert tuned._tested(("powers as products",)) == [()]


def test_of_two_rewritings_none_and_each_alone_are_tried_next() -> None:
    text = TEXT.replace("return 0;", "for (long i = 0; i < n; i++) a[i] = a[i] / s; return 0;")
    tuned = Tuning(text.replace("long n,", "long n, double s,"))
    powers, quotients = "powers as products", "quotients as products"
    assert tuned._tested((powers, quotients)) == [(), (quotients,), (powers,)]
