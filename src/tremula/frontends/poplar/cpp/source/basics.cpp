// Types, options, exceptions and enumerations.
#include "core.hpp"

#include <poputil/exceptions.hpp>

namespace poplar {

namespace {
struct TypeRow {
  const char *label;
  std::size_t size;
};
const TypeRow TYPES[] = {{"bool", 1},           {"char", 1},          {"signed char", 1},
                         {"unsigned char", 1},  {"short", 2},         {"unsigned short", 2},
                         {"int", 4},            {"unsigned int", 4},  {"long", 4},
                         {"unsigned long", 4},  {"long long", 8},     {"unsigned long long", 8},
                         {"half", 2},           {"float", 4}};
const unsigned TYPE_COUNT = sizeof(TYPES) / sizeof(TYPES[0]);
} // namespace

// constant initialisers: other libraries use them while they start
Type BOOL{0};
Type CHAR{1};
Type SIGNED_CHAR{2};
Type UNSIGNED_CHAR{3};
Type SHORT{4};
Type UNSIGNED_SHORT{5};
Type INT{6};
Type UNSIGNED_INT{7};
Type LONG{8};
Type UNSIGNED_LONG{9};
Type LONGLONG{10};
Type UNSIGNED_LONGLONG{11};
Type HALF{12};
Type FLOAT{13};

std::string Type::toString() const {
  return number_ < TYPE_COUNT ? TYPES[number_].label : "no type";
}
bool Type::isIntegral() const { return number_ >= 1 && number_ <= 11; }
bool Type::isFloatingPoint() const { return number_ == 12 || number_ == 13; }
std::ostream &operator<<(std::ostream &os, const Type &type) { return os << type.toString(); }

std::size_t detail::deviceSize(const Type &type) {
  if (type.number() >= TYPE_COUNT)
    throw type_error("an element type is needed, and none was given");
  return TYPES[type.number()].size;
}

std::ostream &operator<<(std::ostream &os, const OptionFlags &options) {
  os << '{';
  const char *before = "";
  for (const auto &each : options) {
    os << before << '"' << each.first << "\": \"" << each.second << '"';
    before = ", ";
  }
  return os << '}';
}

void readJSON(StringRef text, OptionFlags &options) {
  const detail::Result found = detail::ask("json", text);
  for (std::size_t i = 0; i < found.size(); ++i)
    options.set(found.keys()[i], found[i].text());
}

std::string toString(TensorCloneMethod method) {
  const char *names[] = {"PRESERVE_ORDER_AND_ALIASES", "CREATE_NEW_ORDER",
                         "PRESERVE_ORDER_UNLESS_ALIASES",
                         "GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES"};
  return names[static_cast<int>(method)];
}

std::string codeletFileTypeToString(CodeletFileType type) {
  const char *names[] = {"PreprocessedAsmSource", "AsmSource", "CSource", "CppSource",
                         "IrSource", "Object", "Auto"};
  return names[static_cast<int>(type)];
}

std::string getExtensionFromFileType(CodeletFileType type) {
  const char *names[] = {".S", ".s", ".c", ".cpp", ".ll", ".gp", ""};
  return names[static_cast<int>(type)];
}

namespace detail {

void throwByName(const std::string &kind, const std::string &message) {
  if (kind == "poplibs_error")
    throw poputil::poplibs_error(message);
#define POPLAR_DETAIL_THROW(NAME)                                              \
  if (kind == #NAME)                                                           \
    throw NAME(message);
  POPLAR_DETAIL_THROW(graph_object_load_error)
  POPLAR_DETAIL_THROW(graph_object_creation_error)
  POPLAR_DETAIL_THROW(graph_program_compilation_error)
  POPLAR_DETAIL_THROW(graph_cycle_estimation_error)
  POPLAR_DETAIL_THROW(graph_replication_error)
  POPLAR_DETAIL_THROW(graph_recursion_error)
  POPLAR_DETAIL_THROW(graph_connection_error)
  POPLAR_DETAIL_THROW(control_program_error)
  POPLAR_DETAIL_THROW(link_error)
  POPLAR_DETAIL_THROW(graph_memory_allocation_error)
  POPLAR_DETAIL_THROW(stream_memory_allocation_error)
  POPLAR_DETAIL_THROW(invalid_option)
  POPLAR_DETAIL_THROW(invalid_machine_model)
  POPLAR_DETAIL_THROW(invalid_tile_mapping)
  POPLAR_DETAIL_THROW(type_error)
  POPLAR_DETAIL_THROW(tensor_creation_error)
  POPLAR_DETAIL_THROW(tensor_io_state_error)
  POPLAR_DETAIL_THROW(stream_connection_error)
  POPLAR_DETAIL_THROW(parse_error)
  POPLAR_DETAIL_THROW(overflow_error)
  POPLAR_DETAIL_THROW(no_size_specified)
  POPLAR_DETAIL_THROW(no_environment)
  POPLAR_DETAIL_THROW(index_error)
  POPLAR_DETAIL_THROW(unknown_field)
  POPLAR_DETAIL_THROW(unknown_vertex_type)
  POPLAR_DETAIL_THROW(unknown_stream)
  POPLAR_DETAIL_THROW(profiling_disabled)
  POPLAR_DETAIL_THROW(memory_elem_constraints_error)
  POPLAR_DETAIL_THROW(missing_cycle_estimate)
  POPLAR_DETAIL_THROW(application_runtime_error)
  POPLAR_DETAIL_THROW(recoverable_runtime_error)
  POPLAR_DETAIL_THROW(unrecoverable_runtime_error)
  POPLAR_DETAIL_THROW(unknown_runtime_error)
  POPLAR_DETAIL_THROW(system_runtime_error)
  POPLAR_DETAIL_THROW(runtime_error)
#undef POPLAR_DETAIL_THROW
  throw poplar_error(message, kind.c_str());
}

std::string placeOf(const SourceLocation &where) {
  if (!where.isValid())
    return "";
  const std::string file = where.getFileName();
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.getLineNumber());
}

std::string placeOf(const DebugContext &debug) { return placeOf(debug.location()); }

} // namespace detail

std::string versionString() { return detail::ask("version").text(); }
StringRef packageHash() { return "tremula"; }

} // namespace poplar
