"""Which operators a program from a file may call."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch

from tremula.frontends.torch.ops import custom, host_call
from tremula.frontends.torch.package.allowed_ops import (
    name_of,
    operator_from_file,
    operator_of,
    refusal,
)
from tremula.frontends.torch.package.container import BadData


@pytest.mark.parametrize(
    "target",
    [
        operator.getitem,
        torch.ops.aten.mm.default,
        torch.ops.aten.add_.Tensor,
        torch.ops.aten.gelu.default,
        torch.ops.aten._native_batch_norm_legit.default,
        torch.ops.aten.sum.dim_IntList,
        torch.ops.aten._to_copy.default,
        torch.ops.aten.bernoulli_.float,
        torch.ops.prims.convert_element_type.default,
        custom.custom,
    ],
)
def test_computations_are_found_by_their_name(target: Any) -> None:
    name = name_of(target)
    assert name is not None
    assert operator_of(name) is operator_from_file(name) is target


@pytest.mark.parametrize(
    "name",
    [
        "aten::save.default",  # writes a pickle; exists in torch's scripting language only
        "aten::from_file.default",  # maps a file
        "aten::_print.default",
        "aten::set_.source_Storage",
        "aten::set_.source_Tensor_storage_offset",
        "aten::_sparse_coo_tensor_unsafe.default",
        "aten::_unsafe_index.Tensor",  # compiled code does not compare its indices with the size
        "aten::_unsafe_index_put.default",
        "aten::_unsafe_masked_index.default",
        "aten::_index_put_impl_.default",
        "aten::as_strided.default",
        "aten::as_strided_.default",
        "aten::resize_.default",
        "aten::_embedding_bag.default",  # offsets are not checked
        "aten::segment_reduce.default",
        "aten::mm.out",
        "aten::item.default",
        "aten::no_such_thing.default",
        "aten::add.NoSuchOverload",
        "prim::Print.default",
        "quantized::linear.default",
        "c10d::allreduce_.default",
        "os::system.default",
        "aten::add.Tensor; import os",
        "aten::__class__.default",
        "aten::add.__class__",
        "aten.add.Tensor",
        "getitem ",
        "",
    ],
)
def test_everything_else_is_refused(name: str) -> None:
    with pytest.raises(BadData, match="its program calls"):
        operator_from_file(name)


def test_what_a_file_may_not_call_is_still_compiled_for_this_process() -> None:
    for target in (torch.ops.aten._unsafe_index.Tensor, torch.ops.aten.as_strided.default):
        name = name_of(target)
        assert name is not None
        assert operator_of(name) is target
        assert refusal(name) is not None


def test_python_code_of_a_process_cannot_be_named() -> None:
    assert name_of(host_call.host_call) is None
    with pytest.raises(BadData, match="of the process that compiled it"):
        operator_from_file("tremula::host_call.default")


@pytest.mark.parametrize("target", [len, print, torch.add, torch.ops.aten.add, operator.add])
def test_only_operators_have_names(target: Any) -> None:
    assert name_of(target) is None
