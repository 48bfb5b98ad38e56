"""PCM column by column: each scaled to its base unit, per second where it is an amount."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.counters import read_pcm

WANT = {
    "EXEC": ("exec_share", 3.0), "IPC": ("ipc", 3.0), "CFREQ": ("core_hz", 3e9),
    "PhysIPC%": ("core_ipc", 0.03), "UncFREQ (Ghz)": ("uncore_hz", 3e9),
    "C0res%": ("c0_share", 0.03), "L3MISS": ("llc_misses_per_s", 6e6),
    "L2MISS": ("l2_misses_per_s", 6e6), "READ": ("memory_read_b_per_s", 6e9),
    "WRITE": ("memory_write_b_per_s", 6e9), "INST": ("instructions_per_s", 6e6),
    "Proc Energy (Joules)": ("package_power_w", 6.0), "DRAM Energy (Joules)": ("dram_power_w", 6.0),
}  # fmt: skip


def write(tmp_path, *lines):
    path = tmp_path / "pcm.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", WANT)
def test_a_column_has_its_unit(tmp_path, name) -> None:
    path = write(tmp_path, f"Time,EXEC,{name}" if name != "EXEC" else "Time,EXEC",
                 *(f"10:00:0{t:.1f},3,3" for t in (0.0, 0.5, 1.0)))  # fmt: skip
    ours, value = WANT[name]
    assert read_pcm(path).numpy(ours) == pytest.approx(np.full(3, value))


def test_sums_are_the_system_s_and_not_a_socket_s_wherever_they_stand(tmp_path) -> None:
    path = write(tmp_path, "Socket0,,System,,System Core C-States,Socket0",
                 "Time,EXEC,EXEC,CFREQ,C0res%,IPC", "00:00:00.0,9,0.5,2.1,40,9",
                 "00:00:01.0,9,0.4,2.0,50,9")  # fmt: skip
    jobs = read_pcm(path)
    assert jobs.numpy("exec_share").tolist() == [0.5, 0.4]
    assert jobs.numpy("c0_share").tolist() == [0.4, 0.5]
    assert "ipc" not in jobs.columns


def test_settings_divide_the_rows_into_runs_and_midnight_does_not(tmp_path) -> None:
    path = write(
        tmp_path,
        "Time,EXEC,cap_w,app",
        "23:59:59,1,100,a",
        "00:00:01,1,100,a",
        "00:00:03,1,200,a",
        "00:00:04,1,200,a",
        "x,1,200,a",
        "00:00:02,1,200,b",
    )
    jobs = read_pcm(path)
    assert jobs.frame["run_id"].to_list() == ["pcm-1"] * 2 + ["pcm-2"] * 3 + ["pcm-3"]
    assert jobs.numpy("span_s").tolist() == [1.5, 2.0, 1.5, 1.0, 1.5, 1.5]  # else the median
    assert jobs.numpy("t_s").tolist() == pytest.approx([1.5, 3.5, 1.5, 2.5, 4.0, 1.5])
    assert jobs.schema["cap_w"].unit == "W"
    assert jobs.schema["cap_w"].known.name == "SUBMIT"
    assert jobs.frame["cap_w"].to_list() == [100.0] * 2 + [200.0] * 4
    one = write(tmp_path, "Time,EXEC", "10:00:00,1", "10:00:01,1")
    assert read_pcm(one, app="lu", run_id="r").frame.select("run_id", "app").rows() == [
        ("r", "lu")] * 2  # fmt: skip
    with pytest.raises(DataError, match="expected PCM's header with Time"):
        read_pcm(write(tmp_path, "EXEC,IPC", "1,2"))
    with pytest.raises(DataError, match="no row that fits"):
        read_pcm(write(tmp_path, "Time,EXEC,IPC", "10:00:00"))
