"""OpenMP without a model: pragmas where the loops allow them, repaired and improved by what is run.

The first plan shares the outermost loops that are safe as far as the text tells.  A plan that is
rejected is repaired where a finding points, or at the loop that was least certain: another option,
its inner loops, or none.  An accepted plan is then varied at its heaviest loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence

from rheostat.tradeoff.variants.c_source import CSource, Loop
from rheostat.tradeoff.variants.islands import Choices, Islands
from rheostat.tradeoff.variants.openmp import COLLAPSE, DYNAMIC, GUIDED, STATIC, PragmaSites
from rheostat.tradeoff.variants.subscripts import SAFE
from rheostat.tradeoff.variants.variant import Steps, Variant, VariantResult

GAIN = 0.97
"""A variant replaces the best where it takes less than this share of its time."""
HEAVIEST = 3
"""Loops whose schedules are varied."""
SCHEDULES = (STATIC, DYNAMIC, GUIDED, COLLAPSE)

Placement = dict[int, str]
Change = Callable[[Placement], Placement | None]


def alike(option: str) -> Sequence[str]:
    """The options that are wrong where one of them is: no schedule mends what iterations share.

    >>> alike("dynamic"), alike("atomic")
    (('static', 'dynamic', 'guided', 'collapse'), ('atomic',))
    """
    return SCHEDULES if option in SCHEDULES else (option,)


class PragmaPlacement:
    r"""A chain of variants with pragmas; iterate over ``steps()``.

    Parameters
    ----------
    text : str
        A serial program.
    flags : tuple of str
        Of the compiler, the same for all variants.
    headers : str
        Text of the program's other files, whose macros it may use.
    before : str
        What was changed before, in words.

    Examples
    --------
    >>> text = "void f(long n, double *a) {\n  for (long i = 0; i < n; i++) a[i] = 2;\n}"
    >>> print(next(PragmaPlacement(text).steps()).text)
    void f(long n, double *a) {
      #pragma omp parallel for schedule(static)
      for (long i = 0; i < n; i++) a[i] = 2;
    }
    """

    name = "search"

    def __init__(
        self, text: str, flags: tuple[str, ...] = ("-O2",), *, headers: str = "", before: str = ""
    ) -> None:
        self.before = before
        self.sites = PragmaSites(CSource(text, headers=headers))
        self.flags = flags
        self._refused: set[tuple[int, str]] = set()
        self.accepted: list[tuple[Choices, VariantResult]] = []

    def islands(self, seed: int = 0) -> Islands:
        """Mutations of what was accepted: other options, loops more or fewer."""
        options: dict[Hashable, tuple[str, ...]] = {
            x.start: self.sites.options(x) for x in self.sites.loops
        }

        def made(choices: Choices) -> Variant | None:
            plan = dict(sorted((s, o) for s, o in choices if isinstance(s, int)))
            return self._variant(plan) if plan and plan == self._settled(plan) else None

        return Islands(options, made, self.sites.source.text, self.accepted, seed)

    def steps(self) -> Steps:
        """Variants; each is sent what came of it."""
        best, trial = yield from self._until_right(self._first())
        if not best:
            return
        if trial.accepted:
            self.accepted.append((frozenset(best.items()), trial))
        verified, least = trial.accepted, trial.runtime_ratio
        for varied in self._varied(best):
            changed = varied(best)
            if changed is None or changed == best or self._known_bad(changed):
                continue
            trial = yield self._variant(changed)
            if not (trial.accepted or trial.no_gain or verified):
                changed, trial = yield from self._until_right(self._repaired(changed, trial))
            if trial.accepted:
                self.accepted.append((frozenset(changed.items()), trial))
            if trial.accepted and (not verified or self._is_faster(trial, least)):
                best, verified, least = changed, True, trial.runtime_ratio
            elif not trial.accepted:
                self._refused |= set(changed.items()) - set(best.items())

    def _until_right(
        self, plan: Placement
    ) -> Generator[Variant, VariantResult, tuple[Placement, VariantResult]]:
        """A plan, repaired until nothing is found wrong with it; an empty one if it cannot be.

        What gains nothing was not looked at to the end: it is varied as what is right.
        """
        trial = VariantResult(accepted=False)
        while plan:
            trial = yield self._variant(plan)
            if trial.accepted or trial.no_gain:
                break
            plan = self._repaired(plan, trial)
        return plan, trial

    def _is_faster(self, trial: VariantResult, least: float) -> bool:
        """Whether the gain is beyond noise: the upper end of the interval is below the best."""
        high = trial.runtime_ratio if math.isnan(trial.runtime_high) else trial.runtime_high
        return trial.runtime_ratio < GAIN * least and high < least

    def _variant(self, plan: Placement) -> Variant:
        source = self.sites.source
        lines = {x.start: x.line for x in source.loops}
        places = (f"line {lines[s]}: {o}" for s, o in sorted(plan.items()))
        change = ", ".join([*filter(None, [self.before]), *places])
        return Variant(self.sites.text(plan), self.name, change, self.flags)

    def _first(self) -> Placement:
        weights = self.sites.weights
        heavy = max(weights.values(), default=0)
        kept = [x for x in self.sites.loops if weights[x.start] >= min(2, heavy)]
        return self._settled(self._chosen(self.sites.outermost(kept)))

    def _chosen(self, loops: list[Loop]) -> Placement:
        """An option for each loop, or for loops within where they are more certain."""
        plan: Placement = {}
        for loop in loops:
            options = [o for o in self.sites.options(loop) if (loop.start, o) not in self._refused]
            within = self._children(loop)
            certain = self.sites.dependence(loop).level == SAFE
            safer = any(self.sites.dependence(x).level == SAFE for x in within)
            if options and (certain or not safer):
                plan[loop.start] = options[0]
            else:
                plan |= self._chosen(within)
        return plan

    def _children(self, loop: Loop) -> list[Loop]:
        inside = {x.start for x in self.sites.source.inside(loop)}
        return self.sites.outermost([x for x in self.sites.loops if x.start in inside])

    def _settled(self, plan: Placement) -> Placement:
        """The plan without loops of functions that a shared loop calls."""
        loops = {x.start: x for x in self.sites.loops}
        called = {f for s in plan for f in self.sites.called_within(loops[s])}
        return {s: o for s, o in plan.items() if loops[s].function not in called}

    def _repaired(self, plan: Placement, trial: VariantResult) -> Placement:
        loops = {x.start: x for x in self.sites.loops}
        sums = self._in_another_order(plan, trial)
        blamed = sums or self._blamed(plan, trial)
        for start in blamed:
            options = self.sites.options(loops[start]) if sums else alike(plan[start])
            self._refused |= {(start, option) for option in options}
        rest = {s: o for s, o in plan.items() if s not in blamed}
        again = self._chosen([loops[s] for s in blamed])
        return self._settled(dict(sorted((rest | again).items())))

    def _in_another_order(self, plan: Placement, trial: VariantResult) -> list[int]:
        """Loops whose sums are taken in another order, where no finding points at a loop.

        Where later steps enlarge the rounding, as of columns that are nearly dependent, the other
        loops may be right without them.
        """
        spans = self._lines(plan).values()
        if any(a <= line <= b for a, b in spans for line, _ in trial.findings):
            return []
        sums = [s for s in plan if {"+", "*"} & set(self.sites.by_start[s].reductions.values())]
        return sums if len(sums) < len(plan) else []

    def _blamed(self, plan: Placement, trial: VariantResult) -> list[int]:
        """Loops that a finding points at, else the least certain, else the heaviest."""
        at = self._lines(plan)
        hit = [s for s, (a, b) in at.items() if any(a <= line <= b for line, _ in trial.findings)]
        levels = {s: self.sites.by_start[s].level for s in plan}
        unsure = [s for s in (hit or plan) if levels[s] > SAFE]
        if unsure:
            return unsure[:1]
        return hit[:1] or [max(plan, key=lambda s: self.sites.weights[s])]

    def _lines(self, plan: Placement) -> dict[int, tuple[int, int]]:
        """First and last line of each shared loop in the variant's text."""
        added = 0
        spans = {}
        for loop in sorted((x for x in self.sites.loops if x.start in plan), key=lambda x: x.start):
            own = self.sites.text({loop.start: plan[loop.start]}).count("\n")
            more = own - self.sites.source.text.count("\n")
            rows = loop.node.end_point[0] - loop.node.start_point[0]
            spans[loop.start] = (loop.line + added, loop.line + added + rows + more)
            added += more
        return spans

    def _known_bad(self, plan: Placement) -> bool:
        return not plan or any(item in self._refused for item in plan.items())

    def _varied(self, plan: Placement) -> Iterator[Change]:
        """Changes to the best plan, the likeliest to gain first."""
        heaviest = sorted(plan, key=lambda s: -self.sites.weights[s])[:HEAVIEST]
        loops = {x.start: x for x in self.sites.loops}
        for start in heaviest:
            for option in (DYNAMIC, COLLAPSE):
                if option in self.sites.options(loops[start]):
                    yield self._with(start, option)
        most = max(self.sites.weights[s] for s in plan)
        yield lambda p: {s: o for s, o in p.items() if self.sites.weights[s] == most}
        yield self._outward
        yield self._everything

    def _with(self, start: int, option: str) -> Change:
        return lambda plan: {**plan, start: option} if start in plan else None

    def _outward(self, plan: Placement) -> Placement | None:
        """The plan with the heaviest nest shared at a loop further out."""
        start = max(plan, key=lambda s: self.sites.weights[s])
        loops = {x.start: x for x in self.sites.loops}
        around = [x for x in self.sites.source.around(loops[start]) if x.start in loops]
        free = [x for x in around if (x.start, self.sites.options(x)[0]) not in self._refused]
        if not free:
            return None
        inside = {x.start for x in self.sites.source.inside(free[0])}
        rest = {s: o for s, o in plan.items() if s not in inside}
        return self._settled(rest | {free[0].start: self.sites.options(free[0])[0]})

    def _everything(self, plan: Placement) -> Placement:
        """The plan with the light loops, too."""
        taken = {y.start for s in plan for y in self.sites.source.loops if y.start == s}
        light = [
            x
            for x in self.sites.outermost(self.sites.loops)
            if x.start not in taken
            and not any(y.start in taken for y in self.sites.source.inside(x))
            and self.sites.dependence(x).level == SAFE
        ]
        return self._settled(plan | {x.start: self.sites.options(x)[0] for x in light})
