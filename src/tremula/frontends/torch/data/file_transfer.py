"""Sending a data set to another process with its tensors in files, for those too large for shared memory.

Only raw tensor elements go to disk; the worker maps the files into its memory. Everything that describes
the objects travels through the private pipe between the processes, so that no file that somebody else could
have changed is ever interpreted.
"""

from __future__ import annotations

import io
import math
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True)
class FiledDataset:
    """A data set whose tensors are in files."""

    description: bytes  #: the pickled data set without the elements of its tensors

    @classmethod
    def store(cls, dataset: object, folder: str) -> FiledDataset:
        """Write the tensors of `dataset` to `folder`, which must exist until `load` was called."""
        stream = io.BytesIO()
        _Pickler(stream, Path(folder)).dump(dataset)
        return cls(stream.getvalue())

    def load(self) -> Any:
        """The data set, with its tensors mapped from the files (changes do not go back to them)."""
        return pickle.loads(self.description)  # noqa: S301  from our own parent process, not from disk


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, folder: Path) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self._folder = folder
        self._files = 0

    def reducer_override(self, obj: Any) -> Any:
        # Subclasses of Tensor know best how they are pickled; so do tensors that are not plain memory.
        if type(obj) is not torch.Tensor or obj.layout != torch.strided or obj.device.type != "cpu":
            return NotImplemented
        if obj.requires_grad or obj.is_quantized or obj.numel() == 0:
            return NotImplemented
        path = self._folder / f"{self._files}.tensor"
        self._files += 1
        obj.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy().tofile(path)
        return _map_tensor, (str(path), tuple(obj.shape), obj.dtype)


def _map_tensor(path: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    size = math.prod(shape) * dtype.itemsize
    return torch.from_file(path, shared=False, size=size, dtype=torch.uint8).view(dtype).reshape(shape)
