"""Optimizers: `SGD`, `ConstSGD`, `Adam`, `Adaptive`, with values that are constant or may change between runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ._enums import AdamMode, AdaptiveMode, DataType, SGDAccumulatorAndMomentum, WeightDecayMode
from ._exceptions import popart_exception

if TYPE_CHECKING:
    from tremula.frontends.onnx.optimize.description import Description
    from tremula.frontends.onnx.optimize.updater import Updater

    from ._session_options import SessionOptions


class OptimizerValue:
    """A number, and whether it is constant after compilation."""

    def __init__(self, val: float | tuple[float, bool] = 0.0, isConst: bool | None = None) -> None:
        if isinstance(val, tuple):
            val, isConst = val
        self._value = float(val)
        self._constant = True if isConst is None else bool(isConst)

    def val(self) -> float:
        """The number."""
        return self._value

    def isConst(self) -> bool:
        """Whether the value is constant after compilation."""
        return self._constant

    def validReplacement(self, other: OptimizerValue) -> None:
        """Raise if `other` cannot take the place of this value in a compiled model."""
        if self._constant != other._constant:
            raise popart_exception("Can not replace a constant value with a non constant value.")
        if self._constant and self._value != other._value:
            raise popart_exception("Values are constant but do not match.")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OptimizerValue)
            and self._constant == other._constant
            and (not self._constant or self._value == other._value)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"OptimizerValue({self._value:g}, {self._constant})"


class OptimizerValueMap:
    """One value of an optimizer: that of all weights, and those of some."""

    def __init__(self, default: OptimizerValue, specifics: Mapping[str, OptimizerValue]) -> None:
        self._default = default
        self._specifics = dict(specifics)

    def get(self, weight: str) -> OptimizerValue:
        """The value of a weight."""
        return self._specifics.get(weight, self._default)

    def getDefault(self) -> OptimizerValue:
        """The value of weights that have none of their own."""
        return self._default

    def hasSpecific(self, weight: str | None = None) -> bool:
        """Whether a weight (or any weight) has a specific value."""
        return bool(self._specifics) if weight is None else weight in self._specifics


class ClipNormSettings:
    """A limit for the global norm of the gradients of some weights, or of all."""

    def __init__(self, weightIds: Iterable[str], maxNorm: float) -> None:
        self.weightIds = list(weightIds)
        self.maxNorm = float(maxNorm)
        self._all = False

    @classmethod
    def clipWeights(cls, weightIds: Iterable[str], maxNorm: float) -> ClipNormSettings:
        """Of these weights."""
        return cls(weightIds, maxNorm)

    @classmethod
    def clipAllWeights(cls, maxNorm: float) -> ClipNormSettings:
        """Of all weights together."""
        made = cls([], maxNorm)
        made._all = True
        return made


class Optimizer:
    """Base class of all optimizers: values by name, and the loss scaling."""

    #: name here -> (name among the engine's, default)
    _values: ClassVar[dict[str, tuple[str, float]]] = {}
    #: other names of constructor arguments
    _aliases: ClassVar[dict[str, str]] = {}
    _family = "optimizer"

    def __init__(
        self, values: Mapping[str, Any], clip_norm_settings: Iterable[ClipNormSettings] = ()
    ) -> None:
        self.clipNormSettings = list(clip_norm_settings)
        given = _optimizer_values(values)
        allowed = {_default_name(name): name for name in self._values} | self._aliases
        allowed["lossScaling"] = "lossScaling"
        for key in given:
            if key not in allowed:
                raise popart_exception(
                    f"Invalid {self._family} key, {key}, the allowed keys are ( {' '.join(allowed)} )"
                )
        self._loss_scaling = given.pop("lossScaling", OptimizerValue(1.0, True))
        if self._loss_scaling.val() == 0:
            raise popart_exception("Loss scaling cannot be 0")
        self._defaults = {
            name: OptimizerValue(default, True) for name, (_engine, default) in self._values.items()
        }
        self._defaults.update({allowed[key]: value for key, value in given.items()})
        self._specifics: dict[str, dict[str, OptimizerValue]] = {}
        self._check(self._defaults)

    def insertSpecific(self, id: str, values: Mapping[str, Any]) -> None:
        """Set specific values for a weight. Values that are not given are the current defaults."""
        given = _optimizer_values(values)
        for key in given:
            if key not in self._values:
                raise popart_exception(
                    f"Invalid key {key} in {self._family}::insertSpecific. Permitted keys are "
                    f"( {' '.join(self._values)} )"
                )
        if id in self._specifics:
            raise popart_exception(f"The weight {id} already has specific values in this optimizer.")
        self._specifics[id] = {**self._defaults, **given}
        self._check(self._specifics[id])

    def getLossScalingVal(self) -> float:
        """The factor on the loss."""
        return self._loss_scaling.val()

    def lossScaling(self) -> OptimizerValue:
        """The factor on the loss, and whether it may change."""
        return self._loss_scaling

    def _map(self, name: str) -> OptimizerValueMap:
        own = {weight: values[name] for weight, values in self._specifics.items()}
        return OptimizerValueMap(self._defaults[name], own)

    def _check(self, values: Mapping[str, OptimizerValue]) -> None:
        rate = values["learningRate"]
        if rate.val() < 0:
            self._refuse("Negative learning rate", rate)
        if rate.val() == 0 and rate.isConst():
            raise popart_exception(
                f"Constant, zero learning rate in {self._family}: no weight would change. To set it later, mark "
                "it as variable: (0.0, False)."
            )
        for name, value in values.items():
            if name == "eps" and value.val() <= 0:
                raise popart_exception(
                    f"Non-positive eps ({value.val():g}) in {self._family} is not supported"
                )
            if name == "velocityScaling" and value.val() <= 0:
                raise popart_exception(
                    f"Non-positive velocity scaling ({value.val():g}) in {self._family} is not supported"
                )
            if value.val() < 0 and name not in ("maxWeightNorm", "nesterov"):
                words = {"weightDecay": "weight decay", "learningRate": "learning rate"}
                self._refuse(f"Negative {words.get(name, name)}", value)

    def _refuse(self, what: str, value: OptimizerValue) -> None:
        raise popart_exception(f"{what} ({value.val():g}) in {self._family}: use a value of at least 0.")

    def updater(self, options: SessionOptions | None = None) -> Updater:
        """The engine's rule, with a state of its own."""
        from tremula.frontends.onnx.optimize.updater import Updater
        from tremula.frontends.torch.optimize.spec import LossScaleSettings

        automatic = None if options is None else options.automaticLossScalingSettings
        scaling = None
        if automatic is not None and automatic.enabled:
            if getattr(self, "scaledOptimizerState", False):
                raise popart_exception("scaledOptimizerState and automaticLossScaling are not compatible.")
            scaling = LossScaleSettings(
                automatic.binEdgeLocation, automatic.thresholdUpperCountProportion, automatic.updatePeriod
            )
        return Updater(self._description(), scaling)

    def _common(self) -> dict[str, Any]:
        """The part of the description that all optimizers have."""
        from tremula.frontends.torch.optimize.spec import ClipGroup, HyperValue

        def engine(values: Mapping[str, OptimizerValue]) -> dict[str, HyperValue]:
            return {
                self._values[name][0]: HyperValue(value.val(), value.isConst())
                for name, value in values.items()
            }

        return {
            "defaults": engine(self._defaults),
            "specifics": {weight: engine(values) for weight, values in self._specifics.items()},
            "loss_scaling": HyperValue(self._loss_scaling.val(), self._loss_scaling.isConst()),
            "clip_groups": tuple(
                ClipGroup(each.maxNorm, None if each._all else tuple(each.weightIds))
                for each in self.clipNormSettings
            ),
        }

    def _description(self) -> Description:
        """The optimizer in the engine's words."""
        raise popart_exception(f"{type(self).__name__} cannot train: use SGD, Adam or Adaptive.")


