"""The old constructor of `Sampler` is there on demand only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch.utils.data

from tremula.frontends.torch.data import legacy


class OldSampler(torch.utils.data.Sampler):
    def __init__(self) -> None:
        super().__init__(None)

    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


def test_samplers_of_older_programs_work_once_enabled() -> None:
    with pytest.raises(TypeError):
        OldSampler()
    try:
        assert legacy.enable_legacy_sampler()
        assert list(OldSampler()) == [0, 1, 2]
        assert not legacy.enable_legacy_sampler()
        assert len(torch.utils.data.SequentialSampler(range(4))) == 4
    finally:
        del torch.utils.data.Sampler.__init__
    with pytest.raises(TypeError):
        OldSampler()


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("0", False), ("", False), (None, False)])
def test_the_environment_decides(value: str | None, expected: bool) -> None:
    environ = {} if value is None else {legacy.ENVIRONMENT_VARIABLE: value}
    assert legacy.legacy_torch_requested(environ) is expected
