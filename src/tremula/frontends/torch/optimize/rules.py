"""The update of all parameters of a training program. No value of a tensor decides what is done, only the
`OptimizerSpec` does, so that it can be captured once and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial

import torch

from tremula.frontends.torch.optimize import adam, adaptive, loss_scale, sgd
from tremula.frontends.torch.optimize.scalars import ADAPTIVE, Scalar, Scalars, hyper_tensors, product
from tremula.frontends.torch.optimize.spec import ClipGroup, Kind, OptimizerSpec

__all__ = ["apply_update", "hyper_tensors", "initial_state"]

#: each(signature, parameter, tensors, body) does `body()`, the update of one parameter, which reads and
#: changes `tensors`; with the same signature and tensors alike it does the same
Each = Callable[[Hashable, str, Sequence[torch.Tensor], Callable[[], None]], None]


def _at_once(
    _signature: Hashable, _parameter: str, _tensors: Sequence[torch.Tensor], body: Callable[[], None]
) -> None:
    body()


def initial_state(spec: OptimizerSpec, parameters: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The state tensors that training starts with, under the names that the device's runtime gives them."""
    rules = {Kind.SGD: sgd.initial_state, **dict.fromkeys(ADAPTIVE, adaptive.initial_state)}
    initial = rules.get(spec.kind, adam.initial_state)
    state: dict[str, torch.Tensor] = {}
    for name, group in spec.parameters():
        if name in parameters:
            state.update(initial(spec, group, name, parameters[name].detach()))
    if spec.automatic_loss_scaling:
        state.update(loss_scale.initial_state(spec.automatic_loss_scaling))
    return state


@torch.no_grad()
def apply_update(
    spec: OptimizerSpec,
    parameters: Mapping[str, torch.Tensor],
    gradients: Mapping[str, torch.Tensor | None],
    state: Mapping[str, torch.Tensor],
    hyper: Mapping[str, torch.Tensor],
    each: Each = _at_once,
) -> None:
    """One weight update, in place on `parameters` and `state`. Gradients are reduced and still multiplied by the loss
    scale; parameters in no group or without a gradient are left alone. `each` does the part of one parameter.
    """
    present = {
        name: gradient
        for name, _ in spec.parameters()
        if (gradient := gradients.get(name)) is not None and name in parameters
    }
    if not present:
        return
    factors = _gradient_factors(spec, present, state, hyper)
    own = _by_parameter([*state.items(), *hyper.items()])
    for index, group in enumerate(spec.groups):
        members = [Scalars(spec, group, name, hyper) for name in group.parameters if name in present]
        for scalars, update, step in _updates(members, parameters, present, state, factors):
            name = scalars.parameter
            tensors = [parameters[name], present[name], *own.get(name, ())]
            numbers = tuple(value for value in step if not isinstance(value, torch.Tensor))
            tensors += [value for value in step if isinstance(value, torch.Tensor)]
            each((index, numbers), name, tensors, update)
    watched = [grad for name, grad in present.items() if parameters[name].dtype == torch.float16]
    loss_scale.advance(spec, watched, state, hyper)


def _by_parameter(tensors: Iterable[tuple[str, torch.Tensor]]) -> dict[str, list[torch.Tensor]]:
    """State and hyperparameters that belong to one parameter, whose name ends theirs."""
    own: dict[str, list[torch.Tensor]] = {}
    for name, tensor in tensors:
        _kind, separator, owner = name.rpartition("___")
        if separator:
            own.setdefault(owner, []).append(tensor)
    return own


def _updates(
    members: Sequence[Scalars],
    parameters: Mapping[str, torch.Tensor],
    gradients: Mapping[str, torch.Tensor],
    state: Mapping[str, torch.Tensor],
    factors: Mapping[str, Scalar],
) -> Iterable[tuple[Scalars, Callable[[], None], tuple[Scalar, ...]]]:
    """For each parameter of a group its update, and the scalars that it takes from what the group shares."""
    if not members:
        return
    kind = members[0].spec.kind
    if kind is Kind.SGD or kind in ADAPTIVE:
        rule = sgd.update if kind is Kind.SGD else adaptive.update
        for scalars in members:
            name = scalars.parameter
            factor = factors[name]
            yield scalars, partial(rule, scalars, parameters[name], gradients[name], state, factor), (factor,)
        return
    for scalars, step in zip(members, adam.step_scalars(members, state), strict=True):
        name = scalars.parameter
        factor = factors[name]
        update = partial(adam.update, scalars, parameters[name], gradients[name], state, factor, step)
        yield scalars, update, (step.eps, step.rate, step.scale, step.keep, factor)


def _gradient_factors(
    spec: OptimizerSpec,
    gradients: Mapping[str, torch.Tensor],
    state: Mapping[str, torch.Tensor],
    hyper: Mapping[str, torch.Tensor],
) -> dict[str, Scalar]:
    """What each gradient is multiplied by besides undoing the user's loss scaling."""
    factor: Scalar = 1.0
    if spec.automatic_loss_scaling:
        factor = state[loss_scale.UPDATE_FACTOR].reciprocal()
    factors = dict.fromkeys(gradients, factor)
    clipped = spec.clip_groups
    if spec.max_grad_norm != float("inf"):
        clipped = (ClipGroup(spec.max_grad_norm), *clipped)
    for group in clipped:
        names = [name for name in gradients if group.parameters is None or name in group.parameters]
        if not names:
            continue
        norms = [torch.linalg.vector_norm(gradients[name], dtype=torch.float32) for name in names]
        norm = torch.linalg.vector_norm(torch.stack(norms)) / loss_scale.loss_scale(spec, state, hyper)
        clip = group.max_norm / norm.clamp(min=group.max_norm)
        factors.update((name, product(clip, factors[name])) for name in names)
    return factors
