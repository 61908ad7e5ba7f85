// Names of library calls for profiles. Arguments are not recorded: the calls themselves are.
#ifndef POPUTIL_DEBUGINFO_HPP
#define POPUTIL_DEBUGINFO_HPP

#include <poplar/DebugContext.hpp>
#include <poplar/ProfileValue.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poputil {

template <typename T> poplar::ProfileValue toProfileValue(const T &) {
  return poplar::ProfileValue();
}

class ArgType {
public:
  ArgType(std::string name, const poplar::ProfileValue &) : n(std::move(name)) {}
  std::string n;
};

class OpDebugInfo : public poplar::DebugInfo {
public:
  OpDebugInfo(const poplar::DebugContext &debugContext, std::string api)
      : poplar::DebugInfo(debugContext, std::move(api)) {}
  void add(std::string, const std::vector<ArgType> &) {}
  void add(std::string, const poplar::ProfileValue &) {}
};

class PoplibsOpDebugInfo : public OpDebugInfo {
public:
  PoplibsOpDebugInfo(const poplar::DebugContext &debugContext,
                     const std::vector<ArgType> & = {}, const std::string &api = "")
      : OpDebugInfo(debugContext, api) {}
  void addOutputs(const std::vector<ArgType> &) {}
  template <typename T> void addOutput(const T &) {}
};

} // namespace poputil

// Names and values of arguments, for the constructor above.
#define DI_ARGS(...)                                                           \
  std::vector<poputil::ArgType> {}

#endif
