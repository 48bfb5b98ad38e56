"""Plain servers and routers, a step and a request at a time, to compare the engine with."""

from __future__ import annotations

import math
from collections import OrderedDict
from itertools import takewhile

import numpy as np

from rheostat import table
from rheostat.decision.serving.waiting_line import GIVEN_UP
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.routing import BLOCK

SMALL = Replica(batch_cap=3, cache_tokens=60, chunk=8, base_s=1.0, request_s=0.25,
                context_s=0.03125, prefill_s=0.125, idle_w=1.0, busy_w=3.0)  # fmt: skip


def plain(  # noqa: PLR0912, PLR0917
    submit,
    prompt,
    output,
    key,
    r,
    known=None,
    patience=math.inf,
    by_ratio=False,
    latest=None,
    due=None,
    keeps=True,
):
    """One step at a time, lists searched anew each time; as the engine's page says."""
    known = [0] * len(submit) if known is None else list(known)
    now, waiting, line, running = 0.0, [], [], []
    left, first, end = list(output), {}, {}
    todo, coming, n = {}, 0, len(submit)
    late, costliest = set(), []
    has = lambda i: prompt[i] + output[i] - left[i]  # noqa: E731

    def mark(i, is_late):
        (late.add if is_late else late.discard)(i)

    def in_time(begin_s):
        """The cheapest that makes nobody late; others may be given up for it."""
        head = cheapest = min(waiting, key=lambda i: (key[i], i))
        while True:
            order = sorted(set(waiting) - late, key=lambda i: (latest[i], i))
            before, ahead = 0.0, []
            for i in order:
                ahead.append(i)
                if latest[i] - before < begin_s + key[head]:
                    break
                before += key[i]
            else:
                return head
            if head not in late and order.index(head) < len(ahead):
                return head
            dear = max(ahead, key=key.__getitem__)
            if len(late) < GIVEN_UP * coming and key[dear] >= min(costliest)[0]:
                late.add(dear)
                head = cheapest
            else:
                head = min(ahead, key=key.__getitem__)

    while len(end) < n:
        while coming < n and submit[coming] <= now:
            waiting.append(coming)
            costliest.append((key[coming], coming))
            if len(costliest) > 1 + GIVEN_UP * coming:
                costliest.remove(min(costliest))
            coming += 1
        while waiting and len(running) + len(line) < r.batch_cap:
            if sum(todo[i] for i in line) >= r.chunk:
                break
            head = min(waiting, key=lambda i: (key[i], i))
            if by_ratio:
                head = max(waiting, key=lambda i: ((now - submit[i]) / key[i], -i))
            elif latest is not None:
                head = in_time(now)
            elif now - submit[min(waiting)] > patience:
                head = min(waiting)
            held = sum(has(i) for i in running) + sum(has(i) for i in line) + len(running)
            if held + has(head) > r.cache_tokens and running + line:
                break
            mark(head, latest is not None and now > latest[head])
            waiting.remove(head)
            line.append(head)
            todo[head] = has(head) - known[head]
        if not running and not line:
            now = max(now, submit[coming])
            continue
        while running and len(running) + len(line) > 1:
            held = sum(has(i) for i in running) + sum(has(i) for i in line)
            if held + len(running) <= r.cache_tokens:
                break
            worst = max(running, key=lambda i: (key[i], i))
            running.remove(worst)
            waiting.append(worst)
            known[worst] = known[worst] if keeps else 0
        budget = r.chunk
        for i in line:
            part = min(budget, todo[i])
            todo[i] -= part
            budget -= part
        now += r.base_s + r.request_s * len(running) + r.context_s * sum(map(has, running))
        now += r.prefill_s * (r.chunk - budget)
        for i in running:
            left[i] -= 1
        for i in [i for i in running if left[i] == 0]:
            running.remove(i)
            end[i] = now
            mark(i, due is not None and now > due[i])
        while line and todo[line[0]] == 0:
            i = line.pop(0)
            left[i] -= 1
            first.setdefault(i, now)
            if left[i] == 0:
                end[i] = now
                mark(i, due is not None and now > due[i])
            else:
                running.append(i)
    return np.array([first[i] for i in range(n)]), np.array([end[i] for i in range(n)])


def requests(seed, n=12, gap=4.0):
    rng = np.random.default_rng(seed)
    submit = np.cumsum(np.round(rng.exponential(gap, n) * 8) / 8)
    return table({"submit_s": submit - submit[0], "prompt_tokens": rng.integers(1, 25, n),
                  "output_tokens": rng.integers(1, 25, n)})  # fmt: skip


def plain_routes(submit, prompt, expected, blocks, count, routing, tokens, prefill_s):
    """Requests one by one, a cache as a dictionary in order of use, all replicas asked."""
    size, n = tokens // BLOCK, len(submit)
    caches, where, known = [OrderedDict() for _ in range(count)], [0] * n, [0] * n
    backlog, sent, last = [0.0] * count, [0.0] * count, 0.0
    for k, i in enumerate(sorted(range(n), key=lambda i: submit[i])):
        backlog = [max(b - (submit[i] - last), 0.0) for b in backlog]
        last = submit[i]
        held = [sum(1 for _ in takewhile(c.__contains__, blocks[i])) for c in caches]
        saved = [min(BLOCK * h, prompt[i] - 1) for h in held]
        gain = [s * prefill_s * (routing == "prefix") for s in saved]
        place = min(range(count), key=lambda p: (backlog[p] - gain[p], sent[p], p))
        place = k % count if routing == "round-robin" else place
        where[i], known[i] = place, saved[place]
        work = max(0.0, expected[i] - saved[place] * prefill_s)
        backlog[place] += work
        sent[place] += work
        for block in reversed(blocks[i]):
            caches[place][block] = None
            caches[place].move_to_end(block)
        while len(caches[place]) > size:
            caches[place].popitem(last=False)
    return where, known
