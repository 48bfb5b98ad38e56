"""Hashes in LLVM's text: which are the candidate's own, and what is kept of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rheostat.measurement.code.altered.data_hashes import DataHashes
from rheostat.measurement.code.altered.hash_texts import factors_in, weakened
from rheostat.measurement.code.reached import marked_builds
from rheostat.measurement.code.reached.marked_builds import factors_of_original
from tests.measurement.code.test_marks_and_texts import case_of

FACTOR = 1099511628211
DIGEST = f"""define i32 @main(ptr %argv) {{
  %1 = load i64, ptr %d
  %x = xor i64 %1, %key
  %mul = mul i64 %x, {FACTOR}
  store i64 %mul, ptr %d
}}
"""
SUMS = """define i32 @main(ptr %argv) {
  %1 = load i32, ptr %a
  %2 = add i32 %1, %byte
  %3 = urem i32 %2, 8191
  store i32 %3, ptr %a
  %4 = load i32, ptr %b
  %5 = load i32, ptr %a
  %6 = add i32 %4, %5
  %7 = urem i32 %6, 8191
  store i32 %7, ptr %b
}
"""


def test_a_digest_by_the_original_s_own_factor_is_no_hash_of_the_candidate_s(monkeypatch):
    """Of more digits than a number that is read from the text."""
    assert factors_in(DIGEST) == {FACTOR % 2**32}
    assert "and i64 %mul, 7" in weakened(DIGEST, set())[0]
    assert weakened(DIGEST, factors_in(DIGEST)) == ("", "")
    texts = [SimpleNamespace(ok=True, said=SimpleNamespace(stdout=DIGEST)),
             SimpleNamespace(ok=False, said=SimpleNamespace(stdout=""))]  # fmt: skip
    monkeypatch.setattr(marked_builds, "compiler_texts", lambda case, program: texts)
    assert factors_of_original(case_of("int x;")) >= {7, FACTOR % 2**32}


def test_a_factor_is_the_original_s_also_where_it_mixes_into_a_member():
    """A member's place is made anew for each access, so that no place is read and written."""
    member = DIGEST.replace("load i64, ptr %d", "load i64, ptr %mark").replace(
        "ptr %d", "ptr %mark2")  # fmt: skip
    assert weakened(DIGEST, factors_in(member)) == ("", "")


def test_a_checksum_of_sums_and_their_sums_is_a_hash():
    """As Fletcher's and Adler's; neither has a factor, nor shifts."""
    text, _ = weakened(SUMS, set())
    assert text.count("and i32 %3, 7") == text.count("and i32 %7, 7") == 1


def test_a_digest_in_two_statements_is_the_same_digest():
    two = DIGEST.replace("  %mul", "  store i64 %x, ptr %d\n  %2 = load i64, ptr %d\n  %mul")
    two = two.replace("mul i64 %x", "mul i64 %2")
    assert weakened(two, {FACTOR % 2**32}, xor=True) == ("", "")
    assert weakened(two, set(), xor=True)[0].count(", 7\n") == 2


@pytest.mark.parametrize(("before", "after"), [
    ("%5 = load i32, ptr %a", "%5 = load i32, ptr %c"),  # two sums by themselves
    ("urem i32 %6, 8191", "urem i32 %6, 100"),
])  # fmt: skip
def test_sums_within_a_range_of_their_own_are_none(before, after):
    assert weakened(SUMS.replace(before, after), set()) == ("", "")


PLACED = """define i32 @main(ptr %argv) {
  %s = alloca i32
  %x = load ptr, ptr %p
  %member = getelementptr inbounds %struct.Sale, ptr %x, i32 0, i32 1
  %1 = load i32, ptr %member
  %key = call i32 @mixed(i32 noundef %1)
  %at = lshr i32 %key, 7
}
define internal i32 @mixed(i32 noundef %k) {
  %k.addr = alloca i32
  store i32 %k, ptr %k.addr
  %2 = load i32, ptr %k.addr
  %mul = mul i32 %2, -1640531535
  %part = lshr i32 %mul, 7
  ret i32 %part
}
"""


