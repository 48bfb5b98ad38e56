"""What programs that time others write."""

from rheostat.measurement.benchmark_reports.google_benchmark import GOOGLE_BENCHMARK
from rheostat.measurement.benchmark_reports.hyperfine import HYPERFINE
from rheostat.measurement.benchmark_reports.jmh import JMH
from rheostat.measurement.benchmark_reports.kernel_tuner import KERNEL_TUNER
from rheostat.measurement.benchmark_reports.pytest_benchmark import PYTEST_BENCHMARK

BENCHMARK_REPORTS = (HYPERFINE, GOOGLE_BENCHMARK, PYTEST_BENCHMARK, JMH, KERNEL_TUNER)

__all__ = ["BENCHMARK_REPORTS"]
