"""A law of devices as closed forms: steps that only move, or only multiply, are lines in logs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rheostat.core.graph import op_graph
from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.step_cost.device_law import (
    CONVOLUTION_NOISE,
    DEPARTURE,
    MEAN,
    MIXED,
    NAMES,
    NOISE,
    SAME_CHIP,
    SPREAD,
    DeviceLaw,
    Work,
)

SHEET = replace(accelerator("A100"), power_w=math.inf)
AMD = replace(accelerator("MI210"), power_w=math.inf)
PRIOR = dict(zip(NAMES, MEAN, strict=True))
START_S = math.exp(PRIOR["start_s"])
SHARE = {2: "product_few_bits", 3: "convolution_few_bits"}
MEMORY = NAMES.index("memory")
# of the log of a step that only moves: what all devices share, what is of one, what is of one run
SHARED, OWN, RUN = SPREAD[MEMORY] ** 2, DEPARTURE[1] ** 2, NOISE**2


def work(*operations: tuple[int, float, float, float]) -> Work:
    """Of (kind, flops, bytes, times)."""
    columns = np.array(operations, dtype=float).T
    return Work(columns[0].astype(np.int64), *columns[1:])


MOVES = work((-1, 0.0, 1e15, 1.0))


def seconds(law: DeviceLaw, *operations: tuple[int, float, float, float], sheet=SHEET) -> float:
    return math.exp(law.predict(work(*operations), sheet)[0])


def test_an_operation_takes_its_traffic_or_its_arithmetic_and_a_start():
    law, flop = DeviceLaw.prior(), SHEET.flop_per_s
    moved = 1e9 / (SHEET.memory_b_per_s * math.exp(PRIOR["memory"]))
    multiplied = 1e12 / (flop * math.exp(PRIOR["product_few_bits"]))
    convolved = 1e12 / (flop * math.exp(PRIOR["convolution_few_bits"]))
    whole = 1e12 / (SHEET.matrix32_per_s * math.exp(PRIOR["product"]))
    rounded = 1e12 / (SHEET.tf32_per_s * math.exp(PRIOR["product_few_bits"]))
    for kind, arithmetic in ((2, multiplied), (3, convolved), (0, whole), (4, rounded)):
        said = seconds(law, (kind, 1e12, 1.0, 3.0), sheet=SHEET)
        assert said == pytest.approx(3 * (arithmetic + START_S))
    assert seconds(law, (2, 1e3, 1e9, 2.0)) == pytest.approx(2 * (moved + START_S))
    both = seconds(law, (2, 1e12, 1.0, 3.0), (-1, 0.0, 1e9, 2.0))
    assert both == pytest.approx(3 * multiplied + 2 * moved + 5 * START_S)


def test_parts_add_up_to_the_step():
    law = DeviceLaw.prior()
    step = work((2, 1e12, 1.0, 3.0), (3, 1e13, 1.0, 1.0), (2, 1.0, 1e9, 4.0), (-1, 0.0, 1e8, 2.0))
    parts = law.parts(step, SHEET)
    assert sum(parts.values()) == pytest.approx(math.exp(law.predict(step, SHEET)[0]))
    assert parts["starts"] == pytest.approx(10 * START_S)
    assert parts["products"] == pytest.approx(seconds(law, (2, 1e12, 1.0, 3.0)) - 3 * START_S)
    assert parts["convolutions"] == pytest.approx(seconds(law, (3, 1e13, 1.0, 1.0)) - START_S)


@pytest.mark.parametrize(("kind", "year", "ratio"), [
    (0, 2020, 1.0), (2, 2020, math.exp(PRIOR["few_bits_w"])),
    (4, 2020, 2.0 * math.exp(PRIOR["few_bits_w"])), (0, 2023, math.exp(3 * PRIOR["per_year"])),
])  # fmt: skip
def test_where_power_is_short_it_sets_the_rate(kind, year, ratio):
    starved = replace(SHEET, power_w=1e-3, year=year)
    each_w = math.exp(PRIOR["w_per_tflop_s"]) * ratio  # of a TFLOP/s
    said = seconds(DeviceLaw.prior(), (kind, 1e12, 1.0, 1.0), sheet=starved)
    assert said == pytest.approx(each_w / 1e-3)


def test_amd_s_matrix_units_have_a_share_of_their_own_and_no_tf32():
    law = DeviceLaw.prior()
    faster = replace(law, parameters=MEAN + 0.5 * (np.arange(len(NAMES)) == NAMES.index("amd")))
    heavy = (0, 1e18, 1.0, 1.0)
    assert seconds(law, heavy, sheet=AMD) == pytest.approx(
        1e18 / (AMD.matrix32_per_s * math.exp(PRIOR["product"])))  # fmt: skip
    assert seconds(law, (4, *heavy[1:]), sheet=AMD) == pytest.approx(seconds(law, heavy, sheet=AMD))
    assert seconds(faster, heavy, sheet=AMD) == pytest.approx(
        seconds(law, heavy, sheet=AMD) * math.exp(-0.5))  # fmt: skip
    assert seconds(faster, heavy) == pytest.approx(seconds(law, heavy))


def test_a_run_moves_the_law_as_a_gaussian_is_conditioned():
    """Of its device by all that is not the run's own luck, of others by what devices share."""
    prior = DeviceLaw.prior()
    before, spread = prior.predict(MOVES, SHEET)
    assert spread**2 == pytest.approx(SHARED + OWN + RUN, rel=1e-6)
    after = prior.given([MOVES], [SHEET], ["mine"], np.array([before + 0.3]))
    assert after.devices == ("mine",)
    seen = SHARED + OWN + RUN
    for device, known in (("mine", SHARED + OWN), ("another", SHARED)):
        mean, spread = after.predict(MOVES, SHEET, device)
        assert mean == pytest.approx(before + 0.3 * known / seen, abs=1e-6)
        assert spread**2 == pytest.approx(seen - known**2 / seen, rel=1e-5)
    bare = np.delete(np.arange(len(NAMES)), MEMORY)
    assert after.parameters[bare] == pytest.approx(MEAN[bare], abs=1e-6)


