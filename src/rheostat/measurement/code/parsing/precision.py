"""What an original's precision can hold: of whole numbers all digits, also behind a point.

``printf("%lld.%02lld", cents / 100, cents % 100)`` prints a whole number of cents, and one cent
more is another result, however large the sum is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rheostat.measurement.code.parsing.compare_output import DOUBLE, SINGLE, Tolerance

HALF = r"\bhalf\d*\b(?=\s*[*&]?\s*\w+\s*[\[;,=()])"
SINGLE_PRECISION = re.compile(rf"\b(?:float|__half)\d*\b|{HALF}")
"""``half`` is a type before a name, and a name like others elsewhere."""
FLOATING = re.compile(
    rf"(?i:float|double|_half|fp16|wtime|difftime|strtod|atof)|{HALF}|"
    r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?:\.\d*)?[eE][-+]?\d+)|"
    r"\b(?:sqrt|cbrt|pow|log|log2|log10|exp|floor|ceil|round|l?l?rint|fabs|fmod|hypot)[fl]?\s*\(|"
    r"%[-+#0-9.*']*[lL]?[aefgAEFG]"
)
"""What may make a number in floating point, or print one; words in comments count as well."""
INCLUDED = re.compile(r"#\s*include\s*<([^>]*)>")
WITHOUT = re.compile(
    r"c?(?:assert|ctype|errno|inttypes|iso646|limits|signal|std(?:align|bool|def|int|io|lib|noreturn)|"
    r"string|time)(?:\.h)?|(?:stdatomic|omp|pthread|threads|unistd|sys/\w+|cuda_runtime|CL/cl)\.h|"
    r"algorithm|array|atomic|barrier|bit|bitset|charconv|condition_variable|deque|exception|"
    r"forward_list|fstream|functional|initializer_list|iomanip|ios|iostream|istream|iterator|latch|"
    r"list|map|memory|mutex|new|optional|ostream|queue|semaphore|set|shared_mutex|span|sstream|stack|"
    r"stdexcept|string_view|thread|tuple|type_traits|unordered_(?:map|set)|utility|variant|vector"
)
"""Headers that give nothing in floating point to a text that names none of it."""


def of_whole_numbers(text: str) -> bool:
    """Whether nothing in a program's text is a number in floating point.

    >>> of_whole_numbers('int64_t c = 7; printf("%lld.%02lld", c / 100, c % 100);')
    True
    >>> [of_whole_numbers(t) for t in ("x * 0.5", "1e9", 'printf("%.2f", x)', "auto y = sqrt(x);")]
    [False, False, False, False]
    >>> of_whole_numbers("p1.x = a[0].y + 0xe1; s.e2 = 3;")
    True
    >>> [of_whole_numbers(f"#include <{h}>") for h in ("stdio.h", "cstring", "gmp.h", "cmath")]
    [True, True, False, False]
    """
    known = all(map(WITHOUT.fullmatch, INCLUDED.findall(text)))
    return known and FLOATING.search(text) is None


def within_precision(tolerance: Tolerance, text: str, rounded: Callable[[], float]) -> Tolerance:
    """A tolerance with the one that an original's text has for its numbers.

    Parameters
    ----------
    tolerance : Tolerance
        Without one of its own.
    text : str
        The original's.
    rounded : callable
        How far its outputs in single precision are from each other.
    """
    if of_whole_numbers(text):
        return replace(tolerance, relative=0.0, absolute=0.0, ulps=0)
    single = SINGLE_PRECISION.search(text)
    return replace(tolerance, relative=max(SINGLE, rounded()) if single else DOUBLE)
