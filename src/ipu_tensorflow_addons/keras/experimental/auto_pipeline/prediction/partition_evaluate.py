"""How good stages are."""

from tremula.frontends.tensorflow.addons.auto_pipeline.partition import estimate_pipelined_model_profile
from tremula.frontends.tensorflow.addons.auto_pipeline.profiles import (
    parse_pipelined_model_profile,
    profile_pipelined_model,
)

__all__ = ["estimate_pipelined_model_profile", "parse_pipelined_model_profile", "profile_pipelined_model"]
