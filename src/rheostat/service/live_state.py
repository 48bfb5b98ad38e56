"""What changes while the service runs: the advice at hand, its files' version, and who listens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from json import dumps

from rheostat.service.advice_table import AdviceTable, make_table
from rheostat.service.question_queue import end, new_process
from rheostat.service.served import ServedFiles
from rheostat.service.service_metrics import ServiceMetrics

LOG = logging.getLogger("rheostat.service")
MAKING_S = 600.0
BEAT_S = 15.0


class LiveState:
    """Watches the files, makes the advice anew beside the old, and swaps the two in one step.

    Parameters
    ----------
    served : ServedFiles
        The files.
    metrics : ServiceMetrics
        Counts what is made and what fails.
    every_s : float
        How often the files are looked at.
    """

    def __init__(self, served: ServedFiles, metrics: ServiceMetrics, every_s: float = 2.0) -> None:
        self.served, self.metrics, self.every_s = served, metrics, every_s
        self.table = AdviceTable()
        self.failed = ""
        self._look = asyncio.Event()
        self._changed = asyncio.Condition()

    def reload(self) -> None:
        """Look at the files now."""
        self.failed = ""
        self._look.set()

    async def watch(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            version = self.served.version()
            if version not in (self.table.version, self.failed):
                await self._make(version)
            self._look.clear()
            try:
                await asyncio.wait_for(self._look.wait(), self.every_s)
            except TimeoutError:
                continue

    async def _make(self, version: str) -> None:
        """A new table; where none can be made the old one stays."""
        pool = new_process()
        loop = asyncio.get_running_loop()
        try:
            made = loop.run_in_executor(pool, make_table, self.served, version)
            self.table = await asyncio.wait_for(made, MAKING_S)
            self.metrics.swapped(self.table.facts)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the files, the old stay
            self.failed = version
            self.metrics.reload_failures.inc()
            LOG.warning("the new files are not served, the old ones stay: %s", str(error)[:500])
        finally:
            end(pool)
        async with self._changed:
            self._changed.notify_all()

    def event(self) -> str:
        """What every open page hears."""
        table = self.table
        facts = {
            "version": hash(table.version) & 0xFFFFFFFF,
            "ready": bool(table.version),
            "failed": bool(self.failed),
            "counts": self.metrics.counts(),
        }
        return f"data: {dumps(facts)}\n\n"

    async def events(self) -> AsyncIterator[str]:
        """At once, when the files were swapped, and every few seconds."""
        while True:
            yield self.event()
            async with self._changed:
                try:
                    await asyncio.wait_for(self._changed.wait(), BEAT_S)
                except TimeoutError:
                    continue
