"""Code variants on the suite's kernels, by search and by a model: verified, how fast, how lean.

    python benchmarks/code.py [--quick] [--json] [--only heat,dot]
    python benchmarks/code.py --quick --proposers search,model,model+search --gguf model.gguf

For each kernel up to three tasks.  `serial->openmp`: a search from the serial program; ``ratio`` is
the time of the OpenMP written by hand over that of the search's, at 2 threads, above 1 where the
search is faster (identical machine code: 1).  `cuda->openmp`: the same from the program in CUDA,
where there is one, by rule; not with --quick.  `serial->serial`: a search from the naive version,
where there is one; ``energy_reduction`` is the share of the original's energy that the variant
saves, which is energy-reduction@1 of a search that gives one answer, and ``energy_by_flags`` and
``energy_by_rewriting`` are its parts.  A task without an accepted variant has verified false, no
ratio and an energy reduction of 0.

A model translates as LASSI does and refactors as LASSI-EE does, in one chain, without context and
description before; `model+search` has the variants of both.  Rates of what was verified have Wilson
intervals of 95 %.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest

from rheostat.explanation.programs.flags_apart import saved_by
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.costs.paired_times import in_turns, paired_times
from rheostat.measurement.code.programs.kernel_suite import SuiteKernel, suite_kernels
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.sandboxed.sandbox import sandbox, workspace
from rheostat.measurement.code.toolchain import BINARY, GCC
from rheostat.measurement.code.workbench import Workbench
from rheostat.prediction.language_model.conversation import LanguageModel, Sampling
from rheostat.prediction.language_model.gguf_model import GgufModel
from rheostat.prediction.language_model.openai_model import OpenAIModel
from rheostat.prediction.language_model.transcript import RecordedModel, Transcript
from rheostat.questions.code.code_search import SearchSettings, search_code, searched_chains
from rheostat.questions.code.variant_store import VariantStore, relative
from rheostat.recipes.lassi import Conversation, LassiOptions, lassi_steps
from rheostat.recipes.lassi_ee import LassiEnergyOptions, lassi_ee_steps
from rheostat.tradeoff.variants.variant import Steps

KEYS = ("task", "direction", "proposer", "seed", "verified", "corrections", "ratio",
        "energy_reduction", "energy_by_flags", "energy_by_rewriting", "energy_kind", "seconds",
        "tokens")  # fmt: skip
PROPOSERS = ("search", "model", "model+search")
THREADS = 2
NO_SLOWER = 0.9
LEAST_PAIRS, MOST_PAIRS = 5, 30


def main() -> None:
    """Run the tasks and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--quick", action="store_true", help="fewer variants and timed pairs")
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--only", default="", help="kernels, comma-separated")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--proposers", default="search", help=f"of {', '.join(PROPOSERS)}")
    args.add_argument("--energy", action=argparse.BooleanOptionalAction, default=True,
                      help="also the naive versions")  # fmt: skip
    args.add_argument("--gguf", type=Path, help="a model in this process")
    args.add_argument("--model", default="", help="name of a model at --base-url, or replayed")
    args.add_argument("--base-url", default="", help="of an OpenAI-compatible service")
    args.add_argument("--transcript", type=Path, default=Path("code-transcript.jsonl"))
    args.add_argument("--corrections", type=int, default=1, help="of the model's chain")
    args.add_argument("--max-tokens", type=int, default=700, help="of an answer")
    given = args.parse_args()
    proposers = given.proposers.split(",")
    if set(proposers) - set(PROPOSERS) or (given.proposers != "search") != bool(
        given.gguf or given.model
    ):
        args.error(f"expected proposers of {', '.join(PROPOSERS)}, with --gguf or --model for two")
    chosen = [
        k for k in suite_kernels().values() if not given.only or k.name in given.only.split(",")
    ]
    rows = []
    for row in every(chosen, given.seed, asked(given), proposers, quick=given.quick,
                     energy=given.energy):  # fmt: skip
        rows.append(row)
        print(f"{len(rows)}: {row['task']} {row['direction']} {row['proposer']}", file=sys.stderr)
    rates = verified_rates(rows)
    print(json.dumps({"rows": rows, "rates": rates})) if given.json else show(rows, rates)