def test_a_start_falls_from_year_to_year():
    begun = (-1, 0.0, 1.0, 1e9)
    late = seconds(DeviceLaw.prior(), begun, sheet=replace(SHEET, year=2024))
    early = seconds(DeviceLaw.prior(), begun, sheet=replace(SHEET, year=2016))
    assert early / late == pytest.approx(math.exp(-8 * PRIOR["start_per_year"]), rel=1e-4)


def test_a_device_departs_much_as_one_with_its_chip():
    """As if both had been asked about before: a Gaussian of two devices, conditioned on one."""
    prior = DeviceLaw.prior()
    before = prior.predict(MOVES, SHEET)[0]
    after = prior.given([MOVES], [SHEET], ["H100"], np.array([before + 0.3]))
    seen = SHARED + OWN + RUN
    for device, known in (("H200", SHARED + SAME_CHIP * OWN), ("A100", SHARED)):
        mean, spread = after.predict(MOVES, SHEET, device)
        assert mean == pytest.approx(before + 0.3 * known / seen, abs=1e-6)
        assert spread**2 == pytest.approx(seen - known**2 / seen, rel=1e-5)
    both = [prior.given([MOVES] * 2, [SHEET] * 2, names, np.array([before + 0.3, before]))
            for names in (["H100", "H200"], ["H200", "H100"])]  # fmt: skip
    said = [law.predict(MOVES, SHEET, "GH200") for law in both]
    assert said[0] == pytest.approx(said[1], rel=0.02)


def test_runs_one_after_another_say_what_they_say_together():
    prior = DeviceLaw.prior()
    logs = np.array([0.2, -0.1, 0.4]) + prior.predict(MOVES, SHEET)[0]
    devices = ["a", "b", "a"]
    at_once = prior.given([MOVES] * 3, [SHEET] * 3, devices, logs)
    one_by_one = prior
    for device, log_s in zip(devices, logs, strict=True):
        one_by_one = one_by_one.given([MOVES], [SHEET], [device], np.array([log_s]))
    assert one_by_one.devices == at_once.devices == ("a", "b")
    for device in ("a", "b", "c"):
        assert one_by_one.predict(MOVES, SHEET, device) == pytest.approx(
            at_once.predict(MOVES, SHEET, device), rel=1e-5)  # fmt: skip


@pytest.mark.parametrize(("share", "operations"), [
    (0.0, [(2, 1e15, 1.0, 1.0)]), (1.0, [(3, 1e15, 1.0, 2.0)]),
    (0.25, [(2, 1e15, 1.0, 3.0), (3, 1e15, 1.0, 1.0), (-1, 9e15, 1.0, 1.0)]),
])  # fmt: skip
def test_convolutions_are_less_sure_by_their_share_of_the_arithmetic(share, operations):
    sure = replace(DeviceLaw.prior(), covariance=np.zeros((len(NAMES),) * 2))
    _, spread = sure.predict(work(*operations), SHEET)
    slopes = spread**2 - NOISE**2 - (CONVOLUTION_NOISE * share) ** 2
    bare = [f * n / math.exp(PRIOR[SHARE[kind]]) if kind > 0 else 0.0
            for kind, f, _, n in operations]  # fmt: skip
    convolved = sum(s for s, o in zip(bare, operations, strict=True) if o[0] == 3)
    own = DEPARTURE[0] ** 2 + (DEPARTURE[3] * convolved / sum(bare)) ** 2
    assert slopes == pytest.approx(own, rel=1e-3)


def test_runs_of_convolutions_move_those_of_their_device_and_products_less():
    prior, convolved, multiplied = DeviceLaw.prior(), work((1, 1e15, 1.0, 1.0)), work(
        (0, 1e15, 1.0, 1.0))  # fmt: skip
    before = [prior.predict(w, SHEET)[0] for w in (convolved, multiplied)]
    after = prior.given([convolved], [SHEET], ["mine"], np.array([before[0] + 0.4]))
    mine, theirs = ([after.predict(w, SHEET, d)[0] - b for w, b in zip(
        (convolved, multiplied), before, strict=True)] for d in ("mine", "another"))  # fmt: skip
    assert mine[0] > theirs[0] > 0
    assert mine[0] - theirs[0] > 3 * (mine[1] - theirs[1]) > 0


