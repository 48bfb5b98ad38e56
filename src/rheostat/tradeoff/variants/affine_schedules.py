"""Nests in an order that a scheduler of integer sets finds: shared, in tiles, in short steps.

Every element is computed from the same values in the same order, so that nothing is rounded
otherwise.  The library looks for loops whose iterations need nothing of each other, takes apart
what hinders them, and says which loops may be exchanged; what is tiled and which loop runs
innermost is decided here, by the steps in which memory is walked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rheostat.errors import MissingExtra
from rheostat.tradeoff.variants.accesses import READ
from rheostat.tradeoff.variants.affine_loops import (
    AffineRegion,
    Isl,
    NotAffineError,
    moves_far,
    regions,
)
from rheostat.tradeoff.variants.affine_scalars import in_elements
from rheostat.tradeoff.variants.affine_text import SHARED, UNEVEN, WIDE, AffineText
from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.loop_blocks import BLOCK
from rheostat.tradeoff.variants.scalar_sums import accumulated
from rheostat.tradeoff.variants.unroll_and_jam import jammed
from rheostat.tradeoff.variants.variant import Steps, Variant

Tree = Any  # islpy.ScheduleNode
TILE = 32
MOST_OPERATIONS = 3_000_000
"""Of the library on one region, some seconds; beyond it gives up."""


@dataclass(frozen=True)
class NestSchedule:
    """What is asked for.

    Parameters
    ----------
    words : str
        As a variant says it.
    outer : bool
        Whether the outermost loop has to be one to share, else tiles are shared along diagonals.
    apart : bool
        Whether loops are taken apart as far as they can be.
    tiled : bool
        Whether loops that may be exchanged run in tiles.
    """

    words: str
    outer: bool = True
    apart: bool = False
    tiled: bool = False


SCHEDULES = (
    NestSchedule("nests shared in tiles", outer=False, tiled=True),
    NestSchedule("nests shared"),
    NestSchedule("nests taken apart, shared in tiles", apart=True, tiled=True),
    NestSchedule("nests taken apart, shared", apart=True),
)
"""In the order in which they are tried."""


def scheduler_absent() -> str:
    """Why no nest can be scheduled anew; empty if it can."""
    return (
        "" if find_spec("islpy") else f"nests not scheduled anew: {MissingExtra('islpy', 'code')}"
    )


def rescheduled(text: str, schedule: NestSchedule, *, headers: str = "") -> str | None:
    """The heaviest nests of a file in another order, with pragmas.

    Parameters
    ----------
    text : str
        A serial C file.
    schedule : NestSchedule
        What is asked for.
    headers : str
        Text of the program's other files, whose macros it may use.

    Returns
    -------
    str or None
        None where nothing can be shared that way, or the library is not installed.
    """
    if scheduler_absent():
        return None
    isl = import_module("islpy")
    source = CSource(in_elements(text, isl, headers=headers), headers=headers)
    every = regions(source)
    deepest = max((r.depth for r in every), default=0)
    edits = []
    for region in (r for r in every if r.depth == deepest > 1):
        try:
            made = _Rescheduled(isl, region, schedule).text()
        except (NotAffineError, isl.Error):
            continue
        if made:
            begin, end = region.nodes[0].start_byte, region.nodes[-1].end_byte
            edits.append((int(begin), int(end), made))
    if not edits:
        return None
    whole = source.edited(edits)
    whole = accumulated(whole, headers=headers) or whole
    return jammed(whole, headers=headers) or whole


def scheduled(text: str, flags: tuple[str, ...], *, headers: str = "") -> Steps:
    """A chain of variants, one for each of `SCHEDULES` that shares something.

    Parameters
    ----------
    text : str
        A serial C file.
    flags : tuple of str
        Of the compiler.
    headers : str
        Text of the program's other files, whose macros it may use.

    Yields
    ------
    Variant
        Each in turn, whatever comes of it.
    """
    for schedule in SCHEDULES:
        if (made := rescheduled(text, schedule, headers=headers)) is not None:
            yield Variant(made, "search", schedule.words, flags)


class _Rescheduled:
    """One region's schedule, with what is shared and what is wide marked in its tree."""

    def __init__(self, isl: Isl, region: AffineRegion, schedule: NestSchedule) -> None:
        self.isl, self.region, self.schedule = isl, region, schedule
        self.by_name = {s.name: s for s in region.statements}
        self.shares = False

    def text(self) -> str | None:
        """What stands in the place of the region; None where nothing is shared."""
        isl, context = self.isl, self.isl.DEFAULT_CONTEXT
        context.reset_operations()
        context.set_max_operations(MOST_OPERATIONS)
        try:
            domain, needs = self.region.as_sets(isl)
            context.set_schedule_outer_coincidence(int(self.schedule.outer))
            context.set_schedule_serialize_sccs(int(self.schedule.apart))
            context.set_schedule_maximize_band_depth(1)
            context.set_tile_scale_tile_loops(1)
            context.set_tile_shift_point_loops(0)
            asked = isl.ScheduleConstraints.on_domain(domain).set_validity(needs)
            asked = asked.set_coincidence(needs).set_proximity(needs)
            root = self._marked(asked.compute_schedule().get_root(), shared=False)
            if not self.shares:
                return None
            build = isl.AstBuild.from_context(isl.Set("{ : }"))
            return AffineText(isl, self.region).text(build.node_from_schedule(root.get_schedule()))
        finally:
            context.set_max_operations(0)
            context.reset_operations()

    def _marked(self, node: Tree, *, shared: bool) -> Tree:
        """A tree whose bands are ordered, tiled and marked, at the same place."""
        steps = 0
        if node.get_type() == self.isl.schedule_node_type.band:
            node, steps, here = self._band(node, shared=shared)
            shared = shared or here
        for k in range(node.n_children()):
            node = self._marked(node.child(k), shared=shared).parent()
        for _ in range(steps):
            node = node.parent()
        return node

    def _band(self, node: Tree, *, shared: bool) -> tuple[Tree, int, bool]:
        """A band in its final form: the innermost of what it became, how far down, if shared."""
        n = node.band_n_member()
        free = [bool(node.band_member_get_coincident(k)) for k in range(n)]
        movable = n > 1 and bool(node.band_get_permutable())
        far = self._far_steps(node)
        order = sorted(range(n), key=lambda k: not free[k]) if movable else list(range(n))
        inmost = min(order, key=lambda k: (far[k], -k)) if movable else order[-1]
        diagonal = movable and self.schedule.tiled and not shared and not any(free)
        sizes = [1] * n
        if movable and self.schedule.tiled:
            sizes = [TILE] * n
        elif movable and free[inmost] and not shared and sum(free) == 1:
            sizes[inmost] = BLOCK  # it is to be the outermost, too
        elif movable:
            order = [k for k in order if k != inmost] + [inmost]
        first = next((place for place, k in enumerate(order) if free[k]), None)
        if diagonal:
            first = 1
        here = first is not None and not shared
        tiled = max(sizes) > 1
        # single iterations within a serial loop are too short to be handed out one by one
        large = tiled or not (node.get_schedule_depth() or first)
        uneven = here and large and self._uneven(node, order, int(first or 0))
        node = self._ordered(node, order)
        if tiled:
            node = self._tiled(node, [sizes[k] for k in order])
            within = [order.index(k) for k in order if k != inmost] + [order.index(inmost)]
            node = self._ordered(node.child(0), within).parent()
        if diagonal:
            node = self._skewed(node)
        steps = 0
        if here:
            node, steps = self._shared(node, int(first or 0), uneven=uneven)
        if tiled:
            node, steps = node.child(0), steps + 1
        for k in range(n):
            node = node.band_member_set_ast_loop_type(k, self.isl.ast_loop_type.separate)
        if free[inmost] and (n > 1 or shared) and not far[inmost] and self._looks_aside(node):
            node, steps = self._wide(node, steps)
        return node, steps, here

    def _ordered(self, node: Tree, order: Sequence[int]) -> Tree:
        """A band with its members in another order."""
        if list(order) == sorted(order):
            return node
        partial, free = node.band_get_partial_schedule(), [
            node.band_member_get_coincident(k) for k in order]  # fmt: skip
        changed = partial
        for place, k in enumerate(order):
            changed = changed.set_union_pw_aff(place, partial.get_union_pw_aff(k))
        node = node.delete().insert_partial_schedule(changed).band_set_permutable(1)
        for place, value in enumerate(free):
            node = node.band_member_set_coincident(place, int(value))
        return node

    def _tiled(self, node: Tree, sizes: Sequence[int]) -> Tree:
        values = self.isl.MultiVal.zero(node.band_get_space())
        for place, size in enumerate(sizes):
            values = values.set_val(place, self.isl.Val(size))
        return node.band_tile(values)

    def _skewed(self, node: Tree) -> Tree:
        """A band that runs along the diagonals of its first two members: the second is free.

        What one iteration needs of another lies nowhere ahead in either direction.
        """
        partial = node.band_get_partial_schedule()
        both = partial.get_union_pw_aff(0).add(partial.get_union_pw_aff(1))
        node = node.delete().insert_partial_schedule(partial.set_union_pw_aff(0, both))
        return node.band_set_permutable(1)

    def _shared(self, node: Tree, place: int, *, uneven: bool) -> tuple[Tree, int]:
        """A band with a mark before one of its members, and how far down that member is."""
        self.shares = True
        steps = 0
        if place:
            node, steps = node.band_split(place).child(0), 1
        return self._mark(node, UNEVEN if uneven else SHARED), steps + 1

    def _uneven(self, node: Tree, order: Sequence[int], first: int) -> bool:
        """Whether an iteration of a band's member does more than another, as in a triangle.

        What is left of the iterations with that member left out has to be the same in each.
        """
        around, isl = node.get_prefix_schedule_union_map(), self.isl
        times = around.flat_range_product(node.get_subtree_schedule_union_map())
        times = times.intersect_domain(node.get_domain())
        moved = list(self._moved(times).values())
        own = node.get_schedule_depth()
        outer = {*range(own), *(own + k for k in order[:first])}
        every, member = isl.Set.from_union_set(times.range()), own + order[first]
        within = [d for d in range(every.dim(isl.dim_type.set)) if d not in {*outer, member}]
        for d in within:
            if not any(dims[d] for dims in moved):  # which statement comes first
                every = every.eliminate(isl.dim_type.set, d, 1)
        once, extent = every.eliminate(isl.dim_type.set, member, 1), every
        for d in within:
            extent = extent.eliminate(isl.dim_type.set, d, 1)
        return not once.intersect(extent).is_subset(every)

    def _wide(self, node: Tree, steps: int) -> tuple[Tree, int]:
        """A band with a mark before its last member."""
        n = node.band_n_member()
        if n > 1:
            node, steps = node.band_split(n - 1).child(0), steps + 1
        return self._mark(node, WIDE), steps + 1

    def _mark(self, node: Tree, what: str) -> Tree:
        """A band below a mark with the name of its first loop, which may have one iteration."""
        return node.insert_mark(self.isl.Id(f"{what} c{node.get_schedule_depth()}")).child(0)

    def _looks_aside(self, node: Tree) -> bool:
        """Whether a statement below writes to an array and looks at another of its elements.

        No compiler then knows that iterations may run at once; else it does, and unrolls better.
        """
        inside: set[str] = set()
        node.get_domain().foreach_set(lambda x: inside.add(x.get_tuple_name()))
        written = ((s, a) for s in self.region.statements if s.name in inside
                   for a in s.accesses if a.kind != READ)  # fmt: skip
        return any(b.place == a.place and b.subscripts != a.subscripts
                   for s, a in written for b in s.accesses)  # fmt: skip

    def _far_steps(self, node: Tree) -> list[int]:
        """How many accesses move by more than an element with each member of a band."""
        counts = [0] * node.band_n_member()
        every = node.band_get_partial_schedule_union_map()
        for name, members in self._moved(every.intersect_domain(node.get_domain())).items():
            touched = self.by_name[name].accesses
            for k, moved in enumerate(members):
                counts[k] += sum(moves_far(a, v) for v in moved for a in touched)
        return counts

    def _moved(self, every: Any) -> dict[str, list[set[str]]]:
        """The variables of each statement by which each dimension of a schedule goes."""
        maps: list[Any] = []
        every.foreach_map(maps.append)
        kinds, moved = self.isl.dim_type, {}
        for one in maps:
            name, parts = one.get_tuple_name(kinds.in_), self.isl.PwMultiAff.from_map(one)
            sums = [[piece[1] for piece in parts.get_pw_aff(k).get_pieces()]
                    for k in range(one.dim(kinds.out))]  # fmt: skip
            moved[name] = [{v for d, v in enumerate(self.by_name[name].iterators)
                            if any(x.involves_dims(kinds.in_, d, 1) for x in each)}
                           for each in sums]  # fmt: skip
        return moved
