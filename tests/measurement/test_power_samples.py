"""Samples of power become energy by their integral over time, a row a device."""

from __future__ import annotations

import datetime

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.measurement.monitoring.sample_lines import looks_sampled
from rheostat.measurement.read import guess_format

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

    whole = 10 * 100 + 0.5 * 200 + 7.5 * 300 + 3 * 300 + 1 * 300  # a line over the gap
    said = rh.read(smi(tmp_path / "s.csv", HEADS, [*seconds, 21, 22], draw, 1))
    assert said.frame["power_w"][0] == pytest.approx(whole / 22)
    assert said.frame["energy_j"][0] == pytest.approx(whole)
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


def wide(path, heads, cell, first="2026-03-02 08:00:00"):
    """A column for each node: 300 W + 100 W a column for ten minutes, a row each 30 s."""
    at = datetime.datetime.fromisoformat(first)
    rows = [
        ",".join([f"{at + datetime.timedelta(seconds=30 * k)}", *(cell(i) for i in range(2))])
        for k in range(21)
    ]
    path.write_text("\n".join([heads, *rows]) + "\n")
    return path


LABELS = 'Time,"{instance=""n1:9100"", job=""ipmi""}","{instance=""n2:9100"", job=""ipmi""}"'


@pytest.mark.parametrize(("heads", "cell"), [
    ("Time,n1,n2", "{} W".format), (f"sep=,\n{LABELS}", "{}".format),
    ("Time,n1,n2", lambda w: f"{w / 1000} kW"), ("Time,n1 (W),n2 (W)", "{}".format),
])  # fmt: skip
def test_a_panel_of_grafana_has_a_row_a_node(tmp_path, heads, cell):
    """300 and 400 W for 600 s, whatever says that they are watts; together 700 W."""
    file = wide(tmp_path / "power.csv", heads, lambda i: cell(300 + 100 * i))
    nodes = rh.read(file)
    assert nodes.frame["device"].to_list() == ["n1", "n2"]
    assert nodes.frame["energy_j"].to_list() == pytest.approx([180_000, 240_000])
    if "(W)" not in heads:
        assert any("all 2 together: 420000 J, 700 W" in n.message for n in nodes.notes)


def test_numbers_of_which_nothing_says_that_they_are_watts_are_refused(tmp_path):
    file = wide(tmp_path / "load.csv", "Time,n1,n2", lambda i: f"{10 * i}")
    with pytest.raises(rh.errors.DataError, match=r"samples of what\?.*--column power_w=n1\+n2"):
        rh.read(file)
    named = rh.read(file, options={"columns": {"power_w": "n2"}}).frame
    assert named["energy_j"].to_list() == pytest.approx([6000])
    with pytest.raises(rh.errors.DataError, match="mapped column n3 is missing"):
        rh.read(file, options={"columns": {"power_w": "n3"}})


def test_series_below_each_other_and_names_of_nodes_are_samples(tmp_path):
    """A clock that begins anew with each series, and a column `node` of names, are no runs."""
    clock = [f"2026-03-02T08:{k:02d}:00Z" for k in range(10)]
    below = tmp_path / "below.csv"
    below.write_text("Series;Time;Value\n" + "".join(
        f"{n};{t};{w} W\n" for n, w in (("n1", 300), ("n2", 400)) for t in clock))  # fmt: skip
    long = tmp_path / "long.csv"
    long.write_text("timestamp,node,power_w\n" + "".join(
        f"{t},{n},{w}\n" for t in clock for n, w in (("n1", 300), ("n2", 400))))  # fmt: skip
    for file in (below, long):
        frame = rh.read(file).frame
        assert frame["device"].to_list() == ["n1", "n2"]
        assert frame["energy_j"].to_list() == pytest.approx([162_000, 216_000])


def test_turbostat_has_all_processors_once_and_no_time_of_day_is_a_run_time(tmp_path):
    head = "Time_Of_Day_Seconds\tPackage\tCore\tCPU\tBusy%\tPkgWatt\tRAMWatt"
    rows = []
    for k in range(9):
        at = 1772438400 + 5 * k
        rows += [f"{at}\t-\t-\t-\t40\t180\t20", f"{at}\t0\t0\t0\t40\t180\t20"]
        rows += [f"{at}\t0\t{c}\t{c}\t40" for c in (1, 2)]
    file = tmp_path / "turbostat.tsv"
    file.write_text("\n".join([head, *rows]) + "\n")
    frame = rh.read(file).frame
    assert frame["device"].to_list() == ["PkgWatt", "RAMWatt"]
    assert frame["energy_j"].to_list() == pytest.approx([7200, 800])


