"""Language models: the client against a scripted server, what answers hold, what is kept."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from rheostat.errors import DataError, FileKindError
from rheostat.prediction.language_model.answers import code_in, json_in
from rheostat.prediction.language_model.conversation import (
    ChatCompletion,
    Message,
    ModelError,
    Sampling,
)
from rheostat.prediction.language_model.gguf_model import GgufModel
from rheostat.prediction.language_model.openai_model import KEY, OTHER_KEY, OpenAIModel
from rheostat.prediction.language_model.transcript import RecordedModel, Transcript

spec = importlib.util.spec_from_file_location(
    "scripted_server", Path(__file__).with_name("scripted_server.py")
)
assert spec is not None
assert spec.loader is not None
scripted = importlib.util.module_from_spec(spec)
__import__("sys").modules["scripted_server"] = scripted
spec.loader.exec_module(scripted)
serving = scripted.serving

ASK = [Message("system", "You translate."), Message("user", "int main() {}")]
DRAW = Sampling(0.2, 0.9, 64, 5)
openai = pytest.mark.skipif(
    importlib.util.find_spec("openai") is None, reason="openai is not installed"
)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.delenv(OTHER_KEY, raising=False)


@openai
def test_a_busy_service_is_asked_again() -> None:
    with serving(503, 429, "```c\nint x;\n```") as script:
        answer = OpenAIModel("m", script.url).complete(ASK, DRAW, index=3)
    assert (answer.text, answer.tokens, answer.model) == ("```c\nint x;\n```", 150, "scripted-1")
    assert len(script.requests) == 3
    asked = script.requests[0]
    assert (asked["temperature"], asked["max_tokens"], asked["seed"]) == (0.2, 64, 8)
    assert asked["messages"][1] == {"role": "user", "content": "int main() {}"}


@openai
@pytest.mark.parametrize(
    "reply",
    [400, 401, 500, b"[]", b"null", b"", b"not json", b'{"choices": []}', b'{"choices": [{}]}',
     b'{"choices": "x"}', b'{"choices": [1]}', b'{"choices": [{"message": null}]}',
     b'{"choices": [{"message": {"content": [1]}}]}'],
)  # fmt: skip
def test_a_service_that_does_not_answer_is_one_clear_error(reply) -> None:
    with serving(reply) as script, pytest.raises(ModelError, match="m at http://127"):
        OpenAIModel("m", script.url, retries=0).complete(ASK, DRAW)


@openai
def test_a_model_that_reasons_is_asked_as_it_wants_to_be() -> None:
    """The words are those of OpenAI's service for its o-series."""

    def strict(request):
        if "max_tokens" in request:
            return refusing("max_tokens", "Unsupported parameter: 'max_tokens' is not supported "
                            "with this model. Use 'max_completion_tokens' instead.")  # fmt: skip
        for name in ("temperature", "top_p"):
            if name in request:
                return refusing(name, f"Unsupported value: '{name}' does not support "
                                f"{request[name]} with this model. Only the default (1) value is "
                                "supported.")  # fmt: skip
        return "int x;"

    with serving(strict) as script:
        model = OpenAIModel("o9", script.url, retries=0)
        assert model.complete(ASK, DRAW).text == "int x;"
        assert len(script.requests) == 4
        last = script.requests[-1]
        assert (last["max_completion_tokens"], last["seed"]) == (64, 5)
        model.complete(ASK, DRAW, index=1)
        assert len(script.requests) == 5, "what a model refuses is learned once"


def refusing(name: str, message: str) -> tuple[int, bytes]:
    error = {"message": message, "type": "invalid_request_error", "param": name,
             "code": "unsupported_parameter"}  # fmt: skip
    return 400, json.dumps({"error": error}).encode()


@openai
def test_a_bad_request_that_names_no_setting_is_an_error_at_once() -> None:
    with serving(refusing("messages", "messages: too long")) as script:
        with pytest.raises(ModelError, match="too long"):
            OpenAIModel("m", script.url, retries=0).complete(ASK, DRAW)
        assert len(script.requests) == 1


