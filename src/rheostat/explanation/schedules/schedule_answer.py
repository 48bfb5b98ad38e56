"""What a comparison of policies says in two sentences: who waits least, how sure, and the price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rheostat.core.report import Section
from rheostat.explanation.number_words import duration, share, signed

Facts = Mapping[str, Any]


def answer_section(facts: Facts) -> list[Section]:
    """The answer, where policies stand beside each other; nothing for one alone.

    Plans that know the future are no choice of a site: they are named only where all do.
    """
    policies = facts["policies"]
    base = next(iter(policies))
    rows = {n: p for n, p in policies.items() if n != base and p["paired"]}
    rows = {n: p for n, p in rows.items() if not p["clairvoyant"]} or rows
    if not rows:
        return []
    best = min(rows, key=lambda name: policies[name]["wait_s"]["mean"])
    return [Section("answer", _sentences(base, policies[base], best, policies[best]))]


def _sentences(base: str, before: Facts, best: str, now: Facts) -> tuple[str, ...]:
    pair = now["paired"]["wait_s"]
    if "change" not in pair:
        return (f"Under {base} nobody waits: no policy can shorten that.",)
    low, high = pair["change_low"], pair["change_high"]
    sure = f"{signed(pair['change'])} [{signed(low)} {signed(high)}]"
    then, here = duration(before["wait_s"]["mean"]), duration(now["wait_s"]["mean"])
    if high < 0.0:
        first = f"{best} has the least mean wait, {here}; under {base} it is {then}: {sure}."
        return first, _price(before, now)
    if low > 0.0:
        return (
            f"{base} has the least mean wait, {then}; under {best}, the nearest, it is {here}, "
            f"{sure}.",
        )
    return (
        f"No policy is told apart from {base} in the mean wait: {here} under {best}, "
        f"{then} under {base}, {sure}.",
    )


def _price(before: Facts, now: Facts) -> str:
    """Who pays: the longest wait, and jobs that start later."""
    longest, then = now["wait_s"]["max"], before["wait_s"]["max"]
    moved = (
        f"the longest wait is {duration(longest)}, as before" if longest == then else
        f"the longest wait is {duration(longest)} instead of {duration(then)}"
    )  # fmt: skip
    return f"Its price: {share(now['paired']['jobs_later'])} of the jobs start later; {moved}."
