"""YAML configurations of the science programs."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutations import change_text
from fuzz.target import Target


def make(folder: Path) -> list[Path]:
    """The configurations that come with the programs."""
    import cosmictagger
    import cosmoflow

    presets = (
        Path(cosmictagger.__file__).parent / "config" / "files",
        Path(cosmoflow.__file__).parent / "files",
    )
    paths = []
    for preset in (each for place in presets for each in sorted(place.glob("*.yaml"))):
        path = folder / f"{preset.parent.parent.name}-{preset.name}"
        path.write_bytes(preset.read_bytes())
        paths.append(path)
    return paths


def read(path: Path) -> None:
    """As either program reads it."""
    from cosmictagger import config as tagger
    from cosmoflow import config as flow
    from cosmoflow.settings import ConfigError

    named = path.with_suffix(".yaml")
    named.write_bytes(path.read_bytes())
    try:
        tagger.load(str(named), [])
    except tagger.ConfigError as problem:
        _shown(problem)
    try:
        flow.load(str(named), [])
    except ConfigError as problem:
        _shown(problem)


def _shown(problem: Exception) -> None:
    print(problem)


def refusals() -> tuple[type[BaseException], ...]:
    """None: both errors are taken above."""
    return ()


CONFIGURATIONS = Target("configurations", make, change_text, read, refusals, names_file=False)
