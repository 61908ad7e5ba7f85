"""The operators of one version of a domain, as methods; they come from the table of `tremula.frontends.onnx.build`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tremula.frontends.onnx.build.arguments import Bound
from tremula.frontends.onnx.build.graph import GraphMaker
from tremula.frontends.onnx.build.multiconv import add_multiconv
from tremula.frontends.onnx.build.operators import add
from tremula.frontends.onnx.build.signatures import Signature, signatures
from tremula.program.source import user_line

from ._builder_core import name_of
from ._exceptions import popart_errors

if TYPE_CHECKING:
    from .builder import Builder

#: never the user's line
OWN_FILES = (os.path.dirname(__file__),)


class Opset:
    """The operators of one version of a domain, as methods."""

    def __init__(self, builder: Builder, domain: str, version: int) -> None:
        self.builder = builder
        self.domain = domain
        self.version = version
        self._methods = signatures(domain, version)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        signature = self.__dict__.get("_methods", {}).get(name)
        if signature is None:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}': version {self.version} of "
                f"{self.domain} has no such operator.",
                name=name,
                obj=self,
            )
        return functools.partial(self._add, signature)

    def __str__(self) -> str:
        return f"{type(self).__name__}{self.version}"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._methods]

    def _add(self, signature: Signature, *args: Any, **kwargs: Any) -> Any:
        bound = Bound(signature, *_plain(signature, args, kwargs))
        name = name_of(signature.method, bound.name)
        with popart_errors():
            outputs = add(self.builder._maker, signature, self.version, bound, name, user_line(OWN_FILES))
        if signature.outputs == 0:
            return None
        return outputs[0] if signature.outputs == 1 else outputs


class AiOnnx(Opset):
    """Operators of ONNX."""


class AiGraphcore(Opset):
    """The IPU's own operators."""

    def reshape(self, arg: Any, shape: Sequence[int], debugContext: Any = "") -> str:
        """Give the tensor another shape."""
        args = [arg] if isinstance(arg, str) else arg
        found: str = self._add(self._methods["reshape"], args, shape, debugContext=debugContext)
        return found

    def init(
        self,
        shape: Sequence[int],
        data_type: Any,
        init_type: Any,
        batch_axis: Any = -1,
        debugContext: Any = "",
    ) -> str:
        """A new tensor, with or without values."""
        if not hasattr(batch_axis, "__index__"):
            batch_axis, debugContext = -1, batch_axis
        found: str = self._add(
            self._methods["init"], shape, data_type, init_type, batch_axis, debugContext=debugContext
        )
        return found

    def multiconv(
        self,
        args: Sequence[Sequence[str]],
        dilations: Sequence[Sequence[int]] = (),
        inDilations: Sequence[Sequence[int]] = (),
        pads: Sequence[Sequence[int]] = (),
        outPads: Sequence[Sequence[int]] = (),
        strides: Sequence[Sequence[int]] = (),
        availableMemoryProportions: Sequence[float] = (),
        partialsTypes: Sequence[str] = (),
        planType: str | None = None,
        perConvReservedTiles: int | None = None,
        cycleBackOff: float | None = None,
        enableConvDithering: Sequence[int] = (),
        debugContext: Any = "",
    ) -> list[str]:
        """Convolutions that run side by side."""
        per_convolution = {
            "dilations": dilations,
            "inDilations": inDilations,
            "pads": pads,
            "outPads": outPads,
            "strides": strides,
        }
        flat = {
            "availableMemoryProportions": ("__available_memory", availableMemoryProportions),
            "partialsTypes": ("__partials_type", partialsTypes),
            "enableConvDithering": ("__enable_conv_dithering", enableConvDithering),
        }
        others = {
            "planType": planType,
            "perConvReservedTiles": perConvReservedTiles,
            "cycleBackOff": cycleBackOff,
        }
        name = name_of("multiconv", debugContext)
        with popart_errors():
            return add_multiconv(
                self.builder._maker,
                self.version,
                args,
                per_convolution,
                flat,
                others,
                name,
                user_line(OWN_FILES),
            )


class AiOnnxMl(Opset):
    """ONNX operators for classical machine learning. None are supported."""


class AiGraphcoreOpset1(AiGraphcore):
    """The IPU's own operators, version 1."""


def _plain(
    signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments in the engine's words: builders are their graphs."""

    def convert(value: Any) -> Any:
        maker = getattr(value, "_maker", None)
        if isinstance(maker, GraphMaker):
            return maker
        if type(value).__name__ == "CommGroup":
            return (int(value.type), int(value.replicaGroupSize))
        return value

    return [convert(each) for each in args], {name: convert(each) for name, each in kwargs.items()}
