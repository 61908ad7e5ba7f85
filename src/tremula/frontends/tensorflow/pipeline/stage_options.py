"""Options of Poplar's libraries for the ops of one pipeline stage. They are facts for the chip model."""

from __future__ import annotations

from typing import Any


class PipelineStageOptions:
    """Option flags for a forward stage, a backward stage or the weight update; they go before those of the `IPUConfig`.

    Args:
        convolution_options: for convolutions, such as `{"availableMemoryProportion": "0.2"}`.
        matmul_options: for matrix products.
        slice_options: for slices.

    Raises:
        TypeError: an argument is not a dictionary of texts.
    """

    def __init__(
        self,
        convolution_options: dict[str, str] | None = None,
        matmul_options: dict[str, str] | None = None,
        slice_options: dict[str, str] | None = None,
    ) -> None:
        self._options = {
            "convolution_options": _checked("convolution_options", convolution_options),
            "matmul_options": _checked("matmul_options", matmul_options),
            "slice_options": _checked("slice_options", slice_options),
        }

    @property
    def options(self) -> dict[str, dict[str, str]]:
        """The options of each kind that are set."""
        return {kind: flags for kind, flags in self._options.items() if flags}

    def get_proto(self) -> dict[str, list[dict[str, str]]]:
        """The options in the layout of the message that the original passes to its compiler, as plain data."""
        return {
            kind: [{"option": name, "value": value} for name, value in flags.items()]
            for kind, flags in self._options.items()
        }

    def __repr__(self) -> str:
        return f"PipelineStageOptions({', '.join(f'{k}={v}' for k, v in self.options.items())})"


def _checked(kind: str, flags: Any) -> dict[str, str]:
    flags = flags or {}
    if not isinstance(flags, dict):
        raise TypeError(f"PipelineStageOptions.{kind} must be dictionary, not {flags!r}.")
    for name, value in flags.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(
                f"PipelineStageOptions.{kind} takes texts as names and values, and it has {name!r}: {value!r}."
            )
    return dict(flags)
