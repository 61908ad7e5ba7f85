"""Paths of the user's modules: `encoder.layers.3` in one framework, `encoder/dense_3` in another.

A path with a slash is split at slashes, any other at dots.
"""

from __future__ import annotations


def parts(path: str) -> list[str]:
    """The names of the modules on a path, the outermost first."""
    return path.split(_separator(path)) if path else []


def first_parts(path: str, count: int) -> str:
    """The path of the module that so many names lead to."""
    return _separator(path).join(parts(path)[:count])


def around(path: str) -> str:
    """The path of the module around one; empty for the outermost."""
    return path.rpartition(_separator(path))[0]


def is_inside(path: str, module: str) -> bool:
    """Whether a path is that of `module`, or of something inside of it."""
    return path == module or path.startswith((f"{module}.", f"{module}/"))


def shared(one: str, other: str) -> str:
    """The path of the innermost module that holds both."""
    count = 0
    for mine, theirs in zip(parts(one), parts(other), strict=False):
        if mine != theirs:
            break
        count += 1
    return first_parts(one, count)


def _separator(path: str) -> str:
    return "/" if "/" in path else "."
