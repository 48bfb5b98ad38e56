"""A profile of one run is named as such, whichever tool wrote it: its rows are no runs."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.measurement.runs.guess import guess_name

NSYS = (
    "Time (%),Total Time (ns),Instances,Avg (ns),Name\n61.2,3000000000,10,3e8,gemm\n"
    "38.8,1900000000,20,9.5e7,softmax\n"
)
PERF = (
    "# Samples: 12K of event 'cycles'\n#\n# Overhead  Command  Shared Object  Symbol\n"
    "# ........  .......  .............  ......\n    45.12%  lbm  lbm  [.] stream\n"
)
TORCH = (
    "-------  ----------  --------  ----------\n   Name  Self CPU %  Self CPU  # of Calls\n"
    "-------  ----------  --------  ----------\naten::mm      40.21%  12.345ms          12\n"
)
OWN = "kernel,calls,time_%,total_time_ms\ngemm,10,60,300\nfft,5,40,200\n"


@pytest.mark.parametrize(("text", "said"), [
    (NSYS, "by nsys stats.*2 of them took 4.9 s together"), (PERF, "by perf report"),
    (TORCH, "by PyTorch's profiler"), (OWN, "a profile of one run: .* 2 of them took 0.5 s"),
    ("Flat profile:\n\nEach sample counts as 0.01 seconds.\n", "by gprof"),
])  # fmt: skip
def test_a_profile_is_no_table_of_runs(tmp_path, text, said):
    file = tmp_path / "profile.csv"
    file.write_text(text)
    with pytest.raises(rh.errors.DataError, match=said):
        rh.read(file)


def test_a_share_of_time_is_no_time():
    """61.2 % was read as 61.2 s; where the table is asked for as it stands its totals count."""
    assert guess_name("Time (%)") is None
    assert guess_name("Power (% of TDP)") is None


def test_units_of_profilers_are_known(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text(
        "run,Metric Name,Metric Unit,Metric Value\n"
        "1,Duration,usecond,12.5\n1,Waves,,3\n2,Duration,usecond,11.0\n2,Waves,,3\n"
    )
    assert rh.read(file).frame["runtime_s"].to_list() == pytest.approx([12.5e-6, 11e-6])
