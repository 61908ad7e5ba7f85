"""The exceptions of the Poplar front end. Class names are those that programs catch."""

from __future__ import annotations

from tremula.errors import Error


class PoplarError(Error, RuntimeError):
    """Any failure of a Poplar program."""

    type_name = "poplar_error"

    def __init__(self, message: str = "", *, location: str = "") -> None:
        super().__init__(message, type=self.type_name, location=location)

    def __str__(self) -> str:
        return self.message if not self.location else f"{self.message}\n{self.location}"


def _kind(name: str, documentation: str, base: type[PoplarError] = PoplarError) -> type[PoplarError]:
    return type(name, (base,), {"__doc__": documentation, "type_name": name, "__module__": __name__})


GraphObjectLoadError = _kind("graph_object_load_error", "A file of codelets cannot be loaded.")
GraphObjectCreationError = _kind("graph_object_creation_error", "A vertex or a connection is not possible.")
GraphProgramCompilationError = _kind("graph_program_compilation_error", "A codelet does not compile.")
GraphConnectionError = _kind("graph_connection_error", "A field of a vertex is connected wrongly.")
ControlProgramError = _kind(
    "control_program_error", "A program is not possible, such as a copy of unequal sizes."
)
LinkError = _kind("link_error", "A vertex type has no code.")
GraphMemoryAllocationError = _kind("graph_memory_allocation_error", "The program does not fit on the tiles.")
InvalidOption = _kind("invalid_option", "An option is unknown or has a wrong value.")
InvalidMachineModel = _kind("invalid_machine_model", "A target or a model of one is not possible.")
InvalidTileMapping = _kind("invalid_tile_mapping", "Elements lie on no tile, or on one that does not exist.")
TypeMismatch = _kind("type_error", "An element type is wrong.")
TensorCreationError = _kind("tensor_creation_error", "A tensor or a view of one is not possible.")
TensorIOStateError = _kind(
    "tensor_io_state_error", "A tensor is read or written by the host in a wrong state."
)
StreamConnectionError = _kind("stream_connection_error", "A stream is not connected, or with a wrong size.")
StreamMemoryAllocationError = _kind("stream_memory_allocation_error", "A stream is too large.")
ParseError = _kind("parse_error", "A text cannot be read.")
OverflowFound = _kind("overflow_error", "A value is too large.")
UnknownField = _kind("unknown_field", "A vertex has no field of this name.")
UnknownVertexType = _kind("unknown_vertex_type", "No codelet has this name.")
NoSuchStream = _kind("unknown_stream", "No stream has this handle.")
ProfilingDisabled = _kind("profiling_disabled", "A profile was asked for that was not recorded.")
RuntimeFailure = _kind("runtime_error", "A program failed while it ran.")
ApplicationRuntimeError = _kind(
    "application_runtime_error", "A program ended itself, or a codelet failed.", RuntimeFailure
)
SystemRuntimeError = _kind("system_runtime_error", "The machine failed.", RuntimeFailure)
RecoverableRuntimeError = _kind(
    "recoverable_runtime_error", "The machine failed; a reset helps.", SystemRuntimeError
)
UnrecoverableRuntimeError = _kind(
    "unrecoverable_runtime_error", "The machine failed for good.", SystemRuntimeError
)
UnknownRuntimeError = _kind(
    "unknown_runtime_error", "The machine failed for an unknown reason.", SystemRuntimeError
)
