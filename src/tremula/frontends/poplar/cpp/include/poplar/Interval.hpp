// Intervals of numbers, the end not included.
#ifndef POPLAR_INTERVAL_HPP
#define POPLAR_INTERVAL_HPP

#include <poplar/detail/Prelude.hpp>

namespace poplar {

template <typename T> class GenericInterval {
public:
  GenericInterval() : first(), last() {}
  GenericInterval(T begin, T end) : first(begin), last(end) {}

  const T &begin() const { return first; }
  const T &end() const { return last; }
  const T &lower() const { return first; }
  const T &upper() const { return last; }
  T size() const { return last - first; }

private:
  T first, last;
};

template <typename T>
bool operator==(const GenericInterval<T> &a, const GenericInterval<T> &b) {
  return a.begin() == b.begin() && a.end() == b.end();
}
template <typename T>
bool operator!=(const GenericInterval<T> &a, const GenericInterval<T> &b) {
  return !(a == b);
}
template <typename T>
bool operator<(const GenericInterval<T> &a, const GenericInterval<T> &b) {
  return a.begin() < b.begin() || (a.begin() == b.begin() && a.end() < b.end());
}
template <typename T>
std::ostream &operator<<(std::ostream &os, const GenericInterval<T> &i) {
  return os << '[' << i.begin() << ',' << i.end() << ')';
}

typedef GenericInterval<std::size_t> Interval;

} // namespace poplar

#endif
