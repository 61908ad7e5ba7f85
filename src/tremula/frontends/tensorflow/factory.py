"""A Keras model from a factory, a function that the user names.

It takes no arguments and returns a model, compiled or not, `(model, inputs)` or `(model, inputs, optimizer)`. It runs
in the scope of an `IPUStrategy`, unless it opens one itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.errors import Error
from tremula.formatting import counted
from tremula.frontends.tensorflow.stock_keras import keras
from tremula.frontends.tensorflow.strategy import IPUStrategy

_RETURNS = "a Keras model, (model, inputs) or (model, inputs, optimizer)"
#: how TensorFlow's error begins when a scope is opened inside that of another strategy
_OWN_SCOPE = "Mixing different tf.distribute.Strategy objects"


@dataclass(frozen=True)
class Made:
    """What a factory returned."""

    model: Any
    #: of one micro-batch, as the model takes them; None: as its own inputs say
    inputs: Any = None
    #: what the loss compares with; None: as the loss needs them
    targets: Any = None
    optimizer: Any = None


def make(factory: Callable[[], Any], *, values: bool = False) -> Made:
    """What `factory` makes for an IPU; it has its `values` in any case.

    Raises:
        Error: it returns something else.
    """
    # layers without a name are called the same whenever the model is made
    keras.backend.reset_uids()
    try:
        with IPUStrategy().scope():
            returned = factory()
    except RuntimeError as problem:
        if not str(problem).startswith(_OWN_SCOPE):
            raise
        returned = factory()
    return made(returned)


def made(returned: Any) -> Made:
    """What a factory returned, checked.

    Inputs are an array, or a list or dict of them; a tuple is an element of a dataset, `(inputs, targets)`.

    Raises:
        Error: it is not a Keras model.
    """
    parts = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
    if not 1 <= len(parts) <= 3:
        raise Error(f"The factory returned {len(parts)} things. Let it return {_RETURNS}.")
    model, inputs, optimizer = (*parts, None, None)[:3]
    if not isinstance(model, keras.Model):
        raise Error(
            f"The factory returned a {type(model).__name__} in place of a model. Let it return {_RETURNS}."
        )
    targets = None
    if isinstance(inputs, tuple):
        if not 1 <= len(inputs) <= 2:
            raise Error(
                f"The inputs that the factory returned are a tuple of {len(inputs)}. A tuple is (inputs, targets); "
                "give several inputs as a list or a dict."
            )
        inputs, targets = (*inputs, None)[:2]
    return Made(model, inputs, targets, optimizer)


def subject_of(
    made: Made,
    name: str,
    *,
    training: bool | None = None,
    optimizer: str | None = None,
    values: bool = False,
) -> Any:
    """What a factory made, as something to ask about.

    By default it is trained if there is an optimizer, or the model is compiled with a loss.

    Raises:
        Error: it is to be trained and has no loss, or its inputs are not known.
    """
    from tremula.frontends.tensorflow.modelling.keras_subject import subject_of_factory

    model = made.model
    loss = getattr(model, "loss", None) or None
    given = optimizer or made.optimizer
    if training is None:
        training = loss is not None or given is not None
    if training and loss is None:
        raise Error(
            f"{name} cannot be trained: its Keras model has no loss. Call model.compile(optimizer, loss) in the "
            "factory, or ask about inference (--inference)."
        )
    return subject_of_factory(
        model,
        name=name,
        training=training,
        loss=loss,
        optimizer=(given or getattr(model, "optimizer", None) or "sgd") if training else None,
        batch_size=_batch_size(made, name),
        inputs=made.inputs,
        targets=made.targets,
    )


def _batch_size(made: Made, name: str) -> int:
    """Samples of the inputs; without inputs, those that the model's own inputs are made for, or one."""
    own = getattr(made.model, "inputs", None)
    if made.inputs is None:
        if not own:
            raise Error(
                f"The inputs of {name} are not known: its model is not built. Return (model, inputs) from the factory, "
                "with inputs of one micro-batch."
            )
        return int(own[0].shape[0] or 1)
    tensors = tf.nest.flatten(made.inputs)
    if own and len(own) != len(tensors):
        raise Error(
            f"The model of {name} takes {counted(len(own), 'input')}, and the factory returned {len(tensors)}. Give "
            "several inputs as a list or a dict; a tuple is (inputs, targets)."
        )
    shapes = [tuple(getattr(tensor, "shape", ())) for tensor in tensors]
    if not all(shapes) or len({shape[0] for shape in shapes}) != 1:
        raise Error(
            f"The inputs of {name} are not arrays with the same number of samples: their shapes are "
            f"{', '.join(map(str, shapes))}. Return those of one micro-batch."
        )
    return int(shapes[0][0])
