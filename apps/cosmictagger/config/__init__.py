"""The configuration of a run: groups of keys, presets, overrides."""

from cosmictagger.config.groups import Config
from cosmictagger.config.keys import ConfigError
from cosmictagger.config.loading import as_plain, as_yaml, load, preset_names

__all__ = ["Config", "ConfigError", "as_plain", "as_yaml", "load", "preset_names"]
