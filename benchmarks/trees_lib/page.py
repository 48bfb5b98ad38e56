"""The section of ``docs/benchmarks.md`` about trees, from the figures kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trees_lib.common import ROOT

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
        lines += _ours({t: {**of, **more.get(t, {})} for t, of in facts["ours"].items()})
    if "published" in facts:
        lines += _published(facts["published"])
    if "exports" in facts:
        lines += _exports(facts["exports"])
    if "audit" in facts:
        lines += _audit(facts["audit"])
    return lines


def _spread(value: Facts) -> str:
    return f"{100 * value['mean']:.1f} % [{100 * value['low']:.1f}, {100 * value['high']:.1f}]"


def _ours(found: Facts) -> list[str]:
    lines = [
        "**Orders of the queue** under EASY, whole traces, users' estimates; learned on the first "
        "80 % of the jobs, everything here is of the rest. Agreement: the same job first. Regret: "
        "share of what is at stake in a decision, in the teacher's own worth. Loss: mean bounded "
        "slowdown against the teacher. 95 % intervals over blocks of decisions; trees of at most "
        "6 questions; `multifactor`: agreement that fitted weights of `slurm.conf` keep. Simple "
        "orders were measured with at most four slopes a rule, the learned order with eight.",
        "",
        "| trace | teacher | rules | questions | slopes | agreement | lots | regret | loss "
        "| multifactor |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for trace, teachers in found.items():
        for name, of in teachers.items():
            sure, slow = of["certificate"], of["slowdown"]
            loss = 100 * (slow["tree"] / slow["teacher"] - 1)
            kept = of.get("multifactor", {}).get("agreement")
            weights = f"{100 * kept['mean']:.0f} %" if kept else "-"
            lines.append(
                f"| {trace} | {name} | {of['leaves']} | {of['depth']} | "
                f"{of['slopes']} | {_spread(sure['agreement'])} | {100 * sure['chance']:.0f} % | "
                f"{100 * sure['regret']['mean']:.2f} % | {loss:+.1f} % | "
                f"{weights} |"
            )
    return [*lines, ""]


def _published(found: Facts) -> list[str]:
    lines = [
        "**The published student** (regression of an agent's values on processors, requested time "
        "and busyness; DAgger): 10,000 jobs learned from, the next 2,500 judged. The agent is "
        "DRAS's value learning with a window of 20, layers of 128 and 64, scaled inputs; loss "
        "below zero means better than the teacher.",
        "",
        "| trace | student | nodes | loss, wait | loss, slowdown | agreement | lots | regret "
        "| a decision | the agent's |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for trace, facts in found.items():
        for name, of in facts["students"].items():
            loss, sure = of["loss"], of["certificate"]
            lines.append(
                f"| {trace} | {name} | {of['nodes']:,} | {100 * loss['mean_wait_s']:+.1f} % | "
                f"{100 * loss['mean_bounded_slowdown']:+.1f} % | {_spread(sure['agreement'])} | "
                f"{100 * sure['chance']:.0f} % | {100 * sure['regret']['mean']:.1f} % | "
                f"{1e3 * of['tree_s']:.2f} ms | {1e3 * of['teacher_s']:.2f} ms |"
            )
    for trace, facts in found.items():
        agent = next(iter(facts["students"].values()))["teacher"]
        rules = ", ".join(
            f"{n} {of['wait_s']:,.0f} s / {of['slowdown']:.1f}" for n, of in facts["rules"].items()
        )
        lines += [
            "",
            f"{trace}, mean wait / bounded slowdown on the judged jobs: the agent "
            f"{agent['mean_wait_s']:,.0f} s / {agent['mean_bounded_slowdown']:.1f}; {rules}.",
        ]
    return [*lines, ""]


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
