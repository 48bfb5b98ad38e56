"""What a step took, times the steps of a run, is what the run took, where the table says both."""

from __future__ import annotations

import pytest

from rheostat.measurement.runs.reader import read_runs


def table(tmp_path, head, *rows):
    (file := tmp_path / "runs.csv").write_text("\n".join([head, *rows]) + "\n")
    return read_runs(file)


@pytest.mark.parametrize("steps", ["steps", "n_steps", "num_steps", "Total steps"])
@pytest.mark.parametrize("joules", ["J_per_step", "J/step", "energy_per_step_J", "energy/step [J]"])
def test_energy_of_a_step_times_the_steps_is_that_of_the_run(joules, steps, tmp_path):
    jobs = table(tmp_path, f"nodes,{steps},time_s,{joules}", "1,1000,900,400", "2,500,300,430")
    assert jobs.frame["energy_j"].to_list() == [400_000.0, 215_000.0]
    assert jobs.frame["runtime_s"].to_list() == [900.0, 300.0]
    assert any(n.message.endswith(f"times {steps}") for n in jobs.notes)


@pytest.mark.parametrize(
    ("head", "energy"),
    [
        ("nodes,epochs,time_s,kJ/epoch", [4e6, 2.15e6]),
        ("nodes,iterations,time_s,energy_per_iter_J", [4000.0, 2150.0]),
        ("nodes,num_images,time_s,J/img", [4000.0, 2150.0]),
    ],
)
def test_so_of_epochs_iterations_and_images(head, energy, tmp_path):
    jobs = table(tmp_path, head, "1,10,900,400", "2,5,300,430")
    assert jobs.frame["energy_j"].to_list() == energy


def test_a_time_of_a_step_beside_the_energy_of_a_run(tmp_path):
    jobs = table(tmp_path, "nodes,steps,ms_per_step,energy_kJ", "1,1000,400,150", "2,1000,210,160")
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([400.0, 210.0])
    assert jobs.frame["energy_j"].to_list() == [150_000.0, 160_000.0]


@pytest.mark.parametrize(
    "head",
    [
        "nodes,steps,step_time_s,energy_per_step_J",  # both of a step: they go together
        "nodes,step,time_s,J_per_step",  # which step it was
        "nodes,steps,time_s,J_per_epoch",  # of something else
        "nodes,steps_per_epoch,time_s,J_per_step",
    ],
)
def test_what_does_not_belong_together_is_not_multiplied(head, tmp_path):
    jobs = table(tmp_path, head, "1,10,900,400", "2,5,300,430")
    assert not any(" times " in n.message for n in jobs.notes)
    assert "energy_j" not in jobs.columns or jobs.frame["energy_j"].to_list() == [400, 430]


def test_a_metered_energy_stays(tmp_path):
    head = "nodes,steps,time_s,J_per_step,energy_kJ"
    jobs = table(tmp_path, head, "1,10,900,400,5", "2,5,300,430,6")
    assert jobs.frame["energy_j"].to_list() == [5000.0, 6000.0]
