"""Executables of sessions: files and cache entries that say what a session runs, and which values its variables have.

Graphs run as they are, so no compiled code is kept. An executable has the graph without the values of its weights,
what was asked of it, and, in a file, the variables: weights and the optimizer's state. A session takes an executable
only if it runs the same program. Nothing that is read is executed or parsed as a model: its bytes are compared.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tremula.cache import Store, key_of, usable_root
from tremula.errors import Error
from tremula.frontends.onnx.build import storing
from tremula.frontends.onnx.run.session import GraphSession
from tremula.frontends.torch.optimize.spec import HyperValue
from tremula.frontends.torch.package import container
from tremula.frontends.torch.package.container import Layout, Package

LAYOUT = Layout(
    "tremula-session-executable",
    1,
    documents=("manifest", "request"),
    tensors=("variables",),
    data=("model.onnx",),
    what="session executable",
    makers="compileAndExport(), saveExecutable() and saveVariables()",
)
_MODEL = "model.onnx"


@dataclass(frozen=True)
class Identity:
    """What a session runs.

    Attributes:
        model: the graph without the values of its weights.
        request: what was asked of it, as JSON data.
    """

    model: bytes
    request: Mapping[str, Any]

    @functools.cached_property
    def key(self) -> str:
        """Equal for equal programs."""
        return key_of({"model": hashlib.sha256(self.model).hexdigest(), "request": self.request})


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
    return Identity(message.SerializeToString(deterministic=True), plain(request))


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


def plain(value: Any) -> Any:
    """JSON data of a value; of a hyperparameter that may change only that it may."""
    if isinstance(value, HyperValue):
        return plain(value.value) if value.constant else "may change"
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted((plain(each) for each in value), key=str)
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return plain(vars(value))


# -- variables ----------------------------------------------------------------------------------------------


def variables_of(session: GraphSession) -> dict[str, Tensor]:
    """The host's copies of weights and of the optimizer's state, all groups of replicas included."""
    state = {} if session.updater is None else session.updater.tensors()
    return {**session.host, **state}


def take_variables(session: GraphSession, values: Mapping[str, Tensor], path: str) -> None:
    """Make these the host's copies.

    Raises Error if they are not exactly the variables of the session; then nothing is changed.
    """
    own = variables_of(session)
    for name in sorted({*own, *values}):
        if name not in values or name not in own:
            where = "the file lacks" if name in own else "the session lacks"
            raise container.problem_of(
                path, f"its variables are not those of this session: {where} {name}", LAYOUT
            )
        found, wanted = values[name], own[name]
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            raise container.problem_of(
                path,
                f"its variable {name} is {found.dtype} of shape {list(found.shape)}, that of this session "
                f"{wanted.dtype} of shape {list(wanted.shape)}",
                LAYOUT,
            )
    for name, value in values.items():
        if name in session.host:
            session.host[name] = value.clone()
        elif session.updater is not None:
            session.updater.write(name, value)


# -- files --------------------------------------------------------------------------------------------------


def write(path: str, identity: Identity | None, variables: Mapping[str, Tensor] | None) -> None:
    """Write what there is of an executable; the file is there as a whole or not at all."""
    documents: dict[str, Any] = {"manifest": {"key": None if identity is None else identity.key}}
    data = {}
    if identity is not None:
        documents["request"] = identity.request
        data[_MODEL] = identity.model
    tensors = {} if variables is None else {"variables": variables}
    container.write(path, documents, tensors, data, LAYOUT)


def read(path: str, identity: Identity) -> dict[str, Tensor] | None:
    """The variables in the file of a session that runs the same program; None if it holds none.

    Raises Error: the file is damaged, no executable, or that of another program.
    """
    with container.opened(path, LAYOUT) as package:
        _check_program(package, identity)
        return _variables(package)


def read_variables(path: str) -> dict[str, Tensor]:
    """The variables in a file that may hold nothing else."""
    with container.opened(path, LAYOUT) as package:
        found = _variables(package)
        if found is None:
            package.refuse("it has no variables")
        return found


def _variables(package: Package) -> dict[str, Tensor] | None:
    return package.tensors("variables") if "variables.safetensors" in package.entries() else None


def _check_program(package: Package, identity: Identity) -> None:
    model = package.data(_MODEL)
    if model is None or not package.has("request"):
        package.refuse("it does not say which program it is of, as it was saved without PopART's metadata")
    request = package.document("request")
    if not isinstance(request, dict):
        package.refuse("request.json is no object")
    if Identity(model, request).key != package.manifest.get("key"):
        package.refuse("its contents are not those that it was written with")
    different = [] if model == identity.model else ["the model"]
    names = sorted({*request, *identity.request})
    different += [name for name in names if request.get(name) != identity.request.get(name)]
    if different:
        raise Error(
            f"{package.path} is the executable of another program than this session's: they differ in "
            f"{', '.join(different)[:200]}. Make the session as it was when the executable was saved, or compile it "
            "again."
        )


# -- the cache ----------------------------------------------------------------------------------------------


def cache_in(folder: str) -> Store:
    """The cache that is meant by a folder: the one in it, or the user's own if others can write to it."""
    return Store(usable_root(folder)[0])


def is_kept(cache: Store, identity: Identity) -> bool:
    """Whether the cache has this program, sound and signed by this user."""
    found = cache.get(identity.key).entry
    return found is not None and found.blobs.get(_MODEL) == identity.model


def keep(cache: Store, identity: Identity, about: str) -> None:
    """Put the program into the cache. What cannot be kept is a warning."""
    cache.put(identity.key, {"about": about, "request": identity.request}, {_MODEL: identity.model})
