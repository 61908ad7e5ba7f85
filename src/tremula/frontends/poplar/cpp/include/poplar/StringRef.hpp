// A reference to text that belongs to somebody else.
#ifndef POPLAR_STRING_REF_HPP
#define POPLAR_STRING_REF_HPP

#include <poplar/detail/Prelude.hpp>

namespace poplar {

class StringRef {
public:
  StringRef() : first(""), count(0) {}
  StringRef(const char *text) : first(text), count(std::strlen(text)) {}
  StringRef(const char *text, std::size_t length) : first(text), count(length) {}
  StringRef(const std::string &text) : first(text.data()), count(text.size()) {}

  const char *data() const { return first; }
  const char *begin() const { return first; }
  const char *end() const { return first + count; }
  std::size_t size() const { return count; }
  std::size_t length() const { return count; }
  bool empty() const { return count == 0; }
  char operator[](std::size_t place) const { return first[place]; }
  std::string cloneAsString() const { return std::string(first, count); }
  std::string str() const { return std::string(first, count); }
  operator std::string() const { return std::string(first, count); }

private:
  const char *first;
  std::size_t count;
};

inline bool operator==(StringRef a, StringRef b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}
inline bool operator!=(StringRef a, StringRef b) { return !(a == b); }
inline bool operator<(StringRef a, StringRef b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}
inline std::ostream &operator<<(std::ostream &os, StringRef text) {
  return os.write(text.data(), static_cast<std::streamsize>(text.size()));
}
inline std::string operator+(const std::string &a, StringRef b) {
  return a + b.str();
}

} // namespace poplar

#endif
