// Log lines of operators: on standard error, at the level of POPART_LOG_LEVEL.
#ifndef POPART_LOGGING_HPP
#define POPART_LOGGING_HPP

#include <popart/error.hpp>

namespace popart {
namespace logging {

enum class Level { Trace = 0, Debug = 1, Info = 2, Warn = 3, Err = 4, Off = 6 };

inline Level level() {
  static const char *names[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERR"};
  const char *given = std::getenv("POPART_LOG_LEVEL");
  if (given == nullptr || !*given)
    return Level::Warn;
  for (int i = 0; i < 5; ++i)
    if (std::string(given) == names[i])
      return static_cast<Level>(i);
  return Level::Off;
}
template <typename... A> void log(Level at, const std::string &text, const A &... arguments) {
  if (at >= level())
    std::cerr << "[popart:op] " << detail::format(text, arguments...) << std::endl;
}

#define POPART_LOG_FUNCTION_(name, at)                                                              \
  template <typename... A> void name(const std::string &text, const A &... arguments) {             \
    log(Level::at, text, arguments...);                                                             \
  }                                                                                                 \
  namespace op {                                                                                    \
  template <typename... A> void name(const std::string &text, const A &... arguments) {             \
    log(Level::at, text, arguments...);                                                             \
  }                                                                                                 \
  }                                                                                                 \
  namespace opx {                                                                                   \
  template <typename... A> void name(const std::string &text, const A &... arguments) {             \
    log(Level::at, text, arguments...);                                                             \
  }                                                                                                 \
  }
POPART_LOG_FUNCTION_(trace, Trace)
POPART_LOG_FUNCTION_(debug, Debug)
POPART_LOG_FUNCTION_(info, Info)
POPART_LOG_FUNCTION_(warn, Warn)
POPART_LOG_FUNCTION_(err, Err)
#undef POPART_LOG_FUNCTION_

} // namespace logging
} // namespace popart

#endif
