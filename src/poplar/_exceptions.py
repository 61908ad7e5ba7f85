"""The exceptions that programs catch, under their C++ names."""

__all__ = [name for name in dir() if not name.startswith("_")]
