"""Which samples a run uses: files, generated ones, which are made once and then read, or a dummy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cosmoflow.data.dataset import DummySamples, Source
from cosmoflow.data.generate import GeneratedSamples
from cosmoflow.data.layout import Parameters
from cosmoflow.data.reader import Sample, SampleFiles
from cosmoflow.data.writer import write_samples
from cosmoflow.processes import Processes
from cosmoflow.settings import Config, ConfigError

PARTS = ("train", "validation", "test")
#: numbers of generated samples are this far apart from part to part, so that no sample is in two of them
_APART = 1 << 40


class FirstSamples:
    """The first samples of a source.

    Args:
        source: where samples come from.
        count: how many to use.
    """

    def __init__(self, source: Source, count: int) -> None:
        self._source, self._count = source, min(count, len(source))
        self.size, self.parameters = source.size, source.parameters
        self.bytes_of_sample = source.bytes_of_sample

    def __len__(self) -> int:
        return self._count

    def read(self, sample: int) -> Sample:
        """Counts and targets of one sample."""
        return self._source.read(sample)


def source_of(config: Config, part: str, processes: Processes | None = None) -> Source | None:
    """The samples of a part ("train", "validation" or "test"), or None if the settings name none.

    Raises:
        ConfigError: they do not go with the network.
        BadSampleFile: files cannot be used.
    """
    size = config.variant.size
    if config.data.source == "dummy":
        return DummySamples(config.data.samples or getattr(config.generate, part), size, config.seed)
    if config.data.source == "generated":
        processes = processes or Processes()
        path = generated_path(config, part)
        if processes.first and not path.is_file():
            generate(config, part)
        processes.wait()
        source: Source = SampleFiles(path, size)
    else:
        place = getattr(config.data, part)
        if place is None:
            return None
        source = SampleFiles(place, size)
    if config.data.samples is not None and part == "train":
        return FirstSamples(source, config.data.samples)
    return source


def needed(config: Config, part: str, processes: Processes | None = None) -> Source:
    """The samples of a part, which must be there."""
    source = source_of(config, part, processes)
    if source is None:
        raise ConfigError(
            f"mode={config.mode} needs samples: give data.{part}=FILE or FOLDER, or "
            "data.source=generated to have some made."
        )
    return source


def parameters_of(config: Config, source: Source) -> Parameters:
    """Names and units of the targets: those of the settings, else those of the files."""
    found = source.parameters
    return Parameters(
        tuple(config.data.parameters or found.names),
        tuple(config.data.low or found.low),
        tuple(config.data.high or found.high),
    )


def generated_path(config: Config, part: str) -> Path:
    """The file of generated samples; its name changes with whatever decides on its content."""
    content = json.dumps(_recipe(config, part), sort_keys=True).encode()
    folder = Path(config.generate.folder or Path(config.output) / "data")
    return folder / f"{part}-{config.variant.size}-{hashlib.sha256(content).hexdigest()[:8]}.h5"


def _recipe(config: Config, part: str) -> dict[str, Any]:
    return {
        "generator": 1,
        "part": part,
        "count": getattr(config.generate, part),
        "size": config.variant.size,
        "seed": config.seed,
        "density": config.generate.density,
    }


def generate(config: Config, part: str) -> Path:
    """Generate the samples of a part and write them to a file."""
    recipe = _recipe(config, part)
    samples = GeneratedSamples(
        recipe["count"],
        recipe["size"],
        recipe["seed"],
        density=recipe["density"],
        first=PARTS.index(part) * _APART,
    )
    return write_samples(
        generated_path(config, part),
        _in_threads(samples, config.generate.threads),
        len(samples),
        parameters=samples.parameters,
        compress=config.generate.compress,
        attributes={f"generated_{name}": value for name, value in recipe.items()},
    )


def _in_threads(samples: GeneratedSamples, threads: int) -> Iterator[Sample]:
    # threads will do: numpy lets others run while it transforms and draws
    with ThreadPoolExecutor(threads) as pool:
        for begin in range(0, len(samples), 64):  # in parts: what waits to be written is bounded
            yield from pool.map(samples.read, range(begin, min(begin + 64, len(samples))))
