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
