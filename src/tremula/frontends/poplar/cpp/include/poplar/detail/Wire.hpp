// Values as bytes, for the process that builds and runs the graph. docs/poplar-cpp.md describes the format.
#ifndef POPLAR_DETAIL_WIRE_HPP
#define POPLAR_DETAIL_WIRE_HPP

#include <poplar/Type.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

class Tensor;

namespace detail {

// The number that both processes compare when they meet.
static const unsigned wireVersion = 1;

// Appends values. A list or a map is a count followed by its values.
class Writer {
public:
  void none() { tag('N'); }
  void boolean(bool value) { tag(value ? '1' : '0'); }
  void integer(std::int64_t value) {
    tag('i');
    raw(value);
  }
  void integerUnsigned(std::uint64_t value) {
    tag('u');
    raw(value);
  }
  void real(double value) {
    tag('d');
    raw(value);
  }
  void text(const char *data, std::size_t length) {
    tag('s');
    string(data, length);
  }
  void text(const std::string &value) { text(value.data(), value.size()); }
  void data(const void *bytes, std::size_t length) {
    tag('b');
    raw(static_cast<std::uint64_t>(length));
    append(bytes, length);
  }
  void list(std::size_t count) {
    tag('l');
    raw(static_cast<std::uint32_t>(count));
  }
  void map(std::size_t count) {
    tag('m');
    raw(static_cast<std::uint32_t>(count));
  }
  // A key of a map, before its value.
  void key(const std::string &name) { string(name.data(), name.size()); }
  void type(const Type &value) {
    tag('y');
    raw(static_cast<std::uint8_t>(value.number()));
  }
  // A member of an enumeration of one of the Python packages.
  void enumeration(const std::string &module, const std::string &name,
                   const std::string &member) {
    tag('e');
    key(module);
    key(name);
    key(member);
  }
  // An object that a public class or function of a Python package makes of the `count` values that follow.
  void object(const std::string &module, const std::string &name, std::size_t count) {
    tag('o');
    key(module);
    key(name);
    raw(static_cast<std::uint32_t>(count));
  }
  void tensor(const Tensor &value);
  // A column of numbers.
  void column(const std::vector<std::int64_t> &values) {
    array('q', values.data(), values.size(), sizeof(std::int64_t));
  }
  void column(const std::vector<double> &values) {
    array('d', values.data(), values.size(), sizeof(double));
  }
  void array(char dtype, const void *values, std::size_t count, std::size_t size) {
    tag('a');
    raw(dtype);
    raw(static_cast<std::uint64_t>(count));
    append(values, count * size);
  }
  void reference(char kind, std::uint32_t number) {
    tag(kind);
    raw(number);
  }
  void tag(char value) { bytes_.push_back(value); }
  template <typename T> void raw(const T &value) {
    static_assert(std::is_arithmetic<T>::value, "only numbers have a byte form");
    append(&value, sizeof(T));
  }
  void append(const void *from, std::size_t length) {
    const char *first = static_cast<const char *>(from);
    bytes_.insert(bytes_.end(), first, first + length);
  }
  void append(const Writer &other) { append(other.bytes_.data(), other.bytes_.size()); }

  const std::vector<char> &bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

private:
  void string(const char *data, std::size_t length) {
    raw(static_cast<std::uint32_t>(length));
    append(data, length);
  }
  std::vector<char> bytes_;
};

} // namespace detail
} // namespace poplar

#endif