class SGD(Optimizer):
    """Stochastic gradient descent with momentum, dampening, weight decay and Nesterov's variant."""

    _family = "SGD"
    _values: ClassVar[dict[str, tuple[str, float]]] = {
        "learningRate": ("learningRate", 0.1),
        "weightDecay": ("weightDecay", 0.0),
        "momentum": ("momentum", 0.0),
        "dampening": ("dampening", 0.0),
        "velocityScaling": ("velocityScaling", 1.0),
        "nesterov": ("nesterov", 0.0),
    }
    _aliases: ClassVar[dict[str, str]] = {"nesterov": "nesterov"}

    def __init__(
        self,
        pyd: Mapping[str, Any],
        clip_norm_settings: Iterable[ClipNormSettings] = (),
        accumulatorAndMomentum: SGDAccumulatorAndMomentum = SGDAccumulatorAndMomentum.Combined,
        accumType: DataType = DataType.UNDEFINED,
        accl1Type: DataType = DataType.UNDEFINED,
        debugContext: Any = "sgd",
    ) -> None:
        super().__init__(pyd, clip_norm_settings)
        combined = accumulatorAndMomentum is SGDAccumulatorAndMomentum.Combined
        if combined and accumType is not accl1Type and self._moves():
            raise popart_exception(
                "accumType and accl1Type of SGD differ, but the Combined form keeps both in one tensor: use "
                "SGDAccumulatorAndMomentum.Separate."
            )
        self._combined = combined
        self._types = (accumType, accl1Type)

    def _moves(self) -> bool:
        return any(
            not (values["momentum"].isConst() and values["momentum"].val() == 0)
            for values in (self._defaults, *self._specifics.values())
        )

    def _check(self, values: Mapping[str, OptimizerValue]) -> None:
        super()._check(values)
        if values["nesterov"].val() != 0 and values["dampening"].val() > 0:
            raise popart_exception(
                f"SGD with nesterov has dampening {values['dampening'].val():g}; it should be zero."
            )

    def learningRates(self) -> OptimizerValueMap:
        return self._map("learningRate")

    def weightDecays(self) -> OptimizerValueMap:
        return self._map("weightDecay")

    def momentums(self) -> OptimizerValueMap:
        return self._map("momentum")

    def dampenings(self) -> OptimizerValueMap:
        return self._map("dampening")

    def velocityScalings(self) -> OptimizerValueMap:
        return self._map("velocityScaling")

    def nesterov(self) -> OptimizerValueMap:
        return self._map("nesterov")

    def _description(self) -> Description:
        from tremula.frontends.onnx.optimize.description import Description
        from tremula.frontends.torch.optimize.spec import Kind

        return Description(
            Kind.SGD,
            use_combined_accum=self._combined,
            accum_type=_dtype(self._types[0]),
            first_order_type=_dtype(self._types[1]),
            **self._common(),
        )


