"""OpenCL programs turned into C whose kernels are compiled with them, for thousands of runs.

PoCL compiles as a program runs, so that each start takes fifteen times as long as the program.
Here what a program builds is written down by a first run, compiled by clang, and put in a table by
its text; ``runtimes/opencl_on_host.c`` takes the place of the library.  It finds mistakes, and
what it does not know is left to PoCL, which stays the second opinion on a few inputs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rheostat.measurement.code.parsing.compare_output import Tolerance, differences
from rheostat.measurement.code.programs.program import KERNELS, Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.toolchain import CLANG, TEXT, absent
from rheostat.measurement.code.workbench import Built, Workbench

RUNTIME, BUILTINS = "opencl_on_host", "opencl_builtins"
TABLE = f"{KERNELS}.c"
UNKNOWN = "rheostat's own OpenCL: "
NO_KERNELS = "it builds no kernels on the inputs that were tried"
PLAIN = " ;,(){}[]_"
MOST_TEXTS, MOST_TEXT_B = 8, 2**17
SPACES = ("", "__global ", "__constant ", "__local ")
KERNEL = re.compile(r"^define (?P<how>[^@\n]*)@(?P<name>[\w.$]+)\((?P<rest>.*)\{$", re.MULTILINE)
BODY = r"(?ms)^define [^@\n]*@{}\(.*?^}}"
NAMES = re.compile(
    r"(?m)^(?:define (?!internal)[^@\n]*|)@(?P<name>[A-Za-z_]\w*)(?:\(|(?= = (?!internal|private)))"
)
DATA = r"!{} (![0-9]+)"
LOCAL = r"(?m)^@{}\.\S+ = internal global "
WAITS = re.compile(r"@_Z\d+(?:barrier|work_group_barrier)j")
CALLED = re.compile(r"call [^@\n]*@([\w.$]+)\(")
NOT_PASSED = re.compile(r"image|sampler|pipe|event_t|queue_t|reserve_id|\bbool\b")
EDITION = re.compile(r"-cl-std=CL[123]\.[0-2]")
IGNORED = re.compile(r"-w|-Werror|-cl-(?!std|single-precision-constant)\S+|-g|-O[0-3]|-I\S*")
MISSING = re.compile(r"undefined (?:reference to|symbol:?) [`']?([^`'\n]+)")
AT_FAULT = re.compile(r"error: (.*)")


INLINE = "#define inline\n"
"""So that a function of that kind is there where none of its calls is replaced by it."""


class NotKnown(Exception):
    """What keeps a program from being run so; the message says why."""


class OtherOutput(NotKnown):
    """It prints something else than with PoCL on the input that the message names."""


@dataclass(frozen=True)
class _Kernel:
    """Of a kernel: C before its table, the function that calls it, its row of the table."""

    declared: str
    call: str
    row: str


def on_own_library(
    bench: Workbench, built: Built, known: Sequence[tuple[ProgramInput, str]],
    limits: SandboxLimits, agreed: Tolerance,
) -> Program:  # fmt: skip
    """An OpenCL program as one of C or C++ with its kernels.

    Parameters
    ----------
    bench : Workbench
        Builds and runs it.
    built : Built
        The program as it runs with PoCL.
    known : sequence of pairs
        Inputs on which it is run to see what it builds, and what has to be printed there.
    limits : SandboxLimits
        Of these runs.
    agreed : Tolerance
        Of what is printed.

    Returns
    -------
    Program
        With its kernels' texts beside its own files; built by clang.

    Raises
    ------
    NotKnown
        Where that cannot be done.
    OtherOutput
        Where it prints something else.
    """
    if missing := absent("clang"):
        raise NotKnown(missing)
    if built.program.build:
        raise NotKnown("it has a build command of its own")
    texts = _texts(bench, built, [given for given, _ in known], limits)
    program = with_kernels(bench, built.program, texts)
    made = bench.build(program, CLANG)
    if not made.ok:
        raise NotKnown(f"it is not built with its kernels: {_why(made)}")
    for given, output in known:
        run = bench.run(made, given, limits=limits)
        if UNKNOWN in run.stderr:
            raise NotKnown(run.stderr[run.stderr.find(UNKNOWN) :].partition("\n")[0])
        if not run.ok or differences(run.stdout, output, agreed):
            raise OtherOutput(given.words)
    return program


def with_kernels(bench: Workbench, program: Program, texts: Sequence[tuple[str, str]]) -> Program:
    """A program with its kernels' options and texts, compiled as its own are."""
    files, own, rows = dict(program.files), dict(program.own_flags), []
    for number, (options, text) in enumerate(texts):
        made, kernels = _compiled(bench, number, options, text)
        files[f"{KERNELS}{number}.cl"] = made
        if edition := _edition(options):  # of this file alone: C would be compiled as OpenCL C
            own[f"{KERNELS}{number}.cl"] = edition
        rows.append((options, text, kernels))
    files[TABLE] = _table(rows)
    flags = [f for f in program.flags if f != "-lOpenCL" and not f.startswith("-std=")]
    return replace(program, files=files, language="serial", flags=(*flags, "-lm"), own_flags=own,
                   objects=(RUNTIME, BUILTINS))  # fmt: skip


