"""Compiled models in files."""

from __future__ import annotations

from typing import Any


def load(filename: str, edit_opts_fn: Any = None) -> Any:
    """Restore a model saved with `save` or `compileAndExport`."""
    raise NotImplementedError


def importPoptorchMetadataFromFile(filename: str) -> Any:
    """What a saved file says about itself."""
    raise NotImplementedError
