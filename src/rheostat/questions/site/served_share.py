"""What served models take of the power that there is, level by level, and what batch jobs keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rheostat.core.jobs import concat
from rheostat.core.series import Series
from rheostat.core.units import format_quantity
from rheostat.decision.budget.divided_power import (
    BatchPower,
    Division,
    ServedModel,
    divide,
    served_models,
)
from rheostat.questions import inputs, listener
from rheostat.simulation.grid_plans import ALONE, ServedPower


@dataclass(frozen=True)
class ServedShare:
    """Models that share a site's power with its batch jobs.

    Parameters
    ----------
    models : tuple of ServedModel
        None: batch jobs are alone.
    divisions : tuple of Division
        One for each value of the power that there is, the least first.
    """

    models: tuple[ServedModel, ...] = ()
    divisions: tuple[Division, ...] = ()

    @cached_property
    def most_w(self) -> float:
        """What all models may draw at full speed, W."""
        return float(sum(m.cap_w[-1] for m in self.models))

    @property
    def full(self) -> ServedPower:
        """All models at full speed, at all times."""
        if not self.models:
            return ALONE
        drawn = float(sum(m.draw_w[-1] for m in self.models))
        return ServedPower(Series.of(self.most_w), Series.of(drawn))

    def divided(self, available: Series | None, batch: BatchPower) -> ServedShare:
        """With a division for each value of what there is; where nothing fits is noted."""
        if available is None or not self.models:
            return self
        made = tuple(divide(w, batch, self.models) for w in sorted(set(available.values)))
        if short := [d for d in made if d.certificate is None]:
            least = format_quantity(sum(float(m.cap_w[0]) for m in self.models), "W")
            listener.note(
                f"the power that there is falls to {format_quantity(short[0].limit_w, 'W')}: the "
                f"{least} that {', '.join(m.app for m in self.models)} need within their limits "
                "do not fit beside idle nodes; each has its least"
            )
        return replace(self, divisions=made)

    def shared(self, available: Series | None) -> ServedPower:
        """What the models take as the power that there is changes."""
        if available is None or not self.models:
            return self.full
        at = {d.limit_w: d for d in self.divisions}
        kept = tuple(w - at[w].batch_w for w in available.values)
        drawn = tuple(
            float(sum(m.draw_w[c] for m, c in zip(self.models, at[w].choice, strict=True)))
            for w in available.values
        )
        return ServedPower(replace(available, values=kept), replace(available, values=drawn))

    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """A row for each model at each value of the power that there is."""
        return tuple(
            {
                "available_w": d.limit_w,
                "app": m.app,
                "setting": m.setting[c],
                "cap_w": float(m.cap_w[c]),
                "speed": float(m.speed[c]),
                "batch_w": d.batch_w,
                "gap": None if d.certificate is None else d.certificate.gap,
            }
            for d in self.divisions
            for m, c in zip(self.models, d.choice, strict=True)
        )


def read_served(given: Iterable[inputs.Jobs]) -> ServedShare:
    """Models of tables or files of runs under caps, one or several models in each."""
    tables: Sequence[Any] = [inputs.as_logged(g) for g in given]
    if not tables:
        return ServedShare()
    return ServedShare(served_models(concat(tables)))
