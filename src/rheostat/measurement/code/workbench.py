"""Builds kept in one folder, and runs of them in the sandbox."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rheostat.measurement.code.device_kernels.cuda_on_host import on_host
from rheostat.measurement.code.device_kernels.kernel_cache import KernelCache
from rheostat.measurement.code.kept_results import KeptResults
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed import each_input, own_runtimes
from rheostat.measurement.code.sandboxed.capture import SandboxLimits, SandboxRun
from rheostat.measurement.code.sandboxed.sandbox import Sandbox, give_away
from rheostat.measurement.code.toolchain import (
    BINARY,
    TEXT,
    BuildKind,
    build_command,
    cuda_libraries,
    llvm_libraries,
    nm,
    object_file,
    sanitizer_options,
)

BUILDING = SandboxLimits(wall_s=300.0, cpu_s=120.0, address_space_b=4 * 2**30, file_b=512 * 2**20,
                         processes=128, output_b=2**22)  # fmt: skip
"""Of a compiler: a frame of 8 GB takes 23 GB and two minutes under AddressSanitizer otherwise."""
SYSCALL = re.compile(r"\t(syscall|sysenter|int +\$0x80)\b")
SYSTEM_CALL = "(system call)"
"""Stands among the imports of a program that enters the kernel by itself."""
WITHOUT_RUNTIME = ("-Wl,--unresolved-symbols=ignore-all,-z,notext", "-o", BINARY)
"""A link that only tells what a program names; it is not run."""
WITHOUT_FLAGS = "the build command does not pass {flags} on, so that nothing would be checked"
MOST_OUTPUTS_B = 2**24
"""Of many runs together."""
SOON_BEGUN = {"LD_BIND_NOW": "1", "KMP_AFFINITY": "disabled", "OMP_TOOL": "disabled"}
"""Or each of many runs looks for functions, and LLVM's OpenMP for processors and tools."""
OWN_SHADOW_B = 0
"""Sanitizers and valgrind reserve more addresses than they use, so these are not limited."""


