"""Samples of power become energy by their integral over time, a row a device."""

from __future__ import annotations

import datetime

import pytest

import rheostat as rh

START = datetime.datetime(2025, 3, 1, 23, 59, 30)


def smi(path, heads, seconds, draw, gpus=2):
    """Watts of a GPU at a second by ``draw``, as nvidia-smi writes them around midnight."""
    lines = [", ".join(heads)]
    for k in seconds:
        for gpu in range(gpus):
            at = START + datetime.timedelta(seconds=k, milliseconds=3 * gpu)
            stamp = f"{at:%Y/%m/%d %H:%M:%S}.{at.microsecond // 1000:03d}"
            cells = {"timestamp": stamp, "index": str(gpu), "name": "NVIDIA H100 80GB HBM3",
                     "power.draw [W]": draw(gpu, k), "power.limit [W]": "700.00 W",
                     "utilization.gpu [%]": "50 %", "clocks.sm [MHz]": "1980 MHz"}  # fmt: skip
            lines.append(", ".join(cells[h] for h in heads))
    path.write_text("\n".join(lines) + "\n")
    return path


HEADS = ["timestamp", "index", "name", "power.draw [W]", "power.limit [W]", "utilization.gpu [%]",
         "clocks.sm [MHz]"]  # fmt: skip


@pytest.mark.parametrize("heads", [HEADS, ["timestamp", "power.draw [W]"]])
def test_a_ramp_of_each_gpu_has_its_closed_form(tmp_path, heads):
    """100 (g + 1) + 2 k watts for 100 s are 20 and 30 kJ, also where no column names the GPU."""
    file = smi(tmp_path / "g.csv", heads, range(101), lambda g, k: f"{100 * (g + 1) + 2 * k:.2f} W")
    runs = rh.read(file)
    assert runs.frame["energy_j"].to_list() == pytest.approx([20_000, 30_000])
    assert runs.frame["power_w"].to_list() == pytest.approx([200, 300])
    assert runs.frame["runtime_s"].to_list() == pytest.approx([100, 100])
    said = " ".join(n.message for n in runs.notes)
    assert "all 2 together: 50000 J, 500 W" in said
    assert "integral of power over time" in said


def test_uneven_steps_weigh_by_time_and_gaps_are_no_samples(tmp_path):
    """A mean over rows would be 210 W: half of the time has two samples a second."""
    seconds = [*range(11), *(10 + 0.5 * k for k in range(1, 17))]

    def draw(_, k):
        return "100 W" if k <= 10 else "300 W"

    known = (10 * 100 + 0.5 * 200 + 7.5 * 300 + 1 * 300) / 19
    said = rh.read(smi(tmp_path / "s.csv", HEADS, [*seconds, 21, 22], draw, 1))
    assert said.frame["power_w"][0] == pytest.approx(known)
    assert said.frame["energy_j"][0] == pytest.approx(known * 22)
    assert any("3 s of 22 s without samples" in n.message for n in said.notes)
    lost = rh.read(smi(tmp_path / "g.csv", HEADS, [*seconds, 28, 29], draw, 1))
    assert "energy_j" not in lost.columns
    assert any("10 s of 29 s without samples, its energy" in n.message for n in lost.notes)


def test_samples_that_the_driver_did_not_give_are_left_out(tmp_path):
    file = smi(tmp_path / "g.csv", HEADS, range(9), lambda _, k: "[N/A]" if k == 4 else "80 W", 1)
    runs = rh.read(file)
    assert runs.frame["energy_j"][0] == pytest.approx(640)
    assert any("1 samples without a reading" in n.message for n in runs.notes)


DMON = {
    "-o DT": ("#Date       Time        gpu    pwr     sm   pclk", "{day}   {time}"),
    "-o T": ("#Time        gpu    pwr     sm   pclk", "{time}"),
    "": ("# gpu    pwr     sm   pclk", ""),
}


@pytest.mark.parametrize("clock", DMON)
def test_dmon_with_and_without_its_clock(tmp_path, clock):
    """Past midnight; without a clock a row a second, which is said."""
    head, form = DMON[clock]
    lines = [head, "#YYYYMMDD   HH:MM:SS    Idx      W      %    MHz"]
    for k in range(61):
        at = START + datetime.timedelta(seconds=k)
        stamp = form.format(day=f"{at:%Y%m%d}", time=f"{at:%H:%M:%S}")
        lines += [f" {stamp}      {gpu}    {200 + 100 * gpu}     99   1980" for gpu in range(2)]
        lines += [head] if k % 30 == 29 else []
    file = tmp_path / "dmon.txt"
    file.write_text("\n".join(lines) + "\n")
    runs = rh.read(file)
    assert runs.frame["energy_j"].to_list() == pytest.approx([12_000, 18_000])
    assert runs.frame["utilisation_mean"].to_list() == pytest.approx([0.99, 0.99])
    assert any("without a clock" in n.message for n in runs.notes) == (not clock)
    dated = runs.frame["start_s"].to_list() if "start_s" in runs.columns else []
    assert dated == ([1740873570.0] * 2 if clock == "-o DT" else [])


def test_a_clock_beside_watts_is_samples_and_a_table_of_runs_is_not(tmp_path):
    meter = tmp_path / "meter.csv"
    meter.write_text("timestamp;cpu_power_mW;gpu_power_W\n" + "".join(
        f"{1740000000 + k / 2};100000;{300 + k}\n" for k in range(61)))  # fmt: skip
    runs = rh.read(meter).frame
    assert runs["energy_j"].to_list() == pytest.approx([3000, 9900])
    assert runs["gpus"].to_list() == [None, None] if "gpus" in runs.columns else True
    plain = tmp_path / "runs.csv"
    plain.write_text("time_s,nodes,power_w\n" + "".join(f"{10 * n},{n},300\n" for n in range(1, 9)))
    assert rh.read(plain).frame.height == 8
    tiles = tmp_path / "tiles.csv"
    tiles.write_text("time_s,tile,power_w\n" + "".join(f"{10 * n},{n},300\n" for n in range(1, 9)))
    assert rh.read(tiles).frame.height == 8
