"""Request logs: every way a prompt and a length are written down, and lines that are neither."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import read
from rheostat.measurement.serving.requests import LONGEST, read_requests


def lines(path, rows):
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return path


def test_ways_to_write_a_request(tmp_path):
    rows = [
        {"prompt": "a", "output_tokens": 3, "submit_s": 7},
        {"messages": [{"role": "user", "content": "b"}, {"content": "c"}],
         "usage": {"completion_tokens": 5}, "created": 9},
        {"instruction": "d", "input": "e", "response": "one two  three"},
    ]  # fmt: skip
    jobs = read_requests(lines(tmp_path / "r.jsonl", rows))
    assert jobs.frame["prompt"].to_list() == ["a", "b\nc", "d\ne"]
    assert jobs.frame["output_tokens"].to_list() == [3.0, 5.0, 3.0]
    assert jobs.frame["submit_s"].to_list() == [7.0, 9.0, None]


def sharegpt(*said):
    who = ("human", "gpt")
    return {"id": "c", "conversations": [
        {"from": who[i % 2], "value": text} for i, text in enumerate(said)]}  # fmt: skip


@pytest.mark.parametrize("as_list", [True, False])
def test_a_conversation_is_the_request_for_its_last_answer(tmp_path, as_list):
    rows = [
        sharegpt("hi", "hello there"),
        sharegpt("hi", "hello", "tell me more", "one two three", "unanswered"),
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b c"}]},
        sharegpt("nobody answers"),
    ]
    path = tmp_path / "chats.json"
    if as_list:
        path.write_text(json.dumps(rows))
    else:
        lines(path, rows)
    jobs = read(path)
    assert jobs.frame["prompt"].to_list() == ["hi", "tell me more\x1ehi\x1ehello", "a"]
    assert jobs.frame["output_tokens"].to_list() == [2.0, 3.0, 2.0]
    assert jobs.notes[0].rows == (3,)
    assert any("its words are counted" in n.message for n in jobs.notes)


def test_a_chat_whose_answer_stands_beside_it_keeps_its_own_last_question(tmp_path):
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"}]  # fmt: skip
    row = {"messages": said, "usage": {"completion_tokens": 7}}
    jobs = read_requests(lines(tmp_path / "r.jsonl", [row]))
    assert jobs.frame.row(0)[:2] == ("c\x1ea\x1eb", 7.0)


def test_lines_that_are_no_request_are_noted_by_row(tmp_path):
    good = {"prompt": "a", "output_tokens": 3}
    bad = [
        "{",
        "[1]",
        '{"prompt": "x", "output_tokens": NaN}',
        {"prompt": "x"},
        {"prompt": "x", "output_tokens": -1},
        {"prompt": "x", "output_tokens": True},
        {"prompt": "x" * (LONGEST + 1), "output_tokens": 1},
        {"prompt": 5, "output_tokens": 1},
    ]
    jobs = read_requests(lines(tmp_path / "r.jsonl", [good, *bad, good]))
    assert len(jobs) == 2
    assert jobs.notes[0].rows == tuple(range(1, 9))
    assert jobs.notes[0].dropped


def test_tables_name_their_columns(tmp_path):
    frame = pl.DataFrame({"prompt": ["a", "b"], "out_words": [4, 0]})
    frame.write_parquet(tmp_path / "r.parquet")
    frame.write_csv(tmp_path / "r.csv")
    for name in ("r.parquet", "r.csv"):
        jobs = read_requests(tmp_path / name, columns={"output_tokens": "out_words"})
        assert jobs.frame["output_tokens"].to_list() == [4.0]
        with pytest.raises(DataError, match="no column output_tokens"):
            read_requests(tmp_path / name)


def test_nothing_to_learn_from_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no row has"):
        read_requests(lines(tmp_path / "r.jsonl", ["{", "{"]))


def test_envelopes_of_a_gateway_and_of_a_batch_are_opened(tmp_path):
    asked = {"messages": [{"role": "user", "content": "hi"}]}
    used = {"usage": {"prompt_tokens": 5, "completion_tokens": 7}}
    said = {"choices": [{"message": {"content": "one two"}}]}
    rows = [
        {"created": 1, "request": asked, "response": used},
        {"request": {"body": asked}, "response": {"status_code": 200, "body": used}},
        {"request": asked, "response": said, "prompt_tokens": 6},
    ]
    jobs = read(lines(tmp_path / "r.jsonl", rows))
    assert jobs.frame["prompt"].to_list() == ["hi"] * 3
    assert jobs.frame["output_tokens"].to_list() == [7.0, 7.0, 2.0]
    assert jobs.frame["prompt_tokens"].to_list() == [5.0, 5.0, 6.0]
    assert jobs.frame["submit_s"].to_list() == [1.0, None, None]


def test_a_table_of_questions_and_answers_is_read_as_objects_of_them_are(tmp_path):
    """The words of `answer` counted in JSON lines and were no length in a CSV."""
    rows = [{"question": "Is it on?", "answer": "yes it is"}, {"question": "Why?", "answer": "so"}]
    (tmp_path / "faq.csv").write_text('question,answer\n"Is it on?",yes it is\nWhy?,so\n')
    (tmp_path / "faq.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    table, lines = (read_requests(tmp_path / f"faq.{kind}") for kind in ("csv", "jsonl"))
    assert table.frame.equals(lines.frame)
    assert table.frame["output_tokens"].to_list() == [3.0, 1.0]
    assert table.frame["prompt"].to_list() == ["Is it on?", "Why?"]
    assert "its words are counted" in str(table.notes)
    named = tmp_path / "named.csv"
    named.write_text("text,response\nWhy?,so it is\n")
    assert read_requests(named, columns={"prompt": "text"}).frame["output_tokens"].to_list() == [
        3.0
    ]