@dataclass(frozen=True)
class Built:
    """A program built one way: where it lies, what the compiler said, and what runs it."""

    program: Program
    kind: BuildKind
    folder: Path
    said: SandboxRun
    command: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is something to run."""
        return self.said.ok

    @property
    def binary(self) -> str:
        """What its own build command makes, or ours."""
        return self.program.run[0] if self.program.build else f"./{BINARY}"


@dataclass
class Workbench:
    """Builds and runs programs under one sandbox; a build is made once.

    Parameters
    ----------
    sandbox : Sandbox
        What confines compilers and programs.
    folder : Path
        Where builds are kept.
    reads_stderr : bool
        Whether programs print their results on standard error: it then counts as output, too.
    kept, ours : KeptResults
        What builds and runs of the original, and of this package's own programs, gave before.
    """

    sandbox: Sandbox
    folder: Path
    builds: dict[str, Built] = field(default_factory=dict)
    imported: dict[str, frozenset[str] | None] = field(default_factory=dict)
    of_libc: set[str] = field(default_factory=set)
    reads_stderr: bool = False
    kept: KeptResults = field(default_factory=KeptResults)
    ours: KeptResults = field(default_factory=KeptResults)
    kernels: KernelCache = field(init=False)

    def __post_init__(self) -> None:
        self.kernels = KernelCache(self.folder)

    @property
    def gpu(self) -> bool:
        """Whether a CUDA device can be used."""
        return os.path.exists("/dev/nvidia0") and self.sandbox.name == "bubblewrap"

    def build(self, program: Program, kind: BuildKind, output: Sequence[str] = ()) -> Built:
        """The program built this way; failed builds are kept, too.

        CUDA is built for the host by any compiler but nvcc.
        """
        key = identity(program, kind, output)
        if key not in self.builds:
            made = on_host(program) if is_on_host(program, kind) else program
            folder = self._written(made, key)
            self._link_objects(made, folder)
            command = build_command(made, kind, output=output)
            said = self._result(program, ("build", key, command), lambda: self.sandbox.run(
                command, folder, limits=BUILDING, writable=True), folder)  # fmt: skip
            built = Built(program, kind, folder, said, made.run)
            if said.ok and program.build and kind.mark and not _holds(built, kind.mark):
                built = replace(built, said=replace(said, status=1, stderr=WITHOUT_FLAGS))
            self.builds[key] = built
        return self.builds[key]

    def take(self, program: Program, kind: BuildKind, made: Built) -> None:
        """Count what another command has made as this build: its words come to the same."""
        key = identity(program, kind)
        if key not in self.builds:
            folder = self._written(program, key)
            shutil.copyfile(made.folder / made.binary, folder / BINARY)
            shutil.copymode(made.folder / made.binary, folder / BINARY)
            self.builds[key] = Built(program, kind, folder, made.said, program.run)

    def compiler_texts(self, program: Program, kind: BuildKind = TEXT) -> Iterator[Built]:
        """Each source as the compiler's own text; built once."""
        for source in program.sources:
            output = ("-S", "-emit-llvm", "-o", "-")
            yield self.build(program.alone(source), kind, output=output)

    def _link_objects(self, program: Program, folder: Path) -> None:
        """Put the own runtimes of a program beside its files."""
        for name in program.objects:
            made = self.build(*own_runtimes.runtime(name))
            with suppress(OSError):  # it was not built, which the program's build tells
                os.link(made.folder / BINARY, folder / object_file(name))

    def imports(self, built: Built) -> frozenset[str] | None:
        """Functions of libraries that a build calls, without C++'s arguments; None if unreadable.

        Among them `SYSTEM_CALL` where it has instructions that enter the kernel.  What the runtime
        of CUDA on the host calls is not the program's.
        """
        key = built.folder.name
        if key not in self.imported:
            if is_on_host(built.program, built.kind):
                built = self.build(built.program, built.kind, output=WITHOUT_RUNTIME)
            said = self.tool([*nm("-D", "-C", "--undefined-only"), built.binary], built)
            whole = [x.split(maxsplit=1)[1] for x in said.stdout.splitlines() if x.strip()]
            names = {_plain(x) for x in whole}
            self.of_libc |= {_plain(x) for x in whole if "@GLIBC_" in x}
            enters = {SYSTEM_CALL} if SYSCALL.search(self.code(built)) else set()
            self.imported[key] = frozenset(names | enters) if names else None
        return self.imported[key]

    def code(self, built: Built) -> str:
        """The instructions of a build, as objdump shows them."""
        command = ["objdump", "-d", "--no-show-raw-insn", built.binary]
        return self.tool(command, built).stdout

    def tool(self, command: Sequence[str], built: Built, stdin: str = "") -> SandboxRun:
        """What a tool of this machine says of a build."""
        what = ("tool", built.folder.name, tuple(command), stdin)
        return self._result(built.program, what, lambda: self.sandbox.run(
            command, built.folder, stdin=stdin))  # fmt: skip

    def _result(
        self, program: Program, what: object, made: Callable[[], SandboxRun],
        left: Path | None = None,
    ) -> SandboxRun:  # fmt: skip
        """What is made of a program, or was for an earlier candidate."""
        if program.is_ours:
            return self.ours.result(what, made, left)
        return self.kept.result(what, made, left) if program.is_kept else made()

    def discard(self, kept: Collection[str]) -> None:
        """Remove all builds but its own and those of programs with one of these texts."""
        for key, built in list(self.builds.items()):
            if not (built.program.is_ours or built.program.text in kept):
                shutil.rmtree(built.folder, ignore_errors=True)
                del self.builds[key]
        self.kernels.discard(kept)

    def _written(self, program: Program, key: str) -> Path:
        folder = self.folder / key
        folder.mkdir()
        give_away(folder)
        for name, text in program.files.items():
            path = folder / name
            for parent in reversed(path.relative_to(folder).parents[:-1]):
                (folder / parent).mkdir(exist_ok=True)
                give_away(folder / parent)
            path.write_text(text, encoding="utf-8")
            give_away(path)
        return folder

    def run(
        self,
        built: Built,
        given: ProgramInput,
        *,
        threads: int = 1,
        limits: SandboxLimits | None = None,
        environment: dict[str, str] | None = None,
        wrapper: Sequence[str] = (),
        kept: Path | None = None,
        anew: bool = False,
    ) -> SandboxRun:
        """Run a build on an input with so many threads; ``wrapper`` is a tool that runs it.

        What the run writes stays in the folder ``kept``.  With ``anew`` it is run, whatever an
        earlier run gave.
        """
        variables = {"OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false",
                     "OMP_WAIT_POLICY": "passive"}  # fmt: skip
        if built.kind.family != "gcc":
            own = llvm_libraries() if built.kind.family == "clang" else cuda_libraries()
            variables["LD_LIBRARY_PATH"] = own
        checks = {k: sanitizer_options(v) if k.endswith("SAN_OPTIONS") else v
                  for k, v in (environment or {}).items()}  # fmt: skip
        command = [*wrapper, *_command(built, given.called), *given.arguments]
        variables |= checks

        def made() -> SandboxRun:
            with self.kernels.of_run(built.program) as cache:
                return self.sandbox.run(command, built.folder, stdin=given.stdin, limits=limits,
                                        environment=variables, cache=kept or cache)  # fmt: skip

        what = ("run", built.folder.name, tuple(command), given.stdin, sorted(variables.items()))
        run = made() if anew else self._result(built.program, what, made, kept)
        return replace(run, stdout=run.stdout + run.stderr) if self.reads_stderr else run

    @contextmanager
    def run_folder(self, name: str) -> Iterator[Path]:
        """A folder that the sandbox's runs may write to, removed afterwards."""
        place = Path(tempfile.mkdtemp(prefix=name, dir=self.folder))
        give_away(place)
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def run_each(
        self, built: Built, every: Sequence[ProgramInput], limits: SandboxLimits, *,
        threads: int = 1, kept: Path | None = None, environment: dict[str, str] | None = None,
        most_cpu_s: float = 0.0, beside: Sequence[str] = (),
    ) -> list[str | None]:  # fmt: skip
        """Output on each of many inputs from one start of the sandbox; None where a run failed.

        What comes after a run that was stopped is None, too.  Those that are not begun within
        ``most_cpu_s``, or 8 MiB of output, are left out at the end.  Libraries ``beside`` are
        loaded, too.
        """
        if not every:  # none of them was quick enough
            return []
        asked = each_input.asked(every, most_cpu_s, self.reads_stderr)
        run = self._from_one_start(built, replace(every[0], stdin=asked), limits, beside,
                                   threads=threads, kept=kept, environment=environment)  # fmt: skip
        outputs = each_input.printed(run.stdout)
        return outputs if most_cpu_s and run.ok else outputs + [None] * (len(every) - len(outputs))

    def run_many(
        self, built: Built, every: Sequence[ProgramInput], limits: SandboxLimits, most_cpu_s: float,
        environment: dict[str, str] | None = None, *, kept: Path | None = None,
    ) -> list[str | None]:  # fmt: skip
        """The same on thousands of inputs, as many as ``most_cpu_s`` would do if each was a fork.

        They share memory instead, so that a difference is to be shown by a run of its own.
        """
        if not every:
            return []
        if built.program.language != "opencl" and not is_on_host(built.program, built.kind):
            asked = each_input.asked(every, most_cpu_s, self.reads_stderr, shares=True)
            run = self._from_one_start(built, replace(every[0], stdin=asked), limits,
                                       environment=environment, kept=kept)  # fmt: skip
            outputs = each_input.printed(run.stdout)
            counted_s = run.cpu_s + each_input.FORK_S * len(outputs)
            full = len(run.stdout) >= each_input.MOST_TOLD_B
            if run.ok and (len(outputs) == len(every) or full or counted_s > most_cpu_s / 2):
                return outputs
        return self.run_each(built, every, limits, most_cpu_s=most_cpu_s,
                             environment=environment, kept=kept)  # fmt: skip

    def _from_one_start(
        self, built: Built, given: ProgramInput, limits: SandboxLimits, beside: Sequence[str] = (),
        *, threads: int = 1, kept: Path | None = None, environment: dict[str, str] | None = None,
    ) -> SandboxRun:  # fmt: skip
        names = (each_input.LIBRARY, *beside)
        for name in names:
            made = self.build(each_input.library(name), each_input.KIND)
            with suppress(OSError):  # it is there
                os.link(made.folder / made.binary, built.folder / f"{name}.so")
        whole = replace(limits, wall_s=10 * limits.wall_s, output_b=MOST_OUTPUTS_B)
        wrapper = ("env", f"LD_PRELOAD={' '.join(f'./{name}.so' for name in names)}")
        return self.run(built, given, wrapper=wrapper, limits=whole, threads=threads, kept=kept,
                        environment={**(environment or {}), **SOON_BEGUN})  # fmt: skip


