"""What TF_POPLAR_FLAGS says now. The table of flags is `tremula.settings.poplar_flags`."""

from __future__ import annotations

from typing import Any

from tremula.settings.environment import env
from tremula.settings.poplar_flags import SYNTHETIC_CATEGORIES, by_name


def flag(name: str) -> Any:
    """The value of a flag now, or its default.

    Raises:
        Error: TF_POPLAR_FLAGS has an unknown flag or a value that cannot be read.
    """
    return env.get("TF_POPLAR_FLAGS").get(name, by_name(name).default)


def is_set(name: str) -> bool:
    """Whether the user has set this flag."""
    return name in env.get("TF_POPLAR_FLAGS")


def use_synthetic_data(category: str | None = None) -> bool:
    """Whether data of `category` (seed, infeed, outfeed, hostembedding, parameters) stays where it is; without a
    category: whether any does.
    """
    if category is not None and category not in SYNTHETIC_CATEGORIES:
        raise ValueError(
            f"unknown category {category!r} of synthetic data; the categories are {SYNTHETIC_CATEGORIES}"
        )
    if flag("use_synthetic_data"):
        return True
    chosen = flag("synthetic_data_categories")
    return bool(chosen) if category is None else category in chosen
