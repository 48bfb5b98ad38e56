"""LLVM's text of a program with marks: which way each comparison came out, which blocks were run.

Every comparison in the program's own files writes to one of two bytes, every block to one, so that
what no run reached can be told by its line, also where no `if` stands: ``x * (x == 7)``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

ARRAY = "rheostat_reached"
NAME = r'%(?:[-\w.$]+|"[^"]*")'
COMPARED = re.compile(
    rf"\s*(?P<value>{NAME}) = [if]cmp (?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
    rf"(?P<how>[a-z]+) (?P<type>\S+) (?P<one>[^,]+), (?P<other>[^,]+?)(?:, !.*)?$"
)
DEFINED = re.compile(r'define (?P<how>.*?)@(?P<name>[-\w.$]+|"[^"]*")\(')
LABEL = re.compile(r'([-\w.$]+|"[^"]*"):')
LAST = re.compile(
    rf"\s*(?:br|ret|switch|unreachable|resume|indirectbr|(?:{NAME} = )?(?:invoke|callbr))\b"
)
BRANCH = re.compile(rf"\s*br i1 ({NAME}), label %(\S+), label %([^\s,]+)")
SWITCH = re.compile(rf"\s*switch (?P<type>\S+) (?P<value>{NAME}), label %(?P<other>\S+) \[")
CASE = re.compile(r"\s*\S+ (-?\d+), label %(\S+)$")
TARGET = re.compile(r'label %([-\w.$]+|"[^"]*")')
NOTHING = re.compile(r"@llvm\.(?:dbg|lifetime)\.")
ACTS = re.compile(rf"\s*(?:{NAME} = )?(?:(?:tail |notail )?call|invoke|store|atomicrmw|cmpxchg)\b")
ENDS_WELL = re.compile(r"@(?:_?exit|_Exit|quick_exit)\(i32 (?:noundef )?0\)")
FAILS = re.compile(r"\s*store i32 (?!0\b)-?\d+, ptr %retval\b")
AT = re.compile(r"!dbg !(\d+)")
LOCATION = re.compile(
    r"(?m)^!(\d+) = !DILocation\(line: (\d+)(?:, column: (\d+))?, .*?scope: !(\d+)"
)
SCOPE = re.compile(r"(?m)^!(\d+) = (?:distinct )?!DI\w+\(.*?file: !(\d+)")
FILE = re.compile(r'(?m)^!(\d+) = !DIFile\(filename: "([^"]*)"')
BY_COMPILER = re.compile(
    r"(?:lpad|ehcleanup|eh\.resume|terminate|catch\.dispatch|unreachable|cleanup)"
)
WAYS = {"eq": ("eq", True), "ne": ("eq", False), "lt": ("lt", True), "ge": ("lt", False),
        "gt": ("gt", True), "le": ("gt", False)}  # fmt: skip
MIRRORED = {"lt": "gt", "gt": "lt", "eq": "eq"}
CONSTANT = re.compile(r"-?\d[\w.+-]*|true|false|null")
At = tuple[str, int, int]


@dataclass(frozen=True)
class Comparison:
    """Where it stands, what it asks (eq, lt or gt, a constant if there is one), and its bytes.

    ``offset`` is the byte of false, the next one that of true; ``asks_this`` says whether true
    means that ``how`` holds; ``targets`` are the blocks of true and false, where it decides them.
    """

    at: At
    how: str
    constant: str
    asks_this: bool
    offset: int
    targets: tuple[str, str] | None
    function: str


@dataclass
class Block:
    """A block's lines in the program's own files, where it leads, and what it does.

    ``acts``: it changes something or calls; ``stops``: the program ends there with an error;
    ``chooses``: a value hangs on where it was reached from.
    """

    offset: int
    places: set[tuple[str, int]] = field(default_factory=set)
    targets: list[str] = field(default_factory=list)
    acts: bool = False
    stops: bool = False
    chooses: bool = False
    by_compiler: bool = False


@dataclass
class Marked:
    """The text with its marks, and what they mean."""

    text: str
    end: int
    comparisons: list[Comparison] = field(default_factory=list)
    blocks: dict[tuple[str, str], Block] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)


def marked(code: str, files: Collection[str], first: int = 0) -> Marked:
    """LLVM's text with marks from byte ``first`` on.

    Parameters
    ----------
    code : str
        What clang writes, with lines and the names of values, before it optimises.
    files : collection of str
        The program's own files.
    first : int
        The first free byte.

    Returns
    -------
    Marked
        Functions that nothing refers to are not among its ``functions``.
    """
    return _Marker(code, files, first).marked()


class _Marker:
    def __init__(self, code: str, files: Collection[str], first: int) -> None:
        self.code, self.files = code, files
        self.made = Marked("", first)
        self.scopes, self.names = dict(SCOPE.findall(code)), dict(FILE.findall(code))
        self.where = {n: (int(x), int(y or 0), s) for n, x, y, s in LOCATION.findall(code)}

    def marked(self) -> Marked:
        rows: list[str] = []
        function: list[str] = []
        for row in self.code.splitlines():
            m = DEFINED.match(row)
            if m and "available_externally" not in m["how"]:
                self.function = m["name"]
                function = [row]
            elif function and row == "}":
                rows += [*self._function(function), row]
                function = []
            elif function:
                function.append(row)
            else:
                rows.append(row)
        made = self.made
        made.functions = {f for f, _ in made.blocks if self._is_used(f)}
        made.text = "\n".join([*rows, f"@{ARRAY} = external global [1 x i8]", ""])
        return made

    def _is_used(self, name: str) -> bool:
        return name == "main" or len(re.findall(rf"@{re.escape(name)}(?![-\w.$])", self.code)) > 1

    def _function(self, rows: list[str]) -> Iterator[str]:
        yield rows[0]
        block: list[str] = []
        label = "entry"
        for row in rows[1:]:
            m = LABEL.match(row)
            if m and any(x.strip() for x in block):
                yield from self._block(label, block)
                block = []
            label = m[1] if m else label
            block.append(row)
        yield from self._block(label, block)

    def _block(self, label: str, rows: list[str]) -> Iterator[str]:
        made = self.made
        block = Block(made.end, by_compiler=bool(BY_COMPILER.match(label)))
        made.blocks[self.function, label] = block
        made.end += 1
        branch = next((m for row in rows if (m := BRANCH.match(row))), None)
        for row in rows:
            self._noted(block, row)
            if m := SWITCH.match(row):
                yield from self._switched(m, rows)
            if LAST.match(row):
                yield f"  store i8 1, ptr {_byte(block.offset)}"
            yield row
            if m := COMPARED.match(row):
                yield from self._compared(m, row, branch)
        block.stops &= not any(ENDS_WELL.search(row) for row in rows)

    def _noted(self, block: Block, row: str) -> None:
        if NOTHING.search(row):
            return
        block.targets += TARGET.findall(row)
        block.acts |= bool(ACTS.match(row))
        block.chooses |= " = phi " in row
        in_main = self.function == "main"
        block.stops |= row.strip().startswith("unreachable") or (in_main and bool(FAILS.match(row)))
        at = self._place(row)
        if at and not re.match(r"\s*(?:br|switch|ret)\b", row):
            block.places.add(at[:2])

    def _place(self, row: str) -> At | None:
        m = AT.search(row)
        line, column, scope = self.where.get(m[1] if m else "", (0, 0, ""))
        file = self.names.get(self.scopes.get(scope, ""), "").removeprefix("./")
        return (file, line, column) if line and file in self.files else None

    def _compared(self, m: re.Match[str], row: str, branch: re.Match[str] | None) -> Iterator[str]:
        at, asked = self._place(row), WAYS.get(m["how"][-2:])
        tested = m["value"].startswith("%tobool") and m["other"] == "0"
        ends_text = tested and (m["type"] == "i8" or m["one"].startswith("%conv"))
        if at is None or asked is None or m["type"].startswith("<") or "null" in m["other"]:
            return
        if ends_text:  # `while (text[i])`: whether a text ends there hangs on the texts
            return
        how, constant = asked[0], m["other"]
        if CONSTANT.fullmatch(m["one"]):
            how, constant = MIRRORED[how], m["one"]
        decides = branch is not None and branch[1] == m["value"]
        targets = (branch[2], branch[3]) if decides and branch else None
        constant = constant if CONSTANT.fullmatch(constant) else ""
        kept = Comparison(at, how, constant, asked[1], self.made.end, targets, self.function)
        yield from self._kept(kept, m["value"])

    def _switched(self, m: re.Match[str], rows: Sequence[str]) -> Iterator[str]:
        """Each case as a comparison of its own; the place stands behind the last."""
        at = next((self._place(row) for row in rows if row.strip().startswith("]")), None)
        for row in rows:
            case = CASE.match(row)
            if at and case:
                value = f"%{ARRAY}.{self.made.end}.case"
                yield f"  {value} = icmp eq {m['type']} {m['value']}, {case[1]}"
                targets = case[2], m["other"]
                yield from self._kept(Comparison(at, "eq", case[1], True, self.made.end, targets,
                                                 self.function), value)  # fmt: skip

    def _kept(self, comparison: Comparison, value: str) -> Iterator[str]:
        """What writes how a comparison came out, put behind it."""
        name, byte = f"%{ARRAY}.{comparison.offset}", _byte(comparison.offset)
        self.made.comparisons.append(comparison)
        self.made.end += 2
        yield f"  {name} = zext i1 {value} to i64"
        yield f"  {name}.at = getelementptr i8, ptr {byte}, i64 {name}"
        yield f"  store i8 1, ptr {name}.at"


def _byte(offset: int) -> str:
    return f"getelementptr (i8, ptr @{ARRAY}, i64 {offset})"
