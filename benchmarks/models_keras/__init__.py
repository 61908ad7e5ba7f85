"""The networks of published TensorFlow figures in Keras, layer by layer those of benchmarks/models.

Each function takes the samples of a micro-batch and the arguments of the torch module with the same name. It returns a
`Network`: a functional model that is not compiled, with its loss. Layers have the paths of torch's submodules as names
("stage1.0.conv2"), so that one case file says for both where stages begin and which results are kept. Call a function
in the scope of an `IPUStrategy`, with the global policy in the precision of the case.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from .bert import bert
from .efficientnet import efficientnet
from .network import Network
from .resnet import resnet
from .small import keras_cifar, keras_mnist
from .unet import unet

MODELS: dict[str, Callable[..., Network]] = {
    each.__name__: each for each in (bert, efficientnet, keras_cifar, keras_mnist, resnet, unet)
}


def argument_names(model: str) -> list[str]:
    """The arguments that the model called `model` takes."""
    return list(inspect.signature(MODELS[model]).parameters)[1:]


def build(model: str, batch: int, arguments: Mapping[str, Any]) -> Network:
    """The model called `model` for micro-batches of `batch` samples.

    Raises:
        ValueError: there is no Keras version of the model, or it has no such argument.
    """
    if model not in MODELS:
        raise ValueError(f"there is no Keras version of model {model!r}; there are {', '.join(MODELS)}")
    unknown = sorted(set(arguments) - set(argument_names(model)))
    if unknown:
        raise ValueError(
            f"the Keras version of model {model} has no argument {', '.join(unknown)}; it has "
            f"{', '.join(argument_names(model)) or 'none'}"
        )
    return MODELS[model](batch, **arguments)