def test_dcgmi_and_a_clock_that_runs_from_zero(tmp_path):
    dcgm = tmp_path / "dcgm.txt"
    rows = [f"GPU {g}     {300 + 100 * g}.0     97" for _ in range(11) for g in (0, 1)]
    dcgm.write_text("\n".join(["#Entity   POWER   GPUTL", "ID        W", *rows]) + "\n")
    assert rh.read(dcgm).frame["energy_j"].to_list() == pytest.approx([3000, 4000])
    gadget = tmp_path / "gadget.csv"
    gadget.write_text("System Time,Elapsed Time (sec),Processor Power_0(Watt)\n" + "".join(
        f"08:00:00:{k}00,{k / 10:.3f},20.0\n" for k in range(10)))  # fmt: skip
    assert rh.read(gadget).frame["energy_j"].to_list() == pytest.approx([18])


def test_cells_in_kilowatts_are_no_watts(tmp_path):
    file = smi(tmp_path / "g.csv", HEADS, range(9), lambda _, k: "1.2 kW" if k else "1200 W", 1)
    assert rh.read(file).frame["power_w"][0] == pytest.approx(1200)


def test_samples_come_as_unevenly_as_a_meter_sends_them(tmp_path):
    """Two outlets every 1 to 19 s at 400 and 300 W."""
    file = tmp_path / "pdu.csv"
    at, rows = START, []
    for k in range(40):
        at += datetime.timedelta(seconds=(1, 10, 19)[k % 3])
        rows += [f"{at.isoformat()}Z,A{n},{w}" for n, w in ((1, 400), (2, 300))]
    file.write_text("\n".join(["timestamp,outlet,active_power_w", *rows]) + "\n")
    outlets = rh.read(file)
    seconds = outlets.frame["runtime_s"][0]
    assert outlets.frame["device"].to_list() == ["A1", "A2"]
    assert outlets.frame["energy_j"].to_list() == pytest.approx([400 * seconds, 300 * seconds])
    assert any("all 2 together" in n.message and "700 W" in n.message for n in outlets.notes)


@pytest.mark.parametrize("first", ["2026-03-02 23:58:00", "2026-03-02 10:00:00"])
def test_a_clock_without_a_date_is_no_run_time(tmp_path, first):
    """Half a minute apart over midnight or by day, 500 W: 500 x 600 J."""
    at = datetime.datetime.fromisoformat(first)
    rows = [f"{at + datetime.timedelta(seconds=30 * k):%H:%M:%S},500" for k in range(21)]
    file = tmp_path / "meter.csv"
    file.write_text("\n".join(["time,watts", *rows]) + "\n")
    assert rh.read(file).frame["energy_j"].to_list() == pytest.approx([300_000])
    runs = tmp_path / "runs.csv"
    runs.write_text("time,threads,watts\n" + "".join(
        f"00:{50 // n:02d}:00,{n},{100 + n}\n" for n in range(1, 9)))  # fmt: skip
    assert rh.read(runs).frame["runtime_s"][0] == 3000


def meter(path, readings, heads="time;total_kWh;voltage", clock="{:%d.%m.%Y %H:%M:%S}"):
    """A plug's readings, one a minute, in decimal commas."""
    at = [START + datetime.timedelta(minutes=k) for k in range(len(readings))]
    lines = [f"{clock.format(t)};{r};230,1" for t, r in zip(at, readings, strict=True)]
    path.write_text("\n".join([heads, *lines, ""]))
    return path


def kwh(watts, first=152.34):
    """What a meter counts on to at a watt-hour sixty times a watt, minute by minute."""
    whole = [first + sum(watts[:k]) / 60_000 for k in range(len(watts) + 1)]
    return [f"{reading:.6f}".replace(".", ",") for reading in whole]


