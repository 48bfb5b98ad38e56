"""The field's words: one name for one class, one noun once in the glossary, no private idiom."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "rheostat"
GLOSSARY = ROOT / "docs" / "glossary.md"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def rows() -> list[list[str]]:
    """Cells of the glossary's tables, heads and rules left out."""
    lines = [x for x in GLOSSARY.read_text().splitlines() if x.startswith("| ")]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return [c for c in cells if c[0] != "term"]


def test_the_glossary_has_each_term_and_symbol_once() -> None:
    terms = [r[0] for r in rows()]
    symbols = [r[1] for r in rows() if r[1]]
    assert {len(r) for r in rows()} == {5}
    assert len(terms) > 50
    assert sorted(terms) == sorted(set(terms))
    assert sorted(symbols) == sorted(set(symbols))


def test_names_of_the_glossary_are_in_the_code() -> None:
    text = "\n".join(p.read_text() for p in files(SRC))
    words = sorted(set(re.findall(r"\w+", text)))  # a name may go on: `plan` is `plan_s`, too

    def begins_one(name: str) -> bool:
        if not re.fullmatch(r"\w+", name):
            return re.search(rf"\b{re.escape(name)}", text) is not None
        at = bisect_left(words, name)
        return at < len(words) and words[at].startswith(name)

    names = [n for r in rows() for n in re.findall(r"`([^`]+)`", r[3])]
    ends = {n: n.split(".")[-1] for n in names}
    assert [n for n, end in ends.items() if not begins_one(end)] == []


@pytest.mark.slow
def test_no_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for path in files(SRC):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SRC)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


SAME_CAPABILITY = {
    "compare": "predictors side by side: the method and its command",
    "counters": "hardware counters: read, learnt from, and the command",
    "decision": "the value that a decision is, and the floor that makes them",
    "demo": "the demonstration: its steps, and the command",
    "dras": "the published system: its training, and its settings",
    "ecosched": "the published system: its policy, and its settings",
    "identification": "what a log can tell: found out, and said",
    "meters": "energy meters, and the suite that checks them",
    "answer_length": "how long answers are: forecast, and what a proxy makes of it",
    "network": "networks: what is read, and what happens in time",
    "surrogate": "the package, and the model it is about",
    "scaling_law": "the package, and the model it is about",
    "train": "training: the recipe, its report, and the command",
    "coschedule": "sharing a node: policies, what comes of them, and the command",
    "policies": "batch policies: orders, those that come as files, and the suite that checks them",
    "priority": "learned priorities: what one is, and how one is trained",
    "predictor": "the `Predictor` that a package of methods is for",
    "serving": "language models that are served: what is read, and what happens in time",
    "runs": "tables of measured runs: of any application, and of served language models",
    "learned_priority": "the learned priority: player, and the command that trains it",
}
"""Modules of one name on several floors, beside a question, its command and what it calls."""


def modules() -> dict[str, list[Path]]:
    """Folders of each module and package name."""
    places = defaultdict(list)
    for path in files(SRC):
        folder, name = (path.parent, path.stem) if path.stem != "__init__" else (
            path.parent.parent, path.parent.name)  # fmt: skip
        if not name.startswith("__") and name != "rheostat":
            places[name].append(folder.relative_to(SRC))
    return places


def test_modules_share_a_name_only_for_one_capability() -> None:
    shared = {}
    for name, folders in modules().items():
        below = [
            f for f in folders if f.parts[:1] not in (("cli",), ("questions",), ("explanation",))
        ]
        if len(folders) > 1 and len(below) > 1:
            shared[name] = sorted(map(str, below))
    unexplained = {n: f for n, f in shared.items() if n not in SAME_CAPABILITY}
    assert unexplained == {}


def test_the_list_of_shared_names_is_short_and_used() -> None:
    counts = {n: len(modules().get(n, ())) for n in SAME_CAPABILITY}
    assert {n for n, c in counts.items() if c < 2} == set()


BANNED = {
    "told", "found", "wish", "wishes", "menu", "rival", "rivals", "newcomer",
    "newcomers", "foretell", "foretold", "shaken", "game", "games", "tries", "marks",
    "worth", "mold", "beliefs", "taught", "lesson", "lessons", "books", "fate",
}  # fmt: skip
"""Private idiom: what a variable holds has a name in the field."""


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that the code gives or uses, with its line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Name):
            yield line, node.id
        elif isinstance(node, ast.Attribute):
            yield line, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield line, node.name
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            yield line, node.arg


MENTIONED = re.compile(rf"\b_*(?:{'|'.join(sorted(BANNED))})_*\b", re.IGNORECASE)


def idioms(folder: Path) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in files(folder)
        if MENTIONED.search(path.read_text())  # most files need no parsing
        for line, name in names(parsed(path))
        if name.lower().strip("_") in BANNED
    ]


@pytest.mark.parametrize("folder", sorted(p.name for p in SRC.iterdir() if p.is_dir()))
def test_private_idiom_is_gone(folder: str) -> None:
    uses = idioms(SRC / folder)
    assert uses == []
