"""The networks of the published figures as plain torch modules, by the names that case files use.

Each has a method `sample(batch, training)` that gives one micro-batch by argument name, and a `forward` that
returns its results or, with labels, a pair of results and loss. None of them knows of IPUs: pipelines are cut
from outside, by the names of submodules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from .bert import Bert
from .conformer import Conformer
from .dlrm import Dlrm
from .efficientnet import EfficientNet
from .gpt import Gpt
from .hubert import Hubert
from .resnet import ResNet
from .resnext import ResNeXt
from .seq2seq import Seq2Seq
from .small import (
    KerasCifar,
    KerasMnist,
    KerasThreeConvolutions,
    Mlp,
    NeuronInverter,
    PipelinedMnist,
    WorkshopCnn,
)
from .swin import Swin
from .unet import UNet
from .vit import Clip, Vit
from .volume import VolumeCnn

MODELS: dict[str, Callable[..., nn.Module]] = {
    "bert": Bert,
    "clip": Clip,
    "conformer": Conformer,
    "dlrm": Dlrm,
    "efficientnet": EfficientNet,
    "gpt": Gpt,
    "hubert": Hubert,
    "keras_cifar": KerasCifar,
    "keras_mnist": KerasMnist,
    "keras_three_convolutions": KerasThreeConvolutions,
    "mlp": Mlp,
    "neuron_inverter": NeuronInverter,
    "pipelined_mnist": PipelinedMnist,
    "resnet": ResNet,
    "resnext": ResNeXt,
    "seq2seq": Seq2Seq,
    "swin": Swin,
    "unet": UNet,
    "vit": Vit,
    "volume_cnn": VolumeCnn,
    "workshop_cnn": WorkshopCnn,
}


def argument_names(model: str) -> list[str]:
    """The arguments that the model called `model` takes."""
    return list(inspect.signature(MODELS[model]).parameters)


def build(model: str, arguments: Mapping[str, Any]) -> nn.Module:
    """The model called `model`. Lists become tuples, as a case file has no others.

    Raises:
        ValueError: no such model or argument.
    """
    if model not in MODELS:
        raise ValueError(f"there is no model {model!r}; there are {', '.join(MODELS)}")
    unknown = sorted(set(arguments) - set(argument_names(model)))
    if unknown:
        raise ValueError(
            f"model {model} has no argument {', '.join(unknown)}; it has {', '.join(argument_names(model)) or 'none'}"
        )
    return MODELS[model](**{k: tuple(v) if isinstance(v, list) else v for k, v in arguments.items()})
