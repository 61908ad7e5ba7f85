"""`ConvParams`, with the names of the C++ class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplar import Type
from tremula.frontends.poplar.errors import PoplarError
from tremula.frontends.poplar.libs.poplin import conv_params as _core


class _Transform:
    """Lists with an entry for each dimension of the field: given one by one, or as a number of dimensions."""

    _names: tuple[str, ...] = ()
    _plain: tuple[Any, ...] = ()

    def __init__(self, *values: Any) -> None:
        if len(values) == 1 and isinstance(values[0], int):
            values = tuple([plain] * values[0] for plain in self._plain)
        if values and len(values) != len(self._names):
            raise PoplarError(
                f"{type(self).__name__} needs {len(self._names)} lists: {', '.join(self._names)}"
            )
        for name, value in zip(self._names, values or [()] * len(self._names), strict=True):
            setattr(self, name, list(value))

    def _values(self) -> list[tuple[Any, ...]]:
        return [tuple(getattr(self, name)) for name in self._names]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(tuple(self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)}' for n in self._names)})"


class InputTransform(_Transform):
    """What is done to the input or the kernel: truncation, dilation, padding, flip, in this order."""

    _names = ("truncationLower", "truncationUpper", "dilation", "paddingLower", "paddingUpper", "flip")
    _plain = (0, 0, 1, 0, 0, False)


class OutputTransform(_Transform):
    """What is done to the output: truncation, stride, padding, in this order."""

    _names = ("truncationLower", "truncationUpper", "stride", "paddingLower", "paddingUpper")
    _plain = (0, 0, 1, 0, 0)


class ConvParams:
    """`ConvParams(inputType[, outputType], batchSize, inputFieldShape, kernelShape, inputChannelsPerConvGroup,
    outputChannelsPerConvGroup, numConvGroups[, inputTransform, kernelTransform, outputTransform])`."""

    InputTransform = InputTransform
    OutputTransform = OutputTransform

    def __init__(self, inputType: Type, *rest: Any) -> None:
        values = list(rest)
        self.inputType = inputType
        self.outputType = values.pop(0) if values and isinstance(values[0], Type) else inputType
        if len(values) not in (6, 9):
            raise PoplarError("ConvParams needs types, six extents and either none or all three transforms")
        self.batchSize = int(values[0])
        self.inputFieldShape, self.kernelShape = list(values[1]), list(values[2])
        self.inputChannelsPerConvGroup, self.outputChannelsPerConvGroup = int(values[3]), int(values[4])
        self.numConvGroups = int(values[5])
        rank = len(self.inputFieldShape)
        first, second, third = values[6:] or (rank, rank, rank)
        self.inputTransform = _as(InputTransform, first)
        self.kernelTransform = _as(InputTransform, second)
        self.outputTransform = _as(OutputTransform, third)

    def core(self) -> _core.ConvParams:
        """The parameters as the library works with them."""
        return _core.ConvParams(
            self.inputType,
            self.outputType,
            self.batchSize,
            _core.as_ints(self.inputFieldShape),
            _core.as_ints(self.kernelShape),
            self.inputChannelsPerConvGroup,
            self.outputChannelsPerConvGroup,
            self.numConvGroups,
            _core.InputTransform(*self.inputTransform._values()),
            _core.InputTransform(*self.kernelTransform._values()),
            _core.OutputTransform(*self.outputTransform._values()),
        )

    def validate(self) -> None:
        """Raise an error if no such convolution is possible."""
        self.core().check()

    def getUntransformedOutputSize(self, dim: int) -> int:
        """The extent of the output before anything is done to it."""
        return self.core().plain_size(dim)

    def getOutputSize(self, dim: int) -> int:
        """The extent of the output."""
        return self.core().output_size(dim)

    def getOutputFieldShape(self) -> list[int]:
        """The extents of the output."""
        return list(self.core().output_field)

    def getTransformedInputSize(self, dim: int) -> int:
        """The extent of the input after its transform."""
        core = self.core()
        return core.input.size(dim, core.field[dim])

    def getTransformedKernelSize(self, dim: int) -> int:
        """The extent of the kernel after its transform."""
        core = self.core()
        return core.weights.size(dim, core.kernel[dim])

    def getNumFieldDims(self) -> int:
        """Dimensions of the field."""
        return len(self.inputFieldShape)

    def getNumInputChans(self) -> int:
        """Channels of the input."""
        return self.inputChannelsPerConvGroup * self.numConvGroups

    def getNumOutputChans(self) -> int:
        """Channels of the output."""
        return self.outputChannelsPerConvGroup * self.numConvGroups

    def getNumInputChansPerConvGroup(self) -> int:
        """Channels of the input of a group."""
        return self.inputChannelsPerConvGroup

    def getNumOutputChansPerConvGroup(self) -> int:
        """Channels of the output of a group."""
        return self.outputChannelsPerConvGroup

    def getNumConvGroups(self) -> int:
        """The number of groups."""
        return self.numConvGroups

    def getBatchSize(self) -> int:
        """Examples of the batch."""
        return self.batchSize

    def getInputSize(self, dim: int) -> int:
        """The extent of the input."""
        return int(self.inputFieldShape[dim])

    def getInputFieldShape(self) -> list[int]:
        """The extents of the input."""
        return list(self.inputFieldShape)

    def getKernelShape(self) -> list[int]:
        """The extents of the kernel."""
        return list(self.kernelShape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConvParams) and self.core() == other.core()

    def __hash__(self) -> int:
        return hash(self.core())


def _as(kind: type[_Transform], value: Any) -> Any:
    if isinstance(value, _Transform):
        return value
    return kind(value) if isinstance(value, int) else kind(*value)


def core_of(params: ConvParams | Sequence[Any]) -> _core.ConvParams:
    """Parameters as the library works with them; a list is what the constructor takes."""
    return (params if isinstance(params, ConvParams) else ConvParams(*params)).core()


def public(core: _core.ConvParams) -> ConvParams:
    """Parameters of the library under their C++ names."""
    return ConvParams(
        core.input_type,
        core.output_type,
        core.batch,
        core.field,
        core.kernel,
        core.in_channels,
        core.out_channels,
        core.groups,
        InputTransform(*vars(core.input).values()),
        InputTransform(*vars(core.weights).values()),
        OutputTransform(*vars(core.output).values()),
    )
