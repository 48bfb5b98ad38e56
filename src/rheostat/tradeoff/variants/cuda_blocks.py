"""CUDA kernels whose threads share memory and wait for each other, as loops over blocks.

A *phase* is what the threads of a block do between two barriers: one loop over them.  A variable
that a thread keeps from one phase to the next has a place for each thread, which a phase calls as
the kernel does, so that its lines stay; or it is *recomputed* where it hangs on the thread's index
alone.  One that is the same in all threads of a block, *uniform*, is computed once per block; so is
the condition of a loop or branch around a barrier, which CUDA wants uniform, too.  A thread that
ends before a barrier takes part in no later phase: the others do not wait for it.

References
----------
Stratton, J. A., Stone, S. S., Hwu, W. W.: MCUDA: an efficient implementation of CUDA kernels for
multi-core CPUs.  LCPC 2008, which splits threads' loops at barriers in this way.
"""

from __future__ import annotations

import re
import textwrap
from functools import cached_property

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import LOOPS, Node
from rheostat.tradeoff.variants.cuda_kernels import (
    DYNAMIC_SHARED,
    INDENT,
    WITHIN_WARP,
    CudaKernel,
    UnsupportedKernelError,
    continued,
    dedented,
    inner_text,
    nested,
    pragma_line,
)
from rheostat.tradeoff.variants.cuda_variables import BARRIER, BlockVariables, declared_name

AROUND = (*LOOPS, "if_statement", "compound_statement")


def block_loop(kernel: CudaKernel, pragma: str) -> list[str]:
    """Lines of a kernel as a loop over its blocks.

    Parameters
    ----------
    kernel : CudaKernel
        Any.
    pragma : str
        Of the loop over blocks, as ``omp parallel for``; empty for none.

    Returns
    -------
    list of str
        Lines of the function's body.

    Raises
    ------
    UnsupportedKernelError
        Where threads of a warp talk to each other, or a barrier stands where not all of a block
        may come.
    """
    axes = kernel.block_axes[::-1]
    index = ", ".join(f"block_{a}" if a in axes else "0" for a in "xyz")
    heads = [f"for (unsigned block_{a} = 0; block_{a} < gridDim.{a}; block_{a}++)" for a in axes]
    named = [f"const dim3 blockIdx({index});"] * bool(axes or "blockIdx" in kernel.text)
    lines = [*named, *Phases(kernel).lines]
    if not axes:
        return lines
    return [*pragma_line(pragma, len(axes)), *nested(heads, "\n".join(lines))]


