"""Functions around the configuration and the data of IPU programs."""

from tremula.frontends.tensorflow.config.configure import (
    configure_ipu_system,
    get_ipu_config,
    running_on_ipu_model,
)
from tremula.frontends.tensorflow.config.enums import (
    DeviceConnectionType,
    ExecutionProfileType,
    MergeRemoteBuffersBehaviour,
    SchedulingAlgorithm,
    SelectionOrder,
)
from tremula.frontends.tensorflow.config.ipu_config import IPUConfig
from tremula.frontends.tensorflow.config.messages import IpuOptions, IpuTraceEvent, SyntheticDataCategory
from tremula.frontends.tensorflow.config.older_interface import (
    auto_select_ipus,
    create_ipu_config,
    extract_compile_reports,
    extract_execute_reports,
    extract_poplar_serialized_graphs,
    select_ipus,
    set_compilation_options,
    set_convolution_options,
    set_experimental_multi_replica_distribution_options,
    set_floating_point_behaviour_options,
    set_gcl_options,
    set_io_tile_options,
    set_ipu_connection_type,
    set_ipu_model_options,
    set_matmul_options,
    set_norm_options,
    set_optimization_options,
    set_pooling_options,
    set_recomputation_options,
    set_report_options,
    set_serialization_options,
)
from tremula.frontends.tensorflow.dataset_export import export_dataset_to_file, export_inputs_to_file
from tremula.frontends.tensorflow.device_queries import (
    get_num_of_ipus_in_device,
    reset_ipu_seed,
    use_synthetic_data_for,
)
from tremula.frontends.tensorflow.live_weights import (
    export_variables_from_live_model,
    export_variables_from_live_session,
    import_data_in_live_model,
    import_data_in_live_session,
)
from tremula.frontends.tensorflow.testing.events import (
    extract_all_events,
    extract_all_strings_from_event_trace,
    extract_all_types_from_event_trace,
)
from tremula.frontends.tensorflow.variable_placement import move_variable_initialization_to_cpu

__all__ = [
    "DeviceConnectionType",
    "ExecutionProfileType",
    "IPUConfig",
    "IpuOptions",
    "IpuTraceEvent",
    "MergeRemoteBuffersBehaviour",
    "SchedulingAlgorithm",
    "SelectionOrder",
    "SyntheticDataCategory",
    "auto_select_ipus",
    "configure_ipu_system",
    "create_ipu_config",
    "export_dataset_to_file",
    "export_inputs_to_file",
    "export_variables_from_live_model",
    "export_variables_from_live_session",
    "extract_all_events",
    "extract_all_strings_from_event_trace",
    "extract_all_types_from_event_trace",
    "extract_compile_reports",
    "extract_execute_reports",
    "extract_poplar_serialized_graphs",
    "get_ipu_config",
    "get_num_of_ipus_in_device",
    "import_data_in_live_model",
    "import_data_in_live_session",
    "move_variable_initialization_to_cpu",
    "reset_ipu_seed",
    "running_on_ipu_model",
    "select_ipus",
    "set_compilation_options",
    "set_convolution_options",
    "set_experimental_multi_replica_distribution_options",
    "set_floating_point_behaviour_options",
    "set_gcl_options",
    "set_io_tile_options",
    "set_ipu_connection_type",
    "set_ipu_model_options",
    "set_matmul_options",
    "set_norm_options",
    "set_optimization_options",
    "set_pooling_options",
    "set_recomputation_options",
    "set_report_options",
    "set_serialization_options",
    "use_synthetic_data_for",
]
