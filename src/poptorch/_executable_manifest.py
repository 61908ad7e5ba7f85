"""The manifest of a file of a compiled model: versions, inputs, options and random state, checked when it is read."""

from __future__ import annotations

import math
import os
from typing import Any

import torch

from tremula.formatting import memory_size
from tremula.frontends.torch.package.container import BadData, OtherVersion, Package
from tremula.frontends.torch.package.plain_data import Fields
from tremula.frontends.torch.package.saved_program import decode_structure
from tremula.frontends.torch.structure import flattenTensorStructure

from . import _args_parser, _executable_data, enums
from ._version import __version__
from .options import Options


def _host_bytes() -> float:
    """The memory of this host."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return math.inf


class Manifest:
    """The manifest of a file, checked."""

    def __init__(self, opened: Package) -> None:
        self._path = opened.path
        fields = Fields(opened.manifest, "its manifest")
        version = fields.take("poptorch_version", str)
        if version != __version__:
            raise OtherVersion(
                f"PopTorch version mismatch: {opened.path} was created with version {version[:40]} and this "
                f"is version {__version__}. Compile and save the model again."
            )
        self.training: bool = fields.take("training", bool)
        self.exports_model: bool = fields.take("exports_model", bool)
        self._inputs = fields.take("inputs")
        self._options = fields.take("options")
        self._groupings = fields.take("replica_groupings")
        self._words = fields.take("random_words", list, type(None))
        if self._words and type(self._words[0]) is not int:
            raise BadData("its random state is malformed")
        self.why_no_program = "" if opened.has("program") else fields.take("why_no_program", str)
        for name in ("engine_version", "torch_version"):
            fields.take(name, str)
        fields.done()
        if self.exports_model != opened.has("model"):
            raise BadData("its model is missing, or should not be there")

    def inputs(self) -> _args_parser.ArgsParser.Args:
        """The arguments that the program was compiled for, with zeros in the tensors."""
        fields = Fields(self._inputs, "its inputs")
        arguments = _args_parser.ArgsParser.Args()
        arguments.origin = f"in {self._path}"
        args, kwargs = (decode_structure(fields.take(name), None) for name in ("args", "kwargs"))
        names = fields.strings("names")
        fields.done()
        if not isinstance(args, list) or len(args) != len(names) or not isinstance(kwargs, dict):
            raise BadData("its inputs are malformed")
        for name, value in zip(names, args, strict=True):
            arguments.appendArg(value, name)
        for name, value in kwargs.items():
            if type(name) is not str:
                raise BadData("its inputs are malformed")
            arguments.setNamedArg(name, value)
        tensors = flattenTensorStructure([args, kwargs])
        if any(tensor.numel() == 0 for tensor in tensors):
            raise BadData("its inputs are malformed")
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        if size > _host_bytes():
            raise BadData(f"its inputs take {memory_size(size)}, more than this host has")
        return arguments

    def options(self) -> Options:
        """The options, thawed; a file that was compiled offline is for a device now."""
        options = _executable_data.decode_options(self._options)
        options.deleteIfExists("ipu_version")
        if options.connection_type == enums.ConnectionType.Never:
            options.connectionType(enums.ConnectionType.Always)
        return options

    def groupings(self) -> dict[str, Any]:
        """Replica groupings of parameters, as the user set them."""
        groupings = _executable_data.decode_value(self._groupings)
        if not isinstance(groupings, dict):
            raise BadData("its replica groups are malformed")
        for name, setting in groupings.items():
            kinds = [type(item) for item in setting] if isinstance(setting, tuple) else []
            if type(name) is not str or kinds != [enums.CommGroupType, int, enums.VariableRetrievalMode]:
                raise BadData("its replica groups are malformed")
        return groupings

    def random_words(self) -> list[int] | None:
        """The state of the random number generators, if it was saved."""
        words: list[int] | None = self._words
        if words is None:
            return None
        if not words or not all(type(word) is int and -(1 << 63) <= word < 1 << 63 for word in words[1:]):
            raise BadData("its random state is malformed")
        generator = torch.Generator()
        size = generator.get_state().numel() // 8
        try:
            for start in range(1, len(words), size):
                part = torch.tensor(words[start : start + size], dtype=torch.int64)
                generator.set_state(part.view(torch.uint8))
        except RuntimeError as problem:
            raise BadData(f"its random state is malformed ({problem})") from problem
        return words