@dataclass
class Chain:
    """What proposes: a search, a model's chain, or both.

    Parameters
    ----------
    model : LanguageModel, str or None
        Who is asked; a name is replayed from the transcript.
    transcript : Path
        Where answers are kept.
    options : LassiOptions
        Sampling and corrections.
    proposer : str
        One of PROPOSERS.
    """

    model: LanguageModel | str | None
    transcript: Path
    options: LassiOptions
    proposer: str = "search"
    talk: Any = None
    recorded: Any = None

    def begins(self, proposer: str, seed: int) -> Chain:
        """The same for another proposer, with a conversation of its own."""
        if proposer == "search":
            return replace(self, proposer=proposer, talk=None, recorded=None)
        recorded = RecordedModel(self.model or "", Transcript(self.transcript))
        talk = Conversation(recorded, self.options.sampling, seed)
        return replace(self, proposer=proposer, talk=talk, recorded=recorded)

    def budget(self, searched: int, *, translates: bool) -> int:
        """Variants: those of the search, and all that the model's chain may make."""
        each = 1 + self.options.most_corrections
        own = 0 if self.talk is None else each if translates else 2 * each
        return own + (searched if "search" in self.proposer else 0)

    def steps(self, program: Program, to: str, goal: str, store: VariantStore) -> list[Steps]:
        """The chains that are asked in turn."""
        chains: list[Steps] = []
        if self.talk is not None and to:
            chains.append(lassi_steps(program, to, self.talk, self.options))
        elif self.talk is not None:
            lean = LassiEnergyOptions(self.options, most_iterations=1)
            chains.append(lassi_ee_steps(program, self.talk, lean))
        if "search" in self.proposer:
            chains += searched_chains(program, to, goal)(store)
        return chains


def asked(given: argparse.Namespace) -> Chain:
    """The model of the command line, if any."""
    sampling = Sampling(max_tokens=given.max_tokens)
    options = LassiOptions(sampling, given.corrections, self_prompting=False)
    model: LanguageModel | str | None = given.model or None
    if given.gguf:
        model = GgufModel(given.gguf)
    elif given.base_url:
        model = OpenAIModel(given.model, given.base_url)
    return Chain(model, given.transcript, options)


