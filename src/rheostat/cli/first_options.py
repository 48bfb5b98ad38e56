"""What a command's ``--help`` shows first: the options that matter, the others by name.

A help is read on one screen, so that a command with many options explains a few; ``--help-all``
explains every one.  Words that are not everybody's are named with the page that has them.
"""

from __future__ import annotations

import re
from typing import Any

FIRST: dict[str, str] = {
    "backtest": "test-fraction knob slowdown within kind machine html json",
    "budget follow": "limits until nodes from tree hysteresis json",
    "budget plan": "budget extra limits nodes from objective out html json",
    "code refactor": "model base-url gguf samples budget input patch html json",
    "code search": "to objective budget model base-url input patch html json",
    "code translate": "to model base-url gguf samples budget input patch html json",
    "code verify": "manifest input rtol rungs require sandbox html json",
    "compare": "kinds policies traces machine max-wait replays html json",
    "coschedule": "queue policy objective gpus nodes out html json",
    "counters": "methods target by what-if predict save html json",
    "decide": "past trial model knob objectives slowdown within out html json",
    "dnn front": "model-name knob device batch-size gpus objectives within html json",
    "dnn predict": "device batch-size image-px optimizer precision-bits gpus html json",
    "fit": "out kind test-fraction knobs seed json",
    "front": "job where knob objectives rule within model html json",
    "llm calibrate": "learn batch-cap cache-tokens replicas html json",
    "llm fit": "for next save model-config map unit json",
    "llm plan": "app knob itl ttft minimise trace model-config html json",
    "llm proxy": "upstream policy priority within model host port",
    "llm rank": "model save column test-fraction networks json",
    "llm simulate": "policies rate batch-cap within replicas html json",
    "search": "measure budget journal repeat method within html json",
    "serve": "demo model machine knob host port tokens",
    "simulate": "machine policy estimates replays orders html json",
    "train": "out agent objective machine updates html json",
}
"""Options of the commands whose whole help is longer than a screen."""
JARGON = (
    "knee", "scaling law", "support", "confidence", "hypervolume", "back-test", "randomised trial",
    "moldable job", "backfilling", "makespan", "interference", "rung", "node-hours", "fleet",
)  # fmt: skip


def first_of(command: Any, path: str) -> tuple[list[Any], list[Any]]:
    """Parameters that a command's help explains, and those that it names."""
    if path not in FIRST:
        return list(command.params), []
    names = {f"--{name}" for name in FIRST[path].split()}
    shown = [p for p in command.params if p.param_type_name != "option" or names & set(p.opts)]
    return shown, [p for p in command.params if p not in shown]


def jargon_of(command: Any) -> list[str]:
    """Words of the glossary that a command's help holds."""
    text = " ".join([command.help or "", *(getattr(p, "help", "") or "" for p in command.params)])
    return [word for word in JARGON if re.search(rf"\b{word}s?\b", text)]