class ConstSGD(SGD):
    """SGD without momentum whose values never change."""

    def __init__(
        self,
        learning_rate: float,
        weight_decay: float = 0.0,
        loss_scaling: float = 1.0,
        clip_norm_settings: Iterable[ClipNormSettings] = (),
    ) -> None:
        super().__init__(
            {
                "defaultLearningRate": (learning_rate, True),
                "defaultWeightDecay": (weight_decay, True),
                "lossScaling": (loss_scaling, True),
            },
            clip_norm_settings,
        )


class Adam(Optimizer):
    """Adam, AdaMax and LAMB."""

    _family = "Adam"
    _values: ClassVar[dict[str, tuple[str, float]]] = {
        "learningRate": ("learningRate", 0.1),
        "weightDecay": ("weightDecay", 0.0),
        "beta1": ("beta1", 0.9),
        "beta2": ("beta2", 0.999),
        "eps": ("eps", 1e-6),
        "maxWeightNorm": ("maxWeightNorm", 10.0),
    }
    _aliases: ClassVar[dict[str, str]] = {"maxWeightNorm": "maxWeightNorm"}

    def __init__(
        self,
        values: Mapping[str, Any],
        mode: AdamMode = AdamMode.Adam,
        weight_decay_mode: WeightDecayMode = WeightDecayMode.Decay,
        accum_type: DataType = DataType.UNDEFINED,
        accl1_type: DataType = DataType.FLOAT,
        accl2_type: DataType = DataType.FLOAT,
        clip_norm_settings: Iterable[ClipNormSettings] = (),
        scaled_optimizer_state: bool = False,
        debugContext: Any = "adam",
    ) -> None:
        super().__init__(values, clip_norm_settings)
        self._mode = mode
        self._decay_mode = weight_decay_mode
        self._types = (accum_type, accl1_type, accl2_type)
        #: the moments would be kept multiplied by the loss scale; the steps are the same
        self.scaledOptimizerState = bool(scaled_optimizer_state)

    def learningRates(self) -> OptimizerValueMap:
        return self._map("learningRate")

    def weightDecays(self) -> OptimizerValueMap:
        return self._map("weightDecay")

    def beta1s(self) -> OptimizerValueMap:
        return self._map("beta1")

    def beta2s(self) -> OptimizerValueMap:
        return self._map("beta2")

    def epss(self) -> OptimizerValueMap:
        return self._map("eps")

    def maxWeightNorms(self) -> OptimizerValueMap:
        return self._map("maxWeightNorm")

    def _description(self) -> Description:
        from tremula.frontends.onnx.optimize.description import Description
        from tremula.frontends.torch.optimize.spec import Kind

        accum, first, second = (_dtype(each) for each in self._types)
        kinds = {AdamMode.AdaMax: Kind.ADAMAX, AdamMode.Lamb: Kind.LAMB, AdamMode.LambNoBias: Kind.LAMB}
        decay = _decay(self._decay_mode)
        plain = Kind.ADAM if self._decay_mode is WeightDecayMode.L2Regularization else Kind.ADAMW
        return Description(
            kinds.get(self._mode, plain),
            bias_correction=self._mode not in (AdamMode.AdamNoBias, AdamMode.LambNoBias),
            weight_decay=decay,
            accum_type=accum,
            first_order_type=first,
            second_order_type=second,
            **self._common(),
        )


