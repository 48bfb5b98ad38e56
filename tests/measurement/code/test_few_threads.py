"""Many inputs on few threads: what one in a hundred shows there and nowhere else."""

from __future__ import annotations

from types import SimpleNamespace

from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.surroundings.few_threads import on_few_threads
from tests.measurement.code.rung_cases import given


def case_that_prints(
    outputs: dict[int, list[str | None]], again: list[str], text: str = ""
) -> SimpleNamespace:
    """Four inputs of the original; what the candidate prints by threads, and then by itself."""
    many = [(given(k).given, f"sum {k}") for k in range(4)]
    reference = SimpleNamespace(expected=[given(9)], agreed=Tolerance(), admitted=given_of)
    bench = SimpleNamespace(
        run_each=lambda built, every, limits, *, threads, most_cpu_s: outputs[threads],
        run=lambda built, one, *, threads, limits: (threads, one.arguments[0]),
    )
    return SimpleNamespace(many=many, candidate=SimpleNamespace(text=text), reference=reference,
                           bench=bench, built=None, limits=lambda expected, threads: None,
                           wrong=lambda rung, run, expected, how: [f"{run}{how}"] * (
                               run[1] in again))  # fmt: skip


def given_of(one):
    return given(int(one.arguments[0]))


RIGHT = ["sum 0", "sum 1", "sum 2", "sum 3"]


def test_an_input_that_is_wrong_on_three_threads_alone_is_told():
    other = ["sum 0", "sum 1", "sum 7", "sum 3"]
    (found,) = on_few_threads(case_that_prints({2: RIGHT, 3: other}, ["2"]))
    assert found == "(3, '2') and 3 threads"


def test_a_candidate_that_asks_for_a_thread_s_number_has_more_parts():
    outputs = {2: RIGHT, 3: RIGHT, 5: RIGHT, 8: ["sum 4", *RIGHT[1:]]}
    (found,) = on_few_threads(case_that_prints(outputs, ["0"], "omp_get_num_threads()"))
    assert found == "(8, '0') and 8 threads"
    assert on_few_threads(case_that_prints(outputs, ["0"])) == []


def test_what_does_not_come_again_or_was_not_run_is_no_finding():
    late = ["sum 0", "sum 8", None]
    assert on_few_threads(case_that_prints({2: RIGHT, 3: late}, ["3"])) == []
    nothing = case_that_prints({}, [])
    nothing.many = []
    assert on_few_threads(nothing) == []
