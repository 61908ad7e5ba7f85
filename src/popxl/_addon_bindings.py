"""The bindings of the C++ ops of `popxl_addons`, which it would compile with PopART's headers.

Here the engine has them.

They are there before `popxl_addons` asks for them, so that it compiles nothing.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

import popart._internal.ir as _ir
from tremula.frontends.popxl.ops.addons import gathered_shape, strided_assignment

_PACKAGE = "popxl_addons.ops."
#: exponents that only the float8 type with five bits for them has
_WIDE_SPAN = 25
_NAMES = {
    operator: name
    for name, operator in (
        ("add", _ir.CollectiveOperator.Add),
        ("mean", _ir.CollectiveOperator.Mean),
        ("mul", _ir.CollectiveOperator.Mul),
        ("min", _ir.CollectiveOperator.Min),
        ("max", _ir.CollectiveOperator.Max),
        ("and", _ir.CollectiveOperator.LogicalAnd),
        ("or", _ir.CollectiveOperator.LogicalOr),
        ("square_add", _ir.CollectiveOperator.SquareAdd),
        ("local", _ir.CollectiveOperator.Local),
    )
}


def _create(
    graph: _ir.Graph,
    kind: str,
    inputs: Mapping[int, str],
    outputs: Mapping[int, str],
    attributes: Mapping[str, Any],
    settings: Any,
) -> _ir.Op:
    return graph.add_op(
        kind,
        {index: graph.getTensor(identifier) for index, identifier in inputs.items()},
        {index: graph.unscoped(identifier) for index, identifier in outputs.items()},
        attributes,
        settings,
    )


class RotaryPosEmbedOp:
    """Rotary embeddings."""

    @staticmethod
    def createOpInGraph(graph: Any, inputs: Any, outputs: Any, rotary_dim: int, settings: Any) -> _ir.Op:
        """An op of this kind."""
        return _create(graph, "RotaryPosEmbed", inputs, outputs, {"rotary_dim": rotary_dim}, settings)


class _RotaryOfHalves:
    """Rotary embeddings whose complex numbers are split between the halves of a tensor."""

    @staticmethod
    def createOpInGraph(graph: Any, inputs: Any, outputs: Any, rotary_dim: int, settings: Any) -> _ir.Op:
        """An op of this kind."""
        attributes = {"rotary_dim": rotary_dim, "halves": True}
        return _create(graph, "RotaryPosEmbed", inputs, outputs, attributes, settings)


class GradReduceSquareAddOp:
    """A scaled sum of squares."""

    @staticmethod
    def createOpInGraph(graph: Any, inputs: Any, outputs: Any, settings: Any) -> _ir.Op:
        """An op of this kind."""
        return _create(graph, "GradReduceSquareAdd", inputs, outputs, {}, settings)


class GroupQuantizeDecompressOp:
    """Numbers of four bits as halves."""

    @staticmethod
    def createOpInGraph(graph: Any, inputs: Any, outputs: Any, settings: Any) -> _ir.Op:
        """An op of this kind."""
        return _create(graph, "GroupQuantizeDecompress", inputs, outputs, {}, settings)


class CrossEntropyShardedOp:
    """A cross entropy whose classes are on several replicas."""

    @staticmethod
    def createOpInGraph(
        graph: Any,
        inputs: Any,
        outputs: Any,
        group: Any,
        availableMemoryProportion: float = 0.4,
        settings: Any = None,
    ) -> _ir.Op:
        """An op of this kind."""
        attributes = {
            "assignment": group.assignment,
            "available_memory_proportion": availableMemoryProportion,
        }
        return _create(graph, "CrossEntropySharded", inputs, outputs, attributes, settings)


class _CrossEntropyOverIpus:
    """A cross entropy whose classes are on several IPUs."""

    @staticmethod
    def createOpInGraph(graph: Any, inputs: Any, outputs: Any, ipus: Sequence[int], settings: Any) -> _ir.Op:
        """An op of this kind."""
        return _create(graph, "CrossEntropyShardedWr", inputs, outputs, {"ipus": list(ipus)}, settings)


class ReplicatedAllReduceTPOp:
    """A sum over replicas that can be differentiated."""

    @staticmethod
    def createOpInGraph(
        graph: Any,
        inputs: Any,
        outputs: Any,
        operator: Any,
        group: Any,
        identical_inputs: bool,
        identical_grad_inputs: bool,
        settings: Any,
    ) -> _ir.Op:
        """An op of this kind."""
        attributes = {
            "op": _NAMES[operator],
            "assignment": group.assignment,
            "identical_inputs": identical_inputs,
            "identical_grad_inputs": identical_grad_inputs,
        }
        return _create(graph, "ReplicatedAllReduceTP", inputs, outputs, attributes, settings)


class LayerNormDistributedOp:
    """A layer norm whose channels are on several replicas."""

    @staticmethod
    def createOpInGraph(
        graph: Any, inputs: Any, outputs: Any, epsilon: float, group: Any, settings: Any
    ) -> _ir.Op:
        """An op of this kind."""
        attributes = {"epsilon": epsilon, "assignment": group.assignment}
        return _create(graph, "LayerNormDistributed", inputs, outputs, attributes, settings)


class ReplicatedAllReduceStridedOp:
    """A sum over replicas with a stride."""

    @staticmethod
    def createOpInGraph(
        graph: Any,
        inputs: Any,
        outputs: Any,
        operator: Any,
        stride: int,
        size: int,
        identical_inputs: bool,
        identical_grad_inputs: bool,
        settings: Any,
    ) -> _ir.Op:
        """An op of this kind."""
        attributes = {
            "op": _NAMES[operator],
            "assignment": strided_assignment(graph.ir.replicas, stride, size),
            "identical_inputs": identical_inputs,
            "identical_grad_inputs": identical_grad_inputs,
        }
        return _create(graph, "ReplicatedAllReduceTP", inputs, outputs, attributes, settings)


class ReplicatedReduceScatterStridedOp:
    """Parts of a sum over replicas with a stride."""

    @staticmethod
    def createOpInGraph(
        graph: Any,
        inputs: Any,
        outputs: Any,
        operator: Any,
        stride: int,
        size: int,
        sharding: bool,
        settings: Any,
    ) -> _ir.Op:
        """An op of this kind."""
        attributes = {
            "op": _NAMES[operator],
            "assignment": strided_assignment(graph.ir.replicas, stride, size),
            "for_sharding": sharding,
        }
        return _create(graph, "ReplicatedReduceScatter", inputs, outputs, attributes, settings)


class ReplicatedAllGatherStridedOp:
    """The tensors of replicas with a stride, one behind the other."""

    @staticmethod
    def createOpInGraph(
        graph: Any, inputs: Any, outputs: Any, stride: int, size: int, settings: Any
    ) -> _ir.Op:
        """An op of this kind."""
        attributes = {
            "assignment": strided_assignment(graph.ir.replicas, stride, size),
            "shape": gathered_shape(graph.getTensor(inputs[0]).type, size),
        }
        return _create(graph, "ReplicatedAllGather", inputs, outputs, attributes, settings)


class LinearLayoutParams:
    """Parameters of a layout."""

    def __init__(self, batch_size: int = 1) -> None:
        self.batch_size = batch_size


class LinearLayoutOp:
    """Another layout on the tiles, with the same values."""

    @staticmethod
    def create_op_in_graph(graph: Any, inputs: Any, outputs: Any, params: Any, settings: Any) -> _ir.Op:
        """An op of this kind."""
        return _create(graph, "LinearLayout", inputs, outputs, {"batch_size": params.batch_size}, settings)


class DenseSparseMatMulParams:
    """A matrix in compressed rows."""

    def __init__(self, data: Any, indices: Any, indptr: Any, columns: int) -> None:
        self.attributes = {"data": data, "indices": indices.astype("int64"), "indptr": indptr.astype("int64")}
        self.attributes["columns"] = columns


class DenseSparseMatMulOp:
    """A product with a matrix in compressed rows."""

    @staticmethod
    def create_op_in_graph(graph: Any, inputs: Any, outputs: Any, params: Any, settings: Any) -> _ir.Op:
        """An op of this kind."""
        return _create(graph, "DenseSparseMatMul", inputs, outputs, params.attributes, settings)


class Fp8ScalingBiasParams:
    """Which float8 type a scale is for, by the exponents that it has."""

    def __init__(self, min_fp32_exp_index: int, quantisation_error: float, format_span: int) -> None:
        self.dtype = "float8_143" if format_span < _WIDE_SPAN else "float8_152"


class Fp8FindBestScaleOp:
    """The power of two with the least error in float8."""

    @staticmethod
    def create_op_in_graph(graph: Any, inputs: Any, outputs: Any, params: Any, settings: Any) -> _ir.Op:
        """An op of this kind."""
        return _create(graph, "Fp8FindBestScale", inputs, outputs, {"dtype": params.dtype}, settings)


_MODULES: dict[str, dict[str, Any]] = {
    "rotary_pos_embed.rotary_pos_embed_binding": {"RotaryPosEmbedOp": RotaryPosEmbedOp},
    "grad_reduce_square_add.grad_reduce_square_add_binding": {"GradReduceSquareAddOp": GradReduceSquareAddOp},
    "group_quantize_decompress.group_quantize_decompress_binding": {
        "GroupQuantizeDecompressOp": GroupQuantizeDecompressOp
    },
    "cross_entropy_sharded_loss.crossentropysharded_binding": {
        "CrossEntropyShardedOp": CrossEntropyShardedOp
    },
    "cross_entropy_sharded_wr_loss.crossentropysharded_wr_binding": {
        "CrossEntropyShardedOp": _CrossEntropyOverIpus
    },
    "replicated_all_reduce_TP.replicated_all_reduce_TP_binding": {
        "ReplicatedAllReduceTPOp": ReplicatedAllReduceTPOp
    },
    "layer_norm_distributed.layer_norm_distributed_binding": {
        "LayerNormDistributedOp": LayerNormDistributedOp
    },
    "replicated_strided_collectives.replicated_reduce_scatter_strided_binding": {
        "ReplicatedReduceScatterStridedOp": ReplicatedReduceScatterStridedOp
    },
    "replicated_strided_collectives.replicated_all_gather_strided_binding": {
        "ReplicatedAllGatherStridedOp": ReplicatedAllGatherStridedOp
    },
    "replicated_strided_collectives.replicated_all_reduce_strided_binding": {
        "ReplicatedAllReduceStridedOp": ReplicatedAllReduceStridedOp
    },
    "linear_layout.linear_layout_impl": {
        "LinearLayoutOp": LinearLayoutOp,
        "LinearLayoutParams": LinearLayoutParams,
    },
    "fp8_mse_scale.fp8_mse_scale_impl": {
        "Fp8FindBestScaleOp": Fp8FindBestScaleOp,
        "Fp8ScalingBiasParams": Fp8ScalingBiasParams,
    },
    "static_sparse_ops.dense_sparse_matmul_impl": {
        "DenseSparseMatMulOp": DenseSparseMatMulOp,
        "DenseSparseMatMulParams": DenseSparseMatMulParams,
    },
}


def install() -> None:
    """Have `popxl_addons`, and programs written with it, find these modules when they import them."""
    modules = {_PACKAGE + name: contents for name, contents in _MODULES.items()}
    # the language models LLaMA and Dolly of graphcore/examples bring their own
    modules["modelling.rotary_pos_embed.rotary_pos_embed_binding"] = {"RotaryPosEmbedOp": _RotaryOfHalves}
    for full, contents in modules.items():
        if full not in sys.modules:
            module = types.ModuleType(full, __doc__)
            vars(module).update(contents)
            sys.modules[full] = module
