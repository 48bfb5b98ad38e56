"""Servers that tenants share: who is next, what a flood may fill, and how options say so."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision.serving.dispatch_queue import DispatchQueue, QueueFullError
from rheostat.decision.serving.tenant_line import TenantLine, tenant_of
from rheostat.errors import DataError
from rheostat.questions.serving_proxy import tenant_line


async def all_served(queue: DispatchQueue, asked: list[tuple[str, float]]) -> list[tuple[str, int]]:
    """Who begins, in order, and how many places its tenant then holds; each ends in a turn."""
    begun: list[tuple[str, int]] = []
    held: Counter[str] = Counter()

    async def one(tenant: str, key: float) -> None:
        async with queue.place(key, tenant):
            held[tenant] += 1
            begun.append((tenant, held[tenant]))
            await asyncio.sleep(0)
            held[tenant] -= 1

    async with asyncio.timeout(60):
        await asyncio.gather(*(one(*each) for each in asked))
    return begun


def test_a_flood_of_one_tenant_does_not_keep_another_waiting() -> None:
    asked = [("flood", 0.0)] * 40 + [("other", 9.0)] * 4
    fair = asyncio.run(all_served(DispatchQueue(1, 2, line=TenantLine(100)), asked))
    by_key = asyncio.run(all_served(DispatchQueue(1, 2), asked))
    assert [t for t, _ in fair[2:10]].count("other") == 4  # every second place
    assert [t for t, _ in by_key[-4:]] == ["other"] * 4


@settings(max_examples=60, deadline=None)
@given(
    asked=st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 9)), min_size=1, max_size=40),
    servers=st.integers(1, 3),
    limit=st.integers(1, 3),
)
def test_nobody_holds_more_than_its_limit_and_everybody_is_served(asked, servers, limit) -> None:
    line = TenantLine(limit, {"c": 1})
    begun = asyncio.run(all_served(DispatchQueue(servers, 2, line=line), asked))
    assert Counter(t for t, _ in begun) == Counter(t for t, _ in asked)
    assert all(held <= (1 if t == "c" else limit) for t, held in begun)
    assert not any((line.waiting, line.running, line._lines, line._held_s, line._tenant))


@settings(max_examples=60, deadline=None)
@given(seen=st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), min_size=1, max_size=20))
def test_who_leaves_while_waiting_takes_nothing_along(seen) -> None:
    """Clients that go at any moment, at once with a place that becomes free, leave no trace."""

    async def run() -> None:
        line = TenantLine(2)
        queue = DispatchQueue(1, 1, line=line)

        async def one(tenant: str) -> None:
            async with queue.place(0.0, tenant):
                await asyncio.sleep(0)

        tasks = [asyncio.ensure_future(one(tenant)) for tenant, _ in seen]
        await asyncio.sleep(0)
        for task, (_, leaves) in zip(tasks, seen, strict=True):
            if leaves:
                task.cancel()
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert (queue.waiting, queue.running) == (0, [0])
        assert not any((line.waiting, line.running, line._lines, line._tenant))

    asyncio.run(run())


def test_one_tenant_fills_half_of_what_may_wait_and_no_more() -> None:
    async def run() -> None:
        queue = DispatchQueue(1, 1, most_waiting=4, line=TenantLine(1))
        async with queue.place(0.0, "flood"):
            tasks = [asyncio.ensure_future(queue._given(0.0, t)) for t in ("flood",) * 2 + ("b",)]
            await asyncio.sleep(0)
            with pytest.raises(QueueFullError):
                await queue._given(0.0, "flood")
            tasks.append(asyncio.ensure_future(queue._given(0.0, "c")))
            await asyncio.sleep(0)
            with pytest.raises(QueueFullError):  # four wait
                await queue._given(0.0, "d")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())


def test_whose_a_request_is_stands_in_its_key_or_in_the_header_that_is_named() -> None:
    headers = [(b"authorization", b"Bearer k"), (b"x-slo-class", b"batch")]
    assert tenant_of(headers) == "Bearer k"
    assert tenant_of(headers, ["x-slo-class"]) == "batch"
    assert tenant_of([(b"accept", b"*/*")]) == ""


def test_limits_are_read_for_all_and_for_one() -> None:
    line = tenant_line(["8", "batch=2"], "x-slo-class", "")
    assert line is not None
    assert (line.limit, line.limits) == (8, {"batch": 2})
    assert tenant_line([], "", "") is None


@pytest.mark.parametrize(("limits", "header", "within", "said"), [
    (["0"], "", "", "expected N or VALUE=N"), (["x"], "", "", "got 'x'"),
    (["²"], "", "", "expected N or VALUE=N"), (["9" * 5000], "", "", "expected N or VALUE=N"),
    (["8", "9"], "", "", "says again"), (["a=2"], "", "", "expected --tenant-header"),
    ([], "x-t", "", "expected both"), (["8"], "x t", "", "a header's name"),
    (["8"], "", "1.2x", "expected no --per-tenant"),
])  # fmt: skip
def test_limits_that_say_nothing_clear_are_refused(limits, header, within, said) -> None:
    with pytest.raises(DataError, match=said):
        tenant_line(limits, header, within)
