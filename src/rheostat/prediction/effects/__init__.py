"""What turning a knob does, as far as a log can tell it from why the knob was turned."""

from rheostat.prediction.effects.predictor import WithinApplication as WithinApplication
