"""Compilers and checkers of this machine, and how each is called."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rheostat.measurement.code.programs.program import Program

LLVM_VERSIONS = range(22, 13, -1)
BINARY = "program"
PACKAGES = {
    "gcc": "gcc", "g++": "g++", "clang": "clang-16 libomp-16-dev libclang-rt-16-dev",
    "clang++": "clang-16 libomp-16-dev libclang-rt-16-dev", "valgrind": "valgrind",
    "oclgrind": "oclgrind", "nm": "binutils", "objdump": "binutils",
    "clang-offload-packager": "clang-tools-16", "llvm-symbolizer": "llvm-16",
    "nvcc": "nvidia-cuda-toolkit (or NVIDIA's own)",
}  # fmt: skip
"""Debian packages by tool."""


@cache
def tool(name: str) -> str:
    """The path of a tool, of its newest version where Debian numbers them; empty where absent.

    Parameters
    ----------
    name : str
        As clang.

    Returns
    -------
    str
        As /usr/bin/clang-16.
    """
    versions = [f"{name}-{v}" for v in LLVM_VERSIONS] if name.startswith("clang") else []
    return next((p for n in (name, *versions) if (p := shutil.which(n))), "")


def absent(*names: str) -> str:
    """Which of these tools are missing and what installs them; empty where none is.

    >>> absent("sh")
    ''
    """
    missing = [n for n in names if not tool(n)]
    if not missing:
        return ""
    packages = " ".join(dict.fromkeys(PACKAGES.get(n, n) for n in missing))
    return f"{', '.join(missing)} not installed: apt-get install {packages}"


@cache
def llvm_libraries() -> str:
    """The folder of clang's own OpenMP and offload libraries; empty without clang."""
    clang = tool("clang")
    return str(Path(os.path.realpath(clang)).parent.parent / "lib") if clang else ""


@cache
def cuda_libraries() -> str:
    """The folder of nvcc's runtime library; empty without nvcc."""
    nvcc = tool("nvcc")
    return str(Path(os.path.realpath(nvcc)).parent.parent / "lib64") if nvcc else ""


def offload_absent() -> str:
    """Why nothing can be offloaded to the host as a device of its own; empty if it can."""
    missing = absent("clang", "clang-offload-packager")
    if missing:
        return missing
    if not any(Path(llvm_libraries()).glob("libomptarget.rtl.x86_64.so*")):
        return "clang has no x86_64 offload plugin: apt-get install libomp-16-dev"
    return ""


def archer_absent() -> str:
    """Why races cannot be looked for; empty if they can."""
    missing = absent("clang")
    if missing:
        return missing
    if not (Path(llvm_libraries()) / "libarcher.so").exists():
        return "clang has no libarcher.so: apt-get install libomp-16-dev"
    return ""


FORMATS = {"x86_64": "elf64-x86-64", "aarch64": "elf64-littleaarch64"}


def nm(*words: str) -> list[str]:
    """How nm is called here: told the format, it loads no compiler's plugin, which is all of LLVM.

    >>> nm("-D")[::len(nm())]
    ['nm', '-D']
    """
    known = FORMATS.get(platform.machine())
    return ["nm", *([f"--target={known}"] if known else []), *words]


def symbolizer() -> str:
    """The llvm-symbolizer of clang's own version, which names lines in reports of its sanitizers.

    Another version's may not read what this clang writes. Empty without it.
    """
    return llvm_tool("llvm-symbolizer")


def llvm_tool(name: str) -> str:
    """The path of a tool of clang's own version that lies beside it; empty without it."""
    clang = tool("clang")
    beside = Path(os.path.realpath(clang)).parent / name
    return str(beside) if clang and beside.exists() else ""


def symbolizer_absent() -> str:
    """Why reports of clang's sanitizers name no lines; empty if they do."""
    if symbolizer():
        return ""
    return f"no line known without clang's llvm-symbolizer: apt-get install {_symbolizer_package()}"


def _symbolizer_package() -> str:
    of_clang = re.search(r"/(llvm-\d+)/", os.path.realpath(tool("clang")))
    return of_clang[1] if of_clang else PACKAGES["llvm-symbolizer"]


def sanitizer_options(options: str) -> str:
    """Options of clang's sanitizers and the symbolizer that they call.

    >>> sanitizer_options("exitcode=66").split(":")[0]
    'exitcode=66'
    """
    path = symbolizer()
    return f"{options}:external_symbolizer_path={path}" if path else options


POLLY = ("-mllvm", "-polly", "-mllvm", "-polly-parallel", "-lgomp")
"""What makes clang share loops among threads; their number is OpenMP's, by the environment."""
ONE_FAMILY = {"-mllvm": "clang", "-ftree-parallelize-loops": "gcc"}
"""Flags that only one family of compilers knows."""


