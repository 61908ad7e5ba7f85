"""The exceptions that programs catch, under their C++ names."""

from __future__ import annotations

from tremula.frontends.poplar.errors import (
    ApplicationRuntimeError as application_runtime_error,
)
from tremula.frontends.poplar.errors import (
    ControlProgramError as control_program_error,
)
from tremula.frontends.poplar.errors import (
    GraphConnectionError as graph_connection_error,
)
from tremula.frontends.poplar.errors import (
    GraphMemoryAllocationError as graph_memory_allocation_error,
)
from tremula.frontends.poplar.errors import (
    GraphObjectCreationError as graph_object_creation_error,
)
from tremula.frontends.poplar.errors import (
    GraphObjectLoadError as graph_object_load_error,
)
from tremula.frontends.poplar.errors import (
    GraphProgramCompilationError as graph_program_compilation_error,
)
from tremula.frontends.poplar.errors import (
    InvalidMachineModel as invalid_machine_model,
)
from tremula.frontends.poplar.errors import (
    InvalidOption as invalid_option,
)
from tremula.frontends.poplar.errors import (
    InvalidTileMapping as invalid_tile_mapping,
)
from tremula.frontends.poplar.errors import (
    LinkError as link_error,
)
from tremula.frontends.poplar.errors import (
    NoSuchStream as unknown_stream,
)
from tremula.frontends.poplar.errors import (
    OverflowFound as overflow_error,
)
from tremula.frontends.poplar.errors import (
    ParseError as parse_error,
)
from tremula.frontends.poplar.errors import (
    PoplarError as poplar_error,
)
from tremula.frontends.poplar.errors import (
    ProfilingDisabled as profiling_disabled,
)
from tremula.frontends.poplar.errors import (
    RecoverableRuntimeError as recoverable_runtime_error,
)
from tremula.frontends.poplar.errors import (
    RuntimeFailure as runtime_error,
)
from tremula.frontends.poplar.errors import (
    StreamConnectionError as stream_connection_error,
)
from tremula.frontends.poplar.errors import (
    StreamMemoryAllocationError as stream_memory_allocation_error,
)
from tremula.frontends.poplar.errors import (
    SystemRuntimeError as system_runtime_error,
)
from tremula.frontends.poplar.errors import (
    TensorCreationError as tensor_creation_error,
)
from tremula.frontends.poplar.errors import (
    TensorIOStateError as tensor_io_state_error,
)
from tremula.frontends.poplar.errors import (
    TypeMismatch as type_error,
)
from tremula.frontends.poplar.errors import (
    UnknownField as unknown_field,
)
from tremula.frontends.poplar.errors import (
    UnknownRuntimeError as unknown_runtime_error,
)
from tremula.frontends.poplar.errors import (
    UnknownVertexType as unknown_vertex_type,
)
from tremula.frontends.poplar.errors import (
    UnrecoverableRuntimeError as unrecoverable_runtime_error,
)

__all__ = [
    "application_runtime_error",
    "control_program_error",
    "graph_connection_error",
    "graph_memory_allocation_error",
    "graph_object_creation_error",
    "graph_object_load_error",
    "graph_program_compilation_error",
    "invalid_machine_model",
    "invalid_option",
    "invalid_tile_mapping",
    "link_error",
    "overflow_error",
    "parse_error",
    "poplar_error",
    "profiling_disabled",
    "recoverable_runtime_error",
    "runtime_error",
    "stream_connection_error",
    "stream_memory_allocation_error",
    "system_runtime_error",
    "tensor_creation_error",
    "tensor_io_state_error",
    "type_error",
    "unknown_field",
    "unknown_runtime_error",
    "unknown_stream",
    "unknown_vertex_type",
    "unrecoverable_runtime_error",
]
