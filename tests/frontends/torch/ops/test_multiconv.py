"""Groups of convolutions."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.capture.context import current
from tremula.frontends.torch.ops.multiconv import MultiConvGroup

CONV = torch.nn.functional.conv1d
X = torch.ones(1, 1, 4)


def grouped(body: Any, shared: Any = None, each: Any = None) -> Any:
    def model(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        capture = current()
        assert capture is not None
        group = MultiConvGroup(capture, shared or {}, each or {})
        group.open()
        try:
            result = body(weight, x)
        except BaseException:
            group.close(failed=True)
            raise
        group.close()
        return result + CONV(x, x)

    return model


def test_each_convolution_gets_its_share(record: Any) -> None:
    recorded = record(
        grouped(lambda w, x: CONV(x, x) + CONV(x * w, x), {"plan": 1, "unset": None}, {"memory": (0.1, 0.2)}),
        X,
    )
    first, second, outside = recorded.attributes("convolution")
    assert first["multi_conv"].items() >= {"index": 0, "plan": 1, "memory": 0.1}.items()
    assert second["multi_conv"].items() >= {"index": 1, "plan": 1, "memory": 0.2}.items()
    assert first["multi_conv"]["group"] == second["multi_conv"]["group"]
    assert "unset" not in first["multi_conv"]
    assert outside == {}
    assert recorded(X)[0].item() == 4.0 + 8.0 + 4.0


def test_one_value_serves_all(record: Any) -> None:
    recorded = record(grouped(lambda w, x: CONV(x, x) + CONV(x, x), each={"memory": (0.5,)}), X)
    assert [a["multi_conv"]["memory"] for a in recorded.attributes("convolution")[:2]] == [0.5, 0.5]


def test_refusals_leave_no_group_open(record: Any) -> None:
    with pytest.raises(Error, match="Nested"):
        record(grouped(grouped(lambda w, x: CONV(x, x))), X)
    with pytest.raises(Error, match="Unexpected end_multi_conv"):
        record(grouped(lambda w, x: x * 2), X)
    with pytest.raises(Error, match="3 values of memory for 1 convolutions"):
        record(grouped(lambda w, x: CONV(x, x), each={"memory": (0.1, 0.2, 0.3)}), X)
    record(grouped(lambda w, x: CONV(x, x)), X)