@pytest.mark.parametrize(("year", "share"), [(2014, "product"), (2015, "convolution")])
def test_convolutions_outrun_products_only_where_fewer_products_are_taken(year, share):
    law = DeviceLaw.prior()
    law.parameters[NAMES.index("convolution")] = math.log(1.5)
    sheet = replace(accelerator("K80"), power_w=math.inf, year=year)
    expected = {"product": 0.75, "convolution": 1.5}[share] * sheet.flop32_per_s
    start_s = START_S * math.exp(PRIOR["start_per_year"] * (year - 2020))
    said = seconds(law, (1, 1e15, 1.0, 1.0), sheet=sheet)
    assert said == pytest.approx(1e15 / expected + start_s)


def test_a_law_is_kept_and_read_back():
    law = DeviceLaw.shipped()
    again = DeviceLaw.from_dict(law.to_dict())
    step = work((2, 1e12, 1e9, 3.0), (-1, 0.0, 1e9, 2.0))
    for device in (law.devices[0], "no such device"):
        assert again.predict(step, SHEET, device) == pytest.approx(
            law.predict(step, SHEET, device), rel=1e-3)  # fmt: skip


def test_the_work_of_a_graph_is_its_operations_by_kind():
    rows = [  # opcode, class, type, flops, bytes, times
        ("parameter", "parameter_constant", "f32", 0.0, 9.0, 1.0),
        ("dot", "matmul", "f32", 1.0, 10.0, 2.0),
        ("convolution", "convolution", "f32", 2.0, 20.0, 1.0),
        ("dot", "matmul", "bf16", 3.0, 30.0, 1.0),
        ("reshape", "data_movement", "f32", 0.0, 0.0, 1.0),
        ("add", "elementwise", "f32", 4.0, 40.0, 0.0),
        ("add", "elementwise", "f32", 5.0, 50.0, 3.0),
        ("copy", "data_movement", "f32", 0.0, 60.0, 1.0),
        ("add", "elementwise", "f32", 1.0, 0.0, 1.0),
        ("copy", "data_movement", "f32", 0.0, 1.0, 1.0),
    ]
    names = ("opcode", "op_class", "dtype", "flops", "bytes", "times")
    nodes = {n: [row[i] for row in rows] for i, n in enumerate(names)}
    nodes |= {"shape": [[1]] * len(rows), "fused": [False] * len(rows),
              "transcendentals": [0.0] * len(rows)}  # fmt: skip
    graph = op_graph("mine", nodes, np.zeros((2, 0), dtype=np.int64))
    plain, rounded = Work.of(graph), Work.of(graph, tf32=["convolution"])
    assert plain.kind.tolist() == [0, 1, 2, -1, -1, -1, -1]
    assert plain.flops.tolist() == [1.0, 2.0, 3.0, 5.0, 0.0, 1.0, 0.0]
    assert plain.bytes.tolist() == [10.0, 20.0, 30.0, 50.0, 60.0, 0.0, 1.0]
    assert plain.times.tolist() == [2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0]
    assert rounded.kind.tolist() == [0, 5, 2, -1, -1, -1, -1]
    mixed = Work.of(graph, tf32=["convolution"], bits=16)
    assert mixed.kind.tolist() == [2, 3, 2, -1, -1, -1, -1]
    heavy, rest = MIXED
    assert mixed.bytes == pytest.approx(
        [10 * heavy, 20 * heavy, 30 * heavy, 50 * rest, 60 * rest, 0.0, rest])  # fmt: skip


def test_convolutions_are_counted_in_whole_lanes_of_64_channels():
    """144 products for each channel and each of 100 pixels; grouped ones are as they are."""
    rows = [("image", 1600), ("kernel", 144 * 8), ("convolution", 800), ("dot", 800),
            ("kernel", 144 * 96), ("convolution", 9600),
            ("depthwise-convolution", 800)]  # fmt: skip
    flops = [2.0 * 144 * size if "o" in name else 0.0 for name, size in rows]
    count = len(rows)
    nodes = {
        "opcode": [name for name, _ in rows], "dtype": ["f32"] * count, "flops": flops,
        "op_class": [{"image": "parameter_constant", "kernel": "parameter_constant",
                      "dot": "matmul"}.get(name, "convolution") for name, _ in rows],
        "bytes": [4.0 * size for _, size in rows], "times": [1.0] * count,
        "shape": [[size] for _, size in rows], "fused": [False] * count,
        "transcendentals": [0.0] * count,
    }  # fmt: skip
    edges = np.array([(0, 2), (1, 2), (0, 3), (1, 3), (0, 5), (4, 5), (0, 6), (1, 6)]).T
    counted = Work.of(op_graph("mine", nodes, edges)).flops
    narrow, dense, wide, grouped = (flops[i] for i in (2, 3, 5, 6))
    assert counted == pytest.approx([narrow * 64 / 8, dense, wide * 128 / 96, grouped])