@openai
@pytest.mark.parametrize("reply", [b"", b"not json", b'{"choices": []}', b"null"])
def test_one_malformed_reply_is_asked_for_again(reply) -> None:
    with serving(reply, "int x;") as script:
        assert OpenAIModel("m", script.url, retries=0).complete(ASK, DRAW).text == "int x;"
        assert len(script.requests) == 2


@openai
def test_the_key_is_sent_and_written_nowhere(monkeypatch, tmp_path, capfd) -> None:
    monkeypatch.setenv(KEY, "very-secret")

    def leak(request) -> bytes:
        return b'{"error": "bad key very-secret"}'

    with serving("yes", leak) as script:
        model = OpenAIModel("m", script.url, retries=0)
        RecordedModel(model, Transcript(tmp_path / "t")).complete(ASK, DRAW)
        with pytest.raises(ModelError) as stop:
            model.complete(ASK, DRAW)
    assert script.headers[0]["authorization"] == "Bearer very-secret"
    said = "".join(capfd.readouterr()) + str(stop.value) + repr(model)
    written = (tmp_path / "t").read_text() + said
    assert "very-secret" not in written


@openai
def test_a_count_that_is_none_is_not_counted() -> None:
    reply = b'{"choices": [{"message": {"content": "ok"}}], "usage": {"prompt_tokens": "many"}}'
    with serving(reply) as script:
        answer = OpenAIModel("m", script.url, retries=0).complete(ASK, DRAW)
    assert (answer.text, answer.tokens) == ("ok", 0)


@openai
def test_a_long_error_hides_the_key_wherever_it_stands(monkeypatch) -> None:
    monkeypatch.setenv(KEY, "very-secret")
    for before in range(440, 500):
        said = OpenAIModel("m", "http://127.0.0.1:9/v1")._safe(
            ValueError("x" * before + "very-secret")
        )
        assert "very" not in said


@pytest.mark.parametrize("url", ["https://me:very-secret@models.example.org/v1", "models/v1"])
def test_a_key_in_an_address_is_refused_and_not_shown(url) -> None:
    with pytest.raises(ModelError, match=KEY) as stop:
        OpenAIModel("m", url)
    assert "very-secret" not in str(stop.value)


def test_a_service_elsewhere_needs_a_key() -> None:
    with pytest.raises(ModelError, match=KEY):
        OpenAIModel("m", "https://models.example.org/v1")


