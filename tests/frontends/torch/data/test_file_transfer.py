"""Tensors go through files as they are; nothing in the files is interpreted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.utils.data import TensorDataset

from tremula.frontends.torch.data.file_transfer import FiledDataset


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
)
def test_elements_and_shapes_survive(dtype: torch.dtype, tmp_path: Path) -> None:
    tensor = torch.arange(24).reshape(2, 3, 4).to(dtype)
    other = torch.arange(2)
    (left, right) = FiledDataset.store(TensorDataset(tensor, other), str(tmp_path)).load().tensors
    assert torch.equal(left, tensor)
    assert left.dtype == dtype
    assert torch.equal(right, other)


def test_views_conjugates_scalars_and_empty_tensors(tmp_path: Path) -> None:
    z = torch.tensor([[1 + 2j, 3 - 1j], [0j, 4j]])
    sent = [torch.arange(6).reshape(2, 3).t(), z.conj(), torch.tensor(2.5), torch.empty(0, 3)]
    received = FiledDataset.store(sent, str(tmp_path)).load()
    for expected, found in zip(sent, received, strict=True):
        assert torch.equal(found, expected)


def test_only_the_elements_are_on_disk(tmp_path: Path) -> None:
    filed = FiledDataset.store(TensorDataset(torch.ones(100, 10)), str(tmp_path))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [torch.ones(1000).numpy().tobytes()]
    assert len(filed.description) < 1000


def test_changes_do_not_go_back_to_the_file(tmp_path: Path) -> None:
    filed = FiledDataset.store([torch.zeros(4)], str(tmp_path))
    filed.load()[0].fill_(1.0)
    assert filed.load()[0].tolist() == [0.0] * 4