class Adaptive(Optimizer):
    """RMSProp, AdaGrad and AdaDelta."""

    _family = "Adaptive"
    _values: ClassVar[dict[str, tuple[str, float]]] = {
        "learningRate": ("learningRate", 0.01),
        "weightDecay": ("weightDecay", 0.0),
        "alpha": ("alpha", 0.99),
        "momentum": ("momentum", 0.0),
        "eps": ("eps", 1e-6),
    }

    def __init__(
        self,
        values: Mapping[str, Any],
        mode: AdaptiveMode = AdaptiveMode.RMSProp,
        weight_decay_mode: WeightDecayMode = WeightDecayMode.Decay,
        accum_type: DataType = DataType.UNDEFINED,
        accl1_type: DataType = DataType.FLOAT,
        accl2_type: DataType = DataType.FLOAT,
        accl3_type: DataType = DataType.UNDEFINED,
        rmsprop_tf_variant: bool = False,
        debugContext: Any = "adaptive",
    ) -> None:
        super().__init__(values)
        if rmsprop_tf_variant and mode not in (AdaptiveMode.RMSProp, AdaptiveMode.CenteredRMSProp):
            raise popart_exception(
                "The rmspropTFVariant parameter is only valid with RMSProp and CenteredRMSProp."
            )
        self._mode = mode
        self._decay_mode = weight_decay_mode
        self._types = (accum_type, accl1_type, accl2_type, accl3_type)
        self._tf_variant = bool(rmsprop_tf_variant)

    def learningRates(self) -> OptimizerValueMap:
        return self._map("learningRate")

    def weightDecays(self) -> OptimizerValueMap:
        return self._map("weightDecay")

    def alphas(self) -> OptimizerValueMap:
        return self._map("alpha")

    def momentums(self) -> OptimizerValueMap:
        return self._map("momentum")

    def epss(self) -> OptimizerValueMap:
        return self._map("eps")

    def _description(self) -> Description:
        from tremula.frontends.onnx.optimize.description import Description
        from tremula.frontends.torch.optimize.spec import Kind

        accum, first, second, third = (_dtype(each) for each in self._types)
        kinds = {AdaptiveMode.AdaGrad: Kind.ADAGRAD, AdaptiveMode.AdaDelta: Kind.ADADELTA}
        return Description(
            kinds.get(self._mode, Kind.RMSPROP),
            weight_decay=_decay(self._decay_mode),
            use_tf_variant=self._tf_variant,
            centered=self._mode is AdaptiveMode.CenteredRMSProp,
            accum_type=accum,
            first_order_type=first,
            second_order_type=second,
            third_order_type=third,
            **self._common(),
        )


def _default_name(name: str) -> str:
    return f"default{name[0].upper()}{name[1:]}"


def _optimizer_values(values: Mapping[str, Any]) -> dict[str, OptimizerValue]:
    found = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise popart_exception(f"A key in the optimizer map must be a str; {key!r} is not.")
        if isinstance(value, OptimizerValue):
            found[key] = value
        elif isinstance(value, tuple) and len(value) == 2:
            found[key] = OptimizerValue(float(value[0]), bool(value[1]))
        else:
            raise popart_exception(
                f"A value in the optimizer map must be a tuple (number, whether it is constant); {key} has {value!r}."
            )
    return found


def _decay(mode: WeightDecayMode) -> Any:
    from tremula.frontends.torch.optimize.spec import Decay

    return Decay.GRADIENT if mode is WeightDecayMode.L2Regularization else Decay.STEP


def _dtype(kind: DataType) -> Any:
    """The engine's type; None for that of the weight."""
    import torch

    if kind is DataType.UNDEFINED:
        return None
    known = {DataType.FLOAT: torch.float32, DataType.FLOAT16: torch.float16}
    if kind not in known:
        raise popart_exception(f"Optimizer tensors are FLOAT or FLOAT16, not {kind.name}.")
    return known[kind]


__all__ = [
    "SGD",
    "Adam",
    "Adaptive",
    "ClipNormSettings",
    "ConstSGD",
    "Optimizer",
    "OptimizerValue",
    "OptimizerValueMap",
]
