"""Executables of sessions: files and cache entries that say what a session runs, and which values its variables have.

Programs run as they are, so no compiled code is kept. An executable has the graph without the values of its weights,
what was asked of it, and, in a file, the variables: weights and the optimizer's state. A session takes an executable
only if it runs the same program. Nothing that is read is executed or parsed as a model: its bytes are compared.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tremula.cache import Store, file_name, key_in, key_of, usable_root
from tremula.errors import Error
from tremula.frontends.torch.optimize.spec import HyperValue
from tremula.frontends.torch.package import container
from tremula.frontends.torch.package.container import Layout, Package

LAYOUT = Layout(
    "tremula-session-executable",
    1,
    documents=("manifest", "request"),
    tensors=("variables",),
    data=("model.onnx", "popxl.json"),
    what="session executable",
    makers="compileAndExport(), saveExecutable() and saveVariables()",
)
#: the entries that hold a program
ONNX_MODEL, POPXL_PROGRAM = LAYOUT.data


@dataclass(frozen=True)
class Identity:
    """What a session runs.

    Attributes:
        entry: what the program is called in a file: ONNX_MODEL or POPXL_PROGRAM.
        model: the graph without the values of its weights.
        request: what was asked of it, as JSON data.
    """

    entry: str
    model: bytes
    request: Mapping[str, Any]

    @functools.cached_property
    def key(self) -> str:
        """Equal for equal programs."""
        return key_of({"model": hashlib.sha256(self.model).hexdigest(), "request": self.request})


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


def check_variables(own: Mapping[str, Tensor], values: Mapping[str, Tensor], path: str) -> None:
    """Raise Error unless `values`, of a file, have the names, shapes and types of a session's `own` variables."""
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


# -- files --------------------------------------------------------------------------------------------------


def write(path: str, identity: Identity | None, variables: Mapping[str, Tensor] | None) -> None:
    """Write what there is of an executable; the file is there as a whole or not at all."""
    documents: dict[str, Any] = {"manifest": {"key": None if identity is None else identity.key}}
    data = {}
    if identity is not None:
        documents["request"] = identity.request
        data[identity.entry] = identity.model
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
    model = package.data(identity.entry)
    if model is None or not package.has("request"):
        package.refuse(_why_unknown(package))
    request = package.document("request")
    if not isinstance(request, dict):
        package.refuse("request.json is not an object")
    try:
        known = Identity(identity.entry, model, request).key == package.manifest.get("key")
    except RecursionError:
        known = False
    if not known:
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


def _why_unknown(package: Package) -> str:
    if any(name in package.entries() for name in LAYOUT.data):
        return "it is of a program of the other kind: one of a PopART graph and one of PopXL"
    return "it does not say which program it is of, as it was saved without PopART's metadata"


# -- the cache ----------------------------------------------------------------------------------------------


def cache_in(folder: str) -> Store:
    """The cache that is meant by a folder: the one in it, or the user's own if others can write to it."""
    return Store(usable_root(folder)[0])


def is_kept(cache: Store, identity: Identity) -> bool:
    """Whether the cache has this program, sound and signed by this user."""
    found = cache.get(identity.key).entry
    return found is not None and found.blobs.get(identity.entry) == identity.model


def kept_file(cache: Store, identity: Identity) -> Path:
    """Where the cache has this program, if it has it."""
    return cache.root / file_name(identity.key)


def files_of(cache: Store) -> list[tuple[Path, str | None]]:
    """The files of executables in the cache's folder, with the keys in their names; None: no name of the cache."""
    return [(path, key_in(path.name)) for path in sorted(cache.root.glob("*.popef"))]


def keep(cache: Store, identity: Identity, about: str) -> None:
    """Put the program into the cache. What cannot be kept is a warning."""
    cache.put(identity.key, {"about": about, "request": identity.request}, {identity.entry: identity.model})