class Counting:
    """A model that counts what it is asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    def complete(self, messages, sampling, index=0) -> ChatCompletion:
        self.asked += 1
        return ChatCompletion(f"answer {self.asked}", prompt_tokens=10, completion_tokens=5)


def test_nothing_is_asked_twice_and_samples_differ(tmp_path) -> None:
    model = Counting()
    for _ in range(2):
        recorded = RecordedModel(model, Transcript(tmp_path / "t"))
        texts = [recorded.complete(ASK, DRAW, i).text for i in (0, 1, 0)]
        assert texts == ["answer 1", "answer 2", "answer 1"]
        assert recorded.tokens == 30
    assert model.asked == 2
    assert Transcript(tmp_path / "t").cost["questions"] == 2


def test_a_transcript_replays_without_a_model(tmp_path) -> None:
    RecordedModel(Counting(), Transcript(tmp_path / "t")).complete(ASK, DRAW)
    replay = RecordedModel("counting", Transcript(tmp_path / "t"))
    assert replay.complete(ASK, DRAW).replayed
    with pytest.raises(ModelError, match="only what was recorded"):
        replay.complete(ASK, DRAW, 1)


def test_a_kill_while_a_question_is_out_is_noted(tmp_path) -> None:
    transcript = Transcript(tmp_path / "t")
    RecordedModel(Counting(), transcript).complete(ASK, DRAW)
    transcript.asks("key", "counting", ASK, DRAW, 9)
    whole = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(whole + b'{"answered": "ke')
    again = Transcript(tmp_path / "t")
    assert again.cost["unanswered"] == 1
    assert "cut off" in again.notes[0].message
    assert (tmp_path / "t").read_bytes() == whole


def test_a_changed_line_and_another_file_are_refused(tmp_path) -> None:
    RecordedModel(Counting(), Transcript(tmp_path / "t")).complete(ASK, DRAW)
    text = (tmp_path / "t").read_text()
    (tmp_path / "t").write_text(text.replace("answer 1", "answer 7"))
    with pytest.raises(DataError, match="line 3 is damaged"):
        Transcript(tmp_path / "t")
    (tmp_path / "u").write_text('{"schema": "rheostat.plan/1"}\n')
    with pytest.raises(FileKindError, match="expected a transcript"):
        Transcript(tmp_path / "u")


def test_a_budget_of_tokens_stops_the_next_question(tmp_path) -> None:
    recorded = RecordedModel(Counting(), Transcript(tmp_path / "t"), most_tokens=20)
    recorded.complete(ASK, DRAW, 0)
    recorded.complete(ASK, DRAW, 1)
    with pytest.raises(ModelError, match="20 tokens"):
        recorded.complete(ASK, DRAW, 2)
    recorded.complete(ASK, DRAW, 0)  # what is known costs nothing


PROGRAM = "#include <stdio.h>\nint main(void) { return 0; }\n"


@pytest.mark.parametrize(
    ("text", "finish", "state", "code"),
    [
        (f"Here:\n```c\n{PROGRAM}```\nDone.", "stop", "code", PROGRAM),
        (f"```cuda\n{PROGRAM}```", "stop", "code", PROGRAM),
        (f"~~~\n{PROGRAM}~~~", "stop", "code", PROGRAM),
        (f"```sh\ngcc a.c\n```\n```cpp\n{PROGRAM}```", "stop", "code", PROGRAM),
        (PROGRAM, "stop", "code", PROGRAM),
        (f"```c\n{PROGRAM}", "stop", "code", PROGRAM),
        (f"```c\n{PROGRAM}", "length", "truncated", PROGRAM),
        (f"```c\n{PROGRAM}```\n".replace("\n", "\r\n"), "stop", "code", PROGRAM),
        (
            f"<think>\n```c\nint main(void) {{ return 1; }} // longer\n{PROGRAM}```\n</think>\n"
            f"```c\n{PROGRAM}```",
            "stop",
            "code",
            PROGRAM,
        ),
        (f"<think>\n```c\n{PROGRAM}```\nbut", "length", "truncated", ""),
        ("I think", "length", "truncated", ""),
        ("I'm sorry, but I cannot help with that.", "stop", "refused", ""),
        ("No.", "refusal", "refused", ""),
        ("Use a pragma.", "stop", "no code", ""),
        ("", "stop", "no code", ""),
    ],
)
def test_the_program_in_an_answer(text: str, finish: str, state: str, code: str) -> None:
    answer = code_in(ChatCompletion(text, finish))
    assert (answer.state, answer.text) == (state, code)


@openai
def test_a_refusal_of_the_service_is_a_refusal() -> None:
    with serving(("I will not.", "refusal")) as script:
        answer = OpenAIModel("m", script.url).complete(ASK, DRAW)
    assert code_in(answer).state == "refused"


@pytest.mark.parametrize(
    ("text", "value"),
    [('```json\n{"a": 1}\n```', {"a": 1}), ('x {"a": [1]} y', {"a": [1]}), ("{a: 1}", None),
     ("{bad} [1, 2]", [1, 2]), ("", None), ("[" * 5000, None)],
)  # fmt: skip
def test_the_json_in_an_answer(text: str, value: object) -> None:
    assert json_in(ChatCompletion(text)) == value


def test_a_file_that_is_no_model_is_refused(tmp_path) -> None:
    (tmp_path / "m.gguf").write_text(json.dumps({"not": "a model"}))
    with pytest.raises(DataError, match="expected a GGUF file"):
        GgufModel(tmp_path / "m.gguf")


@pytest.mark.slow  # loads the weights of a model
@pytest.mark.skipif(
    "RHEOSTAT_TEST_GGUF" not in os.environ, reason="RHEOSTAT_TEST_GGUF names no GGUF file"
)
def test_a_model_of_ones_own_answers() -> None:
    pytest.importorskip("xllamacpp")
    model = GgufModel(os.environ["RHEOSTAT_TEST_GGUF"])
    answer = model.complete([Message("user", "Say yes.")], Sampling(0.0, max_tokens=8))
    assert answer.text
    assert 0 < answer.completion_tokens <= 8
