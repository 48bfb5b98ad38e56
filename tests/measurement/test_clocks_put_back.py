"""Samples over a clock that was changed: the two hours of an autumn night, and one put right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.measurement.read import guess_format
from rheostat.measurement.serving.traffic import read_traffic

BERLIN = ZoneInfo("Europe/Berlin")
BEFORE = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
"""Half past two in Berlin, thirty minutes before its clock is put back from three to two."""
STEP_S, COUNT = 10, 601


def shown(begin=BEFORE, count=COUNT, step_s=STEP_S, zone=BERLIN):
    """What a clock of the zone shows at each sample."""
    return [(begin + timedelta(seconds=step_s * k)).astimezone(zone) for k in range(count)]


def watts(k, count=COUNT):
    """Another power in each part of the log, so that hours in each other give another sum."""
    return 250.0 if k < count // 3 else 600.0 if k < 2 * count // 3 else 400.0


def joules(values, step_s=STEP_S):
    return step_s * (sum(values) - (values[0] + values[-1]) / 2)


def smi(moments, gpus=1, draw=watts, uuid=""):
    heads = ["timestamp", "index", *(["uuid"] if uuid else []), "power.draw [W]"]
    lines = [", ".join(heads)]
    for k, at in enumerate(moments):
        for gpu in range(gpus):
            own = [f"{uuid}{gpu}"] if uuid else []
            stamp = f"{at:%Y/%m/%d %H:%M:%S}.{100 + 3 * gpu}"
            lines.append(", ".join([stamp, str(gpu), *own, f"{draw(k) + 100 * gpu} W"]))
    return "\n".join(lines) + "\n"


def grafana(moments):
    lines = [f"{at:%Y-%m-%d %H:%M:%S},{watts(k)}" for k, at in enumerate(moments)]
    return "\n".join(["Time,node01 power (W)", *lines, ""])


def logger(moments):
    return "".join(f"{at:%Y-%m-%d %H:%M:%S} power={watts(k)} W\n" for k, at in enumerate(moments))


def ipmi(moments):
    return "".join(
        f"Instantaneous power reading:  {watts(k):.0f} Watts\n"
        f"IPMI timestamp:  {at:%a %b %d %H:%M:%S %Y}\n"
        for k, at in enumerate(moments)
    )


def read(tmp_path, text, zone="", name="power.csv"):
    (file := tmp_path / name).write_text(text)
    return rh.read(file, options={"zone": zone} if zone else None)


def said(jobs):
    return " ".join(n.message for n in jobs.notes)


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
@pytest.mark.parametrize("form", [smi, grafana, logger, ipmi])
def test_the_hour_that_is_shown_twice_counts_twice(tmp_path, form, zone):
    jobs = read(tmp_path, form(shown()), zone)
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([6000.0], rel=1e-3)
    expected = joules([watts(k) for k in range(COUNT)])
    assert jobs.frame["energy_j"].to_list() == pytest.approx([expected], rel=1e-3)
    assert ("shows these moments twice" if zone else "goes back by an hour") in said(jobs)
    if zone:
        assert jobs.frame["end_s"][0] == pytest.approx(BEFORE.timestamp() + 6000, abs=1)


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
def test_each_gpu_of_a_node_has_both_hours(tmp_path, zone):
    frame = read(tmp_path, smi(shown(), 2), zone).frame
    assert frame["device"].to_list() == ["GPU 0", "GPU 1"]
    expected = joules([watts(k) for k in range(COUNT)])
    assert frame["energy_j"].to_list() == pytest.approx([expected, expected + 600_000], rel=1e-3)


@pytest.mark.parametrize("minutes", [1, 15, 60])
@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
def test_readings_of_a_meter_over_that_hour_are_of_its_whole_time(tmp_path, minutes, zone):
    """A counter of kWh at 3.6 kW over ten hours, also where it is read once an hour."""
    moments = shown(datetime(2026, 10, 24, 20, tzinfo=UTC), 600 // minutes + 1, 60 * minutes)
    rows = [f"{at:%d.%m.%Y %H:%M:%S};{100 + 0.06 * minutes * k:.3f}"
            for k, at in enumerate(moments)]  # fmt: skip
    frame = read(tmp_path, "\n".join(["time;total_kWh", *rows, ""]), zone).frame
    assert frame["runtime_s"].to_list() == [36_000.0]
    assert frame["power_w"].to_list() == pytest.approx([3600.0])


def test_a_grafana_panel_of_that_night_is_known_as_samples(tmp_path):
    (file := tmp_path / "panel.csv").write_text(grafana(shown(step_s=60, count=100)))
    assert guess_format(file) == "power-samples"


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
def test_the_hour_that_a_clock_leaves_out_is_no_gap(tmp_path, zone):
    moments = shown(datetime(2026, 3, 29, 0, 30, tzinfo=UTC))
    assert (moments[179].hour, moments[180].hour) == (1, 3)
    jobs = read(tmp_path, smi(moments), zone)
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([6000.0])
    assert "without samples" not in said(jobs)
    assert zone or "goes on by an hour" in said(jobs)


def test_a_gap_of_an_hour_in_another_night_is_a_gap(tmp_path):
    moments = shown(datetime(2026, 3, 22, 0, 30, tzinfo=UTC))
    moved = [*moments[:180], *(at + timedelta(hours=1) for at in moments[180:])]
    jobs = read(tmp_path, smi(moved))
    assert "without samples" in said(jobs)
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([9600.0])


def test_a_log_that_begins_in_the_second_of_the_two_hours_goes_on_behind_it(tmp_path):
    moments = shown(datetime(2026, 10, 25, 1, 30, tzinfo=UTC))
    jobs = read(tmp_path, smi(moments), "Europe/Berlin")
    assert jobs.frame["start_s"][0] == pytest.approx(moments[0].timestamp(), abs=1)
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([6000.0])


def test_an_hour_in_a_night_without_a_change_is_no_summer_time(tmp_path):
    """A week before, or of a clock that is said to be UTC, half an hour cannot be shown again."""
    text = smi(shown())
    with pytest.raises(DataError, match="files of several hosts, or one clock that was put back"):
        read(tmp_path, text.replace("2026/10/25", "2026/10/18"))
    with pytest.raises(DataError, match="--zone"):
        read(tmp_path, text, "UTC")


def test_a_moment_that_the_clock_of_a_zone_never_shows_is_named(tmp_path):
    moments = shown(datetime(2026, 3, 29, 1, 30, tzinfo=UTC), zone=UTC)
    jobs = read(tmp_path, smi(moments), "Europe/Berlin")
    assert "clock of Europe/Berlin never shows these moments" in said(jobs)


MORNING = datetime(2026, 10, 6, 7, 0, tzinfo=UTC)


def put_right(back_s, before=150, after=150):
    """Moments of a clock that is put back in between, at one sample a second."""
    first = shown(MORNING, before, 1)
    return [*first, *shown(MORNING + timedelta(seconds=before - back_s), after, 1)]


def test_one_device_of_which_the_clock_is_put_back_stays_one(tmp_path):
    """300 W for 150 s and 100 W for as long are 200 W; taken as two devices they were 400."""
    jobs = read(tmp_path, smi(put_right(60), draw=lambda k: 300.0 if k < 150 else 100.0))
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([299.0])
    assert jobs.frame["power_w"].to_list() == pytest.approx([200.0], rel=2e-3)
    assert "the clock goes back by 60 s behind data row 150: taken as put right" in said(jobs)


def test_files_of_hosts_that_begin_together_are_devices_also_of_an_hour(tmp_path):
    """An hour each: from the end of one to the begin of the next is an hour less a step."""
    hour = shown(MORNING, 360, 10)
    for again in ("", smi([], 1)):
        parts = [smi(hour, draw=lambda k, w=w: w).partition("\n")[2] for w in (600.0, 200.0)]
        jobs = read(tmp_path, smi([]) + parts[0] + again + parts[1])
        assert jobs.frame["power_w"].to_list() == pytest.approx([600.0, 200.0])
        assert "taken as 2 files of other hosts" in said(jobs)


def test_what_nothing_tells_apart_is_refused_with_what_to_do(tmp_path):
    """A part that begins 30 s behind the other's begin and 120 s before its end may be either."""
    parts = [smi(part) for part in (put_right(0, 150, 0), put_right(120)[150:])]
    unsaid = parts[0] + parts[1].partition("\n")[2]
    with pytest.raises(DataError, match="behind data row 150: files of several hosts, or one"):
        read(tmp_path, unsaid)
    assert len(read(tmp_path, "".join(parts))) == 2  # headings come again where files were joined


