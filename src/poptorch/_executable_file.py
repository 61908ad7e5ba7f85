"""Compiled models in files: `save`, `compileAndExport`, `loadExecutable` and `poptorch.load`, over the formats of
`tremula.frontends.torch.package`. No file can run code: see docs/security.md.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from tremula import __version__ as engine_version
from tremula.errors import Error, about_file
from tremula.formatting import plain
from tremula.frontends.torch.package import container
from tremula.frontends.torch.package.container import BadData, OtherVersion, Package
from tremula.frontends.torch.package.module_reading import ExportedModel, decode_module
from tremula.frontends.torch.package.module_writing import encode_module
from tremula.frontends.torch.package.plain_data import NotData
from tremula.frontends.torch.package.saved_program import (
    decode_saved,
    encode_saved,
    encode_structure,
)
from tremula.frontends.torch.restoring import restore as restore_session
from tremula.frontends.torch.restoring import saved_program
from tremula.frontends.torch.session import Session

from . import _blocks, _executable_data
from ._capture_call import unwrapped
from ._executable_manifest import Manifest
from ._logging import logger
from .options import Options

if TYPE_CHECKING:
    from ._poplar_executor import PoplarExecutor

_DEFAULT_NAME = "model.poptorch"


def save(executor: PoplarExecutor, filename: str, export_model: bool, save_rng_state: bool) -> None:
    """Write the compiled model of an executor into a file."""
    session = executor._compiled()
    path = _destination(os.fspath(filename))
    documents: dict[str, Any] = {}
    tensors: dict[str, dict[str, torch.Tensor]] = {"program": {}}
    try:
        manifest: dict[str, Any] = {
            "poptorch_version": executor._poptorch_version,
            "engine_version": engine_version,
            "torch_version": torch.__version__,
            "training": executor._training,
            "exports_model": bool(export_model),
            "inputs": _encode_inputs(executor._executable_inputs),
            "options": _executable_data.encode_options(executor._options),
            "replica_groupings": _executable_data.encode_value(dict(executor.per_replica_params)),
        }
    except NotData as problem:
        raise Error(f"The compiled model cannot be saved: {problem}, which is not plain data.") from problem
    try:
        documents["program"] = encode_saved(saved_program(session), tensors["program"])
    except NotData as problem:
        # Python code of the user takes part in the program: whoever loads the file captures it anew.
        tensors["program"] = {}
        logger.info(
            "%s does not contain the program (%s): loading it compiles the model again.", path, problem
        )
        manifest["why_no_program"] = str(problem)
    if export_model:
        _add_model(executor, documents, tensors)
    # last: the device may be asked for it, after the weights
    manifest["random_words"] = executor.rng_state if save_rng_state else None
    with executor._profiling.tracepoint("saveExecutableToFile"):
        container.write(path, {"manifest": manifest, **documents}, tensors)


def _destination(filename: str) -> str:
    folder = os.path.dirname(filename)
    if folder:
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise AssertionError(f"The model cannot be saved: {folder} is not a folder")
        os.makedirs(folder, exist_ok=True)
    if not os.path.isdir(filename):
        return filename
    path = os.path.join(filename, _DEFAULT_NAME)
    logger.warning("save(): %s is a directory, saving model to %s", filename, path)
    return path


def _encode_inputs(inputs: Any) -> dict[str, Any]:
    nested = {"args": inputs.args, "kwargs": inputs.kwargs}
    data = {name: encode_structure(value, None, "an input") for name, value in nested.items()}
    return {**data, "names": list(inputs.arg_names)}


def _add_model(
    executor: PoplarExecutor, documents: dict[str, Any], tensors: dict[str, dict[str, torch.Tensor]]
) -> None:
    executor.copyWeightsToHostIfNeeded()
    model = executor._user_model
    tensors["model"], tensors["optimizer"] = {}, {}
    optimizer = executor._optimizer
    if isinstance(optimizer, torch.optim.Optimizer):
        optimizer.state_dict()  # reads the device's state, if it is newer
    try:
        with unwrapped(model):
            documents["model"] = encode_module(model, tensors["model"], encode_hook=_encode_block)
            if optimizer is not None:
                keys = {id(tensor): key for key, tensor in tensors["model"].items()}
                documents["optimizer"] = _executable_data.encode_optimizer(
                    optimizer, keys, tensors["optimizer"]
                )
                _add_device_state(executor, tensors["optimizer"])
            tensors["model"] = {key: tensor.detach() for key, tensor in tensors["model"].items()}
    except NotData as problem:
        raise Error(f"The model cannot be saved: {problem}. Save it with export_model=False.") from problem
    left_out = [item for module in documents["model"]["modules"] for item in module["left_out"]]
    if left_out:
        logger.warning(
            "The file contains the compiled program and the weights, but not the whole model: %s cannot be saved as "
            "data. A model from poptorch.load() can run and train, but it cannot be compiled again. To compile again, "
            "build the model yourself and use loadExecutable().",
            "; ".join(left_out[:4]),
        )


def _add_device_state(executor: PoplarExecutor, tensors: dict[str, torch.Tensor]) -> None:
    """State of torch's own optimizers, which lives on the device only."""
    training = executor._compiled().executable.training
    from . import optim

    if training is not None and not isinstance(executor._optimizer, optim.Optimizer):
        tensors.update({f"device/{name}": tensor for name, tensor in training.state.items()})


