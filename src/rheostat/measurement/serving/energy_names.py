"""Energy in the headings of serving tables: in which unit, and per what.

``mJ/token``, ``energy_per_request_wh``, ``kWh per million tokens`` and ``tok/J`` say both;
``energy_j`` and ``Energy per token`` say one of them.  ``mJ`` and ``MJ`` are told apart by their
case, in a heading without capitals ``mj`` is the thousandth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

JOULES = {"uJ": 1e-6, "mJ": 1e-3, "J": 1.0, "kJ": 1e3, "MJ": 1e6, "mWh": 3.6, "Wh": 3.6e3,
          "kWh": 3.6e6, "MWh": 3.6e9}  # fmt: skip
WORDS = {"joule": "J", "joules": "J", "millijoule": "mJ", "millijoules": "mJ", "kilojoules": "kJ",
         "watthours": "Wh"}  # fmt: skip
OTHERS = re.compile(
    r"(^|_)(cpu|dram|host|ram|prefill|idle|static|std|stdev|min|max|peak|p\d\d|cost|price|usd|cap|"
    r"limit|carbon|co2\w*|input|prompts?_tokens?|gpu_hours?|per_s(ec(ond)?)?)(_|$)"
)
"""Words of columns that are no energy of what is served, or a part of it alone."""
PER = (
    ("total token", r"per_total_tok(en)?s?"),
    ("token", r"per_((output|generated|completion|decoded?|new)_)?tok(en)?s?"),
    ("Mtoken", r"per_(m|1m|1e6|million|mega|1000000)_?((output|generated)_)?tok(en)?s?"),
    ("ktoken", r"per_(k|1k|1e3|thousand|kilo|1000)_?((output|generated)_)?tok(en)?s?"),
    ("request", r"per_(req(uest)?s?|query|prompt|response|sample|inference|sequence|answer)"),
    ("batch", r"per_batch"),
    ("run", r"per_(run|benchmark|experiment)"),
    ("krequest", r"per_(k|1k|1e3|thousand|kilo|1000)_?(req(uest)?s?|queries|prompts)"),
    ("Mrequest", r"per_(m|1m|1e6|million|mega|1000000)_?(req(uest)?s?|queries|prompts)"),
)
KINDS = tuple(name for name, _ in PER)


@dataclass(frozen=True)
class EnergyUnit:
    """Joules of one of the unit (None: not said), per what ("": not said); ``inverse``: per it."""

    joules: float | None
    per: str
    inverse: bool = False


def energy_unit(heading: str) -> EnergyUnit | None:
    """What a heading says of an energy; None where it is of something else.

    >>> energy_unit("mJ/token")
    EnergyUnit(joules=0.001, per='token', inverse=False)
    >>> energy_unit("tok/J").inverse, energy_unit("cpu_energy_j")
    (True, None)
    """
    name = plain(heading)
    if OTHERS.search(name):
        return None
    unit = _unit(heading)
    rate = re.fullmatch(r"(?:.*_)?tok(?:en)?s?_per_(\w+?)(?:_\w*)?", name)
    if rate and unit is not None and _unit(rate[1]) is not None:
        return EnergyUnit(unit, "token", inverse=True)
    if unit is None and not re.search(r"(^|_)energy(_|$)", name):
        return None
    per = next((k for k, pattern in PER if re.search(rf"(^|_){pattern}(_|$)", name)), "")
    if not per and "_per_" in f"_{name}":
        return None
    alone = re.fullmatch(r"[a-z]*", name) and unit is not None and "energy" not in name
    return None if not per and alone and name in ("j", "wh") else EnergyUnit(unit, per)


def stated_unit(text: str) -> EnergyUnit | None:
    """What ``--unit energy=`` says; None where that is none.

    >>> stated_unit("Wh/request"), stated_unit("J/day")
    (EnergyUnit(joules=3600.0, per='request', inverse=False), None)
    """
    said = energy_unit(text)
    return said if said and said.per and said.joules is not None else None


def plain(heading: str) -> str:
    """A heading in lower case with one ``_`` between words, ``per`` for a stroke."""
    parted = re.sub(r"(?<=[a-z]{2})(?=[A-Z])", "_", heading.replace("#", "num_"))
    stroked = re.sub(r"/", "_per_", parted.lower())
    return re.sub(r"_+", "_", re.sub(r"[^a-z0-9]+", "_", stroked)).strip("_")


def _unit(heading: str) -> float | None:
    """Joules of the unit that a heading names."""
    parted = re.sub(r"(?<=[a-z]{2})(?=[A-Z])", "_", heading)
    small = heading == heading.lower()
    for word in re.findall(r"[A-Za-z]+", parted):
        if word.lower() in WORDS:
            return JOULES[WORDS[word.lower()]]
        if word in JOULES:
            return JOULES[word]
        alike = [u for u in JOULES if u.lower() == word.lower()]
        if alike and (small or len(alike) == 1):
            return JOULES[next((u for u in alike if u[0] == "m"), alike[0])]
    return None
