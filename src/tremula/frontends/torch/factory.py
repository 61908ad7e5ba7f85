"""A model from a factory, a function that the user names.

It takes no arguments and returns `(model, inputs)` or `(model, inputs, optimizer)`, inputs being those of one
micro-batch. It runs on the meta device, so no memory is taken; where that does not work, on the host.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tremula.errors import Error
from tremula.frontends.torch.capture.placement import SingleIpu
from tremula.frontends.torch.dialect.advice_code import TorchCode
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.ops.vendor_schemas import identity_loss
from tremula.frontends.torch.optimize.named import name_of, named_spec
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.subject import Parts, TorchSubject
from tremula.program.loops import Loops
from tremula.program.stages import StageSummary
from tremula.program.variant import Variant
from tremula.schedule.deployment import Deployment

#: PopART's number for a loss that is a single value already
_REDUCTION_NONE = 2


@dataclass(frozen=True)
class Made:
    """What a factory returned."""

    model: torch.nn.Module
    #: positional and named arguments of forward
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    optimizer: object | None


def make(factory: Callable[[], Any], *, values: bool = False) -> Made:
    """What `factory` makes, on the meta device if that is possible and its `values` are not needed."""
    return made(call(factory, values=values))


def call(factory: Callable[[], Any], *, values: bool = False) -> Any:
    """What `factory` returns, whatever that is."""
    try:
        with contextlib.nullcontext() if values else torch.device("meta"):
            return factory()
    except (NotImplementedError, RuntimeError) as problem:
        if values or "meta" not in str(problem).lower():
            raise
    return factory()


def made(returned: Any) -> Made:
    """What a factory returned, checked.

    Raises:
        Error: it is not a model with inputs.
    """
    if not isinstance(returned, tuple | list) or not 2 <= len(returned) <= 3:
        raise Error(
            "The factory must return (model, inputs) or (model, inputs, optimizer), not "
            f"a {type(returned).__name__}."
        )
    model, inputs, optimizer = (*returned, None)[:3]
    if not isinstance(model, torch.nn.Module):
        raise Error(
            f"The first thing that the factory returns must be a model, not a {type(model).__name__}."
        )
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if isinstance(inputs, Mapping):
        return Made(model, (), dict(inputs), optimizer)
    return Made(model, tuple(inputs), {}, optimizer)


def subject_of(
    made: Made,
    name: str,
    *,
    training: bool | None = None,
    optimizer: str | None = None,
    loops: Loops | None = None,
    values: bool = False,
    dialect: type[TorchCode] = TorchCode,
) -> TorchSubject:
    """What a factory made, as something to ask about.

    By default it is trained if there is an optimizer, or forward computes a loss. `loops` are those to begin with;
    `values` of inputs are kept to run it; advice is written in `dialect`.
    """
    leaves, structure = pytree.tree_flatten((made.args, dict(made.kwargs)))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not tensors:
        raise Error("The example inputs that the factory returns have no tensor among them.")

    def call(values: list[torch.Tensor]) -> Any:
        given = iter(values)
        filled = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(filled, structure)
        result = made.model(*args, **kwargs)
        return _with_loss(result) if made.model.training else result

    if training is None and (optimizer is not None or made.optimizer is not None):
        training = True
    wanted = optimizer or (name_of(made.optimizer) if made.optimizer is not None else "sgd")

    def subject(trains: bool) -> TorchSubject:
        made.model.train(trains)
        parameters = [key for key, value in made.model.named_parameters() if value.requires_grad]
        return TorchSubject(
            Parts(
                name=name,
                module=made.model,
                call=call,
                inputs=[_for_device(tensor, values) for tensor in tensors],
                input_names=["input" if not i else f"input/{i}" for i in range(len(tensors))],
                flatten=tensors_in,
                settings=SessionSettings(training=trains, loops=loops or Loops()),
                spec=named_spec(wanted, parameters) if trains else None,
                deployment=functools.partial(_deployment, trains),
                rule=SingleIpu,
                dialect=dialect,
            )
        )

    if training is not None:
        return subject(training)
    attempt = subject(True)
    try:
        attempt.captured(Variant())
    except Error as problem:
        if "find a loss" not in problem.message:
            raise
        return subject(False)
    return attempt


def _with_loss(result: Any) -> Any:
    """`result` with its loss marked as what is trained, as `poptorch.identity_loss` would.

    A plain model has no such mark: its loss is the differentiable number that it returns, the one called
    `loss` or the last of several. Without such a number, torch's loss functions mark themselves.
    """
    if isinstance(result, Mapping) and isinstance(result.get("loss"), torch.Tensor):
        others = [value for key, value in result.items() if key != "loss"]
        return [*others, identity_loss(result["loss"], _REDUCTION_NONE)]
    leaves, structure = pytree.tree_flatten(result)
    for place, leaf in reversed(list(enumerate(leaves))):
        if isinstance(leaf, torch.Tensor) and leaf.dim() == 0 and leaf.requires_grad:
            leaves[place] = identity_loss(leaf, _REDUCTION_NONE)
            return pytree.tree_unflatten(leaves, structure)
    return result


def tensors_in(result: Any) -> list[torch.Tensor]:
    """The tensors in what forward returned, whatever their structure."""
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def _for_device(tensor: torch.Tensor, values: bool) -> torch.Tensor:
    """`tensor` in the type that it has on the device, on the meta device if its values are not needed."""
    dtype = device_dtype(tensor.dtype)
    return tensor.detach().to(dtype) if values else torch.empty(tensor.shape, dtype=dtype, device="meta")


def _deployment(training: bool, stages: StageSummary | None) -> Deployment:
    """PopTorch's defaults: a pipeline where there are stages, and recomputation where it trains."""
    if stages is None or stages.ipus_per_replica <= 1:
        return Deployment()
    recompute = "all" if training else "none"
    return Deployment(execution="pipelined", ipus_per_replica=stages.ipus_per_replica, recompute=recompute)
