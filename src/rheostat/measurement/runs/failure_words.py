"""Whether what somebody wrote beside a run says that it failed: ``segfault in MPI_Init``.

Words alone do not tell: ``0 errors``, ``error < 1e-6`` and ``timeout=300`` are of runs that ended
well, and ``rerun after a crash`` may be either.  What may be either is no failure, but a doubt.
"""

from __future__ import annotations

import re
import unicodedata

PLAIN = re.compile(
    r"seg(mentation)?[ -]?(fault|viol)\w*|\bsegv\b|\bsig(segv|kill|term|abrt|bus|fpe|ill|xcpu)\b"
    r"|\bcore dumped\b|\bdumped core\b|\bbus error\b|\boom([ -]?kill(ed|er)?)?\b"
    r"|\bout[ -]of[ -](\w+ )?memory\b|\bstack (overflow|smashing)\b|\btraceback\b|\bmpi_abort\b"
    r"|\billegal (memory|instruction)\w*|\bkilled (by|with)\b|\bkernel panic\b"
)
"""What no run that ended well is said to have, whatever the column is called."""
SPOKEN = re.compile(
    r"\bkilled\b|\babort(ed|s)?\b|\btime[d-]?[ -]?outs?\b|\bcrash(e[ds])?\b|\bfail(ed|s|ures?)?\b"
    r"|\berrors?\b|\bexception\b|\bcancell?ed\b|\brefused\b|\bdiverged?s?\b|\bnans?\b|\bhung\b"
    r"|\bhangs\b|\bdead ?lock(ed)?\b|\bpre-?empted\b|\bevicted\b|\binterrupted\b|\bunfinished\b"
    r"|\b(did not|didn't|never|not|could not) (finish|start|complete|converge|end|run)(ed|d)?\b"
    r"|\b(wall ?(time|clock)|time) (limit )?(was )?(exceeded|reached|hit)\b"
    r"|\bwrong (result|answer)s?\b|\bincomplete\b|\brc ?= ?-?[1-9]|\bsignal (9|11|15|6|4|7|8)\b"
    r"|\b(exit|return)(ed)?( with)?( ?(code|status|value))?[ :=]*-?[1-9]\d*\b"
    r"|abgebrochen|abbruch|fehlgeschlagen|gescheitert|absturz|abgesturzt|\bfehler\b|\bechec\b"
    r"|\bechoue|\bplante\b|\bannule|\bfallid[oa]\b|\bfallo\b|\bfalhou\b|\bfallit[oa]\b|\berrore\b"
    r"|\bmislukt\b|\bafgebroken\b|\bavbruten\b"
)
"""What remarks say of runs that failed, and, in other words around it, of runs that did not."""
NONE = (
    r"(no|not|never|without|w/o|zero|0|none|free of|nor|keine?|ohne|sans|aucune?|sin|senza|zonder)"
    r"(?! of\b)"
)
NOUNS = r"(errors?|time-?outs?|crash(es)?|failures?|nans?|seg-?faults?|exceptions?|ooms?|fehler)"
WORD = rf"(?:{PLAIN.pattern}|{SPOKEN.pattern})"
AMOUNT = r"[-+±]?(\d*\.\d+|\d+\.?\d*e[-+]?\d+|\d+([.,]\d+)? ?%|\d+ ?ppm|0+\b(?!x))"
KINDS = (
    r"(rel(ative)?|abs(olute)?|rmse?|l[12]|max(imum)?|min(imum)?|mean|avg|rounding|numerical"
    r"|residual|standard|std|energy|force|truncation|backward|forward|final|percent(age)?|total)"
)
PARTS = (
    r"(safe|free|over|tolera\w+|correct\w*|handl\w+|threshold|criteri\w+|bars?|estimat\w+|norm"
    r"|check(s|ing)?|detect\w*|propagation|analysis|models?|inject\w*|test(s|ing)?)\b"
)
FINE = re.compile(
    rf"\b{NONE}( \w+)? {WORD}((,|/| or| and| nor) ?{NOUNS}\b)*|\b0+ ?(/|of) ?\d+ {WORD}"
    rf"|{WORD} ?[:=]? ?(0+\b(?![.\dx])(?! ?(m?s|sec|min|h)\b)"
    r"|(none|no|false|off)\b(?= *([,;.)]|$)))"
    rf"|\b{KINDS}\.?( (abs|rel|norm|absolute|relative|squared?))* (errors?|fehler)\b"
    r"|\b(errors?|fehler)( (norm|rate|bars?|estimates?|is|was|of|at|about|level|tol\w*))*"
    rf" ?(<=?|=|:|~|≈|≤|below|under|within|±)* ?({AMOUNT})|\berrors? ?(<=?|≤|≈) ?\S+"
    r"|\berrors? (is |was )?(below|under|within) (the )?(tol|limit|threshold|bound)\w*"
    r"|\btime-?out ?= ?\w+|(?<!\S)--?\w*(time-?out|abort|fail|error)\w*"
    rf"|\b(errors?|fail|fault|exception|crash|time-?out|abort|oom|nan)[ -]?{PARTS}"
)
"""Where a word of failure stands for none of it, for an amount, or for a part of a program."""
THEN = r"(after|before|since|following|until|if|nach|apres|dopo)( (a|an|the|two|some))?( \w+)?"
ANOTHER = (
    r"(despite|fixe[ds]|fix for|solved|resolved|avoids?|retry of|previous(ly)?|earlier|others?"
    r"|another|once|sometimes|may|might|could(?! not)|would|expected|first (run|try|attempt|time)"
    r"|last (run|try|attempt|time)|old)( \S+){0,3}"
)
DOUBT = re.compile(
    rf"\b({THEN}|{ANOTHER}) {WORD}"
    rf"|{WORD}( \w+){{0,2}} (once|fixed|solved|gone|resolved|recovered|retried)\b"
    r"|(?<!not )(?<!never )(?<!n't )\b(ok(ay)?|passed|succeeded|recovered|retried|re-?run|fine"
    r"|corrected|ignored|completed|finished|converged|repeated)\b|\btime-?out (of )?\d"
)
"""Around a word of failure: it may be of another run, or have been overcome."""
NOTHING = re.compile(r"\s*(nan|n/?a|none|null|-*)\s*")


