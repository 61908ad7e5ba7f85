"""The functions with which programs of SDK 1 to 2.3 fill an `IpuOptions` message, piece by piece.

    opts = utils.create_ipu_config()
    opts = utils.auto_select_ipus(opts, 1)
    utils.configure_ipu_system(opts)

Each returns the message that it was given. `IPUConfig` has replaced them; one line says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tremula import log
from tremula.frontends.tensorflow.config.enums import (
    DeviceConnectionType,
    ExecutionProfileType,
    MergeRemoteBuffersBehaviour,
    SchedulingAlgorithm,
    SelectionOrder,
    StochasticRoundingBehaviour,
)
from tremula.frontends.tensorflow.config.ipu_config import IPUConfig

#: what algorithms were called before they were an enumeration
_ALGORITHMS = {
    "": SchedulingAlgorithm.CHOOSE_BEST,
    "Clustering": SchedulingAlgorithm.CLUSTERING,
    "PostOrder": SchedulingAlgorithm.POST_ORDER,
    "LookAhead": SchedulingAlgorithm.LOOK_AHEAD,
    "ShortestPath": SchedulingAlgorithm.SHORTEST_PATH,
}


def create_ipu_config(
    profiling: bool = False,
    enable_ipu_events: bool = False,
    use_poplar_text_report: bool = False,
    use_poplar_cbor_report: bool = False,
    profile_execution: Any = None,
    enable_poplar_serialized_graph: bool = False,
    report_every_nth_execution: int = 0,
    max_report_size: int = 0x10000000,
    report_directory: str = "",
    scheduler_selection: Any = SchedulingAlgorithm.CHOOSE_BEST,
    always_rearrange_copies_on_the_host: bool = False,
    merge_infeed_io_copies: bool = False,
    disable_graph_outlining: bool = False,
    max_scheduler_lookahead_depth: int = 5,
    max_scheduler_search_space_size: int = 64,
    prefetch_data_streams: bool = True,
    selection_order: SelectionOrder = SelectionOrder.AUTO,
    enable_experimental_remote_buffer_embedding: bool = False,
) -> Any:
    """A message with the defaults of an `IPUConfig` and these choices."""
    log.info_once(
        "older configuration",
        "create_ipu_config and the functions beside it are those of SDK 2.3 and before; IPUConfig has replaced them.",
    )
    if profiling and enable_ipu_events:
        raise ValueError(
            "`profiling` and `enable_ipu_events` are mutually exclusive: the first includes the second."
        )
    kind = _profile(profile_execution)
    if kind is not ExecutionProfileType.NO_PROFILE and not profiling:
        raise ValueError("`profiling` is required when `profile_execution` is set.")
    opts = IPUConfig()._create_protobuf()
    events = bool(profiling or enable_ipu_events)
    trace = opts.profiling
    trace.enable_ipu_trace_events = trace.enable_compilation_trace = trace.enable_io_trace = events
    trace.execution_trace_type = kind.value
    trace.enable_poplar_reports_text = use_poplar_text_report
    trace.enable_poplar_reports_cbor = use_poplar_cbor_report
    trace.enable_poplar_graph = enable_poplar_serialized_graph
    trace.report_every_nth_execution = report_every_nth_execution
    trace.max_report_size = max_report_size
    trace.report_directory = report_directory
    speed = opts.speed_size_config
    speed.scheduler_selection = _algorithm(scheduler_selection).value
    speed.always_rearrange_copies_on_the_host = always_rearrange_copies_on_the_host
    speed.merge_infeed_io_copies = merge_infeed_io_copies
    speed.disable_graph_outlining = disable_graph_outlining
    opts.max_scheduler_lookahead_depth = max_scheduler_lookahead_depth
    opts.max_scheduler_search_space_size = max_scheduler_search_space_size
    opts.prefetch_data_streams = prefetch_data_streams
    opts.selection_order = selection_order.value
    opts.enable_experimental_remote_buffer_embedding = enable_experimental_remote_buffer_embedding
    return opts


def _profile(given: Any) -> ExecutionProfileType:
    if isinstance(given, ExecutionProfileType):
        return given
    if given is None or isinstance(given, bool):
        return ExecutionProfileType.DEVICE_PROFILE if given else ExecutionProfileType.NO_PROFILE
    raise TypeError(
        f"`profile_execution` must be True, False, or an ExecutionProfileType instance, not {given!r}."
    )


def _algorithm(given: Any) -> SchedulingAlgorithm:
    if isinstance(given, SchedulingAlgorithm):
        return given
    if given not in _ALGORITHMS:
        raise TypeError(
            f"Could not convert {given!r} to a valid `SchedulingAlgorithm`: use one of its members."
        )
    return _ALGORITHMS[given]


def _fill(target: Any, name: str, given: Any) -> None:
    if not given:
        return
    if not isinstance(given, Mapping):
        raise TypeError(f"`{name}` must be a dictionary, not {type(given).__name__}.")
    for option, value in given.items():
        target.add(option=option, value=value)


def set_serialization_options(opts: Any, output_folder: str = "") -> Any:
    """Where compiled programs go."""
    opts.serialization_folder = output_folder
    return opts


def set_optimization_options(
    opts: Any,
    combine_embedding_lookups: bool = False,
    combine_matmuls: bool = False,
    max_cross_replica_sum_buffer_size: int = 0,
    max_reduce_scatter_buffer_size: int = 0,
    max_inter_ipu_copies_buffer_size: int = 0,
    max_send_recv_cluster_size: int = 0,
    minimum_remote_tensor_size: int = 128,
    merge_remote_buffers: Any = MergeRemoteBuffersBehaviour.NO_MERGING,
    gather_simplifier: bool = True,
    triangular_solve_expander_block_size: int = 0,
    cholesky_block_size: int = 0,
    enable_fast_math: bool = False,
) -> Any:
    """What the compiler does with a graph."""
    if not isinstance(merge_remote_buffers, MergeRemoteBuffersBehaviour):
        choices = {
            None: MergeRemoteBuffersBehaviour.IF_BENEFICIAL,
            True: MergeRemoteBuffersBehaviour.MERGE,
            False: MergeRemoteBuffersBehaviour.NO_MERGING,
        }
        merge_remote_buffers = choices[None if merge_remote_buffers is None else bool(merge_remote_buffers)]
    opts.enable_multi_slice_combiner = combine_embedding_lookups
    opts.enable_matmul_combiner = combine_matmuls
    opts.max_cross_replica_sum_buffer_size = max_cross_replica_sum_buffer_size
    opts.max_reduce_scatter_buffer_size = max_reduce_scatter_buffer_size
    opts.max_inter_ipu_copies_buffer_size = max_inter_ipu_copies_buffer_size
    opts.max_send_recv_cluster_size = max_send_recv_cluster_size
    opts.minimum_remote_tensor_size = minimum_remote_tensor_size
    opts.remote_buffer_merging_mode = merge_remote_buffers.value
    opts.disable_gather_simplifier = not gather_simplifier
    opts.triangular_solve_expander_block_size = triangular_solve_expander_block_size
    opts.cholesky_block_size = cholesky_block_size
    opts.enable_fast_math = enable_fast_math
    return opts


def set_norm_options(
    opts: Any,
    use_stable_statistics: bool = False,
    experimental_distributed_batch_norm_replica_group_size: int = 1,
) -> Any:
    """How normalisations take their statistics."""
    if experimental_distributed_batch_norm_replica_group_size < 1:
        raise ValueError("experimental_distributed_batch_norm_replica_group_size needs to be at least 1.")
    opts.use_stable_norm_statistics = use_stable_statistics
    opts.experimental_distributed_batch_norm_replica_group_size = (
        experimental_distributed_batch_norm_replica_group_size
    )
    return opts


def set_compilation_options(opts: Any, compilation_options: Mapping[str, str] | None = None) -> Any:
    """Options of the Poplar engine."""
    _fill(opts.compilation_options, "compilation_options", compilation_options)
    return opts


def set_convolution_options(opts: Any, convolution_options: Mapping[str, str] | None = None) -> Any:
    """Options of convolutions."""
    _fill(opts.convolution_options, "convolution_options", convolution_options)
    return opts


def set_matmul_options(
    opts: Any, matmul_options: Mapping[str, str] | None = None, clear_pass_type: bool = False
) -> Any:
    """Options of matrix products."""
    _fill(opts.matmul_options, "matmul_options", matmul_options)
    opts.clear_matmul_pass_type = clear_pass_type
    return opts


def set_pooling_options(opts: Any, pooling_options: Mapping[str, str] | None = None) -> Any:
    """Options of pooling."""
    _fill(opts.pooling_options, "pooling_options", pooling_options)
    return opts


def set_report_options(
    opts: Any,
    graph_options: Mapping[str, str] | None = None,
    execution_options: Mapping[str, str] | None = None,
) -> Any:
    """Options of reports."""
    _fill(opts.profiling.graph_options, "graph_options", graph_options)
    if execution_options:
        log.no_effect("execution_options", "profiles always have all parts")
    return opts


def set_gcl_options(opts: Any, gcl_options: Mapping[str, str] | None = None) -> Any:
    """Options of collectives."""
    _fill(opts.gcl_options, "gcl_options", gcl_options)
    return opts


def set_ipu_model_options(
    opts: Any,
    compile_ipu_code: bool = True,
    tiles_per_ipu: int | None = None,
    ipu_model_version: str = "ipu2",
) -> Any:
    """What the IPU model is like."""
    opts.ipu_model_config.compile_ipu_code = compile_ipu_code
    opts.ipu_model_config.tiles_per_ipu = tiles_per_ipu or 0
    opts.ipu_model_config.ipu_model_version = ipu_model_version
    return opts


def set_recomputation_options(opts: Any, allow_recompute: bool = True) -> Any:
    """Whether activations may be computed again."""
    opts.speed_size_config.allow_recompute = allow_recompute
    return opts


def set_floating_point_behaviour_options(
    opts: Any, inv: bool = True, div0: bool = True, oflo: bool = True, esr: Any = True, nanoo: bool = True
) -> Any:
    """How the device rounds, and what stops a program."""
    behaviour = opts.floating_point_behaviour
    behaviour.inv, behaviour.div0, behaviour.oflo, behaviour.nanoo = inv, div0, oflo, nanoo
    rounding = (
        esr if isinstance(esr, StochasticRoundingBehaviour) else StochasticRoundingBehaviour.from_bool(esr)
    )
    behaviour.esr = rounding.value
    return opts


def set_io_tile_options(
    opts: Any,
    num_io_tiles: int,
    place_ops_on_io_tiles: bool | None = None,
    io_tile_available_memory_proportion: float = 0.9,
) -> Any:
    """Which tiles do input and output."""
    if place_ops_on_io_tiles and num_io_tiles == 0:
        raise ValueError("Cannot place ops on I/O tiles when num_io_tiles == 0.")
    opts.num_io_tiles = num_io_tiles
    opts.io_tile_available_memory_proportion = io_tile_available_memory_proportion
    if place_ops_on_io_tiles is not None:
        opts.place_ops_on_io_tiles = place_ops_on_io_tiles
    return opts


def _new_devices(opts: Any) -> Any:
    if opts.device_config:
        raise ValueError("IPU devices have already been configured: choose them once.")
    return opts.device_config


def auto_select_ipus(opts: Any, num_ipus: int | Sequence[int]) -> Any:
    """How many IPUs each TensorFlow device has."""
    devices = _new_devices(opts)
    if isinstance(num_ipus, bool) or not isinstance(num_ipus, (int, list, tuple)):
        raise TypeError(f"`num_ipus` must be an integer, list or tuple, not {num_ipus!r}.")
    for count in [num_ipus] if isinstance(num_ipus, int) else num_ipus:
        devices.add(auto_count=count)
    return opts


def select_ipus(opts: Any, indices: Sequence[int]) -> Any:
    """Which devices are taken."""
    devices = _new_devices(opts)
    if not isinstance(indices, (list, tuple)):
        raise TypeError(f"`indices` must be a list or tuple, not {indices!r}.")
    if len(set(indices)) != len(indices):
        raise ValueError("All device indices in `indices` must be unique.")
    for index in indices:
        devices.add(cfg_index=index)
    return opts


def set_ipu_connection_type(
    opts: Any,
    connection_type: DeviceConnectionType = DeviceConnectionType.ALWAYS,
    ipu_version: str | int = "",
    enable_remote_buffers: bool = False,
) -> Any:
    """When devices are taken."""
    if ipu_version == "" and connection_type in (
        DeviceConnectionType.NEVER,
        DeviceConnectionType.PRE_COMPILE,
    ):
        raise ValueError(f"`ipu_version` must be specified when `connection_type` is {connection_type}.")
    opts.device_connection_type = connection_type.value
    opts.ipu_version = f"ipu{ipu_version}" if isinstance(ipu_version, int) else ipu_version
    opts.enable_remote_buffers_without_device = enable_remote_buffers
    return opts


def set_experimental_multi_replica_distribution_options(
    opts: Any, process_count: int, process_index: int
) -> Any:
    """Which of how many processes this one is."""
    if not 0 <= process_index < process_count:
        raise ValueError(
            f"process_index is {process_index}: it takes 0 to process_count - 1, {process_count - 1}."
        )
    opts.multi_replica_process_count = process_count
    opts.multi_replica_process_index = process_index
    return opts


def _no_reports(_events: Sequence[bytes]) -> list[Any]:
    """Reports in a trace of device events: later SDKs put none there, so there are none."""
    return []


extract_compile_reports = extract_poplar_serialized_graphs = extract_execute_reports = _no_reports
