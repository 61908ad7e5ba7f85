// A reference to elements that lie side by side and belong to somebody else.
#ifndef POPLAR_ARRAY_REF_HPP
#define POPLAR_ARRAY_REF_HPP

#include <poplar/detail/Prelude.hpp>

// an ArrayRef of a braced list is used up before the list ends, which compilers cannot know
#if defined(__GNUC__)
#pragma GCC system_header
#endif

namespace poplar {

template <typename T> class ArrayRef {
public:
  typedef T value_type;
  typedef const T *const_iterator;
  typedef const T *iterator;
  typedef const T &const_reference;
  typedef std::size_t size_type;

  ArrayRef() : first(nullptr), count(0) {}
  ArrayRef(const T *begin, std::size_t length) : first(begin), count(length) {}
  ArrayRef(const T *begin, const T *end)
      : first(begin), count(static_cast<std::size_t>(end - begin)) {}
  ArrayRef(const T &one) : first(&one), count(1) {}
  template <typename A>
  ArrayRef(const std::vector<T, A> &from)
      : first(from.data()), count(from.size()) {}
  template <std::size_t N>
  ArrayRef(const std::array<T, N> &from) : first(from.data()), count(N) {}
  template <std::size_t N>
  ArrayRef(const T (&from)[N]) : first(from), count(N) {}
  ArrayRef(const std::initializer_list<T> &from)
      : first(from.begin() == from.end() ? nullptr : from.begin()),
        count(from.size()) {}

  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  const T *cbegin() const { return first; }
  const T *cend() const { return first + count; }
  const T *data() const { return first; }
  std::size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T &operator[](std::size_t place) const { return first[place]; }
  const T &front() const { return first[0]; }
  const T &back() const { return first[count - 1]; }
  std::vector<T> cloneAsVector() const { return std::vector<T>(begin(), end()); }
  operator std::vector<T>() const { return cloneAsVector(); }
  ArrayRef<T> slice(std::size_t begin, std::size_t end) const {
    return ArrayRef<T>(first + begin, end - begin);
  }

private:
  const T *first;
  std::size_t count;
};

template <typename T>
bool operator==(const ArrayRef<T> &a, const ArrayRef<T> &b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

template <typename T>
bool operator!=(const ArrayRef<T> &a, const ArrayRef<T> &b) {
  return !(a == b);
}

} // namespace poplar

#endif