def reads_failed(text: str) -> bool | None:
    """Whether a remark says that the run failed; none where it may be said of another one.

    >>> [reads_failed(s) for s in ("Segmentation fault", "exit code 137", "loss became NaN")]
    [True, True, True]
    >>> [reads_failed(s) for s in ("0 errors", "error < 1e-6", "exit code 0", "quiet node")]
    [False, False, False, False]
    >>> reads_failed("rerun after crash"), reads_failed("killed, second try ok")
    (None, None)
    """
    return _judged(text, WORD)


def plainly_failed(text: str) -> bool | None:
    """As `reads_failed`, by words alone that are of nothing else than runs that failed.

    >>> plainly_failed("slurmstepd: oom-kill"), plainly_failed("frontal crash"), plainly_failed("")
    (True, False, False)
    """
    return _judged(text, PLAIN.pattern)


def _judged(text: str, words: str) -> bool | None:
    said = _bare(text)
    if NOTHING.fullmatch(said):
        return False
    rest = FINE.sub(" ", said)
    if re.search(words, rest) is None:
        return False
    return None if DOUBT.search(rest) else True


def _bare(text: str) -> str:
    r"""In small letters without accents, one blank between words.

    >>> _bare(" Abgestürzt \n nach  3 min")
    'abgesturzt nach 3 min'
    """
    parts = unicodedata.normalize("NFD", text.lower())
    return " ".join("".join(c for c in parts if not unicodedata.combining(c)).split())
