"""Put what `rheostat demo --seed 0` prints into docs/demo.md, between its two marks.

The same run draws docs/report.png.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).with_name("demo.md")
PICTURE = PAGE.with_name("report.png")
MARKS = re.compile(r"(<!-- demo -->\n).*?(<!-- /demo -->)", re.DOTALL)


def told() -> tuple[str, bytes]:
    """What the demo prints, and its first picture."""
    env = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "report.png"
        command = [sys.executable, "-m", "rheostat", "demo", "--seed", "0", "--figure", picture]
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout
        return "\n".join(line.rstrip() for line in said.strip().splitlines()), picture.read_bytes()


def page(body: str) -> str:
    """The page with this between its marks."""
    return MARKS.sub(lambda m: f"{m[1]}```text\n{body}\n```\n{m[2]}", PAGE.read_text())


if __name__ == "__main__":
    body, drawn = told()
    PAGE.write_text(page(body))
    PICTURE.write_bytes(drawn)
