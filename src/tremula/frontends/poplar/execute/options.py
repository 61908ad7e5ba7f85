"""The options of an engine: checked, those of the environment in front, and each without effect named once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tremula import log
from tremula.device.settings import effective_engine_options
from tremula.errors import Error
from tremula.frontends.poplar.errors import InvalidOption
from tremula.settings import engine_options

_NO_EFFECT = "no effect: "
#: honoured here, whatever becomes of them in other front ends
_HONOURED = (
    "exchange.enablePrefetch",
    "profiler.blocks.filter",
    "profiler.programs.filter",
    "debug.instrumentExternalExchange",
    "debug.allowOutOfMemory",
)


class EngineOptions:
    """The options that hold for an engine."""

    def __init__(self, own: Mapping[str, object]) -> None:
        try:
            checked = engine_options.validate(own, "the options of Engine")
            self.values = effective_engine_options(checked)
        except Error as problem:
            raise InvalidOption(problem.message) from None
        for name in self.values:
            _say(name)

    def is_on(self, name: str, *, default: bool = False) -> bool:
        """Whether an option for a truth value is on."""
        text = self.values.get(name)
        return default if text is None else text.lower() in ("true", "1")

    def _reports(self, *names: str) -> bool:
        for name in (*names, "autoReport.all"):
            if name in self.values:
                return self.is_on(name)
        return False

    @property
    def graph_profile(self) -> bool:
        """Whether the graph part of a profile is to be written."""
        return self._reports("autoReport.outputGraphProfile")

    @property
    def execution_profile(self) -> bool:
        """Whether the execution part of a profile is to be written."""
        return self._reports("autoReport.outputExecutionProfile", "autoReport.outputExecutionReport")

    @property
    def profile_directory(self) -> Path:
        """The folder of the profile."""
        return Path(self.values.get("autoReport.directory", ".")).expanduser()

    @property
    def profiled_runs(self) -> int:
        """How many runs the profile shows step by step."""
        text = self.values.get("autoReport.executionProfileProgramRunCount", "").strip()
        return int(text) if text.isdecimal() else 2


def _say(name: str) -> None:
    option = engine_options.known(name)
    if option is None or name in _HONOURED:
        return
    if option.effect.startswith(_NO_EFFECT):
        log.no_effect(f"The engine option {name}", option.effect.removeprefix(_NO_EFFECT))
    elif option.effect.startswith("recorded"):
        log.recorded(f"The engine option {name}")
