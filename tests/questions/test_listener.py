"""What a question notices is said once, and kept in its answer."""

from dataclasses import dataclass

from rheostat.core.report import Report
from rheostat.questions.answer import Answer
from rheostat.questions.listener import Silent, listening, note, question


class _Heard(Silent):
    def __init__(self):
        self.messages = []

    def notes(self, messages):
        self.messages.extend(messages)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Nothing(Answer):
    def report(self):
        return Report("", [])

    def facts(self):
        return {}


@question
def _inner():
    note("two rows have no power")
    return _Nothing()


@question
def _outer():
    note("two rows have no power")
    _inner()
    note("the clock went back")
    return _Nothing()


def test_a_note_is_said_once_in_a_question_and_anew_in_the_next():
    heard = _Heard()
    with listening(heard):
        first, second = _outer(), _outer()
    said = ["two rows have no power", "the clock went back"]
    assert heard.messages == [*said, *said]
    assert first.notes == second.notes == tuple(said)
