"""Joules of a job from its steps': what was measured, of which nodes, and what was not."""

import json

import pytest

from rheostat.measurement.slurm.sacct import read_sacct
from rheostat.measurement.slurm.sacct_json import read_sacct_json
from rheostat.measurement.slurm.step_energy import (
    BY_ANOTHER,
    BY_EXTERN,
    BY_EXTERN_ROUND,
    FIRST_NODE,
    LACKING,
    ONLY_EXTERN,
    ROUND,
    StepJoules,
    job_energy,
)

WRAPPED = 2.0**64 - 1e8


def steps(batch=None, extern=None, *numbered, hours=(1.0,) * 9):
    named = [StepJoules("batch", batch, 3600.0, 1), StepJoules("extern", extern, 3600.0, 16)]
    return [*named, *(StepJoules(str(i), e, hours[i] * 3600.0, 16) for i, e in enumerate(numbered))]


@pytest.mark.parametrize(
    ("own", "of", "nodes", "expected"),
    [
        # Slurm's own line, and the sum of the numbered steps
        (5.0, steps(3.0, None, 9.0), 16, (5.0, "")),
        (0.0, steps(3.0, None, 4.0, 5.0), 16, (9.0, "")),
        (None, steps(1.5e6, 2.4e7, 2.3e7), 16, (2.3e7, "")),
        (WRAPPED, steps(1.5e6, None, 2.3e7), 16, (2.3e7, "")),
        # one node: the batch step is all of it
        (None, steps(1.5e6, 1.6e6, 0.0), 1, (1.5e6, "")),
        (None, steps(None, 1.6e6, 0.0), 1, (1.6e6, "")),
        (None, steps(1.5e6, None, WRAPPED), 1, (1.5e6, BY_ANOTHER)),
        (-1.0, steps(3.0), None, (3.0, "energy_j: of another step")),
        (None, steps(5.0, None, 3.0, WRAPPED), None, (None, ROUND)),
        # several nodes: the batch step is the first one's
        (None, steps(1.5e6, 2.4e7, 0.0), 16, (2.4e7, BY_EXTERN)),
        (None, steps(1.5e6, 2.4e7, None), 16, (2.4e7, BY_EXTERN)),
        (None, steps(1.5e6, 2.4e7), 16, (2.4e7, BY_EXTERN)),
        (None, steps(1.5e6, 2.4e7, WRAPPED), 16, (2.4e7, BY_EXTERN_ROUND)),
        (2.3e7, steps(1.5e6, None, 2.3e7, 2.0**64 - 2), 16, (None, ROUND)),
        (None, steps(1.5e6, 1.5e6, 0.0), 16, (None, FIRST_NODE)),
        (None, steps(1.5e6, None, 0.0), 16, (None, FIRST_NODE)),
        (None, steps(1.5e6, 0.0, 0.0), 16, (None, FIRST_NODE)),
        (None, steps(None, 2.4e7, 0.0), 16, (None, ONLY_EXTERN)),
        (None, steps(1.5e6, 2.4e9, 0.0), 16, (None, FIRST_NODE)),
        (None, steps(1.5e6, None, WRAPPED), 16, (None, ROUND)),
        (None, steps(1.5e6, WRAPPED, 0.0), 16, (None, ROUND)),
        (None, steps(None, None, 2.0**63 - 1), 16, (None, ROUND)),
        (2.0**64 - 2, [], 16, (None, ROUND)),
        # a step of the sum was not counted: long, or short
        (None, steps(1.5e6, None, 1e7, 0.0), 16, (None, LACKING)),
        (None, steps(1.5e6, 2.4e7, 1e7, None), 16, (2.4e7, BY_EXTERN)),
        (None, steps(1.5e6, 2.4e7, 1e7, 0.0, hours=(0.97, 0.03)), 16, (1e7, "")),
        # nobody counted
        (0.0, steps(0.0, 0.0, 0.0), 16, (None, "")),
        (None, [], None, (None, "")),
    ],
)
def test_joules_are_those_of_all_nodes_or_not_known(own, of, nodes, expected) -> None:
    joules, said = job_energy(own, of, nodes)
    assert joules == expected[0]
    assert said.startswith(expected[1])
    assert bool(said) == bool(expected[1])


HEAD = "JobID|State|Submit|Elapsed|NNodes|NodeList|ConsumedEnergyRaw"


@pytest.mark.parametrize("without", ["", "NNodes", "NodeList"])
def test_of_a_log_whose_steps_counted_nothing_the_batch_step_is_not_the_job(
    tmp_path, without
) -> None:
    lines = [HEAD]
    for number, extern, counted in (("7", "24000000", "0"), ("8", "", "0"), ("9", "", "2" * 20)):
        for step, nodes, joules in (("", 16, ""), (".batch", 1, "1500000"),
                                    (".extern", 16, extern), (".0", 16, counted)):  # fmt: skip
            names = "n[01-16]" if nodes > 1 else "n01"
            at = "COMPLETED|2026-01-01T00:00:00|01:00:00"
            lines.append(f"{number}{step}|{at}|{nodes}|{names}|{joules}")
    place = HEAD.split("|").index(without) if without else -1
    rows = [[c for i, c in enumerate(x.split("|")) if i != place] for x in lines]
    file = tmp_path / "log.txt"
    file.write_text("\n".join("|".join(row) for row in rows) + "\n")
    jobs = read_sacct(file)
    assert jobs.frame["energy_j"].to_list() == [2.4e7, None, None]
    said = {n.message: n.rows for n in jobs.notes}
    assert (said[BY_EXTERN], said[FIRST_NODE], said[ROUND]) == ((0,), (4,), (8,))


def test_documents_tell_joules_by_the_same_rule(tmp_path) -> None:
    def job(number, **joules):
        tres = {"allocated": [{"type": "node", "count": 16}]}
        of = [{"step": {"id": f"{number}.{name}"}, "time": {"elapsed": 3600},
               "nodes": {"count": 16}, "statistics": {"energy": {"consumed": e}}}
              for name, e in joules.items()]  # fmt: skip
        return {"job_id": number, "time": {"elapsed": 3600, "submission": 1.7e9}, "tres": tres,
                "state": {"current": "COMPLETED"}, "steps": of}  # fmt: skip

    zero, wrapped = {"0": 0}, {"0": 2**64 - 10**6, "1": 5}
    rows = [job(1, batch=1_500_000, extern=24_000_000, **zero), job(2, batch=1_500_000, **zero),
            job(3, **wrapped)]  # fmt: skip
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"jobs": rows}))
    jobs = read_sacct_json(file)
    assert jobs.frame["energy_j"].to_list() == [2.4e7, None, None]
    said = {n.message: n.rows for n in jobs.notes}
    assert (said[BY_EXTERN], said[FIRST_NODE], said[ROUND]) == ((0,), (1,), (2,))
