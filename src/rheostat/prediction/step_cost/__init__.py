"""What a training step costs on a device: from its graph, and from a few runs."""

from rheostat.prediction.step_cost.predictor import StepCost as StepCost
