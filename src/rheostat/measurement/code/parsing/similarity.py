"""How alike two programs are: by tokens of C, by lines; LASSI's figures."""

from __future__ import annotations

import difflib
import re
from collections import Counter

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|"
    r"\.?\d(?:[eEpP][-+]|[\w.])*|<<<|>>>|<<=|>>=|->|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|::|\S",
    re.DOTALL,
)


def c_tokens(text: str) -> list[str]:
    """The tokens of a C or CUDA source, without comments.

    Parameters
    ----------
    text : str
        A source.

    Returns
    -------
    list of str
        Names, numbers, strings, operators.

    Examples
    --------
    >>> c_tokens("a += f<<<1, 2>>>(x); // why")
    ['a', '+=', 'f', '<<<', '1', ',', '2', '>>>', '(', 'x', ')', ';']
    """
    return [t for t in TOKEN.findall(text) if not t.startswith(("//", "/*"))]


def token_similarity(one: str, other: str) -> float:
    """Sim-T: twice the matching tokens over all, by the longest matching blocks.

    Parameters
    ----------
    one, other : str
        Sources.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> token_similarity("a = b;", "a = b; "), token_similarity("a", "b")
    (1.0, 0.0)
    """
    return difflib.SequenceMatcher(None, c_tokens(one), c_tokens(other), autojunk=False).ratio()


def line_similarity(one: str, other: str) -> float:
    r"""Sim-L: equal lines, ends stripped, in any order, over the more lines of the two.

    Parameters
    ----------
    one, other : str
        Sources.

    Returns
    -------
    float
        From 0 to 1; each line is matched once.

    Examples
    --------
    >>> line_similarity("a\n  b\n", "b\nc\na")
    0.6666666666666666
    """
    lines = [[x.strip() for x in text.splitlines()] for text in (one, other)]
    common = Counter(lines[0]) & Counter(lines[1])
    return sum(common.values()) / max(*map(len, lines), 1)
