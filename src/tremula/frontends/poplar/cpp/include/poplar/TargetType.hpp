// What a target stands for.
#ifndef POPLAR_TARGET_TYPE_HPP
#define POPLAR_TARGET_TYPE_HPP

#include <string>

namespace poplar {
enum class TargetType { IPU, IPU_MODEL, CPU };
inline std::string toString(TargetType type) {
  return type == TargetType::IPU ? "IPU" : type == TargetType::CPU ? "CPU" : "IPU_MODEL";
}
} // namespace poplar

#endif
