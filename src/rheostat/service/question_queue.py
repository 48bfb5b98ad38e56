"""Questions one after the other in another process: bounded in number, in time, and remembered."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections import OrderedDict
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any

from rheostat.service.question_process import FAILED, Reply, ask, begin
from rheostat.service.served import ServedFiles

BUSY, LATE = 429, 408
KEPT_B = 64_000_000


class QuestionQueue:
    """Asks questions of what is served.

    Parameters
    ----------
    served : ServedFiles
        The files.
    most_waiting : int
        Questions that may wait or run; further ones are refused at once.
    timeout_s : float
        After so long the process of a question is ended.
    """

    def __init__(
        self, served: ServedFiles, most_waiting: int = 16, timeout_s: float = 60.0
    ) -> None:
        self.served, self.most_waiting, self.timeout_s = served, most_waiting, timeout_s
        self.waiting, self.kept_b = 0, 0
        self._kept: OrderedDict[str, Reply] = OrderedDict()
        self._same: dict[str, asyncio.Future[Reply]] = {}
        self._turn = asyncio.Lock()
        self._pool: Executor | None = None

    async def ask(self, name: str, sent: dict[str, Any], user: str = "") -> Reply:
        """The reply to a question; the same question of the same files is asked once."""
        version = self.served.version()
        key = json.dumps([version, name, sent, user], sort_keys=True)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._same:
            if self.waiting >= self.most_waiting:
                return Reply(BUSY, b'{"error":"too many questions wait: ask again later"}')
            self._same[key] = asyncio.ensure_future(self._asked(version, name, sent, user))
            self._same[key].add_done_callback(lambda _: self._same.pop(key, None))
        reply = await asyncio.shield(self._same[key])
        if reply.status < FAILED and reply.status not in (BUSY, LATE):
            self._keep(key, reply)
        return reply

    async def _asked(self, version: str, name: str, sent: dict[str, Any], user: str) -> Reply:
        self.waiting += 1
        try:
            async with self._turn:
                return await self._run(ask, self.served, version, name, sent, user)
        finally:
            self.waiting -= 1

    async def _run(self, work: Any, *given: Any) -> Reply:
        loop = asyncio.get_running_loop()
        if self._pool is None:
            self._pool = new_process()
        try:
            reply: Reply = await asyncio.wait_for(
                loop.run_in_executor(self._pool, work, *given), self.timeout_s
            )
        except TimeoutError:
            self.close()
            return Reply(LATE, b'{"error":"the question took too long and was ended"}')
        except BrokenProcessPool:
            self.close()
            return Reply(FAILED, b'{"error":"the process of the question ended: see the log"}')
        return reply

    def _keep(self, key: str, reply: Reply) -> None:
        if key in self._kept:
            return
        self._kept[key] = reply
        self.kept_b += len(reply.body)
        while self.kept_b > KEPT_B:
            self.kept_b -= len(self._kept.popitem(last=False)[1].body)

    def close(self) -> None:
        """End the process at once; the next question starts another."""
        if self._pool is not None:
            end(self._pool)
        self._pool = None


def new_process() -> ProcessPoolExecutor:
    """One process that inherits no state of this one."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), begin)


def end(pool: Executor) -> None:
    """Kill what a pool runs: a question in compiled code hears nothing else."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        with suppress(OSError, ValueError):
            process.kill()
    pool.shutdown(wait=False, cancel_futures=True)
