"""Islands: the best of the archive is mutated, nothing twice, the same seed the same variants."""

from __future__ import annotations

from rheostat.tradeoff.variants.islands import PATIENCE, Islands, one_after_another
from rheostat.tradeoff.variants.variant import Variant, VariantResult

OPTIONS = {name: ("a", "b") for name in "xyz"}
COST = {"": 1.0, "a": 0.9, "b": 0.7}


def made(choices) -> Variant:
    text = "\n".join(f"{thing} {option}" for thing, option in sorted(choices))
    return Variant(text, "search", text)


def verdict(variant: Variant) -> VariantResult:
    """A product of what each choice costs; x chosen as b is wrong."""
    chosen = dict(line.split() for line in variant.text.splitlines())
    cost = 1.0
    for thing in OPTIONS:
        cost *= COST[chosen.get(thing, "")]
    return VariantResult(chosen.get("x") != "b", cost, cost, cost)


def run(chain) -> list[Variant]:
    asked = []
    try:
        asked.append(next(chain))
        while True:
            asked.append(chain.send(verdict(asked[-1])))
    except StopIteration:
        return asked


def islands(seed: int) -> Islands:
    start = frozenset({("x", "a")})
    return Islands(OPTIONS, made, "", [(start, verdict(made(start)))], seed)


def test_the_best_of_what_is_right_is_reached_and_nothing_is_asked_twice() -> None:
    for seed in range(5):
        one = islands(seed)
        asked = run(one.steps())
        assert len({v.identity for v in asked}) == len(asked)
        best = min(t.runtime_ratio for _, t in one.known)
        assert best == 0.9 * 0.7 * 0.7
        assert all(t.accepted for _, t in one.known)


def test_the_same_seed_asks_the_same() -> None:
    first, again = (run(islands(3).steps()) for _ in range(2))
    assert first == again != run(islands(4).steps())


def test_without_an_accepted_variant_there_is_nothing_to_mutate_and_without_gain_it_ends() -> None:
    assert run(Islands(OPTIONS, made, "").steps()) == []
    worse = {name: ("c",) for name in "abcdefgh"}
    start = frozenset({("x", "b")})
    stuck = Islands(worse, made, "", [(start, VariantResult(True, 0.1, 0.1, 0.1))])
    chain = stuck.steps()
    count = 0
    try:
        next(chain)
        while True:
            count += 1
            chain.send(VariantResult(True, 0.5, 0.5, 0.5))
    except StopIteration:
        assert count == PATIENCE


def test_a_chain_begins_where_the_one_before_has_ended() -> None:
    first = made({("x", "a")})

    def single():
        yield first

    asked = run(one_after_another(single, islands(3).steps))
    assert asked == [first, *run(islands(3).steps())]


def test_a_spent_budget_asks_nothing_more() -> None:
    from rheostat.tradeoff.variants.variant import StepwiseProposer

    left = [True, False]
    chains = [islands(3).steps()]
    proposer = StepwiseProposer(
        chains, lambda v: None, lambda name: VariantResult(True), may_ask=lambda: left.pop(0)
    )
    assert [len(proposer.ask(1)) for _ in range(2)] == [1, 0]