def test_a_meter_that_counts_on_has_taken_what_it_grew_by(tmp_path):
    """720 W for half an hour and 960 W for another are 840 Wh, whatever it showed before."""
    path = meter(tmp_path / "plug.csv", kwh([720] * 30 + [960] * 30))
    row = rh.read(path).frame.row(0, named=True)
    assert row["energy_j"] == pytest.approx(840 * 3600)
    assert (row["runtime_s"], row["samples"]) == (3600, 61)
    assert row["power_w"] == pytest.approx(840)
    assert row["power_max_w"] == pytest.approx(960)
    assert any("of a counter (total_kWh)" in n.message for n in rh.read(path).notes)


def test_a_meter_of_coarse_steps_says_how_far_off_its_growth_may_be(tmp_path):
    """1.6 kW for an hour are 1.6 kWh, of which a meter of 0.1 kWh shows 15 to 17 steps."""
    whole = [int(10 * (152.38 + 1.6 * k / 60) + 1e-9) / 10 for k in range(61)]
    coarse = rh.read(meter(tmp_path / "m.csv", [f"{r:.1f}".replace(".", ",") for r in whole]))
    assert coarse.frame["energy_j"][0] == pytest.approx(1.6 * 3.6e6, abs=3.7e5)
    said = next(n.message for n in coarse.notes if "at a time" in n.message)
    assert "the counter goes on by 360000 J at a time: its growth is off by up to one" in said
    fine = rh.read(meter(tmp_path / "f.csv", kwh([1600.0] * 60)))
    assert not any("at a time" in n.message for n in fine.notes)


def test_a_meter_that_began_anew_lost_that_minute_alone(tmp_path):
    readings = [*kwh([600] * 20), *kwh([600] * 20, first=0.0)]
    jobs = rh.read(meter(tmp_path / "plug.csv", readings))
    assert jobs.frame["energy_j"].to_list() == pytest.approx([600 * 41 * 60])
    said = "60 s of 2460 s without a counter that counts on"
    assert any(said in n.message for n in jobs.notes)


def test_energies_of_intervals_or_of_epochs_are_no_meter(tmp_path):
    falls = ["0,012", "0,0161", "0,011", "0,0171", "0,0122", "0,015", "0,0112"]
    assert guess_format(meter(tmp_path / "each.csv", falls)) == "runs"
    path = tmp_path / "epochs.csv"
    path.write_text("epoch,energy_kJ\n" + "".join(f"{k},{600 + 7 * k}\n" for k in range(9)))
    assert guess_format(path) == "runs"
    path.write_text(path.read_text().replace("epoch", "time_s"))
    assert guess_format(path) == "power-samples"


def test_watts_with_decimal_commas_are_samples(tmp_path):
    path = meter(tmp_path / "w.csv", ["99,5", "100,5"] * 5, "Zeit;Leistung (W);U")
    assert rh.read(path).frame["energy_j"].to_list() == pytest.approx([100 * 540])


def test_a_clock_that_holds_no_moment_is_no_crash(tmp_path):
    """As of jobs that never started."""
    path = tmp_path / "jobs.csv"
    path.write_text("time,energy_Wh\nUnknown,0\nUnknown,3\n")
    assert not looks_sampled(path.read_text().splitlines())


def minutes(path, heads, rows):
    """A clock of minutes beside the cells of each row."""
    stamps = [f"2026-03-02 08:{k:02d}:00" for k in range(len(rows))]
    lines = [",".join(map(str, [at, *row])) for at, row in zip(stamps, rows, strict=True)]
    path.write_text("\n".join([heads, *lines]) + "\n")
    return path


@pytest.mark.parametrize(("odd", "left_out"), [(65535, True), (-5, True), (0, True), (90, False)])
def test_what_a_sensor_cannot_have_read_is_left_out_and_said(tmp_path, odd, left_out):
    """Thirty minutes of 250 W with one reading of something else."""
    rows = [[250.0]] * 30
    rows[11] = [odd]
    jobs = rh.read(minutes(tmp_path / "n.csv", "time,power_W", rows))
    said = [n for n in jobs.notes if "cannot have drawn" in n.message]
    assert len(said) == left_out
    if left_out:
        assert f"({odd} W)" in said[0].message
        assert jobs.frame["energy_j"].to_list() == pytest.approx([250 * 29 * 60])


