"""Models that people ask about, as `tremula estimate benchmarks.catalogue:NAME` takes them.

Each function returns a model and the inputs of one micro-batch; it trains where forward gets labels. `decoder_7b` is
larger than most hosts' memory: nothing of it is allocated.
"""

from __future__ import annotations

from typing import Any

from .models import build

Made = tuple[Any, tuple[Any, ...]]


def _made(model: str, batch: int, *, training: bool = True, half: bool = False, **arguments: Any) -> Made:
    module = build(model, arguments)
    if half:
        module = module.half()
    return module, tuple(module.sample(batch, training).values())


def workshop_cnn() -> Made:
    """The digits of the workshop."""
    return _made("workshop_cnn", 16, image=28)


def resnet18() -> Made:
    """ResNet-18 on images of 224 x 224, in single precision, as a first program has it."""
    return _made("resnet", 4, depth=18)


def resnet50() -> Made:
    """ResNet-50 on images of 224 x 224."""
    return _made("resnet", 4, half=True, norm="group")


def bert_base() -> Made:
    """BERT-base, sequences of 128."""
    return _made("bert", 2, half=True, size="base", sequence=128)


def bert_large() -> Made:
    """BERT-large, sequences of 128."""
    return _made("bert", 2, half=True, size="large", sequence=128)


def gpt2() -> Made:
    """GPT-2 with 124 M parameters, sequences of 256."""
    return _made("gpt", 1, half=True, size="small", sequence=256)


def gpt2_xl() -> Made:
    """GPT-2 XL with 1.5 G parameters."""
    return _made("gpt", 1, half=True, size="xl", sequence=256)


def decoder_7b() -> Made:
    """A decoder of 7 G parameters, inference."""
    return _made("gpt", 1, training=False, half=True, size="7b", sequence=256)


def vit() -> Made:
    """ViT-base on images of 224 x 224."""
    return _made("vit", 2, half=True)


def unet() -> Made:
    """The U-Net of 2015 on images of 572 x 572."""
    return _made("unet", 1, half=True)


def volume_cnn() -> Made:
    """A 3D CNN on volumes of 64 cubed."""
    return _made("volume_cnn", 1)


#: seconds within which the table of each is to be there
MODELS = {
    "workshop_cnn": 10.0,
    "resnet18": 10.0,
    "resnet50": 10.0,
    "bert_base": 10.0,
    "bert_large": 40.0,
    "gpt2": 10.0,
    "vit": 10.0,
    "unet": 10.0,
    "volume_cnn": 10.0,
}
