"""LASSI: a program translated by a language model that is told what goes wrong (2024).

Dearing, M., Tao, Y., Wu, X., Lan, Z., Taylor, V.: LASSI: An LLM-based automated self-correcting
pipeline for translating parallel scientific codes.  IEEE CLUSTER workshops 2024, 136-143.

The stages are theirs, prompts and context are ours; the first stage, a run of the target-language
original, is `rheostat.questions.code.target_baseline`.  Theirs looks at exit codes alone, has no
limit of corrections, sends errors as one line and times one run; here each of these is a switch
that is off, and nothing is accepted that a rung of `rheostat code verify` rejects, whatever the
switches say.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rheostat.measurement.code.parsing.similarity import line_similarity, token_similarity
from rheostat.measurement.code.programs.program import Program, language_of
from rheostat.prediction.language_model import code_prompts
from rheostat.prediction.language_model.answers import GOOD, TRUNCATED, CodeAnswer, code_in
from rheostat.prediction.language_model.conversation import (
    LanguageModel,
    Message,
    ModelError,
    Sampling,
)
from rheostat.tradeoff.variants.variant import Steps, Variant, VariantResult

ENDED_BADLY = ("parse", "compile", "calls")
FINDINGS = 6
WARMER, HOTTEST = 0.3, 1.2
IN_VAIN = 10
"""Answers in a row without a new program, after which a chain ends in any case."""
MOST_LINES = 12
OF_CUDA = re.compile(
    r"\b__(global|device|shared)__\b|<<<|\bcuda[A-Z]\w*\s*\(|\b(block|thread)Idx\b"
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
BESIDE_CODE = re.compile(COMMENT.pattern + r'|"(?:\\.|[^"\\\n])*"', re.DOTALL)


@dataclass(frozen=True)
class LassiOptions:
    """How the pipeline runs; the quirks of the published one are the last three.

    Its fourth, one timed run of each candidate, is one pair in `RungOptions`.

    Parameters
    ----------
    sampling : Sampling
        The published 0.2 and 0.9.
    most_corrections : int
        Programs after the first, per chain.
    self_prompting : bool
        Ask for a summary of the context and a description of the source first.
    no_output_check : bool
        Tell the model of programs that do not compile or end badly, never of wrong output.
    unlimited_corrections : bool
        No limit of corrections.
    newlines_deleted : bool
        Errors as one line.
    """

    sampling: Sampling = field(default_factory=Sampling)
    most_corrections: int = 4
    self_prompting: bool = True
    no_output_check: bool = False
    unlimited_corrections: bool = False
    newlines_deleted: bool = False

    @property
    def most(self) -> float:
        """Corrections that are allowed."""
        return float("inf") if self.unlimited_corrections else self.most_corrections


@dataclass
class Conversation:
    """Questions to a model in one chain, each a sample of its own where it is asked again.

    Parameters
    ----------
    model : LanguageModel
        Who answers now.
    sampling : Sampling
        How, at first.
    index : int
        Number of the chain: chains of one program differ by it alone.
    corrections : int
        Programs that were asked for again.
    answers : int
        That came, to any question.
    results : list
        Identity of each program, corrections before it, and what came of it.
    opinions : dict
        The judge's, by identity.
    larger : list of LanguageModel
        Who is asked next, and next, where a model's programs are all rejected or repeat.
    """

    model: LanguageModel
    sampling: Sampling
    index: int = 0
    temperature: float = -1.0
    corrections: int = 0
    answers: int = 0
    results: list[tuple[str, int, VariantResult]] = field(default_factory=list)
    opinions: dict[str, bool | None] = field(default_factory=dict)
    larger: list[LanguageModel] = field(default_factory=list)
    failures: str = ""
    seen: set[str] = field(default_factory=set)
    repeated: int = 0

    def ask(self, messages: Sequence[Message]) -> Any:
        """The answer, at the temperature that holds now."""
        warm = self.sampling.temperature if self.temperature < 0 else self.temperature
        sampling = replace(self.sampling, temperature=warm)
        answer = self.model.complete(messages, sampling, self.index + 1000 * self.repeated)
        self.answers += 1
        return answer

    def repetition(self, text: str) -> str:
        """What to say of a program that came before, empty for a new one; it is asked warmer."""
        name = hashlib.sha256("".join(text.split()).encode()).hexdigest()
        if name not in self.seen:
            self.seen.add(name)
            return ""
        warm = max(self.temperature, self.sampling.temperature)
        self.temperature = min(warm + WARMER, HOTTEST)
        return "This program came before. Go about it in another way."

    def hands_over(self) -> bool:
        """Go on with the next larger model, which is told what failed; False if there is none."""
        if not self.larger:
            return False
        self.model = self.larger.pop(0)
        self.temperature, self.repeated = -1.0, 0
        failed = {f"{r.rung}: {text}": None for _, _, r in self.results for _, text in r.findings}
        if failed:
            said = "\n".join(list(failed)[:FINDINGS])
            self.failures = f"Earlier programs were wrong:\n{said}"
        return True


Corrected = Generator[Variant, VariantResult, tuple[Variant, VariantResult] | None]


def lassi_steps(original: Program, to: str, talk: Conversation, options: LassiOptions) -> Steps:
    """One chain: self-prompting, a translation, and corrections until one is accepted.

    Where a model ends without, the next larger one of the conversation goes on.

    Parameters
    ----------
    original : Program
        What is translated.
    to : str
        openmp, target, serial or cuda.
    talk : Conversation
        With the model that translates.
    options : LassiOptions
        Switches.

    Yields
    ------
    Variant
        Each is sent what came of it.
    """
    while True:
        last = yield from _translated(original, to, talk, options)
        if (last is not None and _ends(last[1], options)) or not talk.hands_over():
            return


def _translated(original: Program, to: str, talk: Conversation, options: LassiOptions) -> Corrected:
    """The chain of one model."""
    source = original.files[original.sources[0]]
    beside = code_prompts.files_beside(original.files, original.sources[0])
    try:
        summary = description = ""
        pack = code_prompts.context_pack(original.language, to)
        if options.self_prompting:
            summary = talk.ask(code_prompts.summary_question(pack)).text
            description = talk.ask(code_prompts.description_question(source)).text

        def question(note: str = "") -> list[Message]:
            said = "\n\n".join(filter(None, (talk.failures, note)))
            persona, asked = code_prompts.translation_question(
                source, to, pack, summary, description, beside, said, cxx=original.is_cxx
            )
            return [persona, *code_prompts.example_turns(original.language, to), asked]

        flags = tuple(f for f in original.flags if f != "-fopenmp")
        how = {"flags": flags, "language": to, "source": source}
        return (yield from corrected(talk, question, options, **how))  # type: ignore[arg-type]
    except ModelError:
        return None  # no further answer: what was accepted before stays


def corrected(
    talk: Conversation,
    question: Callable[[str], list[Message]],
    options: LassiOptions,
    *,
    flags: tuple[str, ...],
    language: str,
    source: str = "",
) -> Corrected:
    """Programs until one is accepted.

    An answer without one, with one that came before, or in another language is a correction too.

    Parameters
    ----------
    talk : Conversation
        With the model.
    question : callable(str)
        The task, with a note to the model.
    options : LassiOptions
        Switches.
    flags : tuple of str
        Of the compiler.
    language : str
        Of the programs.
    source : str
        The original, which a correction shows again.

    Yields
    ------
    Variant
        Each is sent what came of it.

    Returns
    -------
    Variant and VariantResult, or None
        The last that was run.
    """
    messages = question("")
    last: tuple[Variant, VariantResult] | None = None
    made = in_vain = 0
    while True:
        answer = code_in(talk.ask(messages))
        again = talk.repetition(answer.text) if answer.text else ""
        rest = [] if "cuda" in (language, _language(answer)) else _cuda_lines(answer.text)
        complaint = "\n".join(filter(None, (*rest, _complaint(answer, language), again)))
        in_vain = in_vain + 1 if complaint else 0
        if not complaint:
            change = f"chain {talk.index}, {f'correction {made}' if made else 'first answer'}"
            variant = Variant(answer.text, talk.model.name, change, flags, language)
            result = yield variant
            last = variant, result
            talk.results.append((variant.identity, talk.corrections, result))
            if _ends(result, options):
                return last
            messages = _correction(answer, result, options, source)
        else:
            talk.repeated += 1
            messages = (
                code_prompts.rest_of_cuda_question(answer.text, rest[:MOST_LINES], again)
                if rest else question(complaint)
            )  # fmt: skip
        made += 1
        talk.corrections += 1
        if made > options.most or in_vain == IN_VAIN or (again and talk.larger):
            return last


def _ends(result: VariantResult, options: LassiOptions) -> bool:
    """Whether a program is accepted, or wrong and the published pipeline would have taken it."""
    crashed = any("exit" in text or "signal" in text for _, text in result.findings)
    unseen = options.no_output_check and result.rung not in ENDED_BADLY and not crashed
    return result.accepted or unseen


def _correction(
    answer: CodeAnswer, result: VariantResult, options: LassiOptions, source: str
) -> list[Message]:
    lines = [f"line {n}: {text}" if n else text for n, text in dict.fromkeys(result.findings)]
    errors = "\n".join(lines[:FINDINGS])
    if options.newlines_deleted:
        errors = errors.replace("\n", "")
    shown = "" if result.rung in ENDED_BADLY else source  # it would be copied, not mended
    return code_prompts.correction_question(answer.text, result.rung, errors, shown)


def _complaint(answer: CodeAnswer, language: str) -> str:
    """What to say of an answer that is no program of the language; empty for one that is."""
    if answer.state == TRUNCATED:
        return "The answer was cut off: give the program alone, without comments."
    if answer.state != GOOD:
        return "Answer with the whole program in one fenced block."
    got = _language(answer)
    if got == language:
        return ""
    if got == "cuda":
        left = _cuda_lines(answer.text)[:MOST_LINES]
        return "\n".join(["Nothing of these lines, which are CUDA, may stay:", *left])
    names = [code_prompts.LANGUAGES.get(x, x) for x in (got, language)]
    return f"The last answer was {names[0]}, not {names[1]}."


def _language(answer: CodeAnswer) -> str:
    return language_of({"answer": COMMENT.sub("", answer.text)})


def _cuda_lines(text: str) -> list[str]:
    """Lines of a program that are CUDA."""
    plain = BESIDE_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text).splitlines()
    pairs = zip(text.splitlines(), plain, strict=True)
    return [line.strip() for line, p in pairs if OF_CUDA.search(p)]


def lassi_metrics(
    text: str, reference: str, corrections: int | None, ratio: float
) -> dict[str, float | None]:
    """The published figures of one translation.

    Parameters
    ----------
    text : str
        The translation.
    reference : str
        The program of the target language that it is compared with.
    corrections : int or None
        Programs that its chain was asked for again; None where no chain made it.
    ratio : float
        Runtime of the reference over that of the translation; above 1 is faster.

    Returns
    -------
    dict of str to float
        sim_t, sim_l, self_corr, ratio.
    """
    return {
        "sim_t": token_similarity(text, reference),
        "sim_l": line_similarity(text, reference),
        "self_corr": corrections,
        "ratio": ratio,
    }
