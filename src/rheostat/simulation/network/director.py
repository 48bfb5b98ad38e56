"""The server that CODES's director asks for iteration times, over ZeroMQ or as a Python call.

A request is one message: a JSON object, a NUL byte, and a payload.  A reply is a JSON object whose
values are texts, numbers included.  What the director may ask beyond iteration times is refused: no
program is run and no file is written on a request but a model in one folder.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from rheostat._optional import require
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.serving.frames import csv_frame
from rheostat.prediction.iteration_time.clients import ClientForecasts
from rheostat.prediction.saved_models import persist

FAMILIES = ("", "iteration", "iteration-time")
LOG = logging.getLogger("rheostat.director")
NS = 1e-9
MOST_STEPS = 1000
MOST_BYTES = 64 * 2**20
"""Of a message; a connection that sends more is closed."""
REFUSED = {
    "execute": "no program is run on a request",
    "launch": "no program is run on a request",
    "send": "no file is written on a request",
    "query": "nothing was launched",
}
Reply = dict[str, str]


class DirectorService:
    """Answers messages of the director, one at a time.

    Parameters
    ----------
    clients
        Forecasts by client.
    folder
        Where models are saved and loaded, and records read; a request gives a name in it.

    Examples
    --------
    >>> service = DirectorService(ClientForecasts(), Path())
    >>> service.answer(b'{"cmd":"set-debug","args":["1","1"]}' + bytes(1))
    b'{"status": "done", "et": "0.0"}'
    >>> service.answer(b"hello")[:20]
    b'{"status": "failed",'
    """

    def __init__(self, clients: ClientForecasts, folder: Path) -> None:
        self.clients, self.folder = clients, folder
        self.stopped = False
        self.answered = 0
        self._said, self._since_s = "", 0.0

    def answer(self, message: bytes) -> bytes:
        """The reply to one message; whatever it holds, there is one."""
        begun = perf_counter()
        try:
            request, payload = _parsed(message)
            reply = self._reply(request, payload)
        except (RheostatError, ValueError, OSError) as error:
            reply = self._failed(str(error))
        except Exception as error:  # noqa: BLE001  one request shall not end a simulation's server
            reply = self._failed(f"{type(error).__name__}: {error}")
        self.answered += 1
        if "et" in reply and not reply["et"]:
            reply["et"] = repr(perf_counter() - begun)
        return json.dumps(reply).encode()

    def _failed(self, why: str) -> Reply:
        """A refusal, which the log tells once while it stays the same."""
        if why != self._said:
            LOG.warning("refused: %s", why[:500])
        self._said = why
        return {"status": "failed", "error": why[:500]}

    def _reply(self, request: dict[str, Any], payload: str) -> Reply:
        command, args = str(request.get("cmd", "")), _arguments(request.get("args"))
        if command == "set-debug":
            return {"status": "done", "et": "0.0"}
        if command == "nothing":
            return {"status": "done", "et": ""}
        if command == "exit":
            self.stopped = True
        if command != "director-request":
            return {"status": "none", **({"error": REFUSED[command]} if command in REFUSED else {})}
        family, operation = (str(request.get(k, "")) for k in ("surrogate_family", "operation"))
        if family not in FAMILIES:
            raise DataError("surrogate_family", [f"expected iteration-time, got {family[:60]!r}"])
        if operation not in OPERATIONS:
            raise DataError("operation", [f"{operation[:60]!r} is not known"])
        self._since_s = NS * _moment(request.get("since", 0))
        return {"status": "done", "et": "", **OPERATIONS[operation](self, args, payload)}

    def _records(self, args: Sequence[str], payload: str) -> Reply:
        times = [NS * float(word) for word in payload.split()]
        dropped = self.clients.report(_client(args), times, self._since_s)
        return {"dropped": str(dropped)} if dropped else {}

    def _inference(self, args: Sequence[str], payload: str) -> Reply:
        given = args[1] if len(args) > 1 else "1"
        steps = int(given) if re.fullmatch(r"\d{1,9}", given) else 0
        if not 0 < steps <= MOST_STEPS:
            raise DataError("inference", [f"expected 1 to {MOST_STEPS} steps, got {given[:60]}"])
        times = self.clients.forecast(_client(args), steps)
        return {"predictions": " ".join(repr(t / NS) for t in times)}

    def _hand_over(self, args: Sequence[str], payload: str) -> Reply:
        """Ours: what a client need not simulate now, no predictions if nothing."""
        times = self.clients.hand_over(_client(args))
        return {"steps": str(len(times)), "predictions": " ".join(repr(t / NS) for t in times)}

    def _ended(self, args: Sequence[str], payload: str) -> Reply:
        """Ours: the scheduler says that a client's job has ended."""
        self.clients.end(self.clients.app_of(_client(args)))
        return {}

    def _train(self, args: Sequence[str], payload: str) -> Reply:
        counts = self.clients.counts()
        if not any(counts.values()):
            raise DataError("train-model", ["no records were sent"])
        learned = self.clients.learn()
        trained = sum(n > 0 for n in counts.values())
        return {
            "target": args[0] if args else "all", "total_clients": str(len(counts)),
            "trained_clients": str(trained), "skipped_clients": str(len(counts) - trained),
            "total_records": str(sum(counts.values())), "training_examples": str(learned),
            "model_version": str(self.clients.version),
        }  # fmt: skip

    def _save(self, args: Sequence[str], payload: str) -> Reply:
        persist.save(self.clients.model(), self._path(args))
        return {"path": args[0], "model_version": str(self.clients.version)}

    def _load(self, args: Sequence[str], payload: str) -> Reply:
        self.clients.take(persist.load(self._path(args), ["iteration-times"]))
        return {"path": args[0], "model_version": str(self.clients.version)}

    def _load_records(self, args: Sequence[str], payload: str) -> Reply:
        try:
            frame = csv_frame(self._path(args), "table of client and value")
            rows = [
                (_client([str(c)]), float(v))
                for c, v in frame.select("client", "value").iter_rows()
            ]
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise DataError(args[0], [f"expected CSV with client and value: {error}"]) from error
        for client, value in rows:
            self.clients.report(client, [NS * value])
        loaded = len({c for c, _ in rows})
        return {"path": args[0], "loaded_rows": str(len(rows)), "loaded_clients": str(loaded)}

    def _status(self, args: Sequence[str], payload: str) -> Reply:
        counts = self.clients.counts()
        wanted = args[0] if args else "all"
        trained = {c: int(self.clients.group(c).learned > 0) for c in counts}
        shown = [c for c in counts if wanted in ("all", str(c))]
        return {
            "target": wanted, "total_clients": str(len(counts)),
            "trained_clients": str(sum(trained.values())),
            "total_records": str(sum(counts.values())),
            "model_version": str(self.clients.version),
            "clients": ";".join(f"{c}:records={counts[c]},trained={trained[c]}" for c in shown),
        }  # fmt: skip

    def _path(self, args: Sequence[str]) -> Path:
        """A file in the folder; a path that leads elsewhere is refused."""
        name = args[0] if args else ""
        path = Path(os.path.realpath(self.folder / name))
        if not name or path.parent != Path(os.path.realpath(self.folder)):
            raise DataError("path", [f"expected a name in the server's folder, got {name[:80]!r}"])
        return path


