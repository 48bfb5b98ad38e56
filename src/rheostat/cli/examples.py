"""An example for the top of every ``--help``: one command that runs, on files named as users have.

A test runs them all on generated files of these names.
"""

from __future__ import annotations

EXAMPLES: dict[str, str] = {
    "": "summary october.txt --html october.html",
    "backtest": "backtest october.parquet --kind lightgbm",
    "budget": "budget demo capped.csv",
    "budget apply": "budget apply plan.json --tree rehearsal --journal caps.journal --settle 0",
    "budget demo": "budget demo capped.csv --apps 6 --tree rehearsal",
    "budget diff": "budget diff plan.json --tree rehearsal",
    "budget follow": "budget follow capped.csv --limits limits.toml --until 4h",
    "budget plan": "budget plan capped.csv --extra 40 --tree rehearsal --out plan.json",
    "budget restore": "budget restore --tree rehearsal --journal caps.journal --settle 0",
    "budget run": "budget run plan.json --tree rehearsal --node n1 -- ./solve 4",
    "budget slurm": "budget slurm plan.json --out slurm",
    "caps": "caps capped.csv --app app03 --loss 0.1",
    "code": "code verify sum.c sum_openmp.c",
    "code refactor": "code refactor sum.c --model qwen3-coder --base-url http://127.0.0.1:8000/v1",
    "code search": "code search sum.c --to openmp --patch sum.diff",
    "code suite": "code suite",
    "code translate": "code translate sum.c --to openmp --model qwen3-coder "
    "--base-url http://127.0.0.1:8000/v1",
    "code verify": "code verify sum.c sum_openmp.c",
    "compare": "compare october.parquet --kinds forest",
    "coschedule": "coschedule profiles.csv --queue 'lbm*3,gpt2'",
    "counters": "counters counters.csv --methods law",
    "decide": "decide october.parquet --model model.rheo --out advice.csv",
    "demo": "demo --html demo.html",
    "dnn": "dnn fit steps.csv --out steps.rheo",
    "dnn fit": "dnn fit steps.csv --out steps.rheo",
    "dnn front": "dnn front steps.rheo --model-name vgg11",
    "dnn import": "dnn import step.hlo",
    "dnn predict": "dnn predict steps.rheo steps.csv",
    "doctor": "doctor",
    "explain": "explain sjf --trace trace.swf",
    "fetch": "fetch swf:KTH-SP2-1996-2.1-cln",
    "fit": "fit october.parquet --out model.rheo",
    "front": "front runs.csv --knob nodes=1,2,4,8",
    "llm": "llm demo",
    "llm calibrate": "llm calibrate answered.csv",
    "llm demo": "llm demo llm-demo",
    "llm fit": "llm fit llm-demo/runs.csv",
    "llm plan": "llm plan llm-demo/runs.csv --app m32 --itl 12ms",
    "llm proxy": "llm proxy --upstream http://127.0.0.1:8000",
    "llm rank": "llm rank llm-demo/requests.jsonl",
    "llm simulate": "llm simulate llm-demo/requests.jsonl --rate 8",
    "measure": "measure -- ./solve 4",
    "network": "network forecast run --app lammps",
    "network fit": "network fit run --save times.rheo",
    "network forecast": "network forecast run --app lammps",
    "network generate": "network generate run",
    "network read": "network read run",
    "network serve": "network serve --workload run/wl.conf --allocation run/alloc.conf",
    "next": "next runs.csv --knob nodes=1,2,4,8,16",
    "predict": "predict october.parquet --model model.rheo",
    "read": "read october.txt --out october.parquet",
    "search": "search space.toml --measure './solve {nodes}'",
    "serve": "serve --demo",
    "simulate": "simulate trace.swf --policy easy --policy sjf+easy",
    "site": "site ingest --from october.txt --store jobs",
    "site drift": "site drift october.parquet --model model.rheo",
    "site refit": "site refit october.parquet --model model.rheo --test-period 6h",
    "site ingest": "site ingest --from october.txt --store jobs",
    "site install": "site install advice.csv --etc .",
    "site power": "site power --store jobs --map power.toml",
    "site shadow": "site shadow november.parquet --advice advice.csv",
    "site uninstall": "site uninstall --etc .",
    "site what-if": "site what-if october.parquet --grid evening.csv --machine site.toml",
    "summary": "summary october.txt --html october.html",
    "train": "train trace.swf --agent ours --out order.json",
    "trial": "trial plan october.parquet --out plan.csv",
    "trial plan": "trial plan october.parquet --out plan.csv",
    "trial read": "trial read november.parquet --plan plan.csv",
}


def example(command_path: str) -> str:
    """The line of a command's help, by the words that call it.

    >>> example("rheostat read")
    'Example: rheostat read october.txt --out october.parquet'
    """
    _, _, words = command_path.partition(" ")
    return f"Example: rheostat {EXAMPLES[words]}"
