"""Graphs of training steps from shape arithmetic: named networks, and single layers."""

from rheostat.prediction.architectures.named import ARCHITECTURES as ARCHITECTURES
from rheostat.prediction.architectures.named import parameter_count as parameter_count
from rheostat.prediction.architectures.named import training_step as training_step
