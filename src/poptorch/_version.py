"""The version of the real package that this one stands in for."""

from tremula.settings.shims import STACK_VERSION as __version__

__all__ = ["__version__"]
