"""Does advice from a log hold where the log misleads?  Generated sites whose truth is known.

    python benchmarks/confounding.py [--quick] [--json] [--sites N] [--seed S] [--keep FILE]
        [--law LAW ...] [--apps N] [--in-turn]

Dials: ``between`` (applications differ in size and in the nodes their users choose), ``within``
(users give larger problems more nodes), ``proxy`` (what the log records of a problem's size),
``trial`` (share of jobs that ran at a setting drawn by chance), ``law`` (of runtime and power: usl,
or one that no form of the model contains).  Every method advises the next
month: least energy at no more than 1.25 times the runtime asked for, as surely as `decide` asks
for by default.  With --keep rows are written as they come and the same call goes on from them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from confounding_lib.confounded_site import LAWS, MISLEADING, PROXIES
from confounding_lib.site import LIMIT, MENU, Case, Dials, scored
from confounding_lib.targets import table, targets

from rheostat.decision.decide import CONFIDENCE, Advice, decide
from rheostat.prediction.effects import WithinApplication
from rheostat.recipes.nodecount import model
from rheostat.tradeoff.limits import MaxSlowdown
from rheostat.tradeoff.rules import Weighted

STRENGTHS = (0.0, 0.5, 1.0)
TRIALS = (0.0, 0.02, 0.05)
COLUMNS = ("claimed_saving", "true_saving", "oracle_saving", "covered", "broken_limits")


def advice_of(method: str, case: Case) -> Advice | None:
    """The next month's advice; None where the method says that the log cannot tell."""
    log = case.log
    if method == "ours":
        fitted = WithinApplication(("nodes",)).fit(log)
        if not fitted.identification_.answers:
            return None
    elif method == "same-application":  # takes the settings of a log as if chosen to compare them
        fitted = WithinApplication(("nodes",)).fit(
            log.select([c for c in log.columns if c != "submit_s"])
        )
    else:
        fitted = model("auto", log).fit(log)
    limit = MaxSlowdown(LIMIT, "requested", CONFIDENCE)
    saving = MaxSlowdown(1, "requested", CONFIDENCE, "energy_j")
    rule = Weighted({"energy_j": 1}, limit)
    return decide(case.month.requests, fitted, MENU, rule, (limit, saving))


KEYS = (
    "between", "within", "proxy", "trial", "law", "n_apps", "seed", "method",
    "claimed_saving", "true_saving", "oracle_saving", "covered", "claimed_share", "broken_limits",
    "broken_slower", "more_energy",
)  # fmt: skip
"""Of the rows printed; those kept have more."""
Row = dict[str, object]


def rows(args: argparse.Namespace) -> list[Row]:
    """One row per site, dials and method; every strength is seen before the next seed."""
    kept = _kept(args.keep)
    todo = [
        (*d, law, args.apps, args.seed + i, method)
        for i, d, law, method in itertools.product(
            range(args.sites), _dials(args), args.law, args.methods
        )
        if not args.in_turn or d[:2] == (STRENGTHS[i % 3], STRENGTHS[i // 3 % 3])
    ]
    for at, key in enumerate(todo):
        if key in kept:
            continue
        case = Case.of(Dials(*key[:6]), key[6])
        kept[key] = {"method": key[7], **scored(case, advice_of(key[7], case))}
        if args.keep:
            with args.keep.open("a") as file:
                file.write(json.dumps(kept[key]) + "\n")
        print(f"{at + 1} of {len(todo)}", file=sys.stderr, end="\r")
    print(file=sys.stderr)
    return [kept[key] for key in todo]


def _dials(args: argparse.Namespace) -> Iterator[tuple[float, float, str, float]]:
    if args.quick:
        for (b, w), p, t in itertools.product(((0.0, 0.0), (0.5, 1.0)), ("none", "script"), TRIALS):
            yield b, w, p, t
        return
    yield from itertools.product(STRENGTHS, STRENGTHS, args.proxies, args.trials)


def _kept(file: Path | None) -> dict[tuple[object, ...], Row]:
    """Rows of earlier calls by dials, seed and method; a line cut short is none."""
    found = {}
    for line in file.read_text().splitlines() if file and file.exists() else ():
        if line.endswith("}"):
            row = json.loads(line)
            found[tuple(row[k] for k in KEYS[:8])] = row
    return found


def main() -> None:
    """Rows as JSON, or a table of means per dials and method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sites", type=int, default=0, help="sites at each setting of the dials")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="file of rows, continued")
    parser.add_argument("--trials", nargs="+", type=float, default=TRIALS)
    parser.add_argument("--proxies", nargs="+", default=PROXIES, choices=[*PROXIES, *MISLEADING])
    parser.add_argument("--law", nargs="+", default=["usl"], choices=["usl", *LAWS])
    parser.add_argument("--apps", type=int, default=60, help="applications of a site")
    parser.add_argument("--in-turn", action="store_true", help="one strength for each seed")
    parser.add_argument(
        "--methods", nargs="+", default=["ours", "naive", "same-application"],
        choices=["ours", "naive", "same-application"],
    )  # fmt: skip
    args = parser.parse_args()
    args.sites = args.sites or (2 if args.quick else 200)
    found = rows(args)
    if args.json:
        plain = [{k: r[k] for k in KEYS} for r in found]
        print(json.dumps({"rows": plain, "targets": targets(found)}))
        return
    print(
        "method law between within proxy trial | claimed true oracle covered broken | sites, claims"
    )
    key = ("method", "law", "between", "within", "proxy", "trial")
    for k, group in itertools.groupby(sorted(found, key=lambda r: [str(r[c]) for c in key]),
                                      key=lambda r: tuple(r[c] for c in key)):  # fmt: skip
        some = list(group)
        told = [[float(r[c]) for r in some if r[c] is not None] for c in COLUMNS]
        means = " ".join(f"{statistics.mean(v):6.2f}" if v else "     -" for v in told)
        print(*k, "|", means, "|", len(some), len(told[0]))
    print("all strengths together (the worst strength):", *table(targets(found)), sep="\n")


if __name__ == "__main__":
    main()
