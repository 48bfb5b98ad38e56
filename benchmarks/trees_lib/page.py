"""The section of ``docs/benchmarks.md`` about trees, from the figures kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trees_lib.common import ROOT
from trees_lib.tables import beside, orders, published

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- trees: begin, generated -->", "<!-- trees: end -->"
Facts = Mapping[str, Any]


def write(facts: Facts) -> None:
    """Put the section between its markers, at the end of the page where there are none."""
    text = PAGE.read_text(encoding="utf-8")
    made = "\n".join([BEGIN, *section(facts), END])
    before, begin, rest = text.partition(BEGIN)
    after = rest.partition(END)[2] if begin else ""
    PAGE.write_text((before.rstrip() + "\n\n" if not begin else before) + made + (after or "\n"),
                    encoding="utf-8")  # fmt: skip


def section(facts: Facts) -> list[str]:
    """Lines of the section."""
    lines = ["## Trees that imitate schedulers", ""]
    lines += ["    python benchmarks/learned_trees.py --write-docs", ""]
    if "ours" in facts:
        more = facts.get("learned", {})
        lines += orders({t: {**of, **more.get(t, {})} for t, of in facts["ours"].items()})
    if "published" in facts:
        lines += published(facts["published"], facts.get("wide", {}))
    lines += beside(facts)
    if "exports" in facts:
        lines += _exports(facts["exports"])
    if "audit" in facts:
        lines += _audit(facts["audit"])
    return lines


def _exports(found: Facts) -> list[str]:
    if "c_s" not in found:
        return ["No C compiler was there: the exported source was not timed.", ""]
    return [
        f"**A decision of an exported tree**, who of {found['queue']} jobs goes first, "
        f"{found['leaves']} rules of up to {found['depth']} questions: {1e6 * found['c_s']:.2f} "
        f"microseconds in C (gcc -O2), {1e6 * found['python_s']:.0f} in Python with numpy. Worth "
        f"of {found['states']:,} random jobs bit for bit the same: "
        f"{'yes' if found['same_worths'] and found['same_choices'] else 'NO'}.",
        "",
    ]


def _audit(found: Facts) -> list[str]:
    lines = [
        "**What a reward taught** the same agent (SDSC-SP2, 5,000 jobs learned from, 1,000 judged; "
        "a row per seed): share of decisions in which it chose as a simple rule would, and what a "
        "tree of 4 questions asks about, of its values and of their differences in a decision.",
        "",
        "| reward | slowdown | first come | shortest | values: first question | "
        "differences: wait, request |",
        "|---|---|---|---|---|---|",
    ]
    for name, seeds in found.items():
        for of in seeds:
            habit, within = of["habits"], of["looks_at_within"]
            lines.append(
                f"| - sum {name} | {of['mean_bounded_slowdown']:.1f} | "
                f"{100 * habit['first come']:.0f} % | {100 * habit['shortest request']:.0f} % | "
                f"{of['first_question_values']} | {100 * within['wait_s']:.0f} %, "
                f"{100 * within['request_s']:.0f} % |"
            )
    return [*lines, ""]
