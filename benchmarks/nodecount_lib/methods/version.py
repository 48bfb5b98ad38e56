"""Which revision of our own method produced a cached row?  A hash of its code says so."""

from __future__ import annotations

import ast
import hashlib
from importlib.util import find_spec
from pathlib import Path

PARTS = (
    "prediction/scaling_law",
    "tradeoff/propose/lookahead.py",
    "tradeoff/propose/acquisition.py",
    "tradeoff/propose/law_guided.py",
)


def code_version() -> str:
    """Hash of the law-informed model and its planner; comments and docstrings do not count."""
    spec = find_spec("rheostat")
    if spec is None or spec.origin is None:
        return "absent"
    root = Path(spec.origin).parent
    files = [
        f
        for part in PARTS
        for f in ([root / part] if part.endswith(".py") else sorted((root / part).glob("*.py")))
    ]
    digest = hashlib.sha256()
    for path in files:
        if path.exists():
            digest.update(ast.dump(_bare(ast.parse(path.read_text()))).encode())
    return digest.hexdigest()[:8]


def _bare(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            node.body = body[1:]  # type: ignore[attr-defined]
    return tree
