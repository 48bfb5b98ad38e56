"""Runs of two precisions, or two engines, are no repeats of one setting."""

import pytest

import rheostat as rh


def runs(**more):
    """Two batch caps, each run in two ways, of which the second halves time and energy."""
    caps = [8, 8, 32, 32, 64, 64]
    ways = list(zip(caps, [1.0, 0.5] * 3, strict=True))
    return rh.table({
        "app": ["m"] * 6, "params": [8e9] * 6, "gpu_model": ["H100"] * 6, "gpus": [1] * 6,
        "batch_cap": caps, "itl_s": [(0.01 + 1e-4 * b) * s for b, s in ways],
        "energy_per_token_j": [(0.05 + 4 / b) * s for b, s in ways],
        **more})  # fmt: skip


def test_a_precision_is_a_knob_and_its_engine_line_says_it():
    table = runs(weight_precision=["bf16", "fp8"] * 3)
    answer = rh.llm.plan(table, "m", itl="9ms")
    assert (answer.setting["weight_precision"], answer.setting["batch_cap"]) == ("fp8", 64)
    assert answer.engine_line.endswith("--quantization fp8")
    assert answer.choice.because.support == 1.0  # one run, not two that are averaged
    assert any("--knob weight_precision=bf16 keeps one of bf16, fp8" in s for s in answer.notes)
    kept = rh.llm.plan(table, "m", itl="12ms", knobs=["weight_precision=bf16"])
    assert (kept.setting["batch_cap"], kept.engine_line[-16:]) == (8, "--dtype bfloat16")


def test_rows_that_all_are_fp8_start_an_engine_in_fp8():
    table = runs(weight_precision=["fp8"] * 6)
    assert rh.llm.plan(table, "m").engine_line.endswith("--quantization fp8")


def test_engines_that_differ_are_said_and_a_limit_is_held_by_the_printed_mean():
    table = runs(engine=["sglang", "vllm"] * 3)
    answer = rh.llm.plan(table, "m", itl="10ms")  # in vllm 64 takes 8.2 ms, in sglang 16.4
    assert answer.front.mean("itl_s")[answer.choice.index] == pytest.approx(0.0082)
    assert (answer.setting["engine"], answer.setting["batch_cap"]) == ("vllm", 64)
    assert any("--knob engine=sglang keeps one of sglang, vllm" in s for s in answer.notes)
    assert any("with engine=sglang is 2 times that with engine=vllm" in s for s in answer.notes)


@pytest.mark.parametrize("day", [["a", "b", "b", "a", "a", "b"], list("abcdef")])
def test_words_that_part_nothing_clearly_are_not_said(day):
    from rheostat.recipes.energylens import notes_on

    assert not [n for n in notes_on(runs(day=day)) if "day=" in n.message]


def test_the_line_starts_the_engine_that_was_chosen():
    table = runs(backend=["TRT-LLM", "sglang"] * 3)
    best = rh.llm.plan(table, "m", itl="10ms")
    assert best.engine_line.startswith("python -m sglang")
    kept = rh.llm.plan(table, "m", knobs=["backend=TRT-LLM"])
    assert kept.engine_line.startswith("# TRT-LLM")
    assert {kept.front.setting(i)["backend"] for i in range(len(kept.front))} == {"TRT-LLM"}


def test_engines_that_are_alike_are_taken_together():
    table = runs(engine=["sglang", "sglang", "vllm", "vllm", "sglang", "sglang"])
    assert "engine" not in rh.llm.plan(table, "m").setting


@pytest.mark.parametrize("ways", [["off", "eagle3"], ["off", "ngram", "eagle3"]])
def test_an_option_that_helps_here_and_harms_there_is_chosen_and_not_averaged(ways):
    """Speculation halves the time of one request and lengthens that of a full batch."""
    rows = [(b, w, (0.008 + 1e-4 * b) * {"off": 1.0, "ngram": 0.9}.get(w, 0.5 + b / 128))
            for b in (1, 8, 32, 128) for w in ways]  # fmt: skip
    caps, words, itl = map(list, zip(*rows, strict=True))
    table = rh.table({
        "app": ["m"] * len(rows), "params": [8e9] * len(rows), "gpu_model": ["H100"] * len(rows),
        "gpus": [1] * len(rows), "batch_cap": caps, "speculative_decoding": words, "itl_s": itl,
        "energy_per_token_j": [0.05 + 4 / b for b in caps]})  # fmt: skip
    answer = rh.llm.plan(table, "m", itl="5ms")
    assert (answer.setting["speculative_decoding"], answer.setting["batch_cap"]) == ("eagle3", 8)
    assert any("the speculative_decoding is chosen, too" in note for note in answer.notes)
    assert not any("disturbed" in note for note in answer.notes)


def test_batch_caps_that_others_ran_in_between_are_said_and_how_to_ask_for_them():
    table = rh.table({
        "app": ["m"] * 2 + ["n"] * 4, "params": [8e9] * 2 + [7e9] * 4, "gpu_model": ["H100"] * 6,
        "gpus": [1] * 6, "batch_cap": [8, 64, 4, 16, 32, 128],
        "itl_s": [0.0108, 0.0164, 0.0104, 0.0116, 0.0132, 0.0228],
        "energy_per_token_j": [0.55, 0.1125, 1.05, 0.3, 0.175, 0.08125]})  # fmt: skip
    said = [n for n in rh.llm.plan(table, "m").notes if "batch caps" in n]
    assert said == [
        "batch caps 16,32, which other models ran and this one did not, are not "
        "offered: --knob batch_cap=8,16,32,64 asks the law about them, too"
    ]
    asked = rh.llm.plan(table, "m", knobs=["batch_cap=8,16,32,64"])
    assert not [n for n in asked.notes if "batch caps" in n]
