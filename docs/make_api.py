"""Print docs/api.md: every public name, documented from its docstring when the site is built."""

from __future__ import annotations

import rheostat

FLOORS = {
    "questions": "Ask",
    "core": "Values",
    "measurement": "Measure",
    "prediction": "Predict",
    "tradeoff": "Trade off",
    "decision": "Decide",
    "explanation": "Explain",
    "simulation": "Simulate",
    "recipes": "Put together",
    "service": "Serve",
}


def page() -> str:
    """One section per floor, one entry per name."""
    lines = ["# Python", "", "Written by `make docs` from `rheostat.__all__`; a test compares it."]
    for floor, title in FLOORS.items():
        names = {n: m for n, m in rheostat._MODULES.items() if m.split(".")[0] == floor}
        lines += ["", f"## {title}"] if names else []
        for name in names:
            thing = getattr(rheostat, name)
            lines += ["", f"::: {thing.__module__}.{thing.__qualname__}"]
    lines += ["", "## Groups of questions"]
    lines += [f"\n::: {getattr(rheostat, n).__name__}" for n in rheostat._GROUPS]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())
