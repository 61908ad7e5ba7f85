// How codelets report that they failed.
#ifndef TREMULA_FAILURE_HPP
#define TREMULA_FAILURE_HPP

#include <stdexcept>
#include <string>

namespace tremula_codelet {

[[noreturn]] inline void assertionFailed(const char *condition, const char *file, int line) {
  throw std::runtime_error("assertion failed: " + std::string(condition) + " (" + file + ":" + std::to_string(line) + ")");
}

} // namespace tremula_codelet

#endif
