"""A tree as source code: Python, C or Lua, for a site that installs nothing of ours.

The code is nested questions that an administrator can read, with the words of each feature beside
it.  Numbers are written so that they come back bit for bit, and the arithmetic is in one order, so
that the same job has the same worth in every language (`tests/explanation/test_export.py` holds
that on 100,000 random jobs).

The function takes the features in the tree's order.  Where these can be computed from what Slurm
knows of one job (`PLAIN`), a second function takes time waited, time asked for and processors, and
the Lua file has a ``slurm_job_submit`` for it.

References
----------
Slurm, "Job Submit Plugin API" and "Priority Site Factor Plugin API" (slurm.schedmd.com): a
``site_factor`` is stored with NICE_OFFSET added, and is updated while jobs wait, which a priority
set at submission is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.errors import DataError

DEEPEST = 95
"""Questions: Python takes a hundred levels of indentation, Lua two hundred of nesting."""
STEPS = 1_000_000  # whole numbers of a Slurm priority, from the least worth to the most
HEAD = "Made by rheostat; {leaves} groups, at most {depth} questions. Highest worth goes first."


@dataclass(frozen=True)
class Dialect:
    """How a language writes a comment, a question, its end, and a result."""

    comment: str
    ask: str
    other: str
    end: str
    give: str
    size: str
    indent: int = 4


C = Dialect("/* {} */", "if ({} <= {}) {{", "}} else {{", "}}", "return {};", "fabs({})")
LUA = Dialect("-- {}", "if {} <= {} then", "else", "end", "return {}", "math.abs({})", 2)
PYTHON = Dialect("# {}", "if {} <= {}:", "else:", "", "return {}", "abs({})")


def export(tree: PriorityTree, language: str) -> str:
    """Source of ``tree`` in "python", "c" or "lua".

    >>> from rheostat.decision.policies.priority_tree import TreeFeature
    >>> small = PriorityTree.of([TreeFeature("request_s", "s", "time asked for")], feature=[0, -1,
    ...                 -1], threshold=[60.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                 value=[0, 1, 0])
    >>> scope = {}
    >>> exec(export(small, "python"), scope)
    >>> scope["worth"](60.0), scope["worth"](61.0)
    (1.0, 0.0)
    """
    if language not in LANGUAGES:
        raise DataError("export", [f"expected {', '.join(LANGUAGES)}, got {language!r}"])
    if tree.depth > DEEPEST:
        problem = f"expected a tree of at most {DEEPEST} questions in a row, got {tree.depth:,}"
        raise DataError("export", [f"{problem}: no compiler takes its source"])
    return LANGUAGES[language](tree)


def _python(tree: PriorityTree) -> str:
    names = [f.name for f in tree.features]
    lines = [f'"""{_head(tree)}"""', "", "", f"def worth({', '.join(names)}):"]
    lines += [f'    """Worth of a job from {_said(tree)}."""', *_nest(tree, PYTHON, 0, 1)]
    if plain(tree):
        asked = _facts(tree, "{} / max({}, 1.0)")
        lines += ["", "", "def worth_of_job(wait_s, request_s, procs):"]
        lines += [
            '    """From seconds waited, seconds asked for, processors."""',
            f"    return worth({asked})",
        ]
    return "\n".join(lines) + "\n"


def _c(tree: PriorityTree) -> str:
    names = [f"double {f.name}" for f in tree.features]
    lines = [f"/* {_head(tree)}", f" * worth: of a job, from {_said(tree)}.", " */"]
    lines += ["#include <math.h>", "", f"double rheostat_worth({', '.join(names)})", "{"]
    lines += [*(f"    (void){f.name};" for f in tree.features if f not in tree.used)]
    lines += [*_nest(tree, C, 0, 1), "}", ""]
    first = ", ".join(f"x[{i}]" for i in range(len(tree.features)))
    if plain(tree):
        asked = _facts(tree, "{0} / ({1} > 1.0 ? {1} : 1.0)")
        lines += [
            "/* From seconds waited, seconds asked for, processors. */",
            "double rheostat_worth_of_job(double wait_s, double request_s, double procs)",
            "{",
            "    (void)wait_s; (void)request_s; (void)procs;",
            f"    return rheostat_worth({asked});",
            "}",
            "",
        ]
    lines += [
        "/* Which of n jobs goes first; features are rows of x, the first of equals wins. */",
        "int rheostat_first(const double *x, int n)",
        "{",
        "    int best = -1;",
        "    double most = 0.0;",
        f"    for (int i = 0; i < n; i++, x += {len(tree.features)}) {{",
        f"        double w = rheostat_worth({first});",
        "        if (best < 0 || w > most) { best = i; most = w; }",
        "    }",
        "    return best;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _lua(tree: PriorityTree) -> str:
    names = ", ".join(f.name for f in tree.features)
    lines = [f"-- {_head(tree)}", f"-- worth: of a job, from {_said(tree)}.", ""]
    lines += [f"function rheostat_worth({names})", *_nest(tree, LUA, 0, 1), "end"]
    if plain(tree):
        low, high = worths(tree)
        fields = {"asked": _facts(tree, "{} / math.max({}, 1.0)"), "steps": STEPS}
        fields |= {"low": repr(low), "wide": repr(high - low or 1.0)}
        lines += ["", *SUBMIT.format(**fields).splitlines()]
    return "\n".join(lines) + "\n"


SUBMIT = """\
-- From seconds waited, seconds asked for, processors.
function rheostat_worth_of_job(wait_s, request_s, procs)
  return rheostat_worth({asked})
end

-- A whole number from 1 on, the order of worths but for the smallest differences.
function rheostat_priority(wait_s, request_s, procs)
  local part = (rheostat_worth_of_job(wait_s, request_s, procs) - {low}) / {wide}
  return math.floor({steps} * part) + 1
end

-- job_submit.lua: time_limit is in minutes; what is not set is 0xfffffffe.  A priority set here
-- stays what it is while the job waits: a tree that asks about waiting belongs into a site_factor
-- plugin (the C source), which Slurm calls again and again.
function slurm_job_submit(job_desc, part_list, submit_uid)
  local minutes, procs = job_desc.time_limit, job_desc.min_cpus
  if minutes == nil or minutes >= 4294967294 or procs == nil or procs >= 4294967294 then
    return slurm.SUCCESS  -- not known yet: the site's own priority decides
  end
  job_desc.priority = rheostat_priority(0.0, 60.0 * minutes, procs)
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end
"""

LANGUAGES: dict[str, Callable[[PriorityTree], str]] = {"python": _python, "c": _c, "lua": _lua}
EXPRESSIONS = {
    "wait_s": "wait_s",
    "request_s": "request_s",
    "procs": "procs",
    "area_s": "request_s * procs",
    "relative_wait": "",
}


def plain(tree: PriorityTree) -> bool:
    """Can all it asks about be told from the time waited, the time asked for and processors?"""
    return all(f.name in EXPRESSIONS for f in tree.features)


def _facts(tree: PriorityTree, quotient: str) -> str:
    expressions = EXPRESSIONS | {"relative_wait": quotient.format("wait_s", "request_s")}
    return ", ".join(expressions[f.name] for f in tree.features)


def _head(tree: PriorityTree) -> str:
    return HEAD.format(leaves=len(tree.leaves), depth=tree.depth)


def _said(tree: PriorityTree) -> str:
    named = (f"{f.name} ({f.said}{', ' + f.unit if f.unit else ''})" for f in tree.features)
    return "; ".join(named)


def worths(tree: PriorityTree) -> tuple[float, float]:
    """Bounds of what any job can be worth."""
    leaves = tree.leaves
    change = np.where(tree.slope[leaves] >= 0, np.abs(1.0 / tree.steep[leaves]), 0.0)
    most = change.sum(axis=1)
    value = tree.value[leaves]
    return float((value - most).min()), float((value + most).max())


def _nest(tree: PriorityTree, say: Dialect, node: int, deep: int) -> list[str]:
    pad = " " * say.indent * deep
    if tree.left[node] < 0:
        return [pad + say.give.format(_leaf_value(tree, say, node))]
    name = tree.features[tree.feature[node]].name
    lines = [pad + say.ask.format(name, repr(float(tree.threshold[node])))]
    lines += _nest(tree, say, int(tree.left[node]), deep + 1)
    lines += [pad + say.other.format()]
    lines += _nest(tree, say, int(tree.right[node]), deep + 1)
    return lines + ([pad + say.end.format()] if say.end else [])


def _leaf_value(tree: PriorityTree, say: Dialect, leaf: int) -> str:
    text = repr(float(tree.value[leaf]))
    for slope, scale, steep in zip(
        tree.slope[leaf], tree.scale[leaf], tree.steep[leaf], strict=True
    ):
        if slope >= 0:
            name = tree.features[slope].name
            text += f" + {name} / ({say.size.format(name)} + {float(scale)!r}) / {float(steep)!r}"
    return text