class Phases:
    """The phases of a kernel.

    Parameters
    ----------
    kernel : CudaKernel
        With or without barriers.
    """

    def __init__(self, kernel: CudaKernel) -> None:
        self.kernel = kernel
        self.text = kernel.source.text_of
        self.variables = BlockVariables(kernel)
        warp = next((n for n in walk(kernel.body) if n.type == "identifier"
                     and WITHIN_WARP.fullmatch(self.text(n))), None)  # fmt: skip
        if warp is not None:
            raise UnsupportedKernelError(warp, f"{self.text(warp)} is of a warp, which a CPU lacks")

    @cached_property
    def lines(self) -> list[str]:
        """Of the body of the loop over blocks."""
        if not BARRIER.search(self.kernel.text):
            shared = [s for s in self.kernel.statements if self.variables.is_shared(s)]
            rest = self._without(shared)
            return [*map(self._shared, shared), *self._threads(continued(self.kernel, rest))]
        if changed := self.kernel.changed_parameters:
            raise UnsupportedKernelError(
                self.kernel.node, f"{changed[0]} is a parameter that threads change beside barriers"
            )
        kept = [x for name, kind in self.variables.kept.items() for x in self._places(name, *kind)]
        lines = self._of(self.kernel.statements)
        gone = [f"std::vector<char> {self._gone}({self._threads_of_block});"] * self._ends_early
        return [*kept, *gone, *lines]

    @cached_property
    def _gone(self) -> str:
        """Which threads of the block have ended."""
        return self._new_name("gone")

    def _new_name(self, name: str) -> str:
        """A name that the kernel has not."""
        while re.search(rf"\b{name}\b", f"{self.kernel.parameters} {self.kernel.text}"):
            name += "_"
        return name

    def _places(self, name: str, kind: str, sizes: str) -> list[str]:
        """Memory for what each thread of a block keeps, zero at first."""
        of = self._new_name(f"{name}_of")
        made, lines = "std::deque<bool>" if kind == "bool" else f"std::vector<{kind}>", []
        if sizes:  # no vector holds arrays, nor `new` here: its check for room is never true
            lines = [f"struct {of}_thread {{ {kind} own{sizes}; }};"]
            made = f"std::vector<{of}_thread>"
        return [*lines, f"{made} {of}({self._threads_of_block});"]

    @cached_property
    def _ends_early(self) -> bool:
        """Whether a thread may end before a barrier, which is to be kept in mind."""
        runs = list(self.variables.runs())
        return not self._ends and any(self._returns(run) for run in runs[:-1])

    @cached_property
    def _ends(self) -> list[str]:
        """Lines by which threads end before the first barrier, if these say the same behind it.

        They do where they hang on the thread's index and on what never changes.
        """
        v, (first, *later) = self.variables, list(self.variables.runs())
        ending = [s for s in first if self._returns([s])]
        if any(self._returns(run) for run in later[:-1]) or not all(map(self._is_steady, ending)):
            return []
        for name in v.recomputed:
            v.phases[name] += any(re.search(rf"\b{name}\b", self.text(s)) for s in ending)
        return [re.sub(r"\breturn\s*;", "continue;", self.text(s)) for s in ending]

    def _is_steady(self, node: Node) -> bool:
        then = node.child_by_field_name("consequence")
        return (
            node.type == "if_statement" and node.child_by_field_name("alternative") is None
            and re.fullmatch(r"\{?\s*return\s*;\s*\}?", self.text(then)) is not None
            and self.variables.is_steady(node.child_by_field_name("condition"))
        )  # fmt: skip

    def _returns(self, run: list[Node]) -> list[Node]:
        return [n for s in run for n in walk(s) if n.type == "return_statement"]

    @property
    def _threads_of_block(self) -> str:
        return " * ".join(f"blockDim.{a}" for a in self.kernel.thread_axes)

    def _of(self, statements: list[Node], *, last: bool = True) -> list[str]:
        lines: list[str] = []
        run: list[Node] = []
        for node in statements:
            if self.variables.is_shared(node):
                lines.append(self._shared(node))
            elif self.variables.ends_phase(node):
                lines += self._phase(run, last=False)
                run = []
                lines += self._wide(node)
            else:
                lines += self._uniform(node)  # what stands before in the phase cannot name it
                run += [] if self.variables.is_block_wide(node) else [node]
        return [*lines, *self._phase(run, last=last)]

    def _uniform(self, node: Node) -> list[str]:
        """Of a declaration, what is the same in all threads of a block."""
        if node.type != "declaration":
            return []
        every = node.children_by_field_name("declarator")
        uniform = [self.text(d) for d in every
                   if self.text(declared_name(d)) in self.variables.uniform]  # fmt: skip
        return [f"{self.variables.kind(node)} {', '.join(uniform)};"] if uniform else []

    def _wide(self, node: Node) -> list[str]:
        """What happens once per block."""
        if self.variables.is_barrier(node):
            return []
        if self.variables.is_block_wide(node):
            return [self.text(node)]
        if node.type not in AROUND:
            raise UnsupportedKernelError(node, "a barrier within this statement")
        first, step = self.variables.own_head(node)
        if node.type == "do_statement" or first is not None or step is not None:
            return self._turns(node, first, step)
        head, asked = self._head(node), self._asked(node)
        if self.variables.leaves(node):
            made = [[self.text(s) for s in p] for p in self.variables.branches(node)]
        else:
            made = [self._of(p, last=False) for p in self.variables.branches(node)]
        if asked and node.type in LOOPS:
            made[0] = [*asked, f"if ({self._all} != 1) break;", *made[0]]
        lines = [f"{head}{{", *self._indented(made[0]), "}"]
        if len(made) > 1:
            lines[-1] += " else {"
            lines += [*self._indented(made[1]), "}"]
        if asked and node.type not in LOOPS:  # a scope of its own for what the threads answer
            lines = ["{", *self._indented([*asked, *lines]), "}"]
        return lines

    def _turns(self, node: Node, first: Node | None, step: Node | None) -> list[str]:
        """A loop that each thread begins and steps for itself, or asks behind its body."""
        if cut := next((n for n in walk(node) if n.type == "continue_statement"
                        and self._loop_of(n) == node), None):  # fmt: skip
            raise UnsupportedKernelError(cut, "a turn is left, of a loop around a barrier that each"
                                         " thread counts or that ends with a while")  # fmt: skip
        condition, (body,) = node.child_by_field_name("condition"), self.variables.branches(node)
        asked, ends = self._asked(node), []
        if condition is not None:
            ends = [*asked, f"if ({self._all} != 1) break;"] if asked else [
                f"if (!({self.text(condition)})) break;"]  # fmt: skip
        self._check_alike(node, condition, asked)
        parts = self._of(body, last=False)
        begun = [*self._uniform(first), *self._phase([first], last=False)] if first else []
        if node.type == "do_statement":
            parts += ends
        else:
            parts = [*ends, *parts, *(self._phase([step], last=False) if step else [])]
        return ["{", *self._indented([*begun, "for (;;) {", *self._indented(parts), "}"]), "}"]

    def _loop_of(self, node: Node) -> Node:
        above = node.parent
        while above.type not in LOOPS:
            above = above.parent
        return above

    def _check_alike(self, node: Node, condition: Node | None, asked: list[str]) -> None:
        uniform = condition is None or self.variables.is_uniform(condition, self.variables.uniform)
        if not (asked or uniform):
            raise UnsupportedKernelError(node, "a barrier that not all threads of a block "
                                         "may reach, as far as the text tells")  # fmt: skip

    @cached_property
    def _all(self) -> str:
        """What all threads of the block answer, below zero before any has."""
        return self._new_name("all")

    def _asked(self, node: Node) -> list[str]:
        """Each thread is asked for a condition, which is the same for all or ends the program."""
        condition = self.variables.agreed_condition(node)
        if condition is None:
            return []
        text = self.text(condition)
        again = self._again([*self._ends, text])
        body = [*self._own_places([condition]), *again, *self._ends]
        body += [f"if ({self._gone}[{self._place}]) continue;"] * self._ends_early
        body += [f"{self._all} = same_for_all({self._all}, {text});"]
        return [f"int {self._all} = -1;", *self._threads("\n".join(body))]

    def _head(self, node: Node) -> str:
        """Loop or branch up to its body, which all threads of the block take alike."""
        if node.type == "compound_statement":
            return ""
        body = node.child_by_field_name("body") or node.child_by_field_name("consequence")
        parts = [c for c in node.named_children if c.end_byte <= body.start_byte]
        asked = self.variables.agreed_condition(node)
        for part in parts:
            if (
                part.type != "declaration"
                and part != asked
                and not self.variables.is_uniform(part, self.variables.uniform)
            ):
                raise UnsupportedKernelError(node, "a barrier that not all threads of a block "
                                             "may reach, as far as the text tells")  # fmt: skip
        start, end = node.start_byte, body.start_byte
        data = self.kernel.source.bytes
        if asked is None:
            return data[start:end].decode()
        if node.type == "for_statement":
            return (data[start : asked.start_byte] + data[asked.end_byte : end]).decode()
        return "for (;;) " if node.type in LOOPS else f"if ({self._all} == 1) "

    def _phase(self, run: list[Node], *, last: bool) -> list[str]:
        if not run:
            return []
        for node in (n for s in run for n in walk(s)):
            if node.type in ("break_statement", "continue_statement") and not self._own(node, run):
                raise UnsupportedKernelError(node, "a thread leaves a loop around a barrier")
        parts = [x for s in run if (x := dedented(self._text_of_phase(s)))]
        ends = [] if run[0] in next(self.variables.runs()) else self._ends
        head = [*self._own_places(run), *self._again([*ends, *parts]), *ends]
        body = self._without_ends("\n".join(parts), run, last=last)
        return self._threads("\n".join([*head, body])) if parts else []

    def _without_ends(self, body: str, run: list[Node], *, last: bool) -> str:
        """The body of a phase in which no thread that has ended takes part."""
        returns = self._returns(run)
        inner = any(self._own(n, run) for n in returns)
        leave = "return;" if inner else "continue;"
        mark = "" if last or self._ends else f"{self._gone}[{self._place}] = 1; "
        ended = f"{{ {mark}{leave} }}" if mark else leave
        body = re.sub(r"\breturn\s*;", ended, body)
        if inner:
            body = f"[&] {{\n{textwrap.indent(body, INDENT)}\n}}();"
        skip = f"if ({self._gone}[{self._place}]) continue;\n" * self._ends_early
        return skip + body

    def _again(self, parts: list[str]) -> list[str]:
        """Declarations of what is recomputed in a phase and in others."""
        text = "\n".join(parts)
        lines: list[str] = []
        for name, declaration in reversed(self.variables.recomputed.items()):
            named = re.search(rf"\b{re.escape(name)}\b", text)
            if self.variables.phases[name] > 1 and named:
                lines.insert(0, declaration)
                text += declaration
        return lines

    def _own_places(self, run: list[Node]) -> list[str]:
        """What a thread keeps and a phase names, by the name that it has in the kernel."""
        v = self.variables
        named = {self.text(n) for s in run for n in walk(s) if n.type == "identifier"
                 and self.text(n) in v.kept and v.is_outer(n, self.text(n))}  # fmt: skip
        return [f"auto &{name} = {self._new_name(f'{name}_of')}[{self._place}]"
                f"{'.own' * bool(sizes)};"
                for name, (_, sizes) in v.kept.items() if name in named]  # fmt: skip

    def _own(self, node: Node, run: list[Node]) -> bool:
        """Whether the loop that is left lies within the phase."""
        above = node.parent
        while above is not None and not any(above == s.parent for s in run):
            if above.type in (*LOOPS, "switch_statement"):
                return True
            above = above.parent
        return False

    def _text_of_phase(self, statement: Node) -> str:
        """A statement, in which what is declared elsewhere is assigned."""
        if statement.type == "declaration" and self._elsewhere & set(
            self.variables.names(statement)
        ):
            return self._assignments(statement)
        return f"{self.text(statement)}{';' * statement.type.endswith('_expression')}"

    @cached_property
    def _elsewhere(self) -> set[str]:
        """Variables that are not declared where the kernel declares them."""
        v = self.variables
        return {*v.kept, *v.uniform, *(n for n in v.recomputed if v.phases[n] > 1)}

    def _assignments(self, declaration: Node) -> str:
        """A declaration of what is kept as assignments; others of it stay declared."""
        kind = self.variables.kind(declaration)
        lines: list[str] = []
        for d in declaration.children_by_field_name("declarator"):
            name = self.text(declared_name(d))
            value = d.child_by_field_name("value")
            if name in self.variables.kept:
                lines += [] if value is None else [f"{name} = {self.text(value)};"]
            elif name not in self._elsewhere:
                lines.append(f"{kind} {self.text(d)};")
        return "\n".join(lines)

    @property
    def _place(self) -> str:
        """Number of a thread in its block."""
        place, before = "thread_x", "blockDim.x"
        for axis in self.kernel.thread_axes[1:]:
            place += f" + {before} * thread_{axis}"
            before += f" * blockDim.{axis}"
        return place

    def _threads(self, body: str) -> list[str]:
        axes = self.kernel.thread_axes[::-1]
        index = ", ".join(f"thread_{a}" if a in axes else "0" for a in "xyz")
        heads = [f"for (unsigned thread_{a} = 0; thread_{a} < blockDim.{a}; thread_{a}++)"
                 for a in axes]  # fmt: skip
        named = [f"const dim3 threadIdx({index});"] * bool(re.search(r"\bthreadIdx\b", body))
        return nested(heads, "\n".join([*named, body]))

    def _without(self, shared: list[Node]) -> str:
        text, start = self.kernel.source.bytes, self.kernel.body.start_byte
        parts, last = [], start
        for s in shared:
            parts.append(text[last : s.start_byte])
            last = s.end_byte
        return inner_text(b"".join([*parts, text[last : self.kernel.body.end_byte]]).decode())

    def _shared(self, node: Node) -> str:
        """Shared memory as variables of the loop over blocks."""
        text = self.text(node)
        if match := DYNAMIC_SHARED.search(text):
            kind, name = match[1], match[2]
            return (f"std::vector<{kind}> {name}_memory(shared_bytes / sizeof({kind}));\n"
                    f"{kind} *{name} = {name}_memory.data();")  # fmt: skip
        return re.sub(r"\b(?:__shared__|static)\b\s*", "", text)  # static there is of the block

    def _indented(self, lines: list[str]) -> list[str]:
        return [textwrap.indent(x, INDENT) for x in lines]
