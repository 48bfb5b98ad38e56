r"""Whether a quoted word stays data on a line of a shell: on a simple command that runs none of it.

What reads its words once more cannot be listed for every form of a line (``printf %s x | sh``,
``S=sh; $S -c x``), so that the lines on which nothing does are what is described here.

References
----------
POSIX.1-2017, Shell Command Language, 2.9.1 Simple Commands.
"""

from __future__ import annotations

import re

_WORD = r"""(?: [^\s;&|()<>$`'"\\#*?\[\]{}!]  | '[^'\0]*' | \\[^\n\0]
    | "(?:[^"$`\\\0] | \\[^\n\0])*" )+"""
_TOKEN = re.compile(rf"""[ \t]* (?: \d*>&\d+ (?=\s|$)
    | \d*(?:>>?(?![>&|(]) | <(?![<>&(])) [ \t]* {_WORD}
    | (?P<word>{_WORD}) )""", re.VERBOSE)  # fmt: skip
_PLAIN = re.compile(r"[\w@%+:,./-]+", re.ASCII)
_BUILT_INS = """
    . alias builtin command coproc declare enable eval exec exit export fc getopts if let local
    mapfile read readarray readonly return set shift source test time trap typeset unset until
    while"""
_SHELLS = """
    ash bash dash ksh mksh sh zsh"""
_INTERPRETERS = """
    julia lua luajit node nodejs perl php pypy python Rscript ruby tclsh"""
_OTHERS = """
    at awk batch bc busybox chroot clush crontab csh dc doas docker ed emacs entr env eval ex
    expect find fish flock gawk gdb git gmake gnuplot guile hyperfine ionice ipython irb kubectl
    less lldb m4 make man mawk mosh nawk nice nohup nsenter octave parallel pdsh pkexec podman
    pwsh R rsh rsync runuser sbatch scp screen script sed sem setsid sqlite sqlplus ssh sshpass
    stdbuf strace su sudo systemd-run tar tcsh timeout tmux unshare vi vim watch wish xargs"""
_BUILT_IN, _SHELL = frozenset(_BUILT_INS.split()), frozenset(_SHELLS.split())
_TAKES_SCRIPT = _SHELL | frozenset(_INTERPRETERS.split())
_RUNS_WORDS = _TAKES_SCRIPT | frozenset(_OTHERS.split())


def takes_any_word(line: str) -> bool:
    r"""Whether words of any characters can be quoted into the places (NUL characters) of a line.

    They can on one simple command, its program a plain word, where no word names a program that
    runs its words; of a shell or an interpreter, after its script.

    >>> takes_any_word("./run --size=\0 > log"), takes_any_word("printf %s \0 | sh")
    (True, False)
    >>> takes_any_word("sh -c 'run \"$1\"' sh \0"), takes_any_word("sh -c \0")
    (True, False)
    """
    words = _words(line)
    if not words or not _PLAIN.fullmatch(words[0]) or words[0] in _BUILT_IN:
        return False
    if words[0] == "printf" and _bare("".join(words[1:2]))[:1] in ("-", "\0"):
        return False  # -v NAME sets a variable, whose subscript is run
    runs = next((i for i, word in enumerate(words) if _name(word) in _RUNS_WORDS), None)
    return runs is None or _has_script(_name(words[runs]), words[runs + 1 :])


def _words(line: str) -> list[str]:
    """Words of a simple command as they are written; none where the line is more than one."""
    at, words = 0, []
    while token := _TOKEN.match(line, at):
        at = token.end()
        words += [token["word"]] if token["word"] else []
    return [] if line[at:].strip(" \t") else words


def _name(word: str) -> str:
    """The program that a word can name, without folder, quotes and version."""
    return re.sub(r"[-.\d]+$", "", _bare(word).rsplit("/", 1)[-1])


def _bare(word: str) -> str:
    return re.sub(r"['\"\\]", "", word)


def _has_script(program: str, words: list[str]) -> bool:
    """Whether arguments begin with a script that no place is part of: a file, or -c '...' NAME."""
    if program in _SHELL and words[:1] == ["-c"] and len(words) > 2:
        return re.fullmatch(r"'[^'\0]*'", words[1]) is not None and _is_name(words[2])
    return program in _TAKES_SCRIPT and bool(words) and _is_name(words[0])


def _is_name(word: str) -> bool:
    return _PLAIN.fullmatch(word) is not None and word[0] not in "-+"
