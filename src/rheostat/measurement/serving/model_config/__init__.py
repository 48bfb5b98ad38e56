"""The config.json beside a model's weights: its cache, its parameters, its precision."""

from rheostat.measurement.serving.model_config.hugging_face import ModelConfig as ModelConfig
from rheostat.measurement.serving.model_config.hugging_face import model_config as model_config
