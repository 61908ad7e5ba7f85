// The exceptions that programs catch.
#ifndef POPLAR_EXCEPTIONS_HPP
#define POPLAR_EXCEPTIONS_HPP

#include <poplar/detail/Prelude.hpp>

namespace poplar {

struct poplar_error : public std::runtime_error {
  explicit poplar_error(const std::string &message, const char *kind = "poplar_error")
      : std::runtime_error(message), type(kind) {}
  explicit poplar_error(const char *message) : std::runtime_error(message), type("poplar_error") {}
  // The name of the class.
  std::string type;
  std::string getPrettyName() const { return type; }
};

#define POPLAR_DETAIL_EXCEPTION(NAME, BASE)                                    \
  struct NAME : public BASE {                                                  \
    explicit NAME(const std::string &message, const char *kind = #NAME)        \
        : BASE(message, kind) {}                                               \
  };

POPLAR_DETAIL_EXCEPTION(graph_object_load_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(graph_object_creation_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(graph_program_compilation_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(graph_cycle_estimation_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(graph_replication_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(graph_recursion_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(graph_connection_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(control_program_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(link_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(graph_memory_allocation_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(stream_memory_allocation_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(invalid_option, poplar_error)
POPLAR_DETAIL_EXCEPTION(invalid_machine_model, poplar_error)
POPLAR_DETAIL_EXCEPTION(invalid_tile_mapping, poplar_error)
POPLAR_DETAIL_EXCEPTION(type_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(tensor_creation_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(tensor_io_state_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(stream_connection_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(parse_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(overflow_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(no_size_specified, poplar_error)
POPLAR_DETAIL_EXCEPTION(no_environment, poplar_error)
POPLAR_DETAIL_EXCEPTION(index_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(unknown_field, poplar_error)
POPLAR_DETAIL_EXCEPTION(unknown_vertex_type, poplar_error)
POPLAR_DETAIL_EXCEPTION(unknown_stream, poplar_error)
POPLAR_DETAIL_EXCEPTION(profiling_disabled, poplar_error)
POPLAR_DETAIL_EXCEPTION(memory_elem_constraints_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(missing_cycle_estimate, poplar_error)
POPLAR_DETAIL_EXCEPTION(runtime_error, poplar_error)
POPLAR_DETAIL_EXCEPTION(application_runtime_error, runtime_error)
POPLAR_DETAIL_EXCEPTION(system_runtime_error, runtime_error)
POPLAR_DETAIL_EXCEPTION(recoverable_runtime_error, system_runtime_error)
POPLAR_DETAIL_EXCEPTION(unrecoverable_runtime_error, system_runtime_error)
POPLAR_DETAIL_EXCEPTION(unknown_runtime_error, system_runtime_error)
#undef POPLAR_DETAIL_EXCEPTION

namespace detail {
// Throws the exception of this name; poplar_error where there is none.
[[noreturn]] void throwByName(const std::string &kind, const std::string &message);
} // namespace detail

} // namespace poplar

#endif
