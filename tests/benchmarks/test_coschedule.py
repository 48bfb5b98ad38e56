"""What the benchmark of co-scheduling claims, on the measured queues."""

from __future__ import annotations

import coschedule
import pytest


@pytest.fixture(scope="module", autouse=True)
def _data(shared_data):
    if not coschedule.FOLDER.is_dir():
        pytest.skip(f"measured data not found at {coschedule.FOLDER}")


def test_the_published_savings_come_out_of_the_logs():
    e, m, edp = coschedule.abstract()["H100 against sequential-fastest"]
    assert (round(e, 1), round(m, 1), round(edp, 1)) == (14.8, 30.1, 40.4)


def test_our_ecosched_decides_as_the_released_one():
    assert coschedule.same_decisions("H100/EcoPack_cmab_run.txt") == (24, 24)


def test_the_replay_of_the_published_policy_is_near_what_was_measured():
    rows = {r["log"]: r for r in coschedule.fidelity("/EcoPack_cmab_run")}
    for system, limit in (("A100", 0.02), ("V100", 0.02), ("H100", 0.10)):
        row = rows[f"{system}/EcoPack_cmab_run.txt"]
        assert abs(row["makespan_error"]) <= limit
        assert abs(row["energy_error"]) <= 0.05


@pytest.mark.parametrize("case", [c for c in coschedule.cases() if "volume" in c])
@pytest.mark.parametrize("tenants", [2, 4])
def test_never_worse_than_marble_in_time_or_energy(case, tenants):
    got, _ = coschedule.policies(case, tenants=tenants)
    assert got["packed"].makespan_s <= got["marble"].makespan_s
    assert got["packed"].energy_j <= got["marble"].energy_j


@pytest.mark.parametrize("system", ["V100", "A100", "H100"])
def test_a_lower_product_than_ecosched_also_with_two_tenants(system):
    got, _ = coschedule.policies(system, tenants=2)
    assert got["packed"].edp_js <= 0.95 * got["ecosched"].edp_js