def test_a_product_of_kept_data_is_a_hash_and_of_what_is_stored_back_a_draw():
    text, _ = weakened(PLACED, set())
    assert "  %mul = and i32 %mul.whole, 7\n" in text
    assert list(DataHashes([PLACED]).used()) == [("mixed", "%mul", 1640531535)]
    assert weakened(PLACED, factors_in(PLACED)) == ("", "")
    assert weakened(PLACED, set(), theirs=bool) == ("", "")
    back = PLACED.replace("  %at", "  store i32 %n, ptr %member\n  %n = add i32 %1, 1\n  %at")
    fixed_point = PLACED.replace("-1640531535", "38470")
    whole = PLACED.replace("%part = lshr i32 %mul, 7", "%part = add i32 %mul, 7")
    drawn = PLACED.replace("%s = alloca i32", "%s = mul i32 %seed, -1640531535")
    for other in (back, fixed_point, whole, drawn):
        assert list(DataHashes([other]).used()) == []


FOLDED = """define i32 @main(ptr %argv) {
  %x = load ptr, ptr %p
  %one = getelementptr inbounds %struct.Event, ptr %x, i32 0, i32 0
  %1 = load i64, ptr %one
  %two = getelementptr inbounds %struct.Event, ptr %x, i32 0, i32 0
  %2 = load i64, ptr %two
  %high = lshr i64 %2, 32
  %fold = xor i64 %1, %high
  %key = trunc i64 %fold to i32
}
"""
"""``(uint32_t)(event.visitor ^ event.visitor >> 32)``"""


@pytest.mark.parametrize("fold", ["xor i64", "add i64", "add nuw nsw i64"])
def test_parts_of_a_kept_word_that_are_laid_upon_each_other_are_a_hash(fold):
    text, _ = weakened(FOLDED.replace("xor i64", fold), set())
    assert f"  %fold.whole = {fold} %1, %high\n  %fold = and i64 %fold.whole, 7\n" in text
    early = FOLDED.replace("  %fold =", "  %low = trunc i64 %1 to i32\n  %fold =")
    early = early.replace("xor i64 %1, %high", "xor i32 %low, %up")
    early = early.replace("  %low", "  %up = trunc i64 %high to i32\n  %low")
    assert "  %fold = and i32 %fold.whole, 7\n" in weakened(early, set())[0]


@pytest.mark.parametrize(("before", "after"), [
    ("trunc i64 %fold to i32", "add i64 %fold, 1"),  # all bits are kept
    ("%high = lshr i64 %2, 32", "%high = and i64 %2, -1"),
    ("load i64, ptr %two", "load i64, ptr %n"),  # another number
    ("  %key", "  store i64 %fold, ptr %one\n  %key"),  # a generator's step
    ("xor i64 %1, %high", "add i64 %1, %high\n  %packed = shl i64 %n, 32"),  # x + y of a word
])  # fmt: skip
def test_a_word_s_parts_that_lose_nothing_or_are_two_numbers_are_none(before, after):
    assert before in FOLDED
    assert weakened(FOLDED.replace(before, after), set()) == ("", "")


ROLLED = """define i32 @main(ptr %argv) {
  %1 = load i64, ptr %w
  %2 = load i64, ptr %letter
  %moved = lshr i64 %1, 2
  %3 = shl i64 %2, %top
  %or = or i64 %moved, %3
  store i64 %or, ptr %w
}
"""
"""``w = w >> 2 | letter << top``: the other end of the window is no turn of it."""


def test_a_window_of_letters_is_no_hash_and_a_turned_word_is():
    assert weakened(ROLLED, set(), xor=True) == ("", "")
    turned = ROLLED.replace("%or =", "%up = shl i64 %1, 62\n  %4 = or i64 %up, %3\n  %or =")
    assert "and i64 %or, 7" in weakened(turned.replace("%moved, %3", "%moved, %4"), set())[0]
    crc = ROLLED.replace("or i64 %moved", "xor i64 %moved").replace("shl i64 %2, %top",
                                                                   "add i64 %2, %top")  # fmt: skip
    assert weakened(crc, set(), xor=True) == ("", "")
    crc = crc.replace("add i64 %2, %top", "load i64, ptr %table")
    assert "and i64 %or, 7" in weakened(crc, set(), xor=True)[0]
    assert weakened(crc, set()) == ("", "")


SHIFTED = """define i32 @main(ptr %argv) {
  %1 = load i32, ptr %h
  %2 = shl i32 %1, 5
  %3 = load i32, ptr %h
  %4 = add i32 %2, %3
  %5 = add i32 %4, %letter
  store i32 %5, ptr %h
}
"""
"""``h = (h << 5) + h + letter``"""