def every(
    kernels: list[SuiteKernel], seed: int, chain: Chain, proposers: list[str], *, quick: bool,
    energy: bool,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """The rows, kernel by kernel."""
    budget, pairs = (2, 3) if quick else (8, 9)
    for kernel in kernels:
        kernel = shorter(kernel) if quick else kernel  # noqa: PLW2901
        for proposer in proposers:
            for language in ("serial", "cuda"):
                if language in kernel.versions and (language == "serial" or not quick):
                    began = chain.begins(proposer, seed)
                    yield translated(kernel, language, seed, began, budget, pairs)
            if "naive" in kernel.versions and energy:
                yield refactored(kernel, seed, chain.begins(proposer, seed), budget + 1)


def shorter(kernel: SuiteKernel) -> SuiteKernel:
    """The kernel with a quarter of its steps."""
    low, high = kernel.steps
    return replace(kernel, steps=(low, max(low + 1, high // 4)))


def searched(
    program: Program, to: str, goal: str, seed: int, chain: Chain, budget: int, pairs: int
) -> tuple[tuple[list[Any], Any, Program | None], float]:
    """A search in a folder of its own: all rows, the best and its program; its seconds."""
    options = RungOptions(pairs=pairs, timing_threads=THREADS)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        settings = SearchSettings(
            chain.budget(budget, translates=bool(to)),
            options=options,
            seed=seed,
            translates=bool(to) and program.language == "cuda",
            about={"objective": goal},
        )
        result = search_code(program, partial(chain.steps, program, to, goal), folder, settings)
        rows = result.rows  # read before the folder is gone
        best = result.best(goal)
        program_of = None if best is None else result.store.program(best["variant"])
    return (rows, best, program_of), time.perf_counter() - began


def translated(
    kernel: SuiteKernel, language: str, seed: int, chain: Chain, budget: int, pairs: int
) -> dict[str, Any]:
    """From serial or CUDA to OpenMP, against the OpenMP written by hand."""
    (rows, best, program), seconds = searched(
        kernel.program(language), "openmp", "runtime_s", seed, chain, budget, pairs
    )
    ratio = math.nan if best is None else hand_over(kernel, program, seed, pairs)
    return row(kernel, f"{language}->openmp", seed, chain, rows, best, ratio, seconds)


def refactored(kernel: SuiteKernel, seed: int, chain: Chain, budget: int) -> dict[str, Any]:
    """The naive version with less energy."""
    (rows, best, _), seconds = searched(
        kernel.program("naive"), "", "energy_j", seed, chain, budget, pairs=3
    )
    ratio = math.nan if best is None else 1.0 / relative(best, "runtime_s")
    return row(kernel, "serial->serial", seed, chain, rows, best, ratio, seconds)


def row(
    kernel: SuiteKernel,
    direction: str,
    seed: int,
    chain: Chain,
    rows: Any,
    best: Any,
    ratio: float,
    seconds: float,
) -> dict[str, Any]:
    """As the keys say; corrections are variants that were rejected before the first accepted.

    A model alone is also asked again for what is no program of the language: these count, too.
    """
    verdicts = [r["verdict"] for r in rows]
    first = verdicts.index("accepted") if "accepted" in verdicts else len(verdicts)
    if chain.proposer == "model":
        first = max(first, chain.talk.corrections)
    nothing = {"flags": 0.0, "rewriting": 0.0}
    saved = nothing if best is None else saved_by(rows, best, "energy_j")
    if chain.recorded is not None:
        seconds += chain.recorded.seconds - chain.recorded.asked_s  # as if nothing were replayed
    values = (
        kernel.name, direction, chain.proposer, seed, best is not None, first, _number(ratio),
        _number(sum(saved.values())), _number(saved["flags"]), _number(saved["rewriting"]),
        "not measured" if best is None else best["figures"]["energy_kind"],
        round(seconds, 2), 0 if chain.recorded is None else chain.recorded.tokens,
    )  # fmt: skip
    return dict(zip(KEYS, values, strict=True))


def verified_rates(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Per direction and proposer: how many tasks ended with a verified variant, with intervals."""
    groups: dict[tuple[str, str], list[bool]] = {}
    for r in rows:
        groups.setdefault((r["direction"], r["proposer"]), []).append(r["verified"])
    rates = []
    for (direction, proposer), verified in groups.items():
        good, n = sum(verified), len(verified)
        interval = binomtest(good, n).proportion_ci(0.95, method="wilson")
        rates.append({"direction": direction, "proposer": proposer, "tasks": n, "verified": good,
                      "rate": good / n, "low": round(float(interval.low), 4),
                      "high": round(float(interval.high), 4)})  # fmt: skip
    return rates


def _number(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def hand_over(kernel: SuiteKernel, program: Program, seed: int, pairs: int) -> float:
    """Time of the OpenMP written by hand over that of another program, at the largest sizes."""
    by_hand = kernel.program("openmp")
    with workspace() as folder:
        bench = Workbench(sandbox(), folder)
        built = [bench.build(p, GCC) for p in (by_hand, program)]
        if len({code(b.folder / BINARY) for b in built}) == 1:
            return 1.0
        sizes = {"n": str(kernel.n[1]), "steps": str(kernel.steps[1]), "seed": str(seed)}
        given = kernel.inputs.written(sizes)

        def seconds(which: int) -> float:
            return bench.run(built[which], given, threads=THREADS).wall_s

        return decided(partial(seconds, 1), partial(seconds, 0), max(pairs, LEAST_PAIRS), seed)


def decided(ours: Callable[[], float], theirs: Callable[[], float], pairs: int, seed: int) -> float:
    """Their time over ours, median of pairs: as many as show on which side of `NO_SLOWER` it is."""
    taken = np.empty((2, 0))
    while True:
        taken = np.hstack([taken, np.array(in_turns(ours, theirs, pairs))])
        times = paired_times(*taken, minimum_effect=0.0, seed=seed)
        if not times.low <= NO_SLOWER <= times.high or times.pairs >= MOST_PAIRS:
            return times.ratio


def code(path: Path) -> str:
    """A hash of a program."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def show(rows: list[dict[str, Any]], rates: list[dict[str, Any]]) -> None:
    """A table, and what the rows come to."""
    table = Table(*KEYS)
    for r in rows:
        table.add_row(*(str(r[k]) for k in KEYS))
    Console().print(table)
    for rate in rates:
        some = [r for r in rows if (r["direction"], r["proposer"]) ==
                (rate["direction"], rate["proposer"])]  # fmt: skip
        said = (f"{rate['direction']} by {rate['proposer']}: {rate['verified']} of "
                f"{rate['tasks']} verified [{rate['low']:.2f}, {rate['high']:.2f}]")  # fmt: skip
        if rate["direction"].endswith("->openmp"):
            good = [r for r in some if r["verified"] and (r["ratio"] or 0) >= NO_SLOWER]
            said += f", {len(good)} of them no more than 10 % slower than by hand"
        else:
            whole, flags, rewriting = (
                100 * np.mean([r[k] or 0.0 for r in some])
                for k in ("energy_reduction", "energy_by_flags", "energy_by_rewriting")
            )
            said += (f", energy-reduction@1 {whole:.1f} % (modelled), {flags:.1f} by flags alone, "
                     f"{rewriting:.1f} by rewriting")  # fmt: skip
        print(said)


if __name__ == "__main__":
    main()
