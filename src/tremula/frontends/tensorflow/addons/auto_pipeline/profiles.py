"""What takes profiles of compiled layers: their numbers come from report files of the device's compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _needs_report(name: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{name} takes cycles and memory of layers from report files of the device's compiler, one compilation per "
            "layer, which is not imitated. Give the functions that find stages a model profile from elsewhere; `pva` "
            "reads figures of layers from a profile."
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Refuse: `{name}` needs a report file.\n\nRaises:\n    NotImplementedError: always."
    return function


create_model_profile = _needs_report("create_model_profile")
create_strategy = _needs_report("create_strategy")
parse_layer_profile = _needs_report("parse_layer_profile")
parse_pipelined_model_profile = _needs_report("parse_pipelined_model_profile")
profile_layer_from_assignment = _needs_report("profile_layer_from_assignment")
profile_pipelined_model = _needs_report("profile_pipelined_model")
search_for_max_throughput = _needs_report("search_for_max_throughput")


def get_pipeline_cost(pipeline_profile: list[Any], batch_size: int) -> int:
    """Cycles of all IPUs together for one entry of a batch."""
    slowest = max(stage["cycle"]["total"] for stage in pipeline_profile)
    return int(slowest * len(pipeline_profile) / batch_size)
