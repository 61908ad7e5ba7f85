"""The extensions of the three kinds of Keras models: subclasses of `Model`, functional and sequential ones."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.framework import func_graph
from tensorflow.python.util import tf_decorator

from tremula.frontends.tensorflow.keras import registry, stages
from tremula.frontends.tensorflow.keras.delegation import KerasExtension
from tremula.frontends.tensorflow.keras.extension import KerasExtensionBase
from tremula.frontends.tensorflow.keras.pipeline_api import FunctionalPipelining
from tremula.frontends.tensorflow.keras.pipeline_model import ModelPipelining
from tremula.frontends.tensorflow.keras.pipeline_sequential import SequentialPipelining
from tremula.frontends.tensorflow.stock_keras import internal

_Model = internal("engine.training").Model
_Functional = internal("engine.functional").Functional
_Sequential = internal("engine.sequential").Sequential


class ModelExtension(KerasExtensionBase, ModelPipelining, _Model):  # type: ignore[misc, valid-type]
    """Subclasses of `Model` with a `call` of their own."""

    def build(self, input_shape: Any) -> None:
        """As of Keras; also finds out which stages `call` puts its layers into."""
        if self._runs_on_device():
            self._build_delegate(input_shape)
        else:
            super().build(input_shape)

    def _build_for(self, element_spec: Any) -> None:
        if self._graph_network_initialized:
            return
        if self._is_pipelined():
            super()._build_for(element_spec)
            return
        before = stages.entered()
        if not self.built or not self._programs:
            _call_once(self, element_spec)
        if stages.entered() != before:
            super()._build_for(element_spec)


class FunctionalExtension(KerasExtensionBase, FunctionalPipelining, _Functional):  # type: ignore[misc, valid-type]
    """Functional models."""


class SequentialExtension(KerasExtensionBase, SequentialPipelining, _Sequential):  # type: ignore[misc, valid-type]
    """Sequential models."""

    def add(self, layer: Any) -> None:
        """Add a layer at the end; stages that were set have to be set again."""
        super().add(layer)
        self._pipeline_layers_changed()

    def pop(self) -> None:
        """Remove the last layer; stages that were set have to be set again."""
        super().pop()
        self._pipeline_layers_changed()

    def _build_for(self, element_spec: Any) -> None:
        x, _, _ = internal("engine.data_adapter").unpack_x_y_sample_weight(element_spec)
        if self._is_pipelined() or (not self.built and not tf.nest.is_nested(x)):
            super()._build_for(element_spec)
        if not self.built:
            _call_once(self, element_spec)


def _call_once(model: Any, element_spec: Any) -> None:
    """Call the model in a graph that is thrown away, so that it makes its variables."""
    x, _, _ = internal("engine.data_adapter").unpack_x_y_sample_weight(element_spec)

    def call(*tensors: Any) -> Any:
        wide = [tf.expand_dims(t, -1) if t.shape.rank == 1 else t for t in tensors]
        return model(tf.nest.pack_sequence_as(x, wide), training=False)

    with model.distribute_strategy.scope():
        func_graph.func_graph_from_py_func("build", call, tf.nest.flatten(x), {})


def install() -> None:
    """Say which extension models get, the most special kind first."""
    registry.register(_Sequential, KerasExtension, SequentialExtension)
    registry.register(_Functional, KerasExtension, FunctionalExtension)
    registry.register(_Model, KerasExtension, ModelExtension)
    for kind in (_Sequential, _Functional, _Model):
        _construct_once(kind)


def _construct_once(kind: type) -> None:
    """Let an extension of a program call the constructor of ours, Keras', for an object that is made already."""
    stock: Any = kind.__init__  # type: ignore[misc]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if registry.BEING_EXTENDED not in vars(self):
            stock(self, *args, **kwargs)

    kind.__init__ = tf_decorator.make_decorator(stock, __init__)  # type: ignore[misc]
