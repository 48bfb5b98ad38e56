"""Costs of programs: paired times, counts of work, modelled energy, comparison of outputs."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.code.costs.modelled_energy import EnergyModel
from rheostat.measurement.code.costs.paired_times import FASTER, SLOWER, in_turns, paired_times
from rheostat.measurement.code.costs.work_counts import WorkCounts
from rheostat.measurement.code.ladder import LADDER
from rheostat.measurement.code.parsing.compare_output import (
    Tolerance,
    differences,
    output_lines,
    spread,
)
from rheostat.measurement.code.parsing.diagnostics import (
    compiler_findings,
    oclgrind_findings,
    race_findings,
    sanitizer_findings,
)
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs, inputs_of
from rheostat.measurement.code.verdict import RUNGS


def test_equal_programs_are_seldom_called_faster_or_slower() -> None:
    rng = np.random.default_rng(0)
    called = 0
    for k in range(200):
        noise = 1 + 0.1 * rng.standard_exponential((2, 9))
        times = paired_times(noise[0], noise[1], minimum_effect=0.03, seed=k)
        called += times.change in (FASTER, SLOWER)
    assert called <= 20, "a 95 % interval of the median of nine pairs"


def test_a_halved_time_is_seen_and_an_effect_below_the_least_is_none() -> None:
    rng = np.random.default_rng(1)
    noise = 1 + 0.05 * rng.standard_exponential((2, 9))
    half = paired_times(noise[0], 0.5 * noise[1], minimum_effect=0.03)
    assert (half.change, half.low < 0.5 < half.high) == ("faster", True)
    ones = np.ones(9)
    assert paired_times(ones, 1.02 * ones, minimum_effect=0.03).change == "no significant change"
    assert paired_times(ones, 1.02 * ones, minimum_effect=0.01).change == "slower"


def test_turns_alternate_so_that_drift_favours_nobody() -> None:
    order: list[str] = []
    in_turns(lambda: order.append("a") or 1.0, lambda: order.append("b") or 1.0, 2)
    assert order == ["a", "b", "b", "a"]


def test_modelled_energy_adds_up_and_rises_with_each_count() -> None:
    model, nothing = EnergyModel(), WorkCounts(0.0, 0.0, 0.0, 0.0)
    assert model.energy_j(nothing, 0.0) == 0.0
    base = WorkCounts(1e9, 4e8, 1e6, 1e5, 1e8, 1e8)
    for name in ("instructions", "last_level_misses", "scalar_flops", "vector_flops"):
        more = WorkCounts(**{**vars(base), name: 2 * getattr(base, name)})
        assert model.energy_j(more, 1.0) > model.energy_j(base, 1.0)


def test_modelled_energy_is_that_of_events_and_of_a_socket_with_busy_cores() -> None:
    counts = WorkCounts(1e9, 4e8, 1e7, 1e6, 2e8, 3e8)
    assert EnergyModel().runtime_s(counts) == pytest.approx((1e9 + 10 * 1e7 + 200 * 1e6) / 2.4e9)
    events_j = 0.118 + 0.2 * 0.318 + 0.3 * 0.105 + 64e-3 * 0.307
    assert EnergyModel().energy_j(counts, 2.0) == pytest.approx(events_j + 2 * (104.6 + 2.34))
    assert EnergyModel().energy_j(counts, 2.0, 8) == pytest.approx(events_j + 2 * (104.6 + 18.72))
    assert EnergyModel().power_w(8) == pytest.approx(140.0)


@pytest.mark.parametrize(
    ("got", "expected", "same"),
    [
        ("sum 1.00000001", "sum 1.0", True),
        ("sum 1.0001", "sum 1.0", False),
        ("count 101", "count 100", False),
        ("a 1e-13", "a 0.0", True),
        ("nan", "1.0", False),
        ("sum 1.0 Time (v1): 3.2 (us)", "sum 1.0 Time (v1): 9.1 (us)", True),
        ("сумма 7 за 3.2 сек", "сумма 7 за 9.1 сек", True),
        ("Tempo de execução: 3.2", "Tempo de execução: 9.1", True),
        ("верно: да", "верно: нет", False),
        ("sum 7 ordonné", "sum 7 ordonne", False),
        ("temps 3.2", "temps 9.1", False),
        ("sum 1.0 Time: 3.2 s", "sum 1.0 Time: 9.1 s", True),
        ("elapsed 0.5\nsum 2", "sum 2", True),
        ("sum 2", "sum 2\nmax 3", False),
        ("12.5 GFLOPS\nx 1", "9.1 GFLOPS\nx 1", True),
        ("PASS", "FAIL", False),
    ],
)
def test_outputs_are_compared_as_numbers_and_words(got: str, expected: str, same: bool) -> None:
    assert (differences(got, expected, Tolerance()) == []) is same


def test_a_result_beside_a_time_still_counts() -> None:
    assert differences("sum 1.5 in 0.2 s", "sum 2.5 in 0.9 s", Tolerance()) != []
    only = Tolerance(outputs=(r"sum (\S+)",))
    assert [x.tokens for x in output_lines("n 9\nsum 4.5 x", only)] == [("4.5",)]
    assert spread("a 1.0 b 2.0", "a 1.0 b 2.2") == pytest.approx(1 / 11)


def test_findings_have_places() -> None:
    nvcc = compiler_findings('a.cu(7): error: identifier "x" is undefined\n')[0]
    assert (nvcc.file, nvcc.line) == ("a.cu", 7)
    link = compiler_findings("/usr/bin/ld: /tmp/x.o: in function `main':\n"
                             "a.c:(.text+0x5): undefined reference to `f'\n")  # fmt: skip
    assert link[0].message == "undefined reference to `f'"
    report = (
        "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6 at pc 0x5\n"
        "READ of size 8 at 0x6 thread T0\n    #0 0x55 in main /sandbox/a.c:12:20\n"
    )
    (overflow,) = sanitizer_findings(report)
    assert overflow.words == "a.c:12: AddressSanitizer: heap-buffer-overflow"
    race = ("WARNING: ThreadSanitizer: data race (pid=3)\n  Write of size 8 at 0x7 by thread T1:\n"
            "    #0 .omp_outlined. /sandbox/a.c:9:5 (a+0x1)\n\n  Previous read of size 8 at 0x7 by "
            "main thread:\n    #0 .omp_outlined. /sandbox/a.c:11:5 (a+0x1)\n")  # fmt: skip
    assert race_findings(race)[0].words == "a.c:9: data race, with a.c:11"
    ocl = ("\nRead-write data race at global memory address 0x1000000000000\n\tKernel: add\n\n"
           "\tFirst entity:  Global(0,0,0)\n\tAt line 4 of input.cl:\n\t  x\n\n")  # fmt: skip
    assert oclgrind_findings(ocl)[0].words == "input.cl:4: Read-write data race"


def test_inputs_are_guessed_around_defaults_wherever_these_stand() -> None:
    text = """
    #define N 640
    int n = argc > 1 ? atoi(argv[1]) : N, steps = 20; double dt = 0.5;
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) dt = strtod(argv[3], NULL);
    unsigned seed = (argc > 4) ? (unsigned)strtoul(argv[4], 0, 10) : 42;
    """
    ranges = inputs_of(text).ranges
    assert list(ranges) == ["n", "steps", "dt", "seed"]
    assert (ranges["n"].low, ranges["n"].high) == (20, 800)
    assert (ranges["steps"].high, ranges["dt"].kind, ranges["seed"].kind) == (25, "real", "seed")
    assert inputs_of("int main(int argc, char **argv) { return run(argv[1]); }").ranges == {}


def test_small_inputs_come_from_the_low_end_and_the_same_seed_draws_the_same() -> None:
    inputs = ProgramInputs({"n": InputRange(10, 10000, multiple_of=4)}, ("{n}",))
    draw = lambda part, seed: int(inputs.draw(np.random.default_rng(seed), part).arguments[0])  # noqa: E731
    assert all(draw((0, 0.25), k) <= 60 for k in range(50))
    assert {draw((0, 1), k) % 4 for k in range(50)} == {0}
    assert draw((0, 1), 3) == draw((0, 1), 3)
    with pytest.raises(DataError, match="has no range"):
        ProgramInputs({"n": InputRange(1, 2)}, ("{m}",))


def test_every_rung_has_its_place() -> None:
    assert tuple(LADDER) == RUNGS
