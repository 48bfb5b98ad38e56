"""Inputs of a program: ranges that are known, values that the harness draws and keeps to itself."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from rheostat.errors import DataError

LEAST_SIZE, MOST_SIZE = 1 / 32, 1.25
"""A size that a source gives as default is drawn from this part of it to this multiple."""
REAL_FACTOR = 2.0
GUESSED_SIZES = (48.0, 384.0)
GUESSED_SEEDS = (1.0, 1e6)
PLACE = re.compile(r"\{(\w+)\}")
"""Where a value stands in an argument."""
SMALL = 0.25
"""Inputs of rungs that are slow come from this lower part of each range of sizes."""
MOST_CORNERED = 3
"""Ranges whose ends are combined."""
NOT_ASKED_FOR = "3 1 4 1 5\nend\n"
"""Stands on the standard input of some runs of programs that need not read any."""


@dataclass(frozen=True)
class InputRange:
    """What one input is drawn from: listed values, or the numbers from low to high.

    ``kind`` is "size" (work grows with it: drawn by ratios, small where a rung is slow), "seed"
    (anything in the range) or "real" (a number with a fraction).
    """

    low: float = 1.0
    high: float = 1.0
    values: tuple[str, ...] = ()
    kind: str = "size"
    multiple_of: int = 1

    def __post_init__(self) -> None:
        problems = []
        if self.kind not in ("size", "seed", "real"):
            problems.append(f"kind: expected size, seed or real, got {self.kind!r}")
        if not self.values and not (math.isfinite(self.low) and self.low <= self.high < 2**63):
            problems.append(f"expected low <= high, got {self.low:g} and {self.high:g}")
        if not self.values and self.kind == "size" and self.low < 0:
            problems.append(f"low: a size is not negative, got {self.low:g}")
        if self.multiple_of < 1:
            problems.append(f"multiple_of: expected 1 or more, got {self.multiple_of}")
        if problems:
            raise DataError("inputs", problems)

    @property
    def words(self) -> str:
        """As 10 to 90, or the values."""
        return " or ".join(self.values) if self.values else f"{self.low:g} to {self.high:g}"

    def draw(self, rng: np.random.Generator, part: tuple[float, float] = (0.0, 1.0)) -> str:
        """One value, as it is written, from ``part`` of the range of a size."""
        if self.values:
            few = max(1, round(part[1] * len(self.values))) if self.kind == "size" else None
            return self.values[:few][int(rng.integers(len(self.values[:few])))]
        if self.kind == "seed":
            return str(int(rng.integers(int(self.low), int(self.high) + 1)))
        if self.kind == "real":
            return repr(float(rng.uniform(self.low, self.high)))
        low, high = math.log1p(self.low), math.log1p(self.high)
        share = part[0] + (part[1] - part[0]) * float(rng.random())
        value = math.expm1(low + (high - low) * share)
        step = self.multiple_of
        return str(int(min(max(round(value / step) * step, math.ceil(self.low)), self.high)))

    @property
    def edges(self) -> tuple[str, str, str, str]:
        """Both ends; of a size also a multiple of 64 and the last size before one, small ones.

        >>> InputRange(10, 500).edges, InputRange(1, 9, kind="seed").edges
        (('10', '500', '64', '63'), ('1', '9', '1', '9'))
        """
        if self.values:
            return self.values[0], self.values[-1], self.values[0], self.values[-1]
        if self.kind == "real":
            return repr(self.low), repr(self.high), repr(self.low), repr(self.high)
        step = 1 if self.kind == "seed" else self.multiple_of
        low, high = math.ceil(self.low / step) * step, math.floor(self.high / step) * step
        whole = math.lcm(64, step)
        whole *= max(1, math.ceil((low + step) / whole))
        inner = (whole, whole - step) if self.kind == "size" and whole <= high else (low, high)
        return str(low), str(high), str(inner[0]), str(inner[1])

    @property
    def few(self) -> str:
        """A size three steps above the lowest, where there is one; of others an end.

        >>> InputRange(0, 500, multiple_of=4).few, InputRange(1, 3).few
        ('12', '3')
        """
        low, high, *_ = self.edges
        if self.values or self.kind != "size":
            return low
        return str(min(int(low) + 3 * self.multiple_of, int(high)))

    @property
    def inside(self) -> tuple[str, str]:
        """One step inside each end; of a range without steps its ends.

        >>> InputRange(0, 6000).inside, InputRange(0, 96, multiple_of=32).inside
        (('1', '5999'), ('32', '64'))
        """
        low, high, *_ = self.edges
        if self.values or self.kind == "real":
            return low, high
        step = 1 if self.kind == "seed" else self.multiple_of
        return str(min(int(low) + step, int(high))), str(max(int(high) - step, int(low)))


@dataclass(frozen=True)
class ProgramInput:
    """One drawn input: the arguments and what stands on standard input.

    ``called`` is the program's name on its command line, where it is not the usual one.
    """

    arguments: tuple[str, ...] = ()
    stdin: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    called: str = ""

    @property
    def words(self) -> str:
        """For messages: as n=96, seed=31."""
        said = ", ".join(f"{k}={v}" for k, v in self.values.items()) or "no input"
        return said + (f", called {self.called}" if self.called else "") + (
            ", text on standard input" if self.stdin == NOT_ASKED_FOR else "")  # fmt: skip

    def elsewhere(self, called: str) -> ProgramInput:
        """The same input as other people may run it: under a name, with text to be read.

        >>> ProgramInput(("9",), values={"n": "9"}).elsewhere("sum").words
        'n=9, called sum, text on standard input'
        """
        return replace(self, called=called, stdin=self.stdin or NOT_ASKED_FOR)

    @property
    def size(self) -> float:
        """How large its numbers are together: to order inputs of one program.

        >>> ProgramInput(values={"n": "9", "method": "cg", "m": "-3"}).size
        40.0
        """
        numbers = [float(v) for v in self.values.values() if re.fullmatch(r"-?\d+(\.\d+)?", v)]
        return math.prod(1 + abs(x) for x in numbers)


@dataclass(frozen=True)
class ProgramInputs:
    """Named ranges, and the arguments and standard input that they are written into.

    Parameters
    ----------
    ranges : mapping of str to InputRange
        By name.
    arguments : tuple of str
        Each a text in which {name} is replaced by a drawn value.
    stdin : str
        The same for standard input.
    guessed : bool
        Whether the ranges were read from the source and not given by a person.

    Examples
    --------
    >>> inputs = ProgramInputs({"n": InputRange(10, 20)}, ("{n}", "7"))
    >>> inputs.draw(np.random.default_rng(0)).arguments[1]
    '7'
    """

    ranges: Mapping[str, InputRange] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    guessed: bool = False

    def __post_init__(self) -> None:
        used = set(PLACE.findall(" ".join((*self.arguments, self.stdin))))
        unknown = sorted(used - set(self.ranges))
        if unknown:
            known = ", ".join(self.ranges) or "none"
            raise DataError(
                "inputs", [f"{{{n}}} has no range; there are: {known}" for n in unknown]
            )

    def draw(
        self, rng: np.random.Generator, part: tuple[float, float] = (0.0, 1.0)
    ) -> ProgramInput:
        """One input.

        Parameters
        ----------
        rng : Generator
            What draws.
        part : pair of float
            Part of each range of sizes, as shares: (0, 0.25) for small ones.

        Returns
        -------
        ProgramInput
            With every name replaced.
        """
        return self.written({name: r.draw(rng, part) for name, r in self.ranges.items()})

    def edges(self) -> tuple[ProgramInput, ...]:
        """Inputs at the edges of the ranges that a person stated: all at the same, and corners.

        Two are one step inside all ends; one has sizes a little above the lowest: fewer than
        threads, but not none.

        >>> inputs = ProgramInputs({"n": InputRange(1, 9), "m": InputRange(2, 5)}, ("{n}", "{m}"))
        >>> [g.arguments for g in inputs.edges()]
        [('1', '2'), ('9', '5'), ('2', '3'), ('8', '4'), ('4', '5'), ('9', '2'), ('1', '5')]
        """
        if self.guessed or not self.ranges:
            return ()
        each = {name: r.edges for name, r in self.ranges.items()}
        every = [{name: edges[k] for name, edges in each.items()} for k in range(4)]
        every += [{name: r.inside[k] for name, r in self.ranges.items()} for k in range(2)]
        every.append({name: r.few for name, r in self.ranges.items()})
        apart = [name for name, r in self.ranges.items() if r.kind != "seed"]
        for name in apart if len(apart) > 1 else ():
            every += [every[0] | {name: each[name][1]}, every[1] | {name: each[name][0]}]
        return tuple(self.written(v) for i, v in enumerate(every) if v not in every[:i])

    def corners(self, rng: np.random.Generator, times: int) -> tuple[ProgramInput, ...]:
        """The corners of stated ranges of sizes, each with so many drawn seeds; none without seeds.

        >>> inputs = ProgramInputs({"n": InputRange(1, 9), "s": InputRange(1, 99, kind="seed")})
        >>> [g.values["n"] for g in inputs.corners(np.random.default_rng(0), 2)]
        ['9', '9', '1', '1']
        """
        seeds = [name for name, r in self.ranges.items() if r.kind == "seed" and not r.values]
        sizes = [n for n, r in self.ranges.items() if n not in seeds][:MOST_CORNERED]
        made = [
            {name: r.draw(rng) for name, r in self.ranges.items()}
            | {n: self.ranges[n].edges[end] for n, end in zip(sizes, ends, strict=True)}
            for ends in product((1, 0), repeat=len(sizes)) for _ in range(times)
        ]  # fmt: skip
        return tuple(map(self.written, made)) if seeds and not self.guessed else ()

    def around(self, numbers: Sequence[int], rng: np.random.Generator) -> tuple[ProgramInput, ...]:
        """Inputs whose sizes are each of these numbers and the next one, the rest drawn.

        >>> inputs = ProgramInputs({"n": InputRange(10, 98)}, ("{n}",))
        >>> [g.values["n"] for g in inputs.around([97], np.random.default_rng(0))]
        ['97', '98']
        """
        made = []
        for name, r in self.ranges.items():
            near = [k for number in numbers for k in (number, number + 1)]
            fit = [k for k in near if r.low <= k <= r.high and k % r.multiple_of == 0]
            for value in fit if r.kind == "size" and not r.values else ():
                drawn = {other: s.draw(rng, (0.0, 1.0)) for other, s in self.ranges.items()}
                made.append(self.written(drawn | {name: str(value)}))
        return tuple(made)

    def beside_multiples(
        self, numbers: Sequence[int], rng: np.random.Generator, each: int
    ) -> tuple[ProgramInput, ...]:
        """Inputs whose sizes are multiples of each of these numbers, and one less and more.

        >>> inputs = ProgramInputs({"n": InputRange(10, 98)}, ("{n}",))
        >>> drawn = inputs.beside_multiples([40], np.random.default_rng(0), 9)
        >>> sorted({g.values["n"] for g in drawn})
        ['39', '40', '41', '79', '80', '81']
        """
        made = []
        for name, r in self.ranges.items():
            for number in numbers if r.kind == "size" and not r.values else ():
                most = math.floor(r.high) // number
                times = [1, most, *(int(k) for k in rng.integers(1, max(most, 1) + 1, each))]
                near = {k * number + beside for k in times for beside in (0, -1, 1)}
                fit = sorted(v for v in near if r.low <= v <= r.high and v % r.multiple_of == 0)
                made += [{**self.draw(rng).values, name: str(v)} for v in fit]
        return tuple(map(self.written, made))

    def written(self, values: Mapping[str, str]) -> ProgramInput:
        """The input that has these values."""

        def put(text: str) -> str:
            return PLACE.sub(lambda m: values[m[1]], text) if "{" in text else text

        return ProgramInput(tuple(map(put, self.arguments)), put(self.stdin), dict(values))


ARGUMENT = re.compile(  # every repetition is bounded: sources may be of any length
    r"(?:\b(\w{1,64})\s{0,9}=\s{0,9})?(?:\(?\s{0,9}\(?\s{0,9}argc\s{0,9}(>=?)\s{0,9}\d{1,9}\s{0,9}"
    r"\)?\s{0,9}\?\s{0,9})?(?:\(\s{0,9}[\w ]{1,64}\)\s{0,9})?"
    r"(ato(?:i|l|ll|f)|strto(?:l|ll|ul|ull|d|f)|std::sto\w{1,4})\s{0,9}\(\s{0,9}argv\s{0,9}"
    r"\[\s{0,9}(\d{1,9})\s{0,9}\][^;:]{0,99}?\)(?:\s{0,9}:\s{0,9}(?:\(\s{0,9}[\w ]{1,64}\)\s{0,9})?"
    r"([-+.\w]{1,64}))?"
)
REAL = ("atof", "strtod", "strtof", "std::stod", "std::stof")
SEED_NAME = re.compile(r"(?i)seed|rng|rand")


def inputs_of(text: str) -> ProgramInputs:
    """Inputs that a source takes from its command line, with ranges around its own defaults.

    Parameters
    ----------
    text : str
        Source in C or C++.

    Returns
    -------
    ProgramInputs
        Without ranges where the program reads no argument in a form known here.

    Examples
    --------
    >>> inputs = inputs_of("int n = argc > 1 ? atoi(argv[1]) : 1000; seed = atoi(argv[2]);")
    >>> inputs.arguments, inputs.ranges["n"].low, inputs.ranges["n"].high
    (('{n}', '{seed}'), 31, 1250)
    """
    ranges: dict[int, tuple[str, InputRange]] = {}
    for match in ARGUMENT.finditer(text):
        name, _, function, position, default = match.groups()
        default = _value(default or name or "", text[: match.start()])
        ranges.setdefault(int(position), (name or f"a{position}", _range(name, function, default)))
    count = max(ranges, default=0)
    if not count or set(ranges) != set(range(1, count + 1)):
        return ProgramInputs()
    named = {ranges[i][0]: ranges[i][1] for i in range(1, count + 1)}
    if len(named) < count:
        return ProgramInputs()
    return ProgramInputs(named, tuple(f"{{{n}}}" for n in named), guessed=True)


def _value(word: str, before: str) -> str:
    """A default as a number: itself, or what its name was set to before."""
    if not word or not (word[0].isalpha() or word[0] == "_"):
        return word
    given = rf"(?:#\s*define\s+{re.escape(word)}\s+\(?|\b{re.escape(word)}\s*=\s*)([\d][\w.]*)"
    values = re.findall(given, before)
    return values[-1] if values else ""


def _range(name: str | None, function: str, default: str) -> InputRange:
    if SEED_NAME.search(name or ""):
        return InputRange(*GUESSED_SEEDS, kind="seed")
    number = re.match(r"\d+(\.\d+)?([eE][-+]?\d+)?", default)
    value = float(number[0]) if number else 0.0
    if function in REAL:
        middle = value or 1.0
        return InputRange(middle / REAL_FACTOR, middle * REAL_FACTOR, kind="real")
    if value < 1:
        return InputRange(*GUESSED_SIZES)
    low = max(min(value, 4.0), value * LEAST_SIZE)
    return InputRange(math.floor(low), math.ceil(value * MOST_SIZE))


def powers_of_two(inputs: ProgramInputs) -> ProgramInputs:
    """The same inputs with sizes that are powers of two, as some programs need.

    >>> inputs = ProgramInputs({"n": InputRange(10, 70)}, ("{n}",))
    >>> powers_of_two(inputs).ranges["n"].values
    ('16', '32', '64')
    """
    made = {}
    for name, r in inputs.ranges.items():
        powers = tuple(str(2**k) for k in range(1, 40) if r.low <= 2**k <= r.high)
        made[name] = replace(r, values=powers) if r.kind == "size" and powers else r
    return replace(inputs, ranges=made)
