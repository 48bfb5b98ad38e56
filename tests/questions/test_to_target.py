"""Times to a target: a step's time alone favours small batches, a sample's time large ones."""

from __future__ import annotations

import polars as pl
import pytest

import rheostat as rh
from rheostat.errors import QuestionError

SIZES, STEP_MS, EPOCHS = (256, 512, 1024, 2048), (118, 205, 371, 698), (71, 71, 73, 90)
KNOB = "batch_size=256,512,1024,2048"
WEIGHED = "weighted=runtime_s:1,energy_j:1"


def front(folder, rows, *renamed, knobs=KNOB):
    path = folder / "runs.csv"
    pl.DataFrame(rows).write_csv(path)
    return rh.front(path, knobs=knobs, rule=WEIGHED, renamed=renamed)


def trained(**others):
    return {"batch_size": SIZES, "step_time_ms": STEP_MS, "gpu_power_W": [2300] * 4, **others}


def said(answer):
    return " ".join(str(n) for n in answer.notes)


TYPED = "runtime_s=step_time_ms*epochs_to_75.9%/batch_size"


def test_steps_of_unlike_batches_compare_by_the_time_to_the_target(tmp_path):
    """By samples 2048 would be taken, which takes 11 % more time to the target than 1024."""
    rows = trained(**{"epochs_to_75.9%": EPOCHS})
    with pytest.raises(QuestionError, match=r"times to the target of epochs_to_75\.9%") as stop:
        front(tmp_path, rows)
    assert f"name one: --column '{TYPED}'" in str(stop.value)
    answer = front(tmp_path, rows, TYPED)
    assert answer.choice.setting == {"batch_size": 1024}
    expected = [s * e / b / 1e3 for b, s, e in zip(SIZES, STEP_MS, EPOCHS, strict=True)]
    assert list(answer.front.mean("runtime_s")) == pytest.approx(expected)
    assert list(answer.front.mean("energy_j")) == pytest.approx([2300 * t for t in expected])
    assert "differs between the settings" not in said(answer)


def test_who_asks_for_times_of_a_sample_is_told_of_the_epochs(tmp_path):
    rows = trained(**{"epochs_to_75.9%": EPOCHS})
    answer = front(tmp_path, rows, "runtime_s=step_time_ms/batch_size")
    named = "(71 to 90), and runtime_s (step_time_ms/batch_size) does not count it"
    assert f"{named}: --column '{TYPED}' compares times to that target" in said(answer)


def test_steps_to_a_target_are_times_the_time_of_a_step(tmp_path):
    rows = trained(steps_to_loss=[90_000, 45_000, 24_000, 17_000])
    with pytest.raises(QuestionError) as stop:
        front(tmp_path, rows)
    assert "--column 'runtime_s=step_time_ms*steps_to_loss' compares times to the" in str(
        stop.value
    )
    answer = front(tmp_path, rows, "runtime_s=step_time_ms*steps_to_loss")
    assert answer.choice.setting == {"batch_size": 1024}


def test_times_of_an_epoch_do_not_count_how_many_were_needed(tmp_path):
    rows = {"batch_size": SIZES, "epoch_time_s": [590, 512, 464, 436], "power_w": [2300] * 4,
            "epochs_to_target": EPOCHS}  # fmt: skip
    typed = "runtime_s=epoch_time_s*epochs_to_target"
    answer = front(tmp_path, rows)
    assert f"--column '{typed}' compares times to that target" in said(answer)
    assert front(tmp_path, rows, typed).choice.setting == {"batch_size": 1024}


def test_equal_epochs_and_whole_run_times_need_no_word(tmp_path):
    same = front(tmp_path, trained(**{"epochs_to_75.9%": [71] * 4}),
                 "runtime_s=step_time_ms/batch_size")  # fmt: skip
    whole = front(tmp_path, {"batch_size": SIZES, "runtime_s": [4e4, 3.6e4, 3.4e4, 3.9e4],
                             "power_w": [2300] * 4, "epochs_to_target": EPOCHS})  # fmt: skip
    assert "that target" not in said(same)
    assert "that target" not in said(whole)
    assert whole.choice.setting == {"batch_size": 1024}
