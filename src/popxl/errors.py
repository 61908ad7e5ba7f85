"""Exceptions of PopXL's own."""


class UndefinedValue(Exception):
    """A value that nothing has set."""
