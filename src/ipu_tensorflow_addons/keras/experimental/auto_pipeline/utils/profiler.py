"""Profiles of layers."""

from tremula.frontends.tensorflow.addons.auto_pipeline.profiles import (
    create_strategy,
    profile_layer_from_assignment,
)

__all__ = ["create_strategy", "profile_layer_from_assignment"]
