"""Forecasts on recorded runs: nothing is known too early, and the published pilots are beaten."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.network.folder import NetworkRun, read_network_run
from rheostat.prediction.iteration_time.noise_floor import noise_floor
from rheostat.recipes.hybrid_run import hybrid_run
from rheostat.recipes.smart import NetworkWatch, backtest, fitted, method, scores


@pytest.fixture(scope="module")
def changing(shared_data) -> NetworkRun:
    return read_network_run(shared_data / "network" / "codes72_varying_ur")


def test_the_change_of_regime_costs_less_than_the_pilots(changing):
    """LAMMPS under varying load, whose neighbour ends: LAST 16.1 %, the pilots' mixture 14.8 %."""
    tested = backtest(changing, "lammps", method("ours"))
    all_steps = scores(tested, (1, 8, 30))
    one = all_steps[1]
    assert one["mape"] <= 12.0
    assert all(0.85 <= s["coverage"] <= 0.95 for s in all_steps.values())
    floor = np.abs(noise_floor(tested.time_s) / tested.time_s - 1.0)[tested.first :].mean()
    assert one["mape"] < 100 * floor + 1.0


def test_steady_traffic_is_forecast_at_the_floor(changing):
    tested = backtest(changing, "milc", method("ours"), steps=1)
    floor = np.abs(noise_floor(tested.time_s) / tested.time_s - 1.0)[tested.first :].mean()
    assert scores(tested, (1,))[1]["mape"] <= 100 * floor + 0.2


def test_no_answer_changes_when_the_future_does(changing):
    """Marks after a moment are moved, telemetry after it is multiplied: what was said stays."""
    moment = changing.mark_s("lammps")[60]
    when = changing.finished["time_s"].to_numpy()
    finished = changing.finished.with_columns(time_s=np.where(when > moment, 1.3 * when, when))
    ports = changing.ports
    values = np.where((ports.end_s > moment)[:, None, None, None], 7.0 * ports.values, ports.values)
    other = replace(changing, finished=finished, ports=replace(ports, values=values))
    one, two = (backtest(r, "lammps", method("ours"), steps=3) for r in (changing, other))
    assert (one.forecast_s[1:60] == two.forecast_s[1:60]).all()
    assert (one.low_s[1:60] == two.low_s[1:60]).all()
    assert not (one.forecast_s[65:] == two.forecast_s[65:]).all()


def test_the_watch_knows_neighbours_by_their_marks(changing):
    watch = NetworkWatch(changing, "lammps")
    (early,) = watch.at(0.0).neighbours
    assert (early.name, early.running) == ("milc", False)
    (then,) = watch.at(0.2).neighbours
    assert then.running
    assert 0.0 <= then.since_s < 2 * then.usual_s
    assert 0.6 < then.traffic_share < 0.95
    (late,) = watch.at(0.52).neighbours
    assert not late.running


def test_a_hybrid_simulation_sees_only_what_it_simulates(changing):
    saved, error = hybrid_run(changing, "milc", lambda: method("ours"), (10, 30))
    assert saved > 0.6
    assert error < 0.02
    nothing, exact = hybrid_run(changing, "milc", lambda: method("ours"), (10_000, 30))
    assert (nothing, exact) == (0.0, 0.0)


def test_a_model_of_a_run_goes_on_where_the_run_stopped(changing):
    model = fitted(changing, ["milc"])
    times = changing.iteration_s("milc")
    assert model.forecast("milc", 1).time_s[0] == pytest.approx(np.median(times), rel=0.1)
    with pytest.raises(DataError, match="expected ours, last"):
        method("best")