def _texts(
    bench: Workbench, built: Built, inputs: Sequence[ProgramInput], limits: SandboxLimits
) -> list[tuple[str, str]]:
    """Options and text of each program of kernels; each run shows the first that is not known."""
    with bench.run_folder("texts") as place:
        bench.run_each(built, inputs, limits, kept=place, beside=(RUNTIME,))
        every = [p for p in sorted(place.glob("*.kernels")) if p.is_file() and not p.is_symlink()]
        if not every:
            raise NotKnown(NO_KERNELS)
        if len(every) > MOST_TEXTS or any(p.stat().st_size > MOST_TEXT_B for p in every):
            raise NotKnown("its kernels' texts are many or long")
        said = [p.read_text(encoding="utf-8", errors="replace").partition("\0") for p in every]
    return [(options, text) for options, _, text in said]


def _compiled(bench: Workbench, number: int, options: str, text: str) -> tuple[str, list[_Kernel]]:
    """A text with names of its own and functions that call its kernels."""
    head = _defines(options, text)
    alone = Program({f"{KERNELS}.cl": head + text}, flags=_edition(options))
    built = bench.build(alone, TEXT, output=("-S", "-emit-llvm", "-o", "-"))
    if not built.ok:
        raise NotKnown(f"its kernels do not compile: {_why(built)}")
    code = built.said.stdout
    names = [m["name"] for m in NAMES.finditer(code) if not m["name"].startswith("llvm")]
    prefix = f"rheostat_{number}_"
    renamed = "".join(f"#define {n} {prefix}{n}\n" for n in dict.fromkeys(names))
    kernels = [_kernel(code, m, f"{prefix}{n}") for n, m in enumerate(
        m for m in KERNEL.finditer(code) if "spir_kernel" in m["how"])]  # fmt: skip
    if not kernels:
        raise NotKnown(NO_KERNELS)
    calls = "\n".join(k.call for k in kernels)
    return f"{head}{renamed}{text}\n{calls}\n", kernels


def _defines(options: str, text: str) -> str:
    """What a program's options define, as its first lines."""
    if re.search(r"(?m)^\s*#\s*include\b", text):
        raise NotKnown("its kernels include a file")
    rows, words = [INLINE], iter(shlex.split(options))
    for word in words:
        if word.startswith("-D"):
            name, _, value = (word[2:] or next(words, "")).partition("=")
            rows.append(f"#define {name} {value or 1}\n")
        elif not (IGNORED.fullmatch(word) or EDITION.fullmatch(word)):
            raise NotKnown(f"an option of its kernels is not known ({word})")
    return "".join(rows)


def _edition(options: str) -> tuple[str, ...]:
    """The flag that names the edition of OpenCL C; clang and PoCL take the same one where none."""
    return tuple(EDITION.findall(options)[-1:])


def _why(built: Built) -> str:
    """What a build lacks, or its first error, in a line."""
    said = built.said.stderr
    if missing := dict.fromkeys(MISSING.findall(said)):
        return f"not there are {', '.join(missing)}"
    return m[1] if (m := AT_FAULT.search(said)) else said[:200].strip()


