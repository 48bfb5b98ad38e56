"""What an answer holds: code in fences, JSON, a refusal, or half of something."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from rheostat.prediction.language_model.conversation import ChatCompletion

BEGIN = r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+#-]*)[^\n]*\n"
FENCE = re.compile(BEGIN + r"(.*?)^[ \t]*\1[ \t]*$", re.M | re.S)
OPEN = re.compile(BEGIN + r"(.*)\Z", re.M | re.S)
CODE = re.compile(r"^\s*#\s*include\b|\bint\s+main\s*\(|^\s*#\s*pragma\b", re.M)
REFUSAL = re.compile(
    r"(?i)^\W*(i('m| am) (sorry|unable)|sorry,|i can(no|')t|as an ai\b|unfortunately, i)"
)
THOUGHT = re.compile(r"\A\s*<think>.*?(</think>|\Z)", re.S)
GOOD, TRUNCATED, NO_CODE, REFUSED = "code", "truncated", "no code", "refused"


@dataclass(frozen=True)
class CodeAnswer:
    """The program in an answer, or why there is none.

    Parameters
    ----------
    state : str
        "code", "truncated", "no code" or "refused".
    text : str
        The program; what there is of it where the answer was cut off.
    note : str
        What was noticed, as several fences.
    """

    state: str
    text: str = ""
    note: str = ""


def code_in(completion: ChatCompletion) -> CodeAnswer:
    r"""The program in an answer.

    Of several fences the longest that looks like a program is taken; an answer without a fence that
    is a program as a whole is taken as one.  What a model thinks aloud before it is left out.

    Parameters
    ----------
    completion : ChatCompletion
        An answer.

    Returns
    -------
    CodeAnswer
        With the state.

    Examples
    --------
    >>> code_in(ChatCompletion("Here:\n```c\nint main() {}\n```\n")).text
    'int main() {}\n'
    >>> code_in(ChatCompletion("I'm sorry, I can't.")).state
    'refused'
    """
    completion = replace(completion, text=THOUGHT.sub("", completion.text.replace("\r\n", "\n")))
    text = completion.text
    blocks = [m[3] for m in FENCE.finditer(text)]
    if not blocks:
        return _without_fence(completion)
    programs = [b for b in blocks if CODE.search(b)] or blocks
    best = max(programs, key=len)
    note = f"{len(blocks)} fences: the longest program is taken" if len(blocks) > 1 else ""
    last = text[max(m.end() for m in FENCE.finditer(text)) :]
    if completion.finish == "length" and OPEN.search(last):
        return CodeAnswer(TRUNCATED, best, "cut off within a further fence")
    return CodeAnswer(GOOD, best, note)


def _without_fence(completion: ChatCompletion) -> CodeAnswer:
    text = completion.text
    opened = OPEN.search(text)
    if opened and completion.finish == "length":
        return CodeAnswer(TRUNCATED, opened[3], "cut off at the most tokens that were allowed")
    if opened:
        return CodeAnswer(GOOD, opened[3], "the fence is not closed")
    if completion.finish == "refusal" or REFUSAL.search(text):
        return CodeAnswer(REFUSED, "", text.strip()[:200])
    if CODE.search(text):
        state = TRUNCATED if completion.finish == "length" else GOOD
        return CodeAnswer(state, text, "no fence: the whole answer is taken")
    if completion.finish == "length":
        return CodeAnswer(TRUNCATED, "", "cut off before any code")
    return CodeAnswer(NO_CODE, "", text.strip()[:200])


def json_in(completion: ChatCompletion) -> Any:
    r"""The JSON value in an answer, in a fence or among words; None where there is none.

    Parameters
    ----------
    completion : ChatCompletion
        An answer.

    Returns
    -------
    object
        As ``json.loads`` gives it.

    Examples
    --------
    >>> json_in(ChatCompletion('Sure: {"valid": true}.')), json_in(ChatCompletion("{valid}"))
    ({'valid': True}, None)
    """
    blocks = [m[3] for m in FENCE.finditer(completion.text)]
    decoder = json.JSONDecoder()
    for text in (*blocks, completion.text):
        for place in (m.start() for m in re.finditer(r"[{\[]", text)):
            try:
                return decoder.raw_decode(text[place:])[0]
            except ValueError:
                continue
            except RecursionError:  # so deep that what follows would be, too
                break
    return None
