"""Write the table of extras in docs/start.md: what each is for, what it brings, how large it is.

Sizes are those of the files installed here, on this system, beyond what the base has.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PURPOSE = {
    "trees": "boosted trees: the usual model of `fit`, `front`, `decide`",
    "search": "Gaussian processes: `search`, `next`, `--kind law`",
    "neural": "`--kind tabnet`, `--kind attention`",
    "train": "`train`: scheduling agents and learned orders; environments",
    "attribution": "which inputs moved a prediction (SHAP)",
    "cluster": "`fit` and `compare` on many machines (Dask, Slurm)",
    "exact": "`coschedule --exact` (OR-tools)",
    "figures": "`--figure FILE.svg`, `.pdf`, `.png`",
    "meters": "energy of NVIDIA GPUs in `measure` (NVML)",
    "graphs": "`dnn`: graphs of JAX, PyTorch and ONNX models, and the network on them",
    "network": "`network`: the neural forecaster and the ZeroMQ server",
    "proxy": "`llm proxy`: ranked prompts in front of a server",
    "serve": "`serve`: answers over HTTP, a page, metrics",
    "models": "`code` with a language model behind an OpenAI-compatible address",
    "code": "`code search`: loops of a C program (tree-sitter), nests in another order (islpy)",
    "encoder": "`llm rank --encoder int8`: MiniLM in ONNX; not part of `all`",
    "gguf": "`code` with a small model in this process; not part of `all`",
    "symbolic": "`llm fit --symbolic`: the form of the law searched anew (Operon)",
    "zeus": "energy by Zeus in `measure`; not part of `all`",
    "lm": "SMART and `llm rank` with a model from a local path; not part of `all`",
    "all": "all of these but `zeus`, `lm`, `encoder` and `gguf`",
}
BEGIN, END = "<!-- extras -->", "<!-- /extras -->"


def closure(needs: Iterable[str]) -> set[str]:
    """Names of the distributions that ``needs`` bring, as far as they are installed here."""
    found: set[str] = set()
    todo = [(Requirement(n), "") for n in needs]
    while todo:
        need, extra = todo.pop()
        if need.marker is not None and not need.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(need.name)
        if name == "rheostat":
            todo += [(Requirement(n), "") for e in need.extras for n in EXTRAS[e]]
            continue
        asked = {f"{name}[{e}]" for e in need.extras} | {name}
        if asked <= found:
            continue
        found |= asked
        try:
            inner = [Requirement(r) for r in distribution(name).requires or ()]
        except PackageNotFoundError:
            found -= asked
            continue
        todo += [(r, e) for r in inner for e in (*need.extras, "")]
    return {n for n in found if "[" not in n}


def megabytes(names: Iterable[str]) -> float:
    """Of all files of these distributions."""
    files = {Path(str(f.locate())) for n in names for f in distribution(n).files or ()}
    return sum(f.stat().st_size for f in files if f.is_file()) / 1e6


def table() -> str:
    """The rows, the base first."""
    base = closure(PROJECT["dependencies"])
    lines = ["| extra | for | brings | MB |", "|---|---|---|---|"]
    lines.append(f"| (base) | reading, forests, fronts, advice, simulation | | {_mb(base)} |")
    for name, needs in EXTRAS.items():
        direct = [Requirement(n).name for n in needs]
        brings = "" if name == "all" else ", ".join(direct)
        new = closure(needs) - base
        here = all(n == "rheostat" or canonicalize_name(n) in new for n in direct)
        size = f"{_mb(new)}" if here else "not measured"
        lines.append(f"| `{name}` | {PURPOSE[name]} | {brings} | {size} |")
    return "\n".join(lines)


def _mb(names: Iterable[str]) -> str:
    size = megabytes(names)
    return f"{size:,.0f}" if size >= 1 else "below 1"


if __name__ == "__main__":
    page = HERE / "start.md"
    text = page.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}")
