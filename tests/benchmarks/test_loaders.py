"""Tables of measured runs are recognised by their columns; what is left out is said."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from nodecount_lib.catalogue import load_folder
from nodecount_lib.pools import prior_of
from nodecount_lib.roles import role_of


def law(nodes: float, cap: float) -> tuple[float, float]:
    return 100 / nodes**0.8 * (2000 / cap) ** 0.3, 0.9 * min(cap, 400 * nodes)


def grid(apps: list[str], **constant: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for k, (app, n, cap) in enumerate(product(apps, (1, 2, 3, 4), (800, 1200, 1600))):
        t, p = law(n, cap)
        t *= 1 + len(app)
        rows.append(
            {"app": app, "gpu_count": n, "power_cap_w": cap, "t": t, "p": p, "k": k, **constant}
        )
    return rows


def test_runtime_and_power_table(tmp_path: Path) -> None:
    rows = [
        {"GPU": r["gpu"], "benchmark": r["app"], "numGPUs": r["gpu_count"],
         "Power Cap (W)": r["power_cap_w"], "runtime_s": r["t"], "avg_power_w": r["p"]}
        for r in grid(["lbm", "tealeaf"], gpu="H100")
    ]  # fmt: skip
    (tmp_path / "deep").mkdir()
    pl.DataFrame(rows).write_csv(tmp_path / "deep" / "sweep.csv")
    pools, notes = load_folder(tmp_path)
    assert [p.name for p in pools] == ["sweep-H100/lbm", "sweep-H100/tealeaf"]
    assert pools[0].knobs == ("numGPUs", "Power Cap (W)")
    assert pools[0].n == 12
    i = int(np.flatnonzero((pools[0].settings == [2, 1200]).all(axis=1))[0])
    t, p = law(2, 1200)
    assert np.exp(pools[0].log_y[i]) == pytest.approx([4 * t, p, 4 * t * p])
    assert any("knobs = numGPUs" in n for n in notes)
    assert [q.app for q in prior_of(pools[0], pools)] == ["tealeaf"]


def test_throughput_stands_for_runtime_where_there_is_none(tmp_path: Path) -> None:
    rows = []
    for r in grid(["lbm", "resnet"]):
        learns = r["app"] == "resnet"
        rows.append({
            "app": r["app"], "gpu_count": r["gpu_count"], "power_cap_w": r["power_cap_w"],
            "runtime_s": None if learns else r["t"], "throughput": 5.0 / r["t"] if learns else None,
            "gpu_power_w": r["p"], "energy_j": 1e9 if learns else r["t"] * r["p"],
        })  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "a.csv")
    pools, _ = load_folder(tmp_path)
    learner = next(p for p in pools if p.app == "resnet")
    y = np.exp(learner.log_y)
    assert y[:, 2] == pytest.approx(y[:, 0] * y[:, 1])
    assert y[:, 0].max() / y[:, 0].min() == pytest.approx(law(1, 800)[0] / law(4, 1600)[0])


def test_repeats_become_their_median_and_an_implied_knob_is_dropped(tmp_path: Path) -> None:
    rows = [
        {
            "code": "x",
            "nodes": n,
            "ranks": 8 * n,
            "elapsed_s": 100 / n * f,
            "energy_j": 50.0 * n**0.2,
        }
        for n in range(1, 9)
        for f in (1.0, 1.02, 1.2)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "b.csv")
    (pool,), _ = load_folder(tmp_path)
    assert pool.knobs == ("nodes",)
    assert np.exp(pool.log_y[0, 0]) == pytest.approx(102.0)


def test_a_sidecar_overrides_the_guess(tmp_path: Path) -> None:
    rows = [
        {"what": "a", "k1": k, "took": 10.0 / k, "draw": 5.0 * k**0.5, "time": 1.0}
        for k in range(1, 9)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "c.csv")
    (tmp_path / "c.toml").write_text(
        '[columns]\napp = "what"\nknobs = ["k1"]\nruntime = "took"\npower = "draw"\n'
    )
    (pool,), _ = load_folder(tmp_path)
    assert pool.name == "c/a"
    assert np.exp(pool.log_y[:, 0]).max() == pytest.approx(10.0)


def test_other_files_are_left_out_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name,height\nada,1.7\n")
    (tmp_path / "broken.csv").write_bytes(b"\xff\xfe\x00,\x01\n\x00\x00")
    few = "app,nodes,runtime_s,power_w\n" + "".join(f"a,{n},{9 / n},{n}\n" for n in (1, 2, 3))
    (tmp_path / "few.csv").write_text(few)
    pools, notes = load_folder(tmp_path)
    assert pools == []
    text = "\n".join(notes)
    assert "people.csv: not a table of measured runs" in text
    assert "broken.csv" in text
    assert "only 3 settings" in text


@pytest.mark.parametrize(
    ("name", "numeric", "role"),
    [("clock_MHz_mean", True, None), ("power_limit", True, "knob"), ("time_limit_s", True, None),
     ("batch_size", True, "knob"), ("dp_mflops", True, "rate"), ("total_power_W", True, "power"),
     ("run", True, None), ("node_energy_kwh", True, "energy"), ("sm_target_mhz", True, "knob")],
)  # fmt: skip
def test_roles_by_name(name: str, numeric: bool, role: str | None) -> None:
    assert role_of(name, numeric=numeric) == role


def test_measured_tables(shared_data: Path) -> None:
    pools, _ = load_folder(shared_data / "runs")
    sizes = {p.name: p.n for p in pools}
    assert sum(n == 16 for name, n in sizes.items() if name.startswith("spechpc-B/")) == 9
    assert sizes["spechpc-A/soma"] == 32
    assert sizes["lulesh/7-OMP-ICL-freq-350"] == 180
    lbm = next(p for p in pools if p.name == "spechpc-B/lbm")
    assert np.exp(lbm.log_y[:, 0]).min() == pytest.approx(163.785)
    assert len(prior_of(lbm, pools)) == 8


def test_an_index_without_a_name_semicolons_and_clocks_are_read(tmp_path: Path) -> None:
    lines = [";app;coreF;mem_mhz;runtime_s;power_w"]
    clocks = product((800, 1000, 1200, 1400), (4000, 5001))
    for i, (core, mem) in enumerate(clocks):
        lines.append(
            f"{i};lbm;{core};{mem};{1e4 / core + 2e4 / mem:.3f};{core / 8:.2f}".replace(".", ",")
        )
    (tmp_path / "gpu.csv").write_text("\n".join(lines))
    pools, notes = load_folder(tmp_path)
    assert [(p.knobs, p.n) for p in pools] == [(("coreF", "mem_mhz"), 8)], notes
    assert np.exp(pools[0].log_y[0, 0]) == pytest.approx(1e4 / 800 + 5, rel=1e-3)


def test_repeats_that_are_none_are_told_with_what_to_do(tmp_path: Path) -> None:
    rows = [
        {"app": "lbm", "nodes": n, "variant": v, "runtime_s": v * 100 / n, "power_w": 200 * n}
        for n in (1, 2, 4, 8, 16, 32) for v in (1, 3)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "sweep.csv")
    assert any("is a knob missing? Name it in sweep.toml" in n for n in load_folder(tmp_path)[1])
    (tmp_path / "sweep.toml").write_text(
        '[columns]\napp = "app"\nknobs = ["nodes", "variant"]\nruntime = "runtime_s"\n'
        'power = "power_w"\n'
    )
    pools, notes = load_folder(tmp_path)
    assert pools[0].knobs == ("nodes", "variant")
    assert not any("is a knob missing" in n for n in notes)
