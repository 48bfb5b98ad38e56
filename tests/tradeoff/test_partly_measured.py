"""What runs tell of a setting stands as measured where another quantity of it is forecast."""

from __future__ import annotations

import rheostat as rh
from rheostat import Knob, Outcome, table
from rheostat.tradeoff.all_settings import front


class Known:
    """Twice the run time that there is, at 100 W a node."""

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")[None, :]
        return Outcome({"runtime_s": 160 / n, "power_w": 100.0 * n})


def laid_out(**columns):
    runs = table({"nodes": [1, 2, 4], **columns})
    options = front(table({"nodes": [1]}), Known(), Knob("nodes", [1, 2, 4, 8]), runs=runs)
    return options, [n.message for n in options.outcome.notes]


def test_a_measured_run_time_stays_where_the_energy_is_forecast():
    options, notes = laid_out(runtime_s=[80.0, 40.0, 20.0], energy_j=[8e3, None, 8e3])
    assert options.mean("runtime_s").tolist() == [80.0, 40.0, 20.0, 20.0]
    assert options.mean("energy_j").tolist() == [8e3, 200.0 * 40.0, 8e3, 16e3]
    assert options.measured.tolist() == [True, False, True, False]
    assert any("a part (1): that stands as measured, the rest is forecast" in n for n in notes)


def test_a_measured_energy_stays_where_the_run_time_is_forecast():
    options, _ = laid_out(runtime_s=[80.0, None, 20.0], energy_j=[8e3, 7e3, 8e3])
    assert options.mean("energy_j")[1] == 7e3
    assert options.mean("runtime_s")[1] == 80.0


def test_a_run_that_was_cut_off_measured_nothing():
    cut = [False, True, False]
    options, notes = laid_out(runtime_s=[80.0, 3.0, 20.0], energy_j=[8e3, None, 8e3], censored=cut)
    assert options.mean("runtime_s")[1] == 80.0
    assert not any("stands as measured" in n for n in notes)


def test_the_setting_whose_meter_failed_may_be_taken(tmp_path):
    rows = [(n, 900 * (0.1 + 0.9 / n), 400 * n + 100) for n in (1, 2, 4, 8, 16)]
    text = "".join(f"{n},{t},{'' if n == 8 else t * w}\n" for n, t, w in rows)
    (file := tmp_path / "runs.csv").write_text(f"nodes,runtime_s,energy_j\n{text}")
    choice = rh.front(file, rule="weighted=runtime_s:1,energy_j:1").choice
    assert choice.setting == {"nodes": 8}
