"""The version of the real package that this one stands in for."""

__version__ = "3.3.0"
