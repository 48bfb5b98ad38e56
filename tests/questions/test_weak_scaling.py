"""A size of work that each rank keeps grows with the ranks; shares of one problem do not."""

import pytest

import rheostat as rh
from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.errors import QuestionError

TOOK = {"runtime_s": [212.0, 215.0, 222.0], "energy_j": [87e3, 176e3, 364e3]}


def front(runs, knob="ranks", more=()):
    values = ",".join(map(str, runs[knob]))
    return rh.front(table({**TOOK, **runs}, more), knobs=f"{knob}={values}",
                    rule="weighted=runtime_s:1")  # fmt: skip


@pytest.mark.parametrize(
    ("knob", "size"),
    [
        ("ranks", "cells_per_rank"),
        ("ranks", "cells/process"),
        ("mpi_tasks", "local size per rank"),
        ("nodes", "particles_per_node"),
        ("gpus", "n_atoms_per_gpu"),
        ("threads", "unknowns_per_thread"),
        ("nodes", "Grid points per core"),  # of as many cores in each node
    ],
)
def test_work_that_grows_with_the_parts_is_refused_with_what_compares_it(knob, size):
    with pytest.raises(QuestionError, match=f"--column runtime_s=runtime_s/{knob} --column") as no:
        front({knob: [32, 64, 128], size: [2000000] * 3}, knob)
    assert f"{size} is 2000000 in all runs" in str(no.value)


def test_the_product_decides_where_the_share_of_a_part_differs():
    runs = {"ranks": [32, 64, 128]}
    with pytest.raises(QuestionError, match="write a column WORK of cells_per_rank x ranks"):
        front({**runs, "cells_per_rank": [2000, 1900, 1950]})
    assert front({**runs, "cells_per_rank": [2000, 1000, 501]}).choice.setting == {"ranks": 32}


def test_parts_of_a_node_count_with_the_nodes():
    runs = {"nodes": [1, 2, 4], "cells_per_gpu": [500] * 3}
    assert front({**runs, "gpus_per_node": [8, 4, 2]}, "nodes").choice.setting == {"nodes": 1}
    with pytest.raises(QuestionError, match="cells_per_gpu x nodes x gpus_per_node"):
        front({**runs, "gpus_per_node": [4, 4, 4]}, "nodes")


@pytest.mark.parametrize(
    "heading",
    [
        "ranks_per_node",
        "cores_per_node",
        "gpus_per_rank",
        "batch_size_per_gpu",
        "batch_per_rank",
        "memory_size_per_node",
        "message_size_per_rank",
        "power_per_node",
        "cells_per_rank_per_s",
        "points_per_cell",
        "iterations_per_rank",
    ],
)
def test_other_constants_of_a_part_are_no_size_of_the_work(heading):
    answer = front({"ranks": [32, 64, 128], heading: [4] * 3})
    assert answer.choice.setting == {"ranks": 32}


def test_as_many_parts_at_every_setting_do_the_same_work():
    runs = {"ghz": [1, 2, 3], "ranks": [32] * 3, "cells_per_rank": [2000] * 3}
    assert front(runs, "ghz").choice.setting == {"ghz": 1}
    assert front({"threads": [1, 2, 4], "cells_per_rank": [2000] * 3}, "threads").choice


def test_times_of_the_work_of_one_and_a_known_result_are_compared():
    runs = {"ranks": [32, 64, 128], "cells_per_rank": [2000] * 3}
    said = [Column("cells_per_rank", "", Moment.END)]
    assert front(runs, more=said).choice.setting == {"ranks": 32}
    of_one = [Column("runtime_s", "s", Moment.END, "from time_s/ranks")]
    assert front(runs, more=of_one).choice.setting == {"ranks": 32}
    of_share = [Column("runtime_s", "s", Moment.END, "from time_s/cells_per_rank")]
    with pytest.raises(QuestionError, match="weak scaling"):
        front(runs, more=of_share)


def test_ranks_that_are_taken_for_cores_count_as_well(tmp_path):
    text = "ranks,cells_per_rank,time_s,energy_kJ\n32,2000,212,87\n64,2000,215,176\n"
    (file := tmp_path / "weak.csv").write_text(text)
    with pytest.raises(QuestionError, match="--column runtime_s=time_s/ranks"):
        rh.front(file, rule="weighted=runtime_s:1")
    file.write_text(text.replace("64,2000", "64,1000"))
    assert rh.front(file, rule="weighted=runtime_s:1").choice.setting == {"cores": 32}
