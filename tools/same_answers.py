"""What the commands of the guides answer at two commits, and every line in which they differ.

``python tools/same_answers.py OLD NEW [--only REGEX] [--as-typed] [--limit SECONDS]`` runs each
command that stands in the README and the guides, in their order and in a folder with the files they
name: with ``--json`` and ``--html`` where it has them, or as it is typed.  Exit code, both streams
and every file that it writes are compared.  One that takes more seconds of a processor is stopped.
With ``--folder FOLDER --most N`` it runs the next N of them, and the next call goes on from there.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import hashlib
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

TYPED = re.compile(r"^(?:    |\$ |\| `)rheostat ([^|`\n]*)(?:` \|)?", re.MULTILINE)
LEFT_OUT = re.compile(r"^(fetch|doctor|measure|serve|network serve|llm proxy)\b|~|\$\(|>|\.\.\.")
"""What needs the network, serves, tells the state of this machine or is no command by itself."""
FIXED = {"COLUMNS": "100", "OMP_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "0"}
Lines = list[str]


def typed() -> Lines:
    """Every command of the pages once, in order."""
    found: Lines = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]:
        text = page.read_text().replace("\\\n", " ")
        found += [re.split(r"\s+# ", m[1])[0].strip() for m in TYPED.finditer(text)]
    return [c.replace(" /etc/", " etc/") for c in dict.fromkeys(found) if not LEFT_OUT.search(c)]


def documented(words: Lines) -> Lines:
    """With the options that write all that was found out."""
    from typer.main import get_command

    from rheostat.cli.app import app

    leaf = get_command(app)
    for word in words:
        leaf = getattr(leaf, "commands", {}).get(word, leaf)
    has = {flag for p in leaf.params for flag in p.opts} - set(words)
    place = words.index("--") if "--" in words else len(words)
    added = ["--json"] * ("--json" in has) + ["--html", "page.html"] * ("--html" in has)
    return words[:place] + added + words[place:]


def desk(folder: Path) -> None:
    """The files that the pages name, all generated."""
    import rheostat as rh
    from rheostat.measurement.synthetic import World
    from tests.cli.test_help_examples import MADE, next_month
    from tests.docs.test_docs import blocks

    folder.mkdir()
    for make in dict.fromkeys(MADE.values()):
        make(folder)
    for name, jobs in (("october", 6000), ("trace", 3000), ("21", 900), ("22", 900), ("23", 900)):
        World(seed=0).jobs(jobs, seed=0).write_parquet(folder / f"{name}.parquet")
    next_month(folder)
    rh.read(folder / "23.parquet").frame.write_csv(folder / "week.csv")
    for name in ("october", "november", "kth"):
        shutil.copy(folder / "trace.swf", folder / f"{name}.swf")
    (folder / "kth_sp2.swf.gz").write_bytes(
        gzip.compress((folder / "kth.swf").read_bytes(), mtime=0)
    )
    shutil.copytree(folder / "run", folder / "RUN")
    shutil.copy(folder / "serving.csv", folder / "RUNS.csv")
    (folder / "etc" / "slurm").mkdir(parents=True)
    page = ROOT / "docs" / "guide" / "site.md"
    (folder / "site.toml").write_text(blocks(page, "toml")[0])
    (folder / "alternatives.csv").write_text(blocks(page, "csv")[0])


def tree(commit: str, folder: Path) -> None:
    """The sources of a commit."""
    folder.mkdir()
    packed = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)


def state(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def answered(argv: Lines, source: Path, folder: Path, limit_s: int) -> Lines:
    """What came of a command, in lines; a file of bytes is its hash."""
    before = state(folder)
    done = subprocess.run(
        [sys.executable, "-m", "rheostat", *argv], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(source), **FIXED},
        stdin=subprocess.DEVNULL, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s)),
    )  # fmt: skip
    if done.returncode < 0:
        return ["stopped"]
    lines = [f"exit {done.returncode}", *done.stdout.splitlines()]
    lines += [f"stderr: {line}" for line in done.stderr.splitlines()]
    for name, content in sorted(state(folder).items()):
        if before.get(name) != content:
            lines += [f"{name}: {line}" for line in shown(content)]
    return lines


def shown(content: bytes) -> Lines:
    """The lines of a text, or the hash of other bytes."""
    try:
        return content.decode().splitlines()
    except UnicodeDecodeError:
        return [hashlib.sha256(content).hexdigest()]


def laid_out(asked: argparse.Namespace, place: Path) -> None:
    """The sources of both commits, and a folder of files for each."""
    place.mkdir(exist_ok=True)
    desk(place / "files")
    for k, commit in enumerate((asked.old, asked.new)):
        tree(commit, place / f"tree-{k}")
        shutil.copytree(place / "files", place / f"desk-{k}")
    (place / "done.txt").touch()


def compared(asked: argparse.Namespace, place: Path) -> int:
    """How many answers differ; each is printed as it comes."""
    if not (place / "done.txt").exists():
        laid_out(asked, place)
    sources = [place / f"tree-{k}" / "src" for k in range(2)]
    desks = [place / f"desk-{k}" for k in range(2)]
    done = (place / "done.txt").read_text().splitlines()
    differing, at = 0, place / "desk"
    due = [c for c in typed() if re.search(asked.only, c) and c not in done]
    for command in due[: asked.most]:
        words, answers = shlex.split(command), []
        argv = words if asked.as_typed else documented(words)
        for source, own in zip(sources, desks, strict=True):
            own.rename(at)  # so that both name the same paths
            answers.append(answered(argv, source, at, asked.limit))
            at.rename(own)
        with (place / "done.txt").open("a") as kept:
            kept.write(command + "\n")
        changed = list(difflib.unified_diff(*answers, lineterm="", n=0))[2:]
        differing += bool(changed)
        print(
            f"{'DIFFERS' if changed else 'same':8}{answers[1][0]:8} {shlex.join(argv)}", flush=True
        )
        print("".join(f"    {line[:300]}\n" for line in changed[:20]), end="")
    return differing


def main() -> int:
    """Compare; the exit code is 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="", help="commands that contain this pattern")
    parser.add_argument("--as-typed", action="store_true", help="compare what a terminal shows")
    parser.add_argument("--limit", type=int, default=120, help="seconds of a processor")
    parser.add_argument("--folder", type=Path, help="where both are laid out and stay")
    parser.add_argument("--most", type=int, help="commands in this call")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        differing = compared(asked, (asked.folder or Path(own)).resolve())
    print(f"{differing} commands answer otherwise")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
