"""Variables of a CUDA kernel by what becomes of them between the barriers of a block.

Notation: a *phase* is what threads do between two barriers; a *level* is a list of statements of
which one is or holds a barrier; *uniform* is what is the same in all threads of a block.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import ASSIGNMENTS, LOOPS, Node, identifiers
from rheostat.tradeoff.variants.cuda_kernels import CudaKernel, UnsupportedKernelError, changes

BARRIER = re.compile(r"\b__syncthreads\s*\(\s*\)")
PURE = re.compile(
    r"(?:__)?(?:min|max|abs|pow|sqrt|exp|log|log2|log10|floor|ceil)f?"
    r"|static_cast\s*<[\w\s:]+>|unsigned|int|long|size_t|float|double"
)
"""Functions, and casts that are written as such, that give the same for the same."""
EXCHANGED = re.compile(r"\blanes_\d+\[")
"""What threads of a warp give each other, as `cuda_lanes` writes it."""
LEAVES_LOOP = ("break_statement", "continue_statement")


class BlockVariables:
    """What the statements and variables of a kernel are to a block of threads.

    Parameters
    ----------
    kernel : CudaKernel
        With barriers.
    """

    def __init__(self, kernel: CudaKernel) -> None:
        self.kernel = kernel
        self.text = kernel.source.text_of

    # ---- what is the same in all threads of a block ----

    @cached_property
    def declared(self) -> dict[str, list[Node]]:
        """Variables of the levels at which barriers stand, with their declarations."""
        declared: dict[str, list[Node]] = {}
        for node in self._levels(self.kernel.statements):
            if node.type == "declaration" and not self.is_shared(node):
                for name in self.names(node):
                    declared.setdefault(name, []).append(node)
        for name, nodes in declared.items():  # beside barriers a name stands for one at a time
            for node in nodes:
                if any(_hides(node, d) for d in nodes if d != node):
                    raise UnsupportedKernelError(node, f"{name} hides another {name}")
        return declared

    def _levels(self, statements: list[Node]) -> Iterator[Node]:
        """Statements that stand beside or around a barrier, and what heads a loop around one."""
        for node in statements:
            yield node
            if self.holds_barrier(node):
                first = node.child_by_field_name("initializer")
                if first is not None and first.type == "declaration":
                    yield first
                for part in self.branches(node):
                    yield from self._levels(part)

    @cached_property
    def uniform(self) -> set[str]:
        """Variables with one value per block, each changed only beside or around barriers."""
        at_level = {n.start_byte for n in self._tops()}
        names = {n for n, nodes in self.declared.items() if all(self._type(x, n) for x in nodes)}
        outside = {n for n, node in self._changes() if not self._stands_at(node, at_level)}
        names -= outside
        values = [(n, v) for n, v in self._values() if n in names and v.type != "declaration"]
        while bad := {n for n, v in values if n in names and not self.is_uniform(v, names)}:
            names -= bad
        return names

    def _tops(self) -> Iterator[Node]:
        for node in self._levels(self.kernel.statements):
            yield node
            if self.holds_barrier(node):
                yield from (p for n in ("initializer", "update")
                            if (p := node.child_by_field_name(n)) is not None)  # fmt: skip

    def _stands_at(self, node: Node, places: set[int]) -> bool:
        return node.type in ASSIGNMENTS and node.start_byte in places

    def _values(self) -> Iterator[tuple[str, Node]]:
        """Names with what they are given, first or later."""
        for name, nodes in self.declared.items():
            for node in nodes:
                for d in node.children_by_field_name("declarator"):
                    value = d.child_by_field_name("value")
                    if self.text(declared_name(d)) == name:
                        yield name, value if value is not None else node
        yield from self._changes()

    def _changes(self) -> Iterator[tuple[str, Node]]:
        """Names that are assigned, without what an inner scope calls the same."""
        for name, node in changes(self.kernel.source, self.kernel.body):
            if self.is_outer(node, name):
                yield name, node

    def is_outer(self, node: Node, name: str) -> bool:
        """Whether a name means a variable of the levels here, or a parameter."""
        below, above = node, node.parent
        while above is not None and above.start_byte >= self.kernel.body.start_byte:
            beside = []
            if above.type == "for_statement":
                beside = [above.child_by_field_name("initializer")]
            elif above.type == "compound_statement":
                beside = [c for c in above.named_children if c.start_byte <= below.start_byte]
            for one in reversed(beside):
                if one is not None and one.type == "declaration" and name in self.names(one):
                    return one in self.declared.get(name, []) or name not in self.declared
            below, above = above, above.parent
        return True

    def is_uniform(self, value: Node, names: set[str]) -> bool:
        """Whether an expression has one value per block where these variables have."""
        return "threadIdx" not in self.text(value) and self._depends_on(value, names)

    def _depends_on(self, value: Node, names: set[str]) -> bool:
        """Whether a value hangs on these variables, parameters and indices alone."""
        if value.type == "declaration" or any(self._reads_memory(n) for n in walk(value)):
            return False  # without a first value, what a thread finds is its own
        used = identifiers(self.kernel.source, value)
        return all(x in names or x not in self.declared for x in used)

    def _reads_memory(self, node: Node) -> bool:
        if node.type == "call_expression":
            return not PURE.fullmatch(self.text(node.child_by_field_name("function")))
        return node.type in ("subscript_expression", "pointer_expression")

    # ---- what a thread keeps from one phase to the next ----

    @cached_property
    def recomputed(self) -> dict[str, str]:
        """Declarations of variables that hang on the thread's index alone and never change."""
        changed = {n for n, _ in self._changes()}
        steady = {n for n in self.uniform if n not in changed}
        made: dict[str, str] = {}
        for name, value in self._values():
            nodes = self.declared.get(name, [])
            if name in changed | self.uniform or len(nodes) != 1 or self._heads_loop(nodes[0]):
                continue
            node = nodes[0]
            kind = self._type(node, name)
            if kind and self._depends_on(value, steady | set(made)):
                as_declared = f"{kind}{name}" if kind.endswith("*") else f"const {kind} {name}"
                made[name] = f"{as_declared} = {self.text(value)};"
        return made

    def is_steady(self, value: Node) -> bool:
        """Whether an expression hangs on the thread's index and on what never changes."""
        changed = {n for n, _ in self._changes()}
        used = set(identifiers(self.kernel.source, value))
        names = {*self.recomputed, *(n for n in self.uniform if n not in changed)}
        return not used & changed and self._depends_on(value, names)

    def _type(self, node: Node, name: str) -> str:
        """Type of a number or pointer that a declaration names, empty for anything else."""
        every = node.children_by_field_name("declarator")
        kind = self.kind(node)
        for declarator in map(_initialised, every):
            stars, plain = "", declarator
            while plain.type == "pointer_declarator":
                stars, plain = stars + "*", plain.child_by_field_name("declarator")
            if plain.type == "identifier" and self.text(plain) == name:
                return f"{kind} {stars}" if stars else kind.removeprefix("const ")
        return ""

    @cached_property
    def phases(self) -> Counter[str]:
        """In how many phases a name stands, or what is recomputed there hangs on it."""
        count = Counter[str]()
        for run in self._runs(self.kernel.statements):
            names = {x for s in run for x in identifiers(self.kernel.source, s)}
            for name, declaration in reversed(self.recomputed.items()):
                names |= set(re.findall(r"\w+", declaration)) if name in names else set()
            count.update(names)
        return count

    @cached_property
    def kept(self) -> dict[str, tuple[str, str]]:
        """Variables that a thread keeps from phase to phase: their type, and sizes of an array."""
        kept = {}
        for name, nodes in self.declared.items():
            if name in self.uniform or name in self.recomputed:
                continue
            if self.phases[name] > 1:
                kinds = {self._kind_of(n, name) for n in nodes}
                if len(kinds) > 1:
                    raise UnsupportedKernelError(nodes[1], f"{name} has two types")
                kept[name] = kinds.pop()
        return kept

    def _heads_loop(self, node: Node) -> bool:
        return node.parent is not None and node.parent.type == "for_statement"

    def _kind_of(self, node: Node, name: str) -> tuple[str, str]:
        kind, sizes = self._type(node, name), ""
        if not kind:
            array = next((d for d in node.children_by_field_name("declarator")
                          if d.type == "array_declarator" and self.text(declared_name(d)) == name),
                         None)  # fmt: skip
            sizes = "" if array is None else self.text(array).removeprefix(name).strip()
            kind = self.kind(node).removeprefix("const ") if sizes else ""
        if kind and "auto" not in kind:
            return kind, sizes
        raise UnsupportedKernelError(
            node, f"{name} is kept over a barrier and is no number, pointer or array without values"
        )

    def kind(self, declaration: Node) -> str:
        """The type that all of a declaration share, qualifiers included."""
        first = declaration.child_by_field_name("declarator")
        return self.kernel.source.bytes[declaration.start_byte : first.start_byte].decode().strip()

    def names(self, declaration: Node) -> list[str]:
        """What a declaration declares."""
        return [
            self.text(declared_name(d)) for d in declaration.children_by_field_name("declarator")
        ]

    def runs(self) -> Iterator[list[Node]]:
        """Statements of each phase, in their order."""
        return self._runs(self.kernel.statements)

    def _runs(self, statements: list[Node]) -> Iterator[list[Node]]:
        run: list[Node] = []
        for node in statements:
            if self.ends_phase(node):
                yield run
                run = []
                first, step = self.own_head(node)
                heads = (first, self.agreed_condition(node))
                yield from ([head] for head in heads if head is not None)
                for part in self.branches(node) if self.holds_barrier(node) else []:
                    yield from self._runs(part)
                if step is not None:
                    yield [step]
            elif not self.is_shared(node) and not self.is_block_wide(node):
                run.append(node)
        yield run

    def branches(self, node: Node) -> list[list[Node]]:
        """Statements of a loop's body or of both branches."""
        if node.type == "compound_statement":
            return [self._list(node)]
        names = ("body",) if node.type in LOOPS else ("consequence", "alternative")
        parts = [p for n in names if (p := node.child_by_field_name(n)) is not None]
        return [self._list(p.named_children[-1] if p.type == "else_clause" else p) for p in parts]

    def _list(self, node: Node) -> list[Node]:
        if node.type != "compound_statement":
            return [node]
        return [s for s in node.named_children if s.type != "comment"]

    def ends_phase(self, node: Node) -> bool:
        """Whether all threads must have come here before any goes on."""
        return (
            self.is_barrier(node)
            or self.holds_barrier(node)
            or (node.type != "declaration" and self.is_block_wide(node))
            or self.agreed_condition(node) is not None
        )

    def is_shared(self, node: Node) -> bool:
        """Whether a statement declares shared memory."""
        return node.type == "declaration" and "__shared__" in self.text(node)

    def is_barrier(self, node: Node) -> bool:
        """Whether a statement is a barrier."""
        return bool(BARRIER.fullmatch(self.text(node).rstrip(";").strip()))

    def holds_barrier(self, node: Node) -> bool:
        """Whether a barrier stands within a statement."""
        return not self.is_barrier(node) and bool(BARRIER.search(self.text(node)))

    def is_block_wide(self, node: Node) -> bool:
        """Whether a statement sets only what is uniform, and does so once per block."""
        if node.type == "declaration":
            names = set(self.names(node))
        elif node.type == "expression_statement" and node.named_children[0].type in ASSIGNMENTS:
            made = [n for n, x in changes(self.kernel.source, node) if x == node.named_children[0]]
            names = set(made)
        else:
            return self._all_leave(node)
        return bool(names) and names <= self.uniform

    def _all_leave(self, node: Node) -> bool:
        """Whether a statement lets all threads of a block leave a loop, or none."""
        condition = node.child_by_field_name("condition")
        return self.leaves(node) and self.is_uniform(condition, self.uniform)

    def leaves(self, node: Node) -> bool:
        """Whether a statement leaves a loop, or a turn of it, on a condition, and does no more."""
        if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
            return False
        then = [s.type for s in self._list(node.child_by_field_name("consequence"))]
        return len(then) == 1 and then[0] in LEAVES_LOOP

    def agreed_condition(self, node: Node) -> Node | None:
        """A condition around a barrier on which threads may agree, as CUDA wants them to.

        It hangs on what each has read, or on the thread's index, as `i < n` of blocks that fit.
        Where threads of a warp exchange, others of the block may part from them.
        """
        condition = node.child_by_field_name("condition")
        if condition is None or not (self.holds_barrier(node) or self.leaves(node)):
            return None
        declares = any(n.type == "declaration" for n in walk(condition))
        known = self.is_uniform(condition, self.uniform)
        parts = self._exchanges and self._is_own(condition, self._own)
        return None if declares or known or parts else condition

    def own_head(self, node: Node) -> tuple[Node | None, Node | None]:
        """First value and step of a loop around a barrier, where each thread has its own."""
        if node.type != "for_statement" or not self.holds_barrier(node):
            return None, None
        first, step = (node.child_by_field_name(n) for n in ("initializer", "update"))
        if all(part is None or self._is_alike(part) for part in (first, step)):
            return None, None
        changed = [n for part in (first, step) if part is not None
                   for n, _ in changes(self.kernel.source, part)]  # fmt: skip
        if self._exchanges or self.uniform & set(changed):
            raise UnsupportedKernelError(node, "a loop around a barrier, or an exchange of a warp, "
                                         "that not all threads count alike")  # fmt: skip
        return first, step

    @cached_property
    def _exchanges(self) -> bool:
        return bool(EXCHANGED.search(self.kernel.text))

    def _is_alike(self, part: Node) -> bool:
        if part.type == "declaration":
            return set(self.names(part)) <= self.uniform
        return self.is_uniform(part, self.uniform)

    @cached_property
    def _own(self) -> set[str]:
        """Variables whose values hang on the thread's index."""
        names: set[str] = set()
        values = [(n, v) for n, v in self._values() if v.type != "declaration"]
        while more := {n for n, v in values if n not in names and self._is_own(v, names)}:
            names |= more
        return names

    def _is_own(self, value: Node, names: set[str]) -> bool:
        used = set(identifiers(self.kernel.source, value))
        return "threadIdx" in used or bool(used & names)


def _hides(node: Node, outer: Node) -> bool:
    """Whether a declaration stands within what another's name reaches, behind it."""
    scope, above = outer.parent, node.parent
    while above is not None and node.start_byte > outer.start_byte:
        if above == scope:
            return True
        above = above.parent
    return False


def _initialised(declarator: Node) -> Node:
    """What is declared, without its first value."""
    if declarator.type == "init_declarator":
        return declarator.child_by_field_name("declarator")
    return declarator


def declared_name(declarator: Node) -> Node:
    """The name that is declared."""
    return next((x for x in walk(declarator) if x.type == "identifier"), declarator)
