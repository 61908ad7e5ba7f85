"""The messages in which programs of the older interface hold a configuration (`IpuOptions`) and a trace of device
events (`IpuTraceEvent`). Names and numbers are public interface.
"""

from __future__ import annotations

from tremula.frontends.tensorflow.config.wire_format import Schema

_DRIVER = "tensorflow/compiler/plugin/poplar/driver"

_OPTIONS = Schema(
    f"{_DRIVER}/config.proto",
    "xla.poplarplugin",
    {
        "ThreeState": "THREESTATE_OFF THREESTATE_ON THREESTATE_UNDEFINED",
        "IpuSelectionOrder": "AUTO ZIGZAG SNAKE HOOF",
        "IpuDeviceConnectionType": "ALWAYS ON_DEMAND NEVER PRE_COMPILE",
        "IpuOptionsCreator": "INVALID IPU_UTILS",
        "IpuExecutionProfileType": "NO_PROFILE DEVICE_PROFILE IPU_PROFILE TILE_PROFILE",
        "IpuSchedulingAlgorithm": "CHOOSE_BEST CLUSTERING POST_ORDER LOOK_AHEAD SHORTEST_PATH",
        "SyntheticDataCategory": "Seed Infeed Outfeed HostEmbedding Parameters Unknown",
        "StochasticRoundingBehaviour": (
            "StochasticRounding_Off StochasticRounding_On StochasticRounding_ReplicaIdenticalOnly"
        ),
    },
    {
        "PoplarOptionFlag": """
            1 string option
            2 string value""",
        "PoplarOptionFlags": """
            1 repeated PoplarOptionFlag flags""",
        "IpuOptions": """
            1 IpuOptions.IpuModelConfig ipu_model_config
            2 IpuOptions.Profiling profiling
            3 repeated PoplarOptionFlag compilation_options
            4 repeated IpuOptions.DeviceConfig device_config
            5 IpuOptions.SpeedSizeConfig speed_size_config
            6 repeated PoplarOptionFlag convolution_options
            7 repeated PoplarOptionFlag matmul_options
            8 repeated PoplarOptionFlag pooling_options
            9 bool clear_matmul_pass_type
            10 bool deprecated
            11 int64 max_cross_replica_sum_buffer_size
            12 int64 max_reduce_scatter_buffer_size
            13 IpuOptions.FloatingPointBehaviour floating_point_behaviour
            14 int64 max_inter_ipu_copies_buffer_size
            15 int64 max_send_recv_cluster_size
            16 int64 max_scheduler_lookahead_depth
            17 int64 max_scheduler_search_space_size
            18 bool prefetch_data_streams
            19 bool enable_multi_slice_combiner
            20 bool enable_matmul_combiner
            21 IpuSelectionOrder selection_order
            22 bool disable_gather_simplifier
            23 string serialization_folder
            24 IpuDeviceConnectionType device_connection_type
            25 string ipu_version
            27 IpuOptionsCreator creator_id
            28 bool use_stable_norm_statistics
            29 int64 num_io_tiles
            30 repeated PoplarOptionFlag gcl_options
            31 int64 triangular_solve_expander_block_size
            32 bool enable_experimental_remote_buffer_embedding
            33 bool enable_fast_math
            34 int64 multi_replica_process_count
            35 int64 multi_replica_process_index
            36 int64 minimum_remote_tensor_size
            37 bool place_ops_on_io_tiles
            38 bool enable_remote_buffers_without_device
            39 ThreeState remote_buffer_merging_mode
            40 int64 cholesky_block_size
            41 int64 experimental_distributed_batch_norm_replica_group_size
            42 double io_tile_available_memory_proportion
            43 repeated PoplarOptionFlag slice_options
            44 int64 max_reduce_many_buffer_size
            45 IpuOptions.IpuAlgebraicSimplifierConfig algebraic_simplifier_config
            46 bool enable_experimental_prng_stability
            47 int64 max_all_gather_buffer_size
            48 bool enable_dynamic_slice_replacement""",
        "IpuOptions.IpuModelConfig": """
            1 bool compile_ipu_code
            2 int64 tiles_per_ipu
            3 string ipu_model_version""",
        "IpuOptions.Profiling": """
            1 bool enable_compilation_trace
            2 bool enable_poplar_reports_text
            3 bool enable_io_trace
            4 IpuExecutionProfileType execution_trace_type
            5 int64 report_every_nth_execution
            7 bool enable_ipu_trace_events
            8 bool enable_poplar_reports_cbor
            9 string report_directory
            10 int64 max_report_size
            11 repeated PoplarOptionFlag graph_options
            13 bool enable_poplar_graph""",
        "IpuOptions.DeviceConfig": """
            1 oneof:selection int32 auto_count
            2 oneof:selection int32 cfg_index""",
        "IpuOptions.SpeedSizeConfig": """
            1 bool always_rearrange_copies_on_the_host
            3 bool disable_graph_outlining
            4 bool allow_recompute
            6 bool merge_infeed_io_copies
            7 IpuSchedulingAlgorithm scheduler_selection""",
        "IpuOptions.FloatingPointBehaviour": """
            2 bool inv
            3 bool div0
            4 bool oflo
            5 StochasticRoundingBehaviour esr
            6 bool nanoo""",
        "IpuOptions.IpuAlgebraicSimplifierConfig": """
            1 bool enable_fast_math
            2 bool enable_dot_strength""",
    },
)

