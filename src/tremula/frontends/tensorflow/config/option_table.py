"""Every option of `IPUConfig`: name, default, type, where it stands in an `IpuOptions` message, what becomes of it on
the host, and what it means. Names, types, defaults and fields are public interface.

An option whose field begins with `!` has the opposite value there. Those without a field are written by
`ipu_config.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Tuple, Union  # noqa: UP035

from tremula.frontends.tensorflow.config.enums import (
    DeviceConnectionType,
    MergeRemoteBuffersBehaviour,
    SchedulingAlgorithm,
    SelectionOrder,
    StochasticRoundingBehaviour,
)

HONOURED = "honoured"
RECORDED = "recorded"
_TILES = "no effect: no code is generated for tiles, so there is nothing to merge, outline or plan"
_SCHEDULE = "no effect: ops run in TensorFlow's order; there is no scheduler"
_STREAMS = "no effect: data is passed in memory; there are no streams to a device"
_HALF = "no effect: TensorFlow's kernels round half precision to nearest, and overflow to infinity"
_TRAPS = "no effect: TensorFlow's kernels have no such exceptions; use tf.debugging.enable_check_numerics()"
#: how older programs read the type: exactly as here
_IPUS = Union[int, List[int], Tuple[int, ...]]  # noqa: UP006, UP007


@dataclass(frozen=True)
class Option:
    """One row."""

    name: str
    default: Any
    field: str
    effect: str
    doc: str
    hint: Any = None  #: its type; that of the default, if None
    deprecated: str | None = None

    @property
    def type_hint(self) -> Any:
        """The type that values must have."""
        return type(self.default) if self.hint is None else self.hint


#: categories and what they are about, in the order in which they are shown, after the options of the root
CATEGORIES = {
    "convolutions": "Options of convolutions.",
    "device_connection": "When, and to what kind of device, programs are connected.",
    "slices": "Options of slices, lookups and their updates.",
    "experimental": "Options that may change or go.",
    "experimental.multi_replica_distribution": (
        "Several processes that run one program together, each with some of the replicas. There are `process_count` "
        "times as many replicas as in one process."
    ),
    "floating_point_behaviour": "How the device rounds, and what it does about overflows and the like.",
    "io_tiles": "Tiles that are set apart for input and output.",
    "ipu_model": "Options of the IPU model (`TF_POPLAR_FLAGS=--use_ipu_model`).",
    "matmuls": "Options of matrix products.",
    "norms": "Options of batch, group, layer and instance normalisation.",
    "norms.experimental": "Options of normalisations that may change or go.",
    "optimizations": "Options of the compiler that makes a device program of a graph.",
    "optimizations.math": "How expressions are simplified.",
    "pooling": "Options of pooling.",
    "scheduling": "In which order the device program does things.",
}

# fmt: off
OPTIONS: tuple[Option, ...] = (
    Option("allow_recompute", False, "speed_size_config.allow_recompute", RECORDED,
        "Whether activations may be computed again in the backward pass instead of being kept."),
    Option("selection_order", SelectionOrder.AUTO, "selection_order",
        "no effect: all virtual IPUs are equally near to each other",
        "In which order the IPUs of a device become the shards of a program: a `SelectionOrder`."),
    Option("serialization_output_folder", "", "serialization_folder",
        "no effect: there are no Poplar executables to write; use serving or application_compile to export a program",
        "Folder to which compiled programs are written; empty: none are."),
    Option("compilation_poplar_options", {}, "compilation_options", RECORDED,
        "Options of the Poplar engine by name; POPLAR_ENGINE_OPTIONS overrides them. An unknown name is an error when "
        "the system is configured."),
    Option("gcl_poplar_options", {}, "gcl_options", RECORDED, "Options of the collective communication library."),
    Option("auto_select_ipus", [], "", HONOURED,
        "Configure the IPUs to be used by their number: one for /device:IPU:0, or a list for /device:IPU:0, "
        "/device:IPU:1 and so on. A program that uses fewer IPUs than its device has is replicated.", _IPUS),
    Option("select_ipus", [], "", HONOURED,
        "Which devices are taken: the id, or a list of ids, that gc-info -l shows. An id of several IPUs gives a "
        "TensorFlow device of that many.", _IPUS),

    Option("convolutions.poplar_options", {}, "convolution_options", RECORDED,
        "Options of all convolutions by name, such as availableMemoryProportion and partialsType."),

    Option("device_connection.type", DeviceConnectionType.ALWAYS, "device_connection_type", HONOURED,
        "When devices are taken: a `DeviceConnectionType`."),
    Option("device_connection.version", "", "ipu_version", RECORDED,
        "The chip that programs are compiled for if no device is taken (NEVER, PRE_COMPILE): ipu1, ipu2 or ipu21."),
    Option("device_connection.enable_remote_buffers", False, "enable_remote_buffers_without_device", RECORDED,
        "Whether the device that a program will run on has remote buffers, if that device cannot be asked."),

    Option("slices.poplar_options", {}, "slice_options", RECORDED,
        "Options of all lookups and updates by name, such as availableMemoryProportion."),

    Option("experimental.always_rearrange_copies_on_the_host", False,
        "speed_size_config.always_rearrange_copies_on_the_host", _STREAMS,
        "Whether the host brings streamed data into the device's layout."),
    Option("experimental.enable_remote_buffer_embedding", False, "enable_experimental_remote_buffer_embedding",
        RECORDED, "Whether host embeddings live in remote buffers."),
    Option("experimental.enable_prng_stability", False, "enable_experimental_prng_stability", HONOURED,
        "Whether replicas draw the same random numbers, so that their weights stay equal."),
    Option("experimental.multi_replica_distribution.process_index", 0, "multi_replica_process_index", HONOURED,
        "Which of the processes this one is, from 0 on."),
    Option("experimental.multi_replica_distribution.process_count", 0, "multi_replica_process_count", HONOURED,
        "How many processes there are; 0: the program is not distributed."),

    Option("floating_point_behaviour.inv", False, "", _TRAPS, "Whether an invalid operation stops the program."),
    Option("floating_point_behaviour.div0", False, "", _TRAPS, "Whether a division by zero stops the program."),
    Option("floating_point_behaviour.oflo", False, "", _TRAPS, "Whether an overflow stops the program."),
    Option("floating_point_behaviour.esr", StochasticRoundingBehaviour.OFF, "", _HALF,
        "Where half-precision results are rounded at random: a `StochasticRoundingBehaviour`."),
    Option("floating_point_behaviour.nanoo", False, "", _HALF,
        "Whether a half-precision overflow gives NaN rather than the largest number."),
    Option("floating_point_behaviour.set_all", False, "", HONOURED, "Turns all of these on."),

    Option("io_tiles.num_io_tiles", 0, "num_io_tiles", RECORDED, "How many tiles of each IPU do input and output."),
    Option("io_tiles.place_ops_on_io_tiles", False, "place_ops_on_io_tiles", RECORDED,
        "Whether ops of input and output run on those tiles."),
    Option("io_tiles.available_memory_proportion", 0.9, "io_tile_available_memory_proportion", RECORDED,
        "Share of the memory of these tiles that may contain data."),

    Option("ipu_model.compile_ipu_code", True, "ipu_model_config.compile_ipu_code", RECORDED,
        "Whether the model has code for tiles."),
    Option("ipu_model.tiles_per_ipu", 0, "ipu_model_config.tiles_per_ipu", RECORDED,
        "Tiles of each modelled IPU; 0: as many as the chip has."),
    Option("ipu_model.version", "ipu2", "ipu_model_config.ipu_model_version", RECORDED,
        "Specify the IPU version to be used by the model: ipu1, ipu2 or ipu21."),

    Option("matmuls.clear_pass_type", False, "clear_matmul_pass_type", RECORDED,
        "Whether the planner is not told which products belong to the forward and which to the backward pass."),
    Option("matmuls.poplar_options", {}, "matmul_options", RECORDED,
        "Options of all matrix products by name, such as availableMemoryProportion and partialsType."),

    Option("norms.use_stable_statistics", False, "use_stable_norm_statistics",
        "no effect: TensorFlow's kernels always take the mean off before they square",
        "Whether variances are computed in two passes."),
    Option("norms.experimental.distributed_batch_norm_replica_group_size", 1,
        "experimental_distributed_batch_norm_replica_group_size",
        "no effect: each replica takes its own batch statistics",
        "Over how many replicas batch statistics are taken in training."),

    Option("optimizations.math.fast", False, "algebraic_simplifier_config.enable_fast_math", _TILES,
        "Whether expressions may be changed at the expense of accuracy."),
    Option("optimizations.math.dot_strength", True, "algebraic_simplifier_config.enable_dot_strength", _TILES,
        "Whether products without a common inner extent become elementwise."),
    Option("optimizations.prefetch_data_streams", True, "prefetch_data_streams", RECORDED,
        "Whether the host prepares data while the device computes."),
    Option("optimizations.combine_embedding_lookups", False, "enable_multi_slice_combiner", _TILES,
        "Whether lookups in the same table become one."),
    Option("optimizations.combine_matmuls", False, "enable_matmul_combiner", _TILES,
        "Whether products with a common operand become one."),
    Option("optimizations.enable_graph_outlining", True, "!speed_size_config.disable_graph_outlining", _TILES,
        "Whether equal parts of a program share code."),
    Option("optimizations.merge_infeed_io_copies", True, "speed_size_config.merge_infeed_io_copies", _STREAMS,
        "Whether the copies of one infeed element become one."),
    Option("optimizations.maximum_cross_replica_sum_buffer_size", 0, "max_cross_replica_sum_buffer_size", RECORDED,
        "How many bytes may wait for a common cross-replica sum; 0: none."),
    Option("optimizations.maximum_reduce_scatter_buffer_size", 0, "max_reduce_scatter_buffer_size", RECORDED,
        "How many bytes may wait for a common reduce-scatter; 0: none."),
    Option("optimizations.maximum_inter_ipu_copies_buffer_size", 0, "max_inter_ipu_copies_buffer_size", RECORDED,
        "How many bytes may wait for a common copy between IPUs; 0: none."),
    Option("optimizations.maximum_send_recv_cluster_size", 0, "max_send_recv_cluster_size", RECORDED,
        "How many bytes may wait for a common transfer to or from the host; 0: none."),
    Option("optimizations.maximum_reduce_many_buffer_size", 0, "max_reduce_many_buffer_size", RECORDED,
        "How many bytes may wait for a common reduction; 0: none."),
    Option("optimizations.maximum_all_gather_buffer_size", 0, "max_all_gather_buffer_size", RECORDED,
        "How many bytes may wait for a common all-gather; 0: none."),
    Option("optimizations.minimum_remote_tensor_size", 128, "minimum_remote_tensor_size", RECORDED,
        "From how many bytes on a tensor may live in remote memory."),
    Option("optimizations.merge_remote_buffers", MergeRemoteBuffersBehaviour.IF_BENEFICIAL,
        "remote_buffer_merging_mode", RECORDED,
        "Whether buffers in remote memory become one: a `MergeRemoteBuffersBehaviour`."),
    Option("optimizations.enable_gather_simplifier", True, "!disable_gather_simplifier", _TILES,
        "Whether lookups are simplified more than they are safely."),
    Option("optimizations.triangular_solve_expander_block_size", 0, "triangular_solve_expander_block_size", _TILES,
        "Size of the blocks in which triangular systems are solved; 0: chosen for you."),
    Option("optimizations.cholesky_block_size", 0, "cholesky_block_size", _TILES,
        "Size of the blocks in which Cholesky factors are computed; 0: chosen for you."),
    Option("optimizations.enable_fast_math", False, "enable_fast_math", _TILES, "As `optimizations.math.fast`.",
        deprecated="it is called 'optimizations.math.fast' now."),
    Option("optimizations.enable_dynamic_slice_replacement", True, "enable_dynamic_slice_replacement", _TILES,
        "Whether dynamic slices are planned as lookups are."),

    Option("pooling.poplar_options", {}, "pooling_options", RECORDED, "Options of all pooling by name."),

    Option("scheduling.algorithm", SchedulingAlgorithm.CHOOSE_BEST, "speed_size_config.scheduler_selection",
        _SCHEDULE, "How instructions are ordered: a `SchedulingAlgorithm`."),
    Option("scheduling.maximum_scheduler_lookahead_depth", 5, "max_scheduler_lookahead_depth", _SCHEDULE,
        "How far LOOK_AHEAD looks."),
    Option("scheduling.maximum_scheduler_search_space_size", 64, "max_scheduler_search_space_size", _SCHEDULE,
        "How many orders LOOK_AHEAD compares."),
)
# fmt: on