def family_of(flags: Sequence[str]) -> str:
    """The family of compilers that alone knows such flags; empty where both do.

    >>> family_of(("-O2", "-ftree-parallelize-loops=4")), family_of(POLLY), family_of(("-O2",))
    ('gcc', 'clang', '')
    """
    return next((ONE_FAMILY[n] for f in flags if (n := f.partition("=")[0]) in ONE_FAMILY), "")


def known_to(family: str, flags: Sequence[str]) -> list[str]:
    """Flags without those that only another family of compilers knows.

    >>> known_to("gcc", ("-O2", *POLLY)), known_to("clang", ("-ftree-parallelize-loops=2", "-g"))
    (['-O2', '-lgomp'], ['-g'])
    """
    kept, values = [], iter(flags)
    for flag in values:
        if ONE_FAMILY.get(flag.partition("=")[0], family) == family:
            kept.append(flag)
        elif flag == "-mllvm":
            next(values, None)
    return kept


@cache
def polly_absent() -> str:
    """Why clang cannot share loops among threads by Polly; empty if it can."""
    missing = absent("clang")
    if missing:
        return missing
    command = [tool("clang"), *POLLY[:-1], "-x", "c", "-fsyntax-only", os.devnull]
    made = subprocess.run(command, capture_output=True, check=False)
    return "" if made.returncode == 0 else "this clang was built without Polly"


@dataclass(frozen=True)
class BuildKind:
    """One way to build a program: the compiler's family, flags, and flags that are taken away.

    Parameters
    ----------
    name : str
        For messages and for the cache of builds.
    family : str
        gcc, clang or nvcc.
    flags : tuple of str
        Put after the program's own.
    optimise : str
        Replaces the program's own -O; empty leaves it.
    mark : str
        A name that stands in everything that is built this way.
    """

    name: str
    family: str = "gcc"
    flags: tuple[str, ...] = ()
    optimise: str = ""
    mark: str = ""


SANITIZE = ("-gline-tables-only", "-fno-omit-frame-pointer", "-fsanitize=address,undefined",
            "-fno-sanitize-recover=undefined", "-ftrivial-auto-var-init=pattern")  # fmt: skip
MEMORY_MB = 2048
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": f"detect_leaks=0:hard_rss_limit_mb={MEMORY_MB}:max_allocation_size_mb="
    f"{MEMORY_MB}:detect_stack_use_after_return=0:malloc_fill_byte=255:max_malloc_fill_size="
    f"{MEMORY_MB << 20}",
    "UBSAN_OPTIONS": "print_stacktrace=0",
}
GCC = BuildKind("gcc")
CLANG = BuildKind("clang", "clang")
NVCC = BuildKind("nvcc", "nvcc", ("--cudart=shared",))  # so that imports are the program's own
SANITIZED = BuildKind("sanitizers", "clang", SANITIZE, "-O1", mark="__asan_init")
RACES = BuildKind(  # a race optimised away is one
    "races", "clang", ("-gline-tables-only", "-fsanitize=thread"), "-O0", mark="__tsan_init"
)
COUNTED = BuildKind("work", "gcc", (), "-O1")
COUNTED_LINES = BuildKind("work by line", "gcc", ("-g",), "-O1")
"""The same instructions, and which file they are of."""
DEVICE = BuildKind("device", "clang", ("-g", "-fopenmp-targets=x86_64-pc-linux-gnu"), "-O1",
                   mark="__tgt_register_lib")  # fmt: skip
TEXT = BuildKind(
    "reached", "clang", ("-gline-tables-only", "-gcolumn-info", "-w", "-fno-discard-value-names",
                         "-ffp-contract=off", "-Xclang", "-disable-llvm-passes"), "-O1",
)  # fmt: skip
"""LLVM's text with lines and the names of values, before anything is optimised."""
EXTENDED = BuildKind("extended", "gcc", ("-mfpmath=387",), "-O2")
"""The same sums, rounded less often."""
LANES = BuildKind(
    "lanes", "clang",
    ("-g", "-mllvm", "-force-vector-interleave=1", "-mllvm", "-enable-gvn-memdep=false"), "-O2",
)  # fmt: skip
"""One vector at a time, as `safelen` counts all iterations that run at once; what an iteration has
written the next one reads from memory, where a vector has not written it yet."""


def compiler(program: Program, family: str) -> str:
    """The path of a compiler for a program's language; empty where absent."""
    if family == "nvcc":
        return tool("nvcc")
    if family == "clang":
        return tool("clang++" if program.is_cxx else "clang")
    return tool("g++" if program.is_cxx else "gcc")


def compiler_absent(program: Program, family: str) -> str:
    """Why a program cannot be built by this family of compilers; empty if it can."""
    names = {"nvcc": "nvcc", "clang": "clang++" if program.is_cxx else "clang",
             "gcc": "g++" if program.is_cxx else "gcc"}  # fmt: skip
    return absent(names[family])


