// Small arrays of numbers for shapes, and the arithmetic of strided layouts.
#ifndef POPLAR_DETAIL_VIEWS_HPP
#define POPLAR_DETAIL_VIEWS_HPP

#include <poplar/detail/Prelude.hpp>

namespace poplar {
namespace detail {

// A few numbers; up to four need no memory of their own.
class Dims {
public:
  Dims() : count(0) {}
  Dims(const std::int64_t *from, std::size_t length) : count(0) {
    for (std::size_t i = 0; i < length; ++i)
      push(from[i]);
  }
  std::size_t size() const { return count; }
  std::int64_t operator[](std::size_t place) const { return data()[place]; }
  std::int64_t &operator[](std::size_t place) {
    return more.empty() ? few[place] : more[place];
  }
  const std::int64_t *data() const { return more.empty() ? few : more.data(); }
  void push(std::int64_t value) {
    if (count == limit)
      more.assign(few, few + limit);
    if (count >= limit)
      more.push_back(value);
    else
      few[count] = value;
    ++count;
  }
  bool operator==(const Dims &other) const {
    return count == other.count && std::equal(data(), data() + count, other.data());
  }

private:
  static const std::size_t limit = 4;
  std::int64_t few[limit];
  std::size_t count;
  std::vector<std::int64_t> more;
};

typedef std::vector<std::int64_t> Addresses;

// A run of evenly spaced addresses; step in bytes.
struct Run {
  std::int64_t start, count, step;
};

} // namespace detail
} // namespace poplar

#endif
