// The exceptions of PopART.
#ifndef POPART_ERROR_HPP
#define POPART_ERROR_HPP

#include <poplar/detail/Prelude.hpp>

namespace popart {

namespace detail {
template <typename T> void put(std::ostream &os, const T &value) { os << value; }
template <typename T> void put(std::ostream &os, const std::vector<T> &values) {
  os << "[";
  for (std::size_t i = 0; i < values.size(); ++i)
    os << (i ? " " : "") << values[i];
  os << "]";
}
inline void formatInto(std::ostringstream &os, const std::string &text) { os << text; }
// Replaces each {} by the next argument.
template <typename A, typename... R>
void formatInto(std::ostringstream &os, const std::string &text, const A &first, const R &... rest) {
  std::size_t open = text.find('{');
  std::size_t close = open == std::string::npos ? open : text.find('}', open);
  if (close == std::string::npos) {
    os << text;
    return;
  }
  os << text.substr(0, open);
  put(os, first);
  formatInto(os, text.substr(close + 1), rest...);
}
template <typename... A> std::string format(const std::string &text, const A &... arguments) {
  std::ostringstream os;
  formatInto(os, text, arguments...);
  return os.str();
}
} // namespace detail

class error : public std::runtime_error {
public:
  explicit error(const std::string &text) : std::runtime_error(text) {}
  template <typename A, typename... R>
  error(const std::string &text, const A &first, const R &... rest)
      : std::runtime_error(detail::format(text, first, rest...)) {}
};

class internal_error : public error {
public:
  using error::error;
};

class runtime_error : public error {
public:
  using error::error;
};

} // namespace popart

#endif
