// The names of types that headers of operators share.
#ifndef POPART_NAMES_HPP
#define POPART_NAMES_HPP

#include <poplar/detail/Prelude.hpp>

namespace popart {

typedef std::string TensorId;
typedef int OpId;
typedef int InIndex;
typedef int OutIndex;
typedef std::vector<std::int64_t> Shape;
typedef int OpVersion;
typedef std::string OpDomain;
typedef std::string OpType;
typedef std::int64_t VGraphId;
typedef std::int64_t PipelineStage;
typedef std::int64_t ExecutionPhase;
typedef double ReplicatedTensorShardingTag;

namespace popx {
class Devicex;
class Opx;
} // namespace popx
class Op;
class Graph;
class Ir;
class Tensor;
class TensorInfo;
class OpSerialiserBase;

inline std::ostream &operator<<(std::ostream &os, const Shape &shape) {
  os << "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    os << (i ? " " : "") << shape[i];
  return os << "]";
}

} // namespace popart

#endif