def test_a_uuid_tells_whether_it_is_another_host(tmp_path):
    first, then = put_right(0, 150, 0), put_right(120)[150:]
    same = smi([*first, *then], uuid="GPU-a")
    assert len(read(tmp_path, same)) == 1
    other = smi(first, uuid="GPU-a") + smi(then, uuid="GPU-b").partition("\n")[2]
    assert len(read(tmp_path, other)) == 2


def test_lines_out_of_order_by_less_than_a_step_are_no_clock_that_goes_back(tmp_path):
    moments = shown(MORNING, 100, 1)
    moments[40], moments[41] = moments[41], moments[41] - timedelta(milliseconds=300)
    stamps = smi(moments).splitlines()
    stamps[42] = stamps[42].replace(".100", ".800")
    jobs = read(tmp_path, "\n".join(stamps))
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([99.0])
    assert "goes back" not in said(jobs)


@pytest.mark.parametrize("zone", [BERLIN, UTC])
def test_requests_of_that_night_come_one_behind_the_other(tmp_path, zone):
    """Sorted by what a local clock shows, those of two hours came at twice their rate."""
    moments = shown(BEFORE, 1000, 7, zone)
    order = [*range(1000)]
    order[257], order[258] = order[258], order[257]  # as the clock goes back
    rows = [f"{moments[k]:%Y-%m-%d %H:%M:%S}.000,100,{10 + k % 5}" for k in order]
    file = tmp_path / "trace.csv"
    file.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows, ""]))
    trace = read_traffic(file)
    came = trace.frame["submit_s"].to_list()
    assert came[-1] == 6993.0
    assert sum(b - a > 7 for a, b in pairwise(came)) <= 1  # the one that came out of order
    assert ("both hours count" in said(trace)) == (zone is BERLIN)


def test_a_pause_of_an_hour_between_requests_is_one_in_spring_as_well(tmp_path):
    moments = [*shown(datetime(2026, 3, 29, 1, 30, tzinfo=UTC), 250, 7, UTC),
               *shown(datetime(2026, 3, 29, 3, 0, 30, tzinfo=UTC), 250, 7, UTC)]  # fmt: skip
    file = tmp_path / "trace.csv"
    rows = [f"{at:%Y-%m-%d %H:%M:%S}.000,100,10" for at in moments]
    file.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows, ""]))
    assert read_traffic(file).frame["submit_s"][-1] == 5430 + 7 * 249