def compile_flags(program: Program, kind: BuildKind) -> list[str]:
    """All flags but the sources and libraries."""
    own = [f for f in known_to(kind.family, program.flags) if not f.startswith("-l")]
    if kind.optimise:
        own = [f for f in own if not f.startswith(("-O", "-march", "-mtune", "-ffast"))]
        own.append(kind.optimise)
    if program.language in ("openmp", "target") and kind.family != "nvcc":
        own.append("-fopenmp")
    if program.language == "target" and kind.family == "gcc":
        own.append("-foffload=disable")
    if kind.family == "gcc" and any("sanitize" in f for f in kind.flags):
        own.append("-fno-sanitize=alignment")
    return [*own, *kind.flags]


def quick_linker(flags: Sequence[str]) -> tuple[str, ...]:
    """What calls a linker that takes a third of the usual one's time, where it is there.

    Not beside flags that are for the linker, of which it may know others.

    >>> quick_linker(("-Wl,--gc-sections",))
    ()
    """
    own = any(f.startswith(("-Wl,", "-fuse-ld", "-flto", "-fopenmp-targets")) for f in flags)
    return () if own or not tool("ld.gold") else ("-fuse-ld=gold",)


def object_file(name: str) -> str:
    """What an own runtime is called beside a program that it is linked to.

    >>> object_file("lock_sets")
    'rheostat_lock_sets.o'
    """
    return f"rheostat_{name}.o"


def linked_objects(program: Program) -> list[str]:
    """The words that link a program's own runtimes, behind sources of whatever language.

    >>> linked_objects(Program({"a.cu": ""}, "cuda", objects=("cuda_on_host",)))
    ['-x', 'none', 'rheostat_cuda_on_host.o']
    """
    kinds = ["-x", "none"] if program.language == "cuda" and program.objects else []
    return [*kinds, *map(object_file, program.objects)]


def build_command(program: Program, kind: BuildKind, *, output: Sequence[str] = ()) -> list[str]:
    """The command that makes ``program`` in the folder of its files.

    Parameters
    ----------
    program : Program
        With a build command of its own, that one; {cc}, {cxx} and {flags} are put in.
    kind : BuildKind
        Which compiler and flags.
    output : sequence of str
        Instead of "-o program", as -fsyntax-only.

    Returns
    -------
    list of str
        To be run by a sandbox.
    """
    flags = compile_flags(program, kind)
    libraries = [f for f in program.flags if f.startswith("-l")]
    if program.language == "opencl":
        libraries.append("-lOpenCL")
    if program.build and not output:
        cc, cxx = (compiler(p, kind.family) for p in (_as(program, "x.c"), _as(program, "x.cc")))
        every = [*flags, *libraries]
        made = {"{cc}": cc, "{cxx}": cxx, "{flags}": shlex.join(every)}
        words = (every if w == "{flags}" else [_put(w, made)] for w in program.build)
        return [word for some in words for word in some]
    if program.own_flags:
        return _one_by_one(program, kind, [*flags, *libraries], output)
    if kind.optimise and not output and "-c" not in kind.flags:  # not what people run
        flags += quick_linker(flags)
    kinds = ["-x", "c++"] if kind.family != "nvcc" and program.language == "cuda" else []
    return [compiler(program, kind.family), *flags, *(output or ("-o", BINARY)), *kinds,
            *program.sources, *([] if output else linked_objects(program)), *libraries]  # fmt: skip


def objects_of(program: Program) -> list[str]:
    """What its sources become where each is compiled by itself.

    >>> objects_of(Program({"a.c": "", "b.c": "", "b.h": ""}))
    ['rheostat_0.o', 'rheostat_1.o']
    """
    return [f"rheostat_{i}.o" for i in range(len(program.sources))]


def _one_by_one(
    program: Program, kind: BuildKind, flags: Sequence[str], output: Sequence[str]
) -> list[str]:
    """Each source by the flags that are its own, then what links them."""
    objects = objects_of(program)
    made = [build_command(program.alone(source), kind, output=output or ("-c", "-o", name))
            for source, name in zip(program.sources, objects, strict=True)]  # fmt: skip
    if not output:
        linker = quick_linker(flags) if kind.optimise else ()
        made.append([compiler(program, kind.family), *linker, "-o", BINARY, *objects,
                     *linked_objects(program), *flags])  # fmt: skip
    return ["sh", "-c", " && ".join(map(shlex.join, made))]


def _as(program: Program, source: str) -> Program:
    return Program({source: ""}, program.language)


def _put(word: str, made: dict[str, str]) -> str:
    for name, text in made.items():
        word = word.replace(name, text)
    return word
