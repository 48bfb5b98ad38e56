"""Laws of LLM inference: what a step of decoding takes in time and energy, with units and signs."""

from rheostat.prediction.serving_law.predictor import ServingLaw as ServingLaw