def test_a_reading_left_out_hides_no_other_note(tmp_path):
    rows = [[250.0]] * 30
    rows[11], rows[20] = [65535], ["N/A"]
    jobs = rh.read(minutes(tmp_path / "n.csv", "time,power_W", rows))
    said = " ".join(n.message for n in jobs.notes)
    assert "cannot have drawn" in said
    assert "1 samples without a reading" in said


def test_a_device_that_is_off_drew_nothing_and_a_lone_peak_counts_with_a_note(tmp_path):
    off = rh.read(minutes(tmp_path / "off.csv", "time,power_W", [[250], [0], [0], [250]] * 3))
    assert not any("cannot have" in n.message for n in off.notes)
    assert off.frame["power_w"][0] < 150
    rows = [[250 + k] for k in range(12)] + [[9000]] + [[260]] * 3
    peak = rh.read(minutes(tmp_path / "peak.csv", "time,power_W", rows))
    assert any("one reading of 9000 W counts" in n.message for n in peak.notes)
    assert peak.frame["power_max_w"][0] == 9000


@pytest.mark.parametrize("name", ["Total", "rack", "Gesamt"])
def test_a_series_that_adds_up_the_others_is_none_beside_them(tmp_path, name):
    rows = [[200 + 2 * k, 310 - k, 290, 800 + k] for k in range(12)]
    jobs = rh.read(minutes(tmp_path / "power.csv", f"time,n1,n2,n3,{name}", rows))
    assert jobs.frame["device"].to_list() == ["n1", "n2", "n3"]
    said = [n.message for n in jobs.notes]
    assert f"{name} is the sum of the other 3 at each moment: left out" in said
    assert any(m.startswith("all 3 together") for m in said)


def test_a_total_that_is_more_than_the_others_is_added_to_nothing(tmp_path):
    rows = [[200 + k, 310, 290, 1400 + k] for k in range(12)]
    jobs = rh.read(minutes(tmp_path / "power.csv", "time,n1,n2,n3,total", rows))
    assert len(jobs) == 4
    assert not any("together" in n.message for n in jobs.notes)


def test_files_of_two_hosts_one_behind_the_other_are_two_devices(tmp_path):
    """600 and 200 W for 60 s are 48 kJ; taken as one they were 24."""
    seconds = range(61)
    parts = [smi(tmp_path / "g.csv", HEADS, seconds, lambda _g, _k, w=w: f"{w} W", 1).read_text()
             for w in (600, 200)]  # fmt: skip
    both = tmp_path / "both.csv"
    both.write_text("".join(parts))
    runs = rh.read(both)
    assert runs.frame["energy_j"].to_list() == pytest.approx([36_000, 12_000])
    assert any("taken as 2 files of other hosts" in n.message for n in runs.notes)
    later = (
        parts[1]
        .replace("2025/03/02 00:00", "2025/03/02 00:10")
        .replace("2025/03/01 23:59", "2025/03/02 00:09")
    )
    both.write_text(parts[0] + later)
    assert len(rh.read(both)) == 1


@pytest.mark.parametrize(("heading", "scale"), [("power_mw", 1e3), ("power_mW", 1e3)])
def test_a_unit_of_milli_or_mega_is_the_one_that_can_be(heading, scale, tmp_path):
    rows = "".join(f"2026-03-01 10:00:{i:02d},{300 * scale:.0f}\n" for i in range(30))
    (file := tmp_path / "power.csv").write_text(f"timestamp,{heading}\n{rows}")
    assert rh.read(file).frame["power_w"].to_list() == pytest.approx([300.0])


def test_a_unit_of_milli_or_mega_that_may_be_either_is_asked_for(tmp_path):
    rows = "".join(f"2026-03-01 10:00:{i:02d},3.1\n" for i in range(30))
    (file := tmp_path / "power.csv").write_text(f"timestamp,power_mw\n{rows}")
    with pytest.raises(DataError, match="mW or MW"):
        rh.read(file)


def test_volts_and_amperes_are_not_added(tmp_path):
    rows = "".join(f"2026-03-01 10:00:{i:02d},230,1.3\n" for i in range(30))
    (file := tmp_path / "meter.csv").write_text(f"timestamp,voltage_v,current_a\n{rows}")
    with pytest.raises(DataError, match="write their product in W"):
        rh.read(file)
