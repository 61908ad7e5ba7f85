"""What a session runs, and its variables, as files of executables have them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tremula.frontends.onnx.build import storing
from tremula.frontends.onnx.run.session import GraphSession
from tremula.frontends.sessions import executables
from tremula.frontends.sessions.executables import ONNX_MODEL, Identity, plain


def identity_of(
    model: bytes | str | os.PathLike[str], session: GraphSession, settings: Mapping[str, Any]
) -> Identity:
    """What `session` runs of `model`; `settings` are what the front end asked of it besides."""
    message = storing.read(model)
    for name in ("producer_name", "producer_version", "doc_string"):
        message.ClearField(name)
    _clear_names(message.graph)
    for weight in message.graph.initializer:
        if weight.name in session.program.weights:
            shape = type(weight)(name=weight.name, data_type=weight.data_type, dims=weight.dims)
            weight.CopyFrom(shape)
    asked = session.program.request
    request = {
        "anchors": asked.anchors,
        "loss": asked.loss,
        "input shapes": asked.shapes,
        "turns": session.turns,
        "reduction": session.reduction,
        **settings,
    }
    return Identity(ONNX_MODEL, message.SerializeToString(deterministic=True), plain(request))


def _clear_names(graph: Any) -> None:
    """Take away what says nothing of the program: builders number their graphs."""
    graph.ClearField("name")
    graph.ClearField("doc_string")
    for node in graph.node:
        node.ClearField("doc_string")
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _clear_names(attribute.g)
            for each in attribute.graphs:
                _clear_names(each)


def variables_of(session: GraphSession) -> dict[str, Tensor]:
    """The host's copies of weights and of the optimizer's state, all groups of replicas included."""
    state = {} if session.updater is None else session.updater.tensors()
    return {**session.host, **state}


def take_variables(session: GraphSession, values: Mapping[str, Tensor], path: str) -> None:
    """Make these the host's copies.

    Raises Error if they are not exactly the variables of the session; then nothing is changed.
    """
    executables.check_variables(variables_of(session), values, path)
    for name, value in values.items():
        if name in session.host:
            session.host[name] = value.clone()
        elif session.updater is not None:
            session.updater.write(name, value)