def _kernel(code: str, m: re.Match[str], name: str) -> _Kernel:
    known = m["name"]
    of_spaces = _data(code, m["rest"], "kernel_arg_addr_space")
    spaces = [int(n) for n in re.findall(r"i32 (\d+)", of_spaces)]
    types, kinds = (re.findall(r'!"([^"]*)"', _data(code, m["rest"], f"kernel_arg_{what}"))
                    for what in ("type", "type_qual"))  # fmt: skip
    if strange := [t for t in types if NOT_PASSED.search(t)]:
        raise NotKnown(f"its kernel {known} takes {strange[0]}")
    passed, sizes = [], []
    for number, (space, type_, kind) in enumerate(zip(spaces, types, kinds, strict=True)):
        words = " ".join(w for w in kind.split() if w in ("const", "volatile"))
        full = f"{SPACES[space]}{words} {type_}" if space else type_
        passed.append(f"*({full} *)a[{number}]")
        sizes.append("0" if space else f"sizeof({type_})")
    count = len(types)
    call = (f"void {name}_call(void **a) {{ {known}({', '.join(passed)}); }}\n"
            f"__constant unsigned {name}_sizes[] = {{{', '.join(sizes) or '0'}}};")  # fmt: skip
    group = re.findall(r"i32 (\d+)", _data(code, m["rest"], "reqd_work_group_size"))
    needed = f"{name}_group" if group else "0"
    declared = (f"extern void {name}_call(void **);\n"
                f"extern const unsigned {name}_sizes[];\n"
                f"static const size_t {name}_group[3] = {{{', '.join(group) or 0}}};")  # fmt: skip
    quoted = "".join(f"\\{s}" for s in spaces) or "\\0"
    row = (f'{{"{known}", {name}_call, {count}, {int(_waits(code, known))}, '
           f'{int(_has_locals(code, known))}, '
           f'(const unsigned char *)"{quoted}", {name}_sizes, {needed}}}')  # fmt: skip
    return _Kernel(declared, call, row)


def _data(code: str, rest: str, name: str) -> str:
    m = re.search(DATA.format(name), rest)
    row = re.search(rf"(?m)^{re.escape(m[1])} = !\{{(.*)\}}$", code) if m else None
    return row[1] if row else ""


def _waits(code: str, name: str, above: frozenset[str] = frozenset()) -> bool:
    """Whether a function may come to a barrier."""
    body = re.search(BODY.format(re.escape(name)), code)
    if body is None or name in above:
        return False
    return bool(WAITS.search(body[0])) or any(
        _waits(code, called, above | {name}) for called in set(CALLED.findall(body[0]))
    )


def _has_locals(code: str, kernel: str) -> bool:
    """Whether a kernel has variables in local memory."""
    return bool(re.search(LOCAL.format(re.escape(kernel)), code))


def _table(every: Sequence[tuple[str, str, Sequence[_Kernel]]]) -> str:
    """The kernels by the texts that a program builds, in C and C++."""
    declared, libraries = [], []
    for number, (options, text, kernels) in enumerate(every):
        rows = ",\n  ".join(k.row for k in kernels)
        declared += [k.declared for k in kernels]
        declared.append(f"static const Compiled kernels{number}[] = {{\n  {rows}}};")
        said = f"{_quoted(text)}, {_quoted(options)}"
        libraries.append(f"{{{said}, kernels{number}, {len(kernels)}}}")
    body = "\n".join(declared)
    return f"""#include <stddef.h>
#ifdef __cplusplus
extern "C" {{
#endif
typedef struct {{
  const char *name;
  void (*call)(void **);
  int count, waits, locals;
  const unsigned char *spaces;
  const unsigned *sizes;
  const size_t *group;
}} Compiled;
typedef struct {{ const char *text, *options; const Compiled *kernels; int count; }} Library;
extern const Library rheostat_libraries[];
extern const int rheostat_library_count;
{body}
const Library rheostat_libraries[] = {{{", ".join(libraries)}}};
const int rheostat_library_count = {len(every)};
#ifdef __cplusplus
}}
#endif
"""


def _quoted(text: str) -> str:
    r"""A text as C writes it.

    >>> _quoted('a"\n?')
    '"a\\042\\012\\077"'
    """
    made = "".join(chr(b) if b < 128 and (chr(b).isalnum() or chr(b) in PLAIN) else f"\\{b:03o}"
                   for b in text.encode("utf-8", "surrogateescape"))  # fmt: skip
    return f'"{made}"'