def _command(built: Built, called: str) -> tuple[str, ...]:
    """What runs a build, under another name where it is a program of its folder."""
    first, *rest = built.command
    program, other = built.folder / first, built.folder / called
    if not called or not first.startswith("./") or not program.is_file():
        return built.command
    with suppress(OSError):  # the folder may hold something of that name
        os.link(program, other, follow_symlinks=False)
    same = other.is_file() and other.samefile(program)
    return (f"./{called}", *rest) if same else built.command


def _holds(built: Built, mark: str) -> bool:
    """Whether a name stands in what was built; the name of no file, or of the host's, is none."""
    path = Path(os.path.realpath(built.folder / built.binary))
    inside = path.is_relative_to(os.path.realpath(built.folder)) and path.is_file()
    return inside and mark.encode() in path.read_bytes()


def _plain(name: str) -> str:
    """A function's name without version, template and arguments.

    >>> _plain("std::basic_ifstream<char, std::char_traits<char> >::close()@GLIBCXX_3.4")
    'std::basic_ifstream::close'
    >>> _plain("fopen@GLIBC_2.2.5")
    'fopen'
    """
    name = name.partition("@")[0].partition("(")[0]
    while name != (name := re.sub(r"<[^<>]*>", "", name)):
        pass
    return name.strip()


def is_on_host(program: Program, kind: BuildKind) -> bool:
    """Whether this is CUDA to be run by a CPU."""
    return program.language == "cuda" and kind.family != "nvcc"


def identity(program: Program, kind: BuildKind, output: Sequence[str] = ()) -> str:
    """A name for a build, the same for the same text, flags and compiler."""
    said = repr((sorted(program.files.items()), program.language, program.build, program.flags,
                 kind.name, kind.family, kind.flags, tuple(output), program.objects,
                 sorted(program.own_flags.items())))  # fmt: skip
    return hashlib.sha256(said.encode()).hexdigest()[:20]


def roomy(limits: SandboxLimits, factor: float = 10.0) -> SandboxLimits:
    """The limits for a run under a tool that slows it by this factor."""
    return replace(limits, wall_s=limits.wall_s * factor, cpu_s=limits.cpu_s * factor,
                   address_space_b=OWN_SHADOW_B)  # fmt: skip
