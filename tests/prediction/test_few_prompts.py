"""A few prompts read by NumPy: what machine code says of many, and without what it needs."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.prediction.answer_length import (
    boosted_trees,
    few_prompts,
    length_learner,
    prompt_code,
    prompt_reader,
    tree_code,
)
from rheostat.prediction.answer_length.prompt_numbers import COUNT
from rheostat.prediction.answer_length.prompt_terms import TERMS, encoded
from rheostat.prediction.saved_models.persist import save

PARTS = ("In 3 short sentences, ", "500 words?", "five items:", "日本語 Straße", "`x[0] = {1};`",
         "\n", "\t ", "a", "x" * 40, "0 points", "1234567", "-", "\x00")  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=9)), max_size=60).map("".join)
EVERY = ["".join(PARTS), "", " ", "\n\nlist 2 ways\n", "x" * 5000, "word " * 900, "?"]


def dense(read, prompts: list[str]):
    """Everything that is read: weighted terms, their sums, sizes and numbers."""
    rng = np.random.default_rng(0)
    rarity, weights = rng.uniform(1, 8, (2, TERMS)).astype(np.float32)
    slots, values, starts, sizes = read.counted(*encoded(prompts))
    read.weigh(slots, values, starts, rarity)
    numbers = np.zeros((len(prompts), COUNT))
    read.read(*encoded(prompts), numbers)
    rows = [dict(zip(slots[a:b].tolist(), values[a:b], strict=True))
            for a, b in pairwise(starts)]  # fmt: skip
    return rows, read.added(slots, values, starts, weights), sizes, numbers


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_what_numpy_reads_is_what_machine_code_reads(drawn):
    for prompts in (drawn, EVERY):
        (rows, *few), (wanted, *code) = (dense(r, prompts) for r in (few_prompts, prompt_code))
        for row, other in zip(rows, wanted, strict=True):
            assert row == pytest.approx(other, rel=1e-12)
        for one, other in zip(few, code, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@cache
def fitted():
    rng = np.random.default_rng(0)
    asked = [" ".join(f"word{i}" for i in rng.integers(0, 99, 20)) for _ in range(250)]
    return length_learner.fitted([(p, 1.0 + i % 40) for i, p in enumerate(asked)])


def test_scores_are_the_same_either_way(monkeypatch):
    prompts = [*EVERY, "write word1 word7 in 5 lines"]
    model = fitted()
    with monkeypatch.context() as unloaded:
        for module in (prompt_reader, boosted_trees):
            unloaded.setattr(module, "CODE", "a module that is not loaded")
        assert prompt_reader.reader(1) is few_prompts
        few = model.score_prompts(prompts)
    assert prompt_reader.reader(1) is prompt_code  # this test has loaded it
    np.testing.assert_allclose(fitted().score_prompts(prompts), few, rtol=0, atol=1e-12)
    nodes, roots = fitted().stack_.trees_.nodes_, fitted().stack_.trees_.roots_
    x = np.random.default_rng(1).normal(0, 3, (50, 200))
    paths = boosted_trees.Paths.of(nodes, roots)
    walked = [paths.walked(row) for row in x]
    assert tree_code.walked(x, roots, nodes).tolist() == walked


def test_one_request_at_a_time_loads_no_compiler(tmp_path):
    save(fitted(), tmp_path / "lengths.rheo")
    code = f"""
import sys
from pathlib import Path
import rheostat.questions.serving_proxy as front
from rheostat.prediction.saved_models import persist
known = persist.load(Path({str(tmp_path / "lengths.rheo")!r}), ["prompt-length"])
order = front.service_order("cost", 100.0, front.STEP, 16, known)
order.key("say yes", 0.0)
order.answered("say yes", 2.0, 3.0)
print(sorted({{"numba", "polars", "sklearn", "torch"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_prompt_has_no_score():
    assert fitted().score_prompts([]).tolist() == []
