"""PopTorch's public API on a machine without an IPU: names, signatures and conversions for the engine `tremula`."""

from __future__ import annotations

import copy
import gc
import os

import torch

# A garbage collection while the rest is imported would look at all that torch has made: a tenth of a second.
_collects = gc.isenabled()
gc.disable()

from tremula import log
from tremula.errors import Error, RecoverableError, UnrecoverableError
from tremula.frontends.torch.legacy import follow_switches, hints
from tremula.settings import env
from tremula.settings.shims import is_own_sdk as _is_own_sdk

from . import _impl, _logging, _poplar_executor
from . import enums as enums
from . import optim as optim
from . import options as options
from . import poptorch_core as poptorch_core
from . import profiling as profiling
from . import testing as testing
from ._args_parser import ICustomArgParser as ICustomArgParser
from ._args_parser import registerCustomArgParser as registerCustomArgParser
from ._data_accessor import AsynchronousDataAccessor as AsynchronousDataAccessor
from ._dataloader import DataLoader as DataLoader
from ._executable_file import importPoptorchMetadataFromFile as importPoptorchMetadataFromFile
from ._executable_file import load as load
from ._impl import createPoptorchError as createPoptorchError
from ._impl import isRunningOnIpu as isRunningOnIpu
from ._logging import logger as logger
from ._logging import setLogLevel as setLogLevel
from ._poplar_executor import PoplarExecutor as PoplarExecutor
from ._poplar_executor import _OverwriteContextManager
from ._poplar_executor import registerPostCompileHook as registerPostCompileHook
from ._poplar_executor import registerPreCompileHook as registerPreCompileHook
from ._printing import *
from ._utils import accessAttributes as accessAttributes
from ._utils import getIpuTensorId as getIpuTensorId
from ._version import __version__
from .enums import *
from .ops import *
from .options import *

# Set by the real package too, for fork() in programs that use RDMA.
os.environ.setdefault("RDMAV_FORK_SAFE", "1")
if env.get("POPLAR_SDK_ENABLED") and not _is_own_sdk(env.get("POPLAR_SDK_ENABLED")):
    log.warn_once(
        "sdk",
        "A Poplar SDK is enabled in this environment (POPLAR_SDK_ENABLED), but this poptorch is Tremula's and "
        "computes on the host. To use the poptorch of the SDK, uninstall tremula or use another environment.",
    )
follow_switches()

if _collects:
    gc.enable()


def trainingModel(
    model: torch.nn.Module | PoplarExecutor,
    options: Options | None = None,
    optimizer: torch.optim.Optimizer | None = None,
) -> PoplarExecutor:
    """Wrap a model whose `forward` computes a loss. Calling the result trains the model.

    Args:
        model: the module, or an executor, whose module is wrapped again.
        options: how to run; the object is frozen.
        optimizer: from `poptorch.optim` or torch's SGD, Adam, AdamW, RMSprop; SGD with lr=0.01 by default.
    """
    if isinstance(model, PoplarExecutor):
        model = model._user_model
    if _impl.isWrapped(model):
        raise RuntimeError(
            "this module already belongs to another trainingModel, and two of them cannot share weights: call "
            "model.destroy() first, then wrap the module again"
        )
    # The copy shares modules and tensors; it keeps the plain class when the user's object changes its own.
    return PoplarExecutor(
        model=copy.copy(model),
        options=options,
        training=True,
        poptorch_version=__version__,
        optimizer=optimizer,
        user_model=model,
    )


def inferenceModel(model: torch.nn.Module | PoplarExecutor, options: Options | None = None) -> PoplarExecutor:
    """Wrap a model. Calling the result runs its `forward`.

    Args:
        model: the module, or an executor, whose module is wrapped again. Call `eval()` yourself if needed.
        options: how to run; the object is frozen.
    """
    if isinstance(model, PoplarExecutor):
        model = model._user_model
    # A shallow copy: eval() and train() on the original do not reach it, those on executor.model do.
    return PoplarExecutor(
        model=copy.copy(model),
        options=options,
        training=False,
        poptorch_version=__version__,
    )


def ipuHardwareIsAvailable(num_ipus: int = 1) -> bool:
    """Whether this machine has `num_ipus` virtual IPUs (see TREMULA_VIRTUAL_IPUS)."""
    return poptorch_core.ipuHardwareIsAvailable(num_ipus)


def ipuHardwareVersion() -> int:
    """Hardware generation of the virtual IPUs."""
    if not ipuHardwareIsAvailable():
        raise AssertionError("No hardware available: this machine has only an IPU model")
    return poptorch_core.ipuHardwareVersion()


def registerGeometricCustomArgParsers() -> None:
    """Register the argument parsers of poptorch_geometric, if it is installed."""
    try:
        from poptorch_geometric import types  # type: ignore[import-not-found]
    except ImportError:
        return
    types.registerGeometricCustomArgParsers()  # the parsers themselves are that package's