def test_a_factor_of_shifts_is_a_factor():
    assert "and i32 %5, 7" in weakened(SHIFTED, set())[0]
    for none in ("shl i32 %1, 3", "shl i32 %1, %n"):
        assert weakened(SHIFTED.replace("shl i32 %1, 5", none), set()) == ("", "")
    assert weakened(SHIFTED, {33}) == ("", "")
    spread = SHIFTED.replace("%4 = add", "%4 = or")
    assert weakened(spread, set()) == ("", "")


OF_TEXT = """define i32 @place(ptr %name) {
  %h = alloca i32
  store i32 -2128831035, ptr %h
  %1 = load i32, ptr %h
  %c = load ptr, ptr %at
  %2 = load i8, ptr %c
  %byte = zext i8 %2 to i32
  %mixed = xor i32 %1, %byte
  %mul = mul i32 %mixed, 16777619
  store i32 %mul, ptr %h
}
"""


def test_a_variable_that_takes_in_text_from_a_constant_on_is_a_hash_and_no_generator():
    assert DataHashes([OF_TEXT]).rolled("place") == {"%h"}
    seeded = OF_TEXT.replace("store i32 -2128831035", "store i32 %seed")
    no_text = OF_TEXT.replace("load i8", "load i32").replace("zext i8", "zext i32")
    for generator in (seeded, no_text, OF_TEXT.replace("%h = alloca", "%h = add")):
        assert DataHashes([generator]).rolled("place") == set()


PASSED = OF_TEXT.replace("place(ptr %name)", "place(ptr %name, i32 %seed)").replace(
    "  store i32 -2128831035, ptr %h",
    """  %seed.addr = alloca i32
  store i32 %seed, ptr %seed.addr
  %0 = load i32, ptr %seed.addr
  %first = mul i32 %0, 16777619
  store i32 %first, ptr %h""",
)
CALLER = """define i32 @main(ptr %argv) {
  %k = alloca i32
  store i32 -2128831035, ptr %k
STEPPED
  %4 = load i32, ptr %k
  %5 = call i32 @place(ptr %argv, i32 %4)
}
"""


@pytest.mark.parametrize(("stepped", "begins"), [
    ("", {"%h", "%seed.addr"}), ("  %3 = call i32 @draw()\n  store i32 %3, ptr %k", set()),
    ("  store ptr @place, ptr %p", set()),
    ("  %3 = load i32, ptr %k\n  %6 = add i32 %3, 1\n  store i32 %6, ptr %k", set()),
])  # fmt: skip
def test_a_hash_may_begin_with_a_constant_that_is_passed_to_it_and_not_with_what_counts(
    stepped, begins
):
    codes = [PASSED, CALLER.replace("STEPPED", stepped)]
    assert DataHashes(codes).rolled("place") == begins


SETTLED = """define i32 @main(ptr %argv) {
  %1 = load i32, ptr %sum
  store i32 %1, ptr %was
  %2 = load i32, ptr %sum
  %3 = add i32 %2, %part
  store i32 %3, ptr %sum
  %4 = load i32, ptr %sum
  %5 = load i32, ptr %was
  %cmp = icmp ne i32 %4, %5
}
"""
WEIGHED = SETTLED.replace("  %3 =", "  %part = mul nsw i32 %weight, %value\n  %3 =")
IN_A_REGION = SETTLED.replace(
    "%1 = load", "call void (...) @__kmpc_fork_call(ptr @r, ptr %sum)\n  %1 = load"
) + WEIGHED.replace("@main", "@r").replace("icmp ne", "icmp slt")
BY_A_FUNCTION = SETTLED.replace("add i32 %2, %part", "call i32 @total()") + WEIGHED.replace(
    "@main", "@total"
).replace("icmp ne", "icmp slt")


@pytest.mark.parametrize("text", [WEIGHED, IN_A_REGION, BY_A_FUNCTION])
def test_a_weighted_sum_that_is_compared_with_what_it_was_is_compared_by_few_bits(text):
    assert "%cmp.few = and i32 %cmp.sums, 7" in weakened(text, set())[0]
    assert weakened(text, set(), theirs=lambda row: "icmp ne" in row) == ("", "")


@pytest.mark.parametrize("text", [
    SETTLED,  # values that only fall have another sum as long as one falls
    WEIGHED.replace("store i32 %1, ptr %was", "store i32 %limit, ptr %was"),
    WEIGHED.replace("icmp ne", "icmp slt"),
])  # fmt: skip
def test_other_sums_and_comparisons_are_left(text):
    assert weakened(text, set()) == ("", "")
