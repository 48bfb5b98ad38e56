"""What an end with an error hangs on: arguments and the system, or data."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.reached.error_ends import DataFlow

CODE = """define double @draw() {
  %d = load double, ptr @state
  ret double %d
}
define i32 @status() {
  %s = load i32, ptr %kept
  ret i32 %s
}
define i32 @main(i32 %argc, ptr %argv) {
  store i32 %argc, ptr %argc.addr
  %n = load i32, ptr %argc.addr
  %text = getelementptr inbounds ptr, ptr %argv, i64 1
  %word = load ptr, ptr %text
  %number = call i32 @atoi(ptr noundef %word)
  %said = call i32 (ptr, ...) @printf(ptr noundef @.str)
  %element = getelementptr inbounds double, ptr %a, i64 %i
  %x = load double, ptr %element
  %size = call double @llvm.fabs.f64(double %x)
  %option = getelementptr inbounds %struct.S, ptr %options, i32 0, i32 1
  %o = load i32, ptr %option
  %cell = getelementptr inbounds %struct.S, ptr %cells, i64 %i
  %inner = getelementptr inbounds [4 x double], ptr %cell, i64 0, i64 %i
  %c = load double, ptr %inner
  %at = call noundef nonnull ptr @_ZNSt6vectorIdSaIdEEixEm(ptr %v, i64 %i)
  %v0 = load double, ptr %at
  %drawn = call double @draw()
  %ended = call i32 @status()
  %seed0 = load i32, ptr %seed
  %times = mul i32 %seed0, 1664525
  %next = add i32 %times, 1013904223
  store i32 %next, ptr %seed
  %s = load i32, ptr %seed
  %cap0 = load i32, ptr %cap
  %twice = mul nsw i32 %cap0, 2
  store i32 %twice, ptr %cap
  %k = load i32, ptr %cap
}
"""


@pytest.mark.parametrize(("value", "on_data"), [
    ("%n", False), ("%number", False), ("%said", False), ("%o", False), ("%ended", False),
    ("%k", False), ("%x", True), ("%size", True), ("%c", True), ("%v0", True), ("%drawn", True),
    ("%s", True),
])  # fmt: skip
def test_elements_variables_of_the_file_and_draws_are_data(value, on_data):
    assert DataFlow(CODE).on_data("main", value) is on_data
    assert not DataFlow(CODE).on_data("elsewhere", value)
