"""LASSI and LASSI-EE against a scripted service: what is sent back, taken, and stops them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from rheostat.measurement.code.programs.program import Program
from rheostat.prediction.language_model.conversation import ChatCompletion, Sampling
from rheostat.prediction.language_model.openai_model import OpenAIModel
from rheostat.prediction.language_model.transcript import RecordedModel, Transcript
from rheostat.recipes.lassi import Conversation, LassiOptions, lassi_metrics, lassi_steps
from rheostat.recipes.lassi_ee import LassiEnergyOptions, lassi_ee_steps, trial_reductions
from rheostat.tradeoff.variants.variant import StepwiseProposer, VariantResult

pytest.importorskip("openai")
PLACE = Path(__file__).parents[1] / "prediction" / "scripted_server.py"
spec = importlib.util.spec_from_file_location("scripted_server", PLACE)
assert spec is not None
assert spec.loader is not None
scripted = importlib.util.module_from_spec(spec)
sys.modules["scripted_server"] = scripted
spec.loader.exec_module(scripted)

SERIAL = "#include <stdio.h>\nint main(void) { return 0; }\n"
SOURCE = SERIAL.replace("return", "\n#pragma omp parallel\nreturn")
ORIGINAL = Program({"main.c": SOURCE}, "openmp")
GOOD = VariantResult(accepted=True, runtime_ratio=0.5, energy_ratio=0.5)
RACY = VariantResult(accepted=False, rung="races", findings=((3, "data race"), (4, "and here")))
WORSE = VariantResult(accepted=True, runtime_ratio=1.2, energy_ratio=1.2)
BROKEN = VariantResult(accepted=False, rung="compile", findings=((1, "expected ';'"),))


def program(name: str) -> str:
    return f"```c\n{SOURCE}// {name}\n```"


class Same:
    """A model that always says the same."""

    name = "same"

    def complete(self, messages, sampling, index=0) -> ChatCompletion:
        return ChatCompletion(program("a"))


def play(replies, results, steps, **options):
    """Drive a chain with scripted replies and results; (variants, requests)."""
    with scripted.serving(*replies) as script:
        model = OpenAIModel("m", script.url, retries=0)
        chain = steps(model)
        variants = []
        try:
            variant = next(chain)
            while True:
                variants.append(variant)
                variant = chain.send(results[min(len(variants), len(results)) - 1])
        except StopIteration:
            pass
    return variants, script.requests


def translate(**options):
    how = LassiOptions(**options)
    return lambda model: lassi_steps(ORIGINAL, "openmp", Conversation(model, how.sampling), how)


def last_words(request) -> str:
    return request["messages"][-1]["content"]


def test_context_description_task_then_the_errors_with_their_lines() -> None:
    replies = ["in short", "it adds", program("a"), program("b"), program("c")]
    variants, requests = play(replies, [BROKEN, RACY, GOOD], translate())
    assert [v.change for v in variants] == [
        "chain 0, first answer", "chain 0, correction 1", "chain 0, correction 2"
    ]  # fmt: skip
    assert "in short" in last_words(requests[2])
    assert "it adds" in last_words(requests[2])
    assert "wrong (compile):\nline 1: expected ';'" in last_words(requests[3])
    assert "The original" not in last_words(requests[3])
    assert f"The original:\n```c\n{SOURCE}\n```" in last_words(requests[4])
    assert "line 3: data race\nline 4: and here" in last_words(requests[4])
    assert len(requests) == 5


def test_newlines_are_deleted_only_where_asked_for() -> None:
    replies = ["", "", program("a"), program("b")]
    _, requests = play(replies, [RACY, GOOD], translate(newlines_deleted=True))
    assert "line 3: data raceline 4: and here" in last_words(requests[3])


def test_wrong_output_is_never_told_where_outputs_are_not_checked() -> None:
    replies = ["", "", program("a"), program("b")]
    variants, requests = play(replies, [RACY, GOOD], translate(no_output_check=True))
    assert (len(variants), len(requests)) == (1, 3)


def test_the_same_program_again_is_not_run_and_the_next_question_is_warmer() -> None:
    replies = ["", "", program("a"), program("a"), program("a"), program("b")]
    variants, requests = play(replies, [RACY, GOOD], translate())
    assert len(variants) == 2
    heat = [r["temperature"] for r in requests[2:]]
    assert heat == pytest.approx([0.2, 0.2, 0.5, 0.8])
    assert "came before" in last_words(requests[4])
    assert len({r["seed"] for r in requests[3:]}) == 3


@pytest.mark.parametrize(
    ("reply", "words"),
    [("Add a pragma.", "one fenced block"), ("I'm sorry, no.", "one fenced block"),
     ((f"```c\n{SOURCE}", "length"), "cut off"),
     (f"```c\n{SERIAL}```", "plain C, not C with OpenMP"),
     (f"```c\n{SERIAL}// #pragma omp parallel\n```", "plain C, not C with OpenMP")],
)  # fmt: skip
def test_answers_without_a_program_are_asked_for_again(reply, words) -> None:
    variants, requests = play(["", "", reply, program("a")], [GOOD], translate())
    assert len(variants) == 1
    assert words in last_words(requests[3])


def test_cuda_that_stays_is_named_by_its_lines_and_nothing_of_it_is_run() -> None:
    kernels = Program({"main.cu": "__global__ void k(int *a) {}"}, "cuda")

    def steps(model):
        how = LassiOptions(self_prompting=False)
        return lassi_steps(kernels, "openmp", Conversation(model, Sampling()), how)

    whole = "```c\n__global__ void k(int *a) {}\nint main() {\n  k<<<1, 1>>>(0); }\n```"
    half = SOURCE.replace("return 0", 'puts("cudaFree(a) <<<"); // k<<<1, 1>>>\n  cudaFree(0)')
    variants, requests = play([whole, f"```c\n{half}```", program("a")], [GOOD], steps)
    assert [v.text for v in variants] == [f"{SOURCE}// a\n"]
    kernel = "__global__ void k(int *a) {}"
    asked_again = f"which are CUDA, may stay:\n{kernel}\nk<<<1, 1>>>(0); }}"
    assert last_words(requests[1]).endswith(asked_again)
    assert last_words(requests[2]).startswith(f"```c\n{half}")
    assert "still CUDA:\ncudaFree(0); }\n\nDelete those" in last_words(requests[2])
    assert "Coming from CUDA" in last_words(requests[0])
    roles = [m["role"] for m in requests[0]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "#pragma omp parallel for" in requests[0]["messages"][2]["content"]


def test_a_larger_model_is_told_what_failed_and_repeats_are_known_to_it() -> None:
    class Large(Same):
        name = "large"
        asked: list = []  # noqa: RUF012

        def complete(self, messages, sampling, index=0) -> ChatCompletion:
            self.asked.append((messages[-1].content, sampling.temperature))
            return ChatCompletion(program("a" if len(self.asked) == 1 else "b"))

    large = Large()
    talk = Conversation(Same(), Sampling(), larger=[large])
    chain = lassi_steps(ORIGINAL, "openmp", talk, LassiOptions(self_prompting=False))
    assert next(chain).proposer == "same"
    # told that it is racy the first says the same, and the larger one too, once
    assert chain.send(RACY).proposer == "large"
    assert "Earlier programs were wrong:\nraces: data race" in large.asked[0][0]
    assert [t for _, t in large.asked] == pytest.approx([0.2, 0.5])
    assert talk.corrections == 3
    with pytest.raises(StopIteration):
        chain.send(GOOD)


@pytest.mark.parametrize(("result", "models"), [(GOOD, 1), (WORSE, 2), (RACY, 2)])
def test_a_larger_model_refactors_where_the_first_saves_nothing(result, models) -> None:
    class Larger(Same):
        name = "larger"

    talk = Conversation(Same(), Sampling(), larger=[Larger()])
    lassi = LassiOptions(most_corrections=0, self_prompting=False)
    chain = lassi_ee_steps(ORIGINAL, talk, LassiEnergyOptions(lassi, most_iterations=1))
    assert next(chain).proposer == "same"
    with pytest.raises(StopIteration):
        chain.send(result)
    assert talk.model.name == ("same" if models == 1 else "larger")


@pytest.mark.parametrize(
    "reply",
    [SOURCE, f"Build it:\n```sh\ngcc a.c\n```\n```cpp\n{SOURCE}```\nIt prints\n```\n1\n```\n"],
)
def test_a_program_without_a_fence_or_among_several_is_taken(reply) -> None:
    variants, requests = play(["", "", reply], [GOOD], translate())
    assert [v.text for v in variants] == [SOURCE]
    assert len(requests) == 3


def test_corrections_end() -> None:
    replies = ["", "", *(program(str(i)) for i in range(9))]
    variants, _ = play(replies, [RACY], translate(most_corrections=2))
    assert len(variants) == 3


@pytest.mark.parametrize("reply", ["I'm sorry, no.", program("a")])
def test_corrections_without_limit_end_where_nothing_new_comes(reply) -> None:
    variants, requests = play(["", "", reply], [RACY], translate(unlimited_corrections=True))
    assert len(variants) <= 1
    assert len(requests) <= 14


def test_no_answer_ends_the_chain_without_an_error() -> None:
    variants, _ = play(["", "", 500], [GOOD], translate())
    assert variants == []


def test_a_killed_chain_pays_for_nothing_twice(tmp_path) -> None:
    replies = ["", "", program("a"), program("b")]
    asked = []
    for _ in range(2):
        with scripted.serving(*replies[len(asked) :]) as script:
            service = OpenAIModel("m", script.url, retries=0)
            model = RecordedModel(service, Transcript(tmp_path / "t"))
            chain = translate()(model)
            first = next(chain)
            if asked:
                assert "// b" in chain.send(RACY).text
        asked += script.requests
        assert "// a" in first.text
    assert len(asked) == 4


def test_of_several_files_one_is_asked_for_and_the_others_are_shown() -> None:
    project = Program({"main.c": SOURCE, "solver.h": "double solve(int n);"}, "openmp")

    def steps(model):
        return lassi_steps(project, "openmp", Conversation(model, Sampling()), LassiOptions())

    _, requests = play(["", "", program("a")], [GOOD], steps)
    asked = last_words(requests[2])
    assert "The source below is main.c" in asked
    assert "solver.h:\n```\ndouble solve(int n);" in asked


def refactor(*, self_prompting=False, **options):
    lassi = LassiOptions(Sampling(), most_corrections=0, self_prompting=self_prompting)
    how = LassiEnergyOptions(lassi, **options)
    return lambda model: lassi_ee_steps(ORIGINAL, Conversation(model, Sampling()), how)


def test_energy_is_told_and_the_temperature_rises_without_gain() -> None:
    replies = [program("a"), "1. exchange", *(program(c) for c in "bcdefg")]
    results = [GOOD, VariantResult(accepted=True, energy_ratio=0.4), GOOD, GOOD, GOOD]
    variants, requests = play(replies, results, refactor(hottest=0.6))
    assert "0.5 of the original's energy" in last_words(requests[2])
    assert "1. exchange" in last_words(requests[2])
    written = [r["temperature"] for r in requests if "so that it takes less" in last_words(r)]
    assert written == pytest.approx([0.2, 0.2, 0.2, 0.4, 0.6])
    assert len(variants) == 5


@pytest.mark.parametrize(
    ("reply", "opinion"), [('{"valid": false}', False), ("{valid", None), ('{"valid": 3}', None)]
)
def test_the_judge_is_heard_and_decides_nothing(reply, opinion) -> None:
    talks = []

    def steps(model):
        talks.append(Conversation(model, Sampling()))
        how = LassiEnergyOptions(LassiOptions(most_corrections=0), most_iterations=0, judge=True)
        return lassi_ee_steps(ORIGINAL, talks[0], how)

    variants, _ = play([program("a"), reply], [GOOD], steps)
    assert talks[0].opinions == {variants[0].identity: opinion}


def test_the_plan_comes_from_practice_machine_and_source() -> None:
    replies = [program("a"), "in short", "it adds", "1. exchange", program("b")]
    _, requests = play(replies, [GOOD], refactor(self_prompting=True, most_iterations=1))
    assert "The machine: " in last_words(requests[1])
    assert "Walk arrays" in last_words(requests[1])
    asked = last_words(requests[3])
    assert all(x in asked for x in ("in short", "it adds", "0.5 of the original's energy"))
    assert "1. exchange" in last_words(requests[4])


def test_a_trial_is_what_its_best_accepted_program_saves() -> None:
    talks = [Conversation(None, Sampling(), i, answers=1) for i in range(4)]
    worse = VariantResult(accepted=True, energy_ratio=1.25)
    talks[0].results = [("a", 0, RACY), ("b", 1, GOOD), ("c", 2, worse)]
    talks[1].results = [("c", 0, worse)]
    talks[2].results = [("d", 0, RACY)]
    talks[3].answers = 0  # no service: no trial
    assert trial_reductions(talks) == [0.5, -0.25, None]


def test_a_program_that_two_trials_make_is_run_once_and_counts_for_both() -> None:
    talks = [Conversation(Same(), Sampling(), i) for i in range(2)]
    how = LassiEnergyOptions(LassiOptions(most_corrections=0), most_iterations=0)
    asked = StepwiseProposer(
        [lassi_ee_steps(ORIGINAL, t, how) for t in talks], lambda v: None, lambda name: GOOD
    )
    rows = 0
    while len(jobs := asked.ask()):
        rows += len(jobs)
        asked.tell(jobs, None)
    assert rows == 1
    assert trial_reductions(talks) == [0.5, 0.5]


def test_metrics_of_a_translation() -> None:
    same = lassi_metrics(SOURCE, SOURCE, 1, 1.1)
    assert same == {"sim_t": 1.0, "sim_l": 1.0, "self_corr": 1.0, "ratio": 1.1}
    other = lassi_metrics("int x;", "int main() { }", 0, 1.0)
    assert other["sim_t"] == pytest.approx(2 * 1 / (3 + 6))
