"""Continuous batching, compiled: steps in which nobody comes or goes are taken together.

Every step gives each running request one token and prefills up to ``chunk`` tokens of admitted
ones.  A prompt's last prefilled token gives the first token of its answer.  Requests are admitted
in the order of their keys while there is room in the batch, in the cache, and in what the next step
prefills (as in vLLM: who would only stand in line for its prefill waits, and may be overtaken); the
one at the head waits for room and nobody passes it.  Where the cache is full the running request
with the largest key is put back; its cache is made anew when it is admitted again, the tokens it
has stay.

Notation
--------
B  running requests      C  tokens in their caches        q = base + request B + context C
k steps without anybody coming or going take  k q + context B k (k - 1) / 2  seconds

Waiting requests lie in a heap by (key, number), running ones in a heap by the step of their last
token, which does not change while they run.  Three orders change while requests wait: the one that
waits longest goes first once it waits longer than ``patience_s``; the highest ratio of waiting to
cost (HRRN) is kept by `rheostat.simulation.serving.highest_ratio`; and with latest moments to begin
(``latest_s``, (n,)) who is next is chosen as `rheostat.simulation.serving.deadlines` says.  Who was
taken out of turn leaves its entry in the heap, to be passed over.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rheostat.decision.serving.waiting_line import GIVEN_UP
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.serving.deadlines import leave, next_row, tree, wait
from rheostat.simulation.serving.highest_ratio import highest_ratio, place, tournament

ABSENT, WAITING, PREFILLING, RUNNING, DONE = 0, 1, 2, 3, 4


@borrowed
def _push(keys: Any, rows: Any, size: int, key: float, row: int) -> int:
    """Add to a binary heap by (key, row); its new size."""
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if keys[up] < key or (keys[up] == key and rows[up] <= row):
            break
        keys[i], rows[i] = keys[up], rows[up]
        i = up
    keys[i], rows[i] = key, row
    return size + 1


@borrowed
def _pop(keys: Any, rows: Any, size: int) -> int:
    """Drop the least of a binary heap; its new size."""
    size -= 1
    key, row = keys[size], rows[size]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        other = down + 1
        if other < size and (
            keys[other] < keys[down] or (keys[other] == keys[down] and rows[other] < rows[down])
        ):
            down = other
        if key < keys[down] or (key == keys[down] and row <= rows[down]):
            break
        keys[i], rows[i] = keys[down], rows[down]
        i = down
    keys[i], rows[i] = key, row
    return size


@borrowed
def _until(gap_s: float, pace_s: float, growth_s: float) -> float:
    """Least whole k with k pace + growth k (k - 1) / 2 >= gap."""
    if growth_s <= 0.0:
        k: float = np.ceil(gap_s / pace_s)  # math.ceil is an integer here, which has no infinity
    else:
        b = pace_s - 0.5 * growth_s
        k = np.ceil((-b + math.sqrt(b * b + 2.0 * growth_s * gap_s)) / growth_s)
    return max(1.0, k)


@borrowed
def _now_late(late: Any, row: int, is_late: bool) -> int:
    """Mark whether a request is late; how many more are so."""
    more = int(is_late) - int(late[row])
    late[row] = is_late
    return more


@compiled
def run(
    submit_s: Any, prompt: Any, output: Any, known: Any, keeps: bool, key: Any, batch_cap: int,
    cache_tokens: int, chunk: int, base_s: float, request_s: float, context_s: float,
    prefill_s: float, patience_s: float, by_ratio: bool, latest_s: Any, due_s: Any,
) -> Any:  # fmt: skip
    """First token and end of every request (s), seconds busy, with a queue, and returns.

    ``known`` are tokens of each prompt whose cache need not be computed, nor again when the request
    was put back if ``keeps``; ``key`` is the cost in seconds where there are latest moments to
    begin, and where the highest ratio goes first; ``due_s`` is when answers have to be there.
    """
    n = len(submit_s)
    first, end = np.full(n, np.nan), np.full(n, np.nan)
    state, left = np.zeros(n, np.int8), output.copy()
    last_step, todo = np.zeros(n, np.int64), np.zeros(n, np.int64)
    wait_key, wait_row, waiting = np.empty(3 * n + 1), np.empty(3 * n + 1, np.int64), 0
    bounded = bool((latest_s < np.inf).any())
    ahead = tree(latest_s if bounded else latest_s[:1])
    ratios = tournament(n if by_ratio else 1)
    late, lost = np.zeros(n, np.bool_), 0  # given up, begun too late, or answered too late
    top_key, top_row, tops = np.empty(n + 1), np.empty(n + 1, np.int64), 0  # the costliest
    queued, oldest = 0, 0  # those that wait; none before this one does
    next_until = np.inf  # nobody else is next before, unless somebody comes or goes
    over_key, over_row, ending = np.empty(2 * n + 1), np.empty(2 * n + 1, np.int64), 0
    line, line_from, line_to = np.empty(batch_cap, np.int64), 0, 0  # prefilled in this order
    now, step, coming, running, cached, filled = 0.0, 0, 0, 0, 0, 0
    unfilled = 0  # tokens of the line that are not prefilled yet
    busy_s, queued_s, returned, done = 0.0, 0.0, 0, 0
    while done < n:
        while coming < n and submit_s[coming] <= now:
            waiting = _push(wait_key, wait_row, waiting, key[coming], coming)
            state[coming] = WAITING
            if by_ratio:
                place(ratios, coming, coming, now, submit_s, key)
            if bounded:
                wait(ahead, coming, key, latest_s)
                tops = _push(top_key, top_row, tops, key[coming], coming)
                if tops > 1 + GIVEN_UP * coming:
                    tops = _pop(top_key, top_row, tops)
            queued += 1
            coming += 1
        prefilling = line_to - line_from
        while queued > 0 and running + prefilling < batch_cap and unfilled < chunk:
            while state[wait_row[0]] != WAITING:
                waiting = _pop(wait_key, wait_row, waiting)
            while state[oldest] != WAITING:
                oldest += 1
            row = wait_row[0]
            if by_ratio:
                row = highest_ratio(ratios, now, submit_s, key)
                next_until = ratios[1][1]
            elif bounded:
                allowed = GIVEN_UP * coming - lost
                row, more = next_row(ahead, row, key, now, late, allowed, top_key[0])
                lost += more
                next_until = now
            elif now - submit_s[oldest] > patience_s:
                row, next_until = oldest, np.inf
            else:
                next_until = submit_s[oldest] + patience_s
            need = prompt[row] + output[row] - left[row]
            if cached + filled + need + running > cache_tokens and running + prefilling > 0:
                break
            if row == wait_row[0]:
                waiting = _pop(wait_key, wait_row, waiting)
            if by_ratio:
                place(ratios, row, -1, now, submit_s, key)
            if bounded:
                leave(ahead, row, key)
                lost += _now_late(late, row, now > latest_s[row])
            queued -= 1
            state[row], todo[row] = PREFILLING, need - known[row]
            filled += need
            unfilled += todo[row]
            line[line_to % batch_cap] = row
            line_to += 1
            prefilling += 1
        if running + prefilling == 0:
            now = max(now, submit_s[coming])
            continue
        before = returned
        while running > 0 and cached + filled + running > cache_tokens and running + prefilling > 1:
            worst = -1  # rare: a scan of all is cheap enough
            for i in range(ending):
                row = over_row[i]
                if state[row] == RUNNING and last_step[row] == over_key[i]:
                    if (
                        worst < 0
                        or key[row] > key[worst]
                        or (key[row] == key[worst] and row > worst)
                    ):
                        worst = row
            left[worst] = last_step[worst] - step
            cached -= prompt[worst] + output[worst] - left[worst]
            running -= 1
            returned += 1
            known[worst] = known[worst] if keeps else 0
            state[worst] = WAITING
            queued += 1
            oldest = min(oldest, worst)
            if by_ratio:
                place(ratios, worst, worst, now, submit_s, key)
            if bounded and not late[worst]:
                wait(ahead, worst, key, latest_s)
            if waiting >= 2 * n:  # entries of those that were taken out of turn
                waiting = _waiting_alone(wait_key, wait_row, waiting, state)
            waiting = _push(wait_key, wait_row, waiting, key[worst], worst)
        pace_s = base_s + request_s * running + context_s * cached
        steps = 1
        if prefilling == 0:
            while state[over_row[0]] != RUNNING or last_step[over_row[0]] != over_key[0]:
                ending = _pop(over_key, over_row, ending)
            steps = int(over_key[0]) - step
            room = (cache_tokens - cached) // running
            # whoever was put back may find room at once; else the head, refused, stays refused
            steps = max(1, min(steps, room)) if returned == before else 1
            if running < batch_cap:
                change = submit_s[coming] if coming < n else np.inf
                gap_s = (min(change, next_until) if queued > 0 else change) - now
                steps = int(min(float(steps), _until(gap_s, pace_s, context_s * running)))
            took_s = steps * pace_s + context_s * running * steps * (steps - 1) * 0.5
        else:
            budget = chunk
            at = line_from
            while at < line_to and budget > 0:
                row = line[at % batch_cap]
                part = min(budget, todo[row])
                todo[row] -= part
                budget -= part
                at += 1
            took_s = pace_s + prefill_s * (chunk - budget)
            unfilled -= chunk - budget
        now += took_s
        busy_s += took_s
        queued_s += took_s if queued > 0 else 0.0
        step += steps
        cached += steps * running
        while ending > 0 and over_key[0] <= step:
            row = over_row[0]
            if state[row] == RUNNING and last_step[row] == over_key[0]:
                state[row], end[row] = DONE, now
                lost += _now_late(late, row, now > due_s[row])
                cached -= prompt[row] + output[row]
                running -= 1
                done += 1
            ending = _pop(over_key, over_row, ending)
        while line_from < line_to and todo[line[line_from % batch_cap]] == 0:
            row = line[line_from % batch_cap]
            line_from += 1
            tokens = prompt[row] + output[row] - left[row]
            filled -= tokens
            left[row] -= 1
            if math.isnan(first[row]):
                first[row] = now
            if left[row] <= 0:
                state[row], end[row] = DONE, now
                lost += _now_late(late, row, now > due_s[row])
                done += 1
                continue
            state[row] = RUNNING
            running += 1
            cached += tokens + 1
            last_step[row] = step + left[row]
            if ending >= len(over_key) - 1:  # stale entries of requests that were put back
                ending = _clean(over_key, over_row, ending, state, last_step)
            ending = _push(over_key, over_row, ending, float(last_step[row]), row)
    return first, end, busy_s, queued_s, returned


@compiled
def _waiting_alone(keys: Any, rows: Any, size: int, state: Any) -> int:
    """A heap with one entry of each that waits, and no other."""
    kept_keys, kept_rows, kept = keys[:size].copy(), rows[:size].copy(), 0
    seen = np.zeros(len(state), np.bool_)
    for i in range(size):
        row = kept_rows[i]
        if state[row] == WAITING and not seen[row]:
            seen[row] = True
            kept = _push(keys, rows, kept, kept_keys[i], row)
    return kept


@compiled
def _clean(keys: Any, rows: Any, size: int, state: Any, last_step: Any) -> int:
    """A heap without the entries that are out of date."""
    kept_keys, kept_rows, kept = keys[:size].copy(), rows[:size].copy(), 0
    for i in range(size):
        row = kept_rows[i]
        if state[row] == RUNNING and last_step[row] == kept_keys[i]:
            kept = _push(keys, rows, kept, kept_keys[i], row)
    return kept
