"""An optimizer as it is written down before a model is known, and the specification that it becomes for a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch

from tremula.frontends.onnx.run.groups import weight_of
from tremula.frontends.torch.optimize.spec import (
    ClipGroup,
    Decay,
    GroupSpec,
    HyperValue,
    Kind,
    LossScaleSettings,
    OptimizerSpec,
)

Values = Mapping[str, HyperValue]


@dataclass(frozen=True)
class Description:
    """Kind, values and types of an optimizer; a type of None is that of the weight.

    Attributes:
        defaults: values of weights that have none of their own, by the names of `GroupSpec`.
        specifics: all values of the weights that have their own.
    """

    kind: Kind
    defaults: Values
    specifics: Mapping[str, Values] = field(default_factory=dict)
    loss_scaling: HyperValue = HyperValue(1.0, True)
    clip_groups: tuple[ClipGroup, ...] = ()
    bias_correction: bool = True
    weight_decay: Decay | None = None
    use_combined_accum: bool = False
    use_tf_variant: bool = False
    centered: bool = False
    accum_type: torch.dtype | None = None
    first_order_type: torch.dtype | None = None
    second_order_type: torch.dtype | None = None
    third_order_type: torch.dtype | None = None

    def spec(
        self, weights: Iterable[str], automatic_loss_scaling: LossScaleSettings | None = None
    ) -> OptimizerSpec:
        """The optimizer of these weights; weights with equal values form a group."""
        groups: dict[tuple[tuple[str, HyperValue], ...], list[str]] = {}
        for name in weights:
            values = self.specifics.get(weight_of(name), self.defaults)
            groups.setdefault(tuple(values.items()), []).append(name)
        return OptimizerSpec(
            kind=self.kind,
            groups=tuple(GroupSpec(tuple(names), dict(values)) for values, names in groups.items()),
            accum_type=self.accum_type,
            first_order_type=self.first_order_type,
            second_order_type=self.second_order_type,
            third_order_type=self.third_order_type,
            loss_scaling=self.loss_scaling,
            clip_groups=self.clip_groups,
            bias_correction=self.bias_correction,
            weight_decay=self.weight_decay,
            use_combined_accum=self.use_combined_accum,
            use_tf_variant=self.use_tf_variant,
            centered=self.centered,
            automatic_loss_scaling=automatic_loss_scaling,
        )