def _encode_block(hook: Any) -> Any:
    return [hook._user_id, hook._ipu_id] if type(hook) is _blocks._BlockHook else None


def _decode_block(data: Any) -> Callable[..., Any]:
    kinds = [type(item) for item in data] if isinstance(data, list) else []
    if len(kinds) != 2 or kinds[0] not in (str, type(None)) or kinds[1] not in (int, type(None)):
        raise BadData("a block of its model is malformed")
    return _blocks._BlockHook(*data)


def importPoptorchMetadataFromFile(filename: str) -> bytes:
    """The metadata of a file of a compiled model (versions, options, inputs) as JSON."""
    with container.opened(os.fspath(filename)) as opened:
        return json.dumps(opened.manifest).encode()


def load(filename: str, edit_opts_fn: Callable[[Options], Any] | None = None) -> PoplarExecutor:
    """Restore a model saved with `save` or `compileAndExport`, compiled and ready to run.

    Classes of the model are looked up among the modules that this process has imported; without them the
    model still runs, but cannot be compiled again.

    Args:
        filename: the file.
        edit_opts_fn: called with the options before the model is made, for example to choose a device.

    Raises:
        AssertionError: the file is of another version, or was saved with `export_model=False`.
        Error: the file cannot be used.
    """
    path = os.fspath(filename)
    try:
        with container.opened(path) as opened:
            manifest = Manifest(opened)
            if not opened.has("model"):
                raise AssertionError(
                    f"{path} was saved with 'export_model=False' and contains only the compiled program. Wrap the "
                    "model with poptorch.inferenceModel or poptorch.trainingModel and call "
                    f'loadExecutable("{path}") on the result.'
                )
            with _refusing(opened):
                options = manifest.options()
            if edit_opts_fn is not None:
                edit_opts_fn(options)
            with _refusing(opened):
                state = opened.tensors("optimizer")
                executor = _executor(opened, manifest, options, state)
                _put_program(executor, opened, manifest)
                _restore_device_state(executor, state)
                words = manifest.random_words()
                if words is not None:
                    executor.rng_state = words
            return executor
    except OtherVersion as problem:
        raise AssertionError(f"Invalid file {plain(path)}: {problem.message}") from problem


@contextlib.contextmanager
def _refusing(opened: Package) -> Iterator[None]:
    """Sound data with values that no program could have set is refused, wherever it is noticed."""
    try:
        yield
    except BadData:
        raise
    except Error as problem:
        raise about_file(problem, opened.path) from problem.__cause__
    except Exception as problem:
        text = " ".join(str(problem).split())[:300] or type(problem).__name__
        opened.refuse(f"it does not describe a model that can be wrapped ({text})")


def _executor(
    opened: Package, manifest: Manifest, options: Options, state: dict[str, torch.Tensor]
) -> PoplarExecutor:
    """The model of a file, wrapped."""
    from . import inferenceModel, trainingModel

    model, made = decode_module(opened.document("model"), opened.tensors("model"), decode_hook=_decode_block)
    if isinstance(model, ExportedModel):
        logger.warning("The model in %s is restored without its Python code: %s.", opened.path, model.why)
    if manifest.training:
        optimizer = _executable_data.decode_optimizer(opened.document("optimizer"), made, state)
        executor = trainingModel(model, options, optimizer)
    else:
        executor = inferenceModel(model, options)
    executor.per_replica_params.update(manifest.groupings())
    return executor


def load_executable(executor: PoplarExecutor, filename: str) -> None:
    """Give an executor the compiled program of a file; its model keeps its own weights."""
    if executor.isCompiled():
        raise Error("The model is already compiled: call destroy() on it before loadExecutable().")
    with container.opened(os.fspath(filename)) as opened, _refusing(opened):
        _put_program(executor, opened, Manifest(opened))


def _put_program(executor: PoplarExecutor, opened: Package, manifest: Manifest) -> None:
    inputs = manifest.inputs()
    if not opened.has("program"):
        if isinstance(executor._user_model, ExportedModel):
            opened.refuse(
                f"it contains no program, because {manifest.why_no_program}, and compiling one needs the "
                f"model's Python code, but {executor._user_model.why}"
            )
        logger.info("%s contains no program: compiling the model again", opened.path)
        executor._compile(inputs)
        return
    saved = decode_saved(opened.document("program"), opened.tensors("program"))

    def restore(micro_batch: list[torch.Tensor]) -> Session:
        settings, spec = executor._session_settings(), executor._optimizer_spec()
        try:
            with unwrapped(executor._model):
                return restore_session(settings, spec, executor._model, micro_batch, saved)
        except Error as problem:
            raise Error(f"{opened.path}: {problem.message}") from problem

    executor._compile(inputs, restore)


def _restore_device_state(executor: PoplarExecutor, tensors: dict[str, torch.Tensor]) -> None:
    training = executor._compiled().executable.training
    if training is None:
        return
    for name, tensor in training.state.items():
        held = tensors.get(f"device/{name}")
        if held is not None:
            if held.shape != tensor.shape or held.dtype != tensor.dtype:
                raise BadData("the state of its optimizer does not fit its program")
            tensor.copy_(held)