Operation = Callable[[DirectorService, Sequence[str], str], Reply]
OPERATIONS: dict[str, Operation] = {
    "send-records": DirectorService._records,
    "inference": DirectorService._inference,
    "do-inference": DirectorService._inference,
    "hand-over": DirectorService._hand_over,
    "job-ended": DirectorService._ended,
    "train-model": DirectorService._train,
    "train": DirectorService._train,
    "save-model": DirectorService._save,
    "save": DirectorService._save,
    "load-model": DirectorService._load,
    "load": DirectorService._load,
    "load-records-csv": DirectorService._load_records,
    "load-records": DirectorService._load_records,
    "model-status": DirectorService._status,
    "status": DirectorService._status,
}


def _parsed(message: bytes) -> tuple[dict[str, Any], str]:
    head, nul, payload = message.partition(b"\0")
    if not nul:
        raise DataError("message", ["expected a JSON object, a NUL byte and a payload, got no NUL"])
    try:
        request = json.loads(head)
    except RecursionError as error:
        raise DataError("message", ["nested too deep"]) from error
    if not isinstance(request, dict):
        raise DataError("message", ["expected a JSON object before the NUL"])
    return request, payload.decode()


def _arguments(given: Any) -> list[str]:
    """Arguments as texts; the simulator sends their number first, the control script does not."""
    args = [str(a) for a in given] if isinstance(given, list) else []
    if args and args[0] == str(len(args) - 1):
        args = args[1:]
    return [] if args == ["dummy"] else args


def _moment(given: Any) -> float:
    """When a client's first iteration began, ns; ours, the director knows no such key."""
    try:
        moment = float(given)
    except (TypeError, ValueError):
        moment = np.nan
    if not 0.0 <= moment < np.inf:
        raise DataError("since", [f"expected nanoseconds from 0, got {str(given)[:60]!r}"])
    return moment


def _client(args: Sequence[str]) -> int:
    if not args or not re.fullmatch(r"[0-9]{1,18}", args[0]):
        raise DataError("client", [f"expected a whole number from 0, got {', '.join(args)[:60]!r}"])
    return int(args[0])


def serve(
    service: DirectorService,
    endpoint: str,
    ready: Callable[[str], None],
    *,
    stop_after_s: float = 0,
) -> None:
    """Answer requests at an endpoint until one of them is ``exit``.

    Parameters
    ----------
    service
        What answers.
    endpoint
        As ``tcp://127.0.0.1:5555``; port ``*`` takes a free one.
    ready
        Called with the endpoint that was bound.
    stop_after_s
        Stop after so long without a request; 0 waits for ever.
    """
    zmq = require("zmq", extra="network")
    context = zmq.Context()
    socket = context.socket(zmq.REP)
    socket.setsockopt(zmq.LINGER, 1000)
    socket.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES)
    try:
        try:
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            expected = "expected an address that is free, as tcp://127.0.0.1:5555"
            raise DataError(endpoint, [f"{expected}: {error}"]) from error
        ready(socket.getsockopt(zmq.LAST_ENDPOINT).decode().rstrip("\0"))
        while not service.stopped:
            if not socket.poll(1000 * stop_after_s if stop_after_s else None):
                return
            parts = socket.recv_multipart()
            socket.send(service.answer(b"".join(parts)))
    finally:
        socket.close()
        context.term()
