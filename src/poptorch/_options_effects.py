"""Finds the options that are set and change nothing on this host (by the engine's tables), and reports them once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula import log
from tremula.settings import VARIABLES, engine_options, env, popart_options

if TYPE_CHECKING:
    from .options import Options

_NO_EFFECT = "no effect: "


def report(options: Options) -> None:
    """Name every option that was set and has no effect here (WARN), or only on the chip model (INFO)."""
    if options.available_memory_proportion:
        log.recorded("Options.setAvailableMemoryProportion")
    for name in sorted(options.TensorLocations.toDict()):
        log.recorded(f"Options.TensorLocations ({name})")
    for name, value in {**options._values, **options._Popart.options}.items():
        if name == "engineOptions" and isinstance(value, dict):
            for engine_option in value:
                _report_engine(engine_option)
        elif name == "convolutionOptions" and isinstance(value, dict):
            _report_convolution(value)
        else:
            _report_option(name, value)
    for variable in VARIABLES:
        if env.is_set(variable.name):
            _say(f"The environment variable {variable.name}", variable.effect)
    # the launcher sets it for all its instances, and has spoken where the user did
    if env.is_set("POPLAR_TARGET_OPTIONS") and not env.is_set("TREMULA_POPRUN"):
        log.no_effect("The environment variable POPLAR_TARGET_OPTIONS", "virtual IPUs have no links")
    for engine_option in {**env.get("POPLAR_ENGINE_OPTIONS"), **env.get("POPLAR_RUNTIME_OPTIONS")}:
        _report_engine(engine_option)


def _say(label: str, effect: str) -> None:
    if effect.startswith(_NO_EFFECT):
        log.no_effect(label, effect.removeprefix(_NO_EFFECT))
    elif effect.startswith("recorded"):
        log.recorded(label)


def _report_option(name: str, value: object) -> None:
    option = popart_options.known(name)
    if option is not None and not popart_options.is_default(name, value):
        _say(popart_options.public_name(name), option.effect)


def _report_convolution(settings: dict[str, object]) -> None:
    if settings.get("enableConvDithering"):
        log.no_effect("Options.Training.setConvolutionDithering", "convolutions are not laid out on tiles")
    # the type of partial sums goes with that of matrix products, which the engine follows
    if settings.keys() - {"enableConvDithering", "partialsType"}:
        log.recorded("convolutionOptions")


def _report_engine(name: str) -> None:
    option = engine_options.known(name)
    if option is None:
        return
    _say(f"The engine option {name}", option.effect)