_TRACE = Schema(
    f"{_DRIVER}/trace.proto",
    "tensorflow",
    {
        "IpuTraceEvent.Type": (
            "COMPILE_BEGIN COMPILE_END HOST_TO_DEVICE_TRANSFER DEVICE_TO_HOST_TRANSFER LOAD_ENGINE EXECUTE"
        )
    },
    {
        "IpuTraceCompileBeginEvent": """
            1 bytes deprecated_1
            2 bytes module_name""",
        "IpuTraceCompileEndEvent": """
            1 int64 duration
            2 bytes module_name
            3 bytes tensor_map
            4 bytes instruction_info""",
        "IpuTraceDataTransferEvent": """
            1 bytes data_transfer""",
        "IpuTraceLoadEngineEvent": """
            1 bytes module_name""",
        "IpuTraceExecuteEvent": """
            1 bytes activity_trace
            2 bytes module_name""",
        "IpuTraceEvent": """
            1 double timestamp
            2 int32 ordinal
            3 IpuTraceEvent.Type type
            5 oneof:msg IpuTraceCompileBeginEvent compile_begin
            6 oneof:msg IpuTraceCompileEndEvent compile_end
            7 oneof:msg IpuTraceDataTransferEvent data_transfer
            8 oneof:msg IpuTraceLoadEngineEvent load_engine
            9 oneof:msg IpuTraceExecuteEvent execute""",
    },
)

IpuOptions = _OPTIONS.message("IpuOptions")
PoplarOptionFlag = _OPTIONS.message("PoplarOptionFlag")
PoplarOptionFlags = _OPTIONS.message("PoplarOptionFlags")
IpuSelectionOrder = _OPTIONS.enum("IpuSelectionOrder")
IpuDeviceConnectionType = _OPTIONS.enum("IpuDeviceConnectionType")
IpuOptionsCreator = _OPTIONS.enum("IpuOptionsCreator")
IpuExecutionProfileType = _OPTIONS.enum("IpuExecutionProfileType")
IpuSchedulingAlgorithm = _OPTIONS.enum("IpuSchedulingAlgorithm")
SyntheticDataCategory = _OPTIONS.enum("SyntheticDataCategory")
StochasticRoundingBehaviour = _OPTIONS.enum("StochasticRoundingBehaviour")
ThreeState = _OPTIONS.enum("ThreeState")
IpuTraceEvent = _TRACE.message("IpuTraceEvent")
IpuTraceCompileBeginEvent = _TRACE.message("IpuTraceCompileBeginEvent")
IpuTraceCompileEndEvent = _TRACE.message("IpuTraceCompileEndEvent")
IpuTraceDataTransferEvent = _TRACE.message("IpuTraceDataTransferEvent")
IpuTraceLoadEngineEvent = _TRACE.message("IpuTraceLoadEngineEvent")
IpuTraceExecuteEvent = _TRACE.message("IpuTraceExecuteEvent")
