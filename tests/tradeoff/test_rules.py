"""Rules take the row a person would point at, and say what is missing when none fits."""

import numpy as np
import pytest

from rheostat import Front, Knob, Outcome, table
from rheostat.errors import DataError, Infeasible
from rheostat.tradeoff.all_settings import front as one_front
from rheostat.tradeoff.limits import Deadline, EnergyBudget, MaxSlowdown, NodeHours, PowerCap
from rheostat.tradeoff.parse_rule import parse_rule
from rheostat.tradeoff.rules import Knee, Weighted

NODES = (1, 2, 4, 8, 16)


class Amdahl:
    """Runtime 100 (0.1 + 0.9/n) s, power 500 n W: energy grows with n."""

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")[None, :]
        return Outcome({"runtime_s": 10 + 90 / n, "power_w": 500.0 * n})


@pytest.fixture
def front():
    job = table({"job_id": [7], "nodes": [4], "runtime_s": [33.0]})
    return one_front(job, Amdahl(), Knob("nodes", NODES))


def nodes(assignment):
    return assignment.setting["nodes"]


def test_alternatives_show_the_model_nothing_of_the_end(front):
    assert front.alternatives.columns == ("job_id", "nodes_requested", "nodes")
    assert front.alternatives.frame["nodes"].to_list() == list(NODES)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Deadline(40), 4),  # 2 nodes take 55 s, 4 take 32.5 s
        (PowerCap("2.1kW"), 4),
        (EnergyBudget("66kJ"), 4),  # 65 kJ at 4 nodes, 85 kJ at 8
        (NodeHours(0.04), 4),  # 4 x 32.5 s = 0.0361
        (MaxSlowdown(1.4), 8),  # 21.25 s against 15.625 s
        (MaxSlowdown(1.0, against={"nodes": 2}), 2),
        (Weighted({"runtime_s": 1}), 16),
        (Weighted({"energy_j": 1}), 1),
        (Weighted({"runtime_s": 1, "energy_j": 1}), 8),  # least n (0.1 + 0.9/n)^2 at n = 9
    ],
)
def test_each_rule_takes_the_row_worked_out_by_hand(front, rule, expected):
    assert nodes(front.choose(rule)) == expected


def test_the_knee_rule_is_the_knee_of_the_front(front):
    assert front.choose(Knee()).index == front.knee()


def test_a_limit_holds_beside_a_rule(front):
    assert nodes(front.choose(Weighted({"energy_j": 1}), limits=Deadline(20))) == 16


def test_nothing_fits_names_the_nearest(front):
    with pytest.raises(Infeasible, match="nodes=16") as caught:
        front.choose(Knee(), limits=[Deadline(12)])
    assert caught.value.nearest == 4
    with pytest.raises(Infeasible, match="runtime at most 12 s") as caught:
        front.choose(Deadline(12))
    assert caught.value.nearest == 4


def test_a_constraint_off_the_objectives_may_force_a_dominated_row():
    draws = {
        "runtime_s": np.array([[10.0, 12.0, 20.0]]),
        "energy_j": np.array([[100.0, 90.0, 110.0]]),
        "power_w": np.array([[10.0, 7.5, 5.5]]),
    }
    front = Front(table({"nodes": [3, 2, 1]}), Outcome(draws), ("runtime_s", "energy_j"))
    assert front.mask.tolist() == [True, True, False]
    assert nodes(front.choose(Knee(), limits=PowerCap(6))) == 1


def test_confidence_counts_draws():
    runtime = np.arange(1.0, 11.0)[:, None]  # 1..10 s, equally likely
    front = Front(
        table({"nodes": [1]}), Outcome({"runtime_s": runtime, "power_w": runtime}), ("runtime_s",)
    )
    for confidence in (0.1, 0.5, 0.9):
        for limit in (4.9, 5.0, 9.0, 8.9):
            rule = Deadline(limit, confidence)
            enough = rule.held(front)[0] >= confidence - 1e-12
            enough &= confidence < 0.5 or limit >= 5.5  # the mean, which is printed
            assert (rule.excess(front)[0] <= 0) == enough


def test_slowdown_is_taken_draw_by_draw():
    common = np.array([[1.0], [10.0], [100.0]])  # unsure about the scale, sure about the ratio
    draws = common * np.array([[1.0, 1.1]])
    front = Front(
        table({"nodes": [2, 1]}),
        Outcome({"runtime_s": draws, "power_w": np.array([[2.0, 1.0]] * 3)}),
        ("runtime_s", "power_w"),
    )
    assert front.choose(MaxSlowdown(1.15, confidence=0.95)).index == 1


def test_abstaining_rows_are_never_chosen():
    draws = {"runtime_s": np.array([[np.nan, 5.0]]), "energy_j": np.array([[np.nan, 9.0]])}
    front = Front(table({"nodes": [1, 2]}), Outcome(draws), ("runtime_s", "energy_j"))
    for rule in (Knee(), Deadline(10), MaxSlowdown(1.5), Weighted({"runtime_s": 1})):
        assert front.choose(rule).index == 1
    silent = Front(
        table({"nodes": [1]}), Outcome({"runtime_s": np.array([[np.nan]])}), ("runtime_s",)
    )
    with pytest.raises(Infeasible, match="abstains"):
        silent.choose(MaxSlowdown(2))


def test_wrong_arguments_are_named():
    for make in (
        lambda: Deadline(-1),
        lambda: PowerCap("3kW", confidence=1.5),
        lambda: MaxSlowdown(0.5),
        lambda: Weighted({}),
        lambda: Weighted({"runtime_s": 0}),
        lambda: parse_rule("deadline"),
        lambda: parse_rule("slowdown=fast"),
    ):
        with pytest.raises(DataError, match="expected"):
            make()


def test_an_unknown_reference_setting_is_an_error(front):
    with pytest.raises(DataError, match="nodes=3"):
        front.choose(MaxSlowdown(1.2, against={"nodes": 3}))


def test_constraints_that_leave_nothing_are_infeasible():
    with pytest.raises(Infeasible, match="leave no setting"):
        one_front(
            table({"nodes": [1]}), Amdahl(), Knob("nodes", NODES), constraints=[lambda s: False]
        )


def test_an_objective_the_model_does_not_give_is_an_error():
    with pytest.raises(DataError, match="carbon_g"):
        one_front(table({"nodes": [1]}), Amdahl(), Knob("nodes", NODES), ("runtime_s", "carbon_g"))


def test_a_little_more_saving_is_not_bought_with_much_more_risk():
    """By hand: 90 J always in time, or 86 J that is too slow in two draws of five."""
    runtime = np.array([[10.0, 10.5, 10 if d < 3 else 20] for d in range(5)])
    draws = {"runtime_s": runtime, "energy_j": np.tile([100.0, 90.0, 86.0], (5, 1))}
    front = Front(table({"nodes": [4, 2, 1]}), Outcome(draws), ("runtime_s", "energy_j"))
    slowdown = MaxSlowdown(1.1, {"nodes": 4})
    assert front.choose(Weighted({"energy_j": 1}), slowdown).index == 2
    careful = Weighted({"energy_j": 1}, slowdown)
    assert np.exp(careful.score(front)) == pytest.approx([100, 90, (3 * 86 + 2 * 100) / 5])
    assert (front.choose(careful, slowdown).index, str(careful)) == (1, "least energy")
    narrow = Weighted({"energy_j": 1}, MaxSlowdown(1.02, {"nodes": 4}))
    assert np.exp(narrow.score(front)) == pytest.approx([100, 100, 91.6])
