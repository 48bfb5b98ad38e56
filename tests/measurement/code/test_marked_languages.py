"""Which programs have marks of what is reached, by their language."""

from __future__ import annotations

from types import SimpleNamespace

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached import marked_runs
from rheostat.measurement.code.reached.marked_runs import _left_out, is_marked


def test_a_translation_may_decide_as_little_as_the_cuda_that_it_is_of(monkeypatch):
    """Lines that the host's runs of CUDA leave out are no question of a translation."""
    monkeypatch.setattr(marked_runs, "compiler_absent", lambda *_: "")
    cuda, other = Program({"a.cu": ""}, "cuda"), Program({"a.c": ""})
    of_cuda = SimpleNamespace(original=cuda, candidate=other, original_on_host=True, on_host=False)
    assert is_marked(of_cuda, cuda)
    assert is_marked(of_cuda, other)
    assert _left_out(of_cuda) == []
    to_cuda = SimpleNamespace(original=other, candidate=cuda, original_on_host=False, on_host=True)
    assert not is_marked(to_cuda, cuda)
