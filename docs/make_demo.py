"""Put what `rheostat demo --seed 0` prints into docs/demo.md, between its two marks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("demo.md")
MARKS = re.compile(r"(<!-- demo -->\n).*?(<!-- /demo -->)", re.DOTALL)

if __name__ == "__main__":
    command = [sys.executable, "-m", "rheostat", "demo", "--seed", "0"]
    env = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout
    body = "\n".join(line.rstrip() for line in said.strip().splitlines())
    text = PAGE.read_text()
    PAGE.write_text(MARKS.sub(lambda m: f"{m[1]}```text\n{body}\n```\n{m[2]}", text))
