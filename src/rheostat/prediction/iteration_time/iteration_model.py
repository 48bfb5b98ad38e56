"""What was learned of the iteration times of several applications, in one thing that is saved."""

from __future__ import annotations

from collections.abc import Mapping

from rheostat.errors import DataError, NotFitted
from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
from rheostat.prediction.iteration_time.forecast import IterationForecast
from rheostat.prediction.saved_models.from_file import blames_its_file


class IterationModel:
    """A forecaster per application.

    Parameters
    ----------
    forecasters
        By the name of the application.
    """

    def __init__(self, forecasters: Mapping[str, AdaptiveForecaster] | None = None) -> None:
        self.forecasters_ = dict(forecasters or {})

    def of(self, app: str) -> AdaptiveForecaster:
        """The forecaster of an application."""
        if not self.forecasters_:
            raise NotFitted(self)
        if app not in self.forecasters_:
            known = ", ".join(sorted(self.forecasters_))
            raise DataError("application", [f"expected one of {known}, got {app!r}"])
        return self.forecasters_[app]

    @blames_its_file
    def forecast(self, app: str, steps: int) -> IterationForecast:
        """The next ``steps`` iterations of an application."""
        return self.of(app).forecast(steps)
