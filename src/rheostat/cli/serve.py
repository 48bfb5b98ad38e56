"""``rheostat serve``: questions of one log over HTTP, and a page that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.options.declared import argument, option


def serve(
    log: Annotated[
        Path | None, argument("A job log, or a folder of rheostat site ingest.", "LOG")
    ] = None,
    demo: Annotated[bool, option("Serve a generated site instead of LOG.", "--demo")] = False,
    model: o.Saved = None,
    machine: Annotated[str, option("Processors, or a TOML file with watts and a cap.")] = "",
    knob: o.Knobs = None,
    host: Annotated[str, option("Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen at; 0 takes a free one.", min=0, max=65535)] = 8200,
    allowed_host: Annotated[
        list[str] | None,
        option("At an address of this machine alone: a name in Host beside localhost. Repeatable."),
    ] = None,
    tokens: Annotated[
        Path | None, option("File of hashed tokens; needed at an address that others reach.")
    ] = None,
    new_token: Annotated[
        str, option("Add a token of this name to --tokens, print it once, and stop.")
    ] = "",
    of_user: Annotated[
        bool, option("The new token sees jobs of the user NAME alone.", "--of-user")
    ] = False,
    rate: Annotated[float, option("Requests per second of one client.", min=1.0, max=1e6)] = 1000.0,
    body_limit: Annotated[
        int, option("Bytes of a request, at most.", min=1000, max=2**30)
    ] = 1_000_000,
    timeout: Annotated[
        float, option("Longest time of a question, s.", min=1.0, max=86_400.0)
    ] = 300.0,
    stop_after: Annotated[
        float, option("Stop after so many seconds; 0 never does.", min=0.0)
    ] = 0.0,
    seed: o.Seed = 0,
    form: o.Form = "",
) -> None:
    """Serve questions of LOG over HTTP, advice from a table, a page to watch, and /metrics.

    Listens at this machine alone unless --host says otherwise, and then only with --tokens. Files
    that change, and SIGHUP, are taken in while the old ones still answer.
    """
    import rheostat as rh

    if new_token:
        print(rh.add_token(tokens, new_token, of_user=of_user))
        return
    settings = rh.ServiceSettings(host, port, allowed_host or (), tokens, rate, body_limit, timeout,
                                  stop_after)  # fmt: skip
    rh.serve(log, settings, demo=demo, model=model, machine=machine, knobs=knob or (), format=form,
             seed=seed)  # fmt: skip
