// The exception of the libraries.
#ifndef POPUTIL_EXCEPTIONS_HPP
#define POPUTIL_EXCEPTIONS_HPP

#include <poplar/detail/Prelude.hpp>

namespace poputil {

struct poplibs_error : public std::runtime_error {
  explicit poplibs_error(const std::string &message)
      : std::runtime_error(message), type("poplibs_error") {}
  explicit poplibs_error(const char *message)
      : std::runtime_error(message), type("poplibs_error") {}
  std::string type;
};

} // namespace poputil

#endif
