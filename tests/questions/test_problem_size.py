"""Weak scaling is seen by the name of a size or by texts that grow with a knob; names are not."""

import pytest

import rheostat as rh
from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.errors import QuestionError
from rheostat.questions.settings.problem_size import grown

RANKS = {"ranks": [1, 2, 4], "runtime_s": [10.0, 11.0, 12.0]}


def sizes(column, values):
    return grown(table({**RANKS, column: values}), ["ranks"])


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("Data Points", ["few", "more", "most"]),  # words of a size, however they are joined
        ("meshSize", ["S", "M", "L"]),
        ("grid", [1000, 2000, 4000]),
        ("Share of data", ["12.5% / ~150", "25% / ~300", "50% / ~600"]),
        ("input", ["512 MB", "1 GB", "2 GB"]),
        ("domain", ["64x64", "128x64", "128x128"]),
    ],
)
def test_a_size_that_grows_with_the_knob_is_named(column, values):
    if column == "domain":  # the first number has to rise, else the text is a name
        assert sizes(column, values) == ()
        values = ["64x64", "128x64", "256x64"]
    assert sizes(column, values) == (column,)
    answer = rh.front(table({**RANKS, column: values}), knobs="ranks=1,2,4", objectives="runtime_s")
    assert any(f"{column} differs between the settings" in n for n in answer.notes)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("config", ["1 x 8", "2 x 8", "4 x 8"]),  # the knob once more
        ("layout", ["8 cores", "16 cores", "32 cores"]),
        ("total cores", ["8", "16", "32"]),
        ("hosts", ["n[001]", "n[001-002]", "n[001-004]"]),
        ("label", ["a1", "b2", "c4"]),
        ("when", ["2026-01-01", "2026-02-01", "2026-03-01"]),
        ("when", ["1 Feb 2026", "2 Feb 2026", "3 Feb 2026"]),
        ("when", ["1.2.2026", "2.2.2026", "3.2.2026"]),
        ("gained", ["1.0x", "1.9x", "3.5x"]),
        ("speedup", ["1.0", "1.9", "3.5"]),
        ("node-hours", ["0.1 node h", "0.2 node h", "0.4 node h"]),
        ("waited", ["1 s", "3 s", "9 s"]),
        ("local part", ["100 rows", "50 rows", "25 rows"]),
        ("image", ["4711.server", "4712.server", "4713.server"]),
        ("k", [1, 5, 9]),
        ("Tokens/s", [100, 190, 350]),
        ("cells per rank", [400, 200, 100]),
    ],
)
def test_what_else_goes_with_the_settings_is_not(column, values):
    assert sizes(column, values) == ()


def test_two_settings_or_several_texts_at_one_tell_nothing():
    two = {"ranks": [1, 2], "part": ["10 MB", "20 MB"], "runtime_s": [9.0, 9.0]}
    assert grown(table(two), ["ranks"]) == ()
    part = ["10 MB", "20 MB", "40 MB", "40 MB", "20 MB", "10 MB"]
    crossed = {"ranks": [1, 2, 4] * 2, "part": part, "runtime_s": [9.0] * 6}
    assert grown(table(crossed), ["ranks"]) == ()


def front(column, values, more=(), **others):
    runs = table({**RANKS, **others, column: values}, more)
    return rh.front(runs, knobs="ranks=1,2,4", objectives="runtime_s")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("Grid-Cells", [1000, 2000, 4000]),
        ("n_atoms", [1000, 1000, 4000]),
        ("iterations", [100, 200, 500]),  # as people choose them
        ("n_steps", [1000, 1000, 2500]),
        ("epochs", [5, 10, 20]),
    ],
)
def test_settings_of_unlike_sizes_are_refused_with_what_compares_them(column, values):
    with pytest.raises(QuestionError, match=f"--column '?runtime_s=runtime_s/{column}") as refused:
        front(column, values)
    same = f"--where {column}={values[0]}" in str(refused.value)
    assert same == (values[0] == values[1])


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("iterations", [412, 437, 455]),  # as a solver needed them
        ("iterations", [100, 100, 100]),
        ("epochs", [23, 31, 47]),
        ("steps_per_s", [100, 200, 500]),
        ("block_size", [100, 200, 400]),
    ],
)
def test_results_and_like_sizes_are_compared(column, values):
    assert front(column, values).choice.setting == {"ranks": 1}


def test_who_says_that_a_size_is_a_result_has_it_compared():
    answer = front("cells", [900, 1000, 2000], [Column("cells", "", Moment.END)])
    assert answer.choice.setting == {"ranks": 1}
    assert not any("cells" in note for note in answer.notes)


def test_times_of_one_piece_are_compared():
    runs = [Column("runtime_s", "s", Moment.END, "from step_time_s")]
    assert front("n_steps", [100, 200, 500], runs).choice.setting == {"ranks": 1}


@pytest.mark.parametrize("steps", [[2000, 1000, 500], [2000, 1000, 990]])
def test_fewer_steps_of_larger_batches_are_the_same_work(steps):
    runs = {"batch_size": [64, 128, 256], "steps": steps, "runtime_s": [90.0, 60.0, 50.0]}
    asked = {"knobs": "batch_size=64,128,256", "objectives": "runtime_s"}
    if steps[-1] == 500:
        assert rh.front(table(runs), **asked).choice.setting == {"batch_size": 256}
    else:
        with pytest.raises(QuestionError, match="steps differs"):
            rh.front(table(runs), **asked)


def test_a_method_has_as_many_steps_as_it_needs():
    runs = {"solver": ["cg", "jacobi", "amg"], "iterations": [1200, 600, 30]}
    answer = rh.front(
        table({**runs, "runtime_s": [9.0, 6.0, 2.0]}), knobs="solver", objectives="runtime_s"
    )
    assert answer.choice.setting == {"solver": "amg"}


def test_steps_of_unlike_tokens_are_refused_and_their_quotient_is_compared(tmp_path):
    text = "gpus,step_time_ms,tokens_per_step,power_w\n1,400,4096,300\n2,410,8192,600\n"
    (file := tmp_path / "steps.csv").write_text(text)
    with pytest.raises(QuestionError, match="--column runtime_s=step_time_ms/tokens_per_step"):
        rh.front(file, knobs="gpus")
    named = ["runtime_s=step_time_ms/tokens_per_step"]
    answer = rh.front(file, knobs="gpus", rule="weighted=runtime_s:1", renamed=named)
    assert answer.choice.setting == {"gpus": 2}
    file.write_text(text.replace("8192", "4096"))
    assert rh.front(file, knobs="gpus").choice.setting == {"gpus": 1}
