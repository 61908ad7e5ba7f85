// A tensor of the graph of operators: its name and type.
#ifndef POPART_TENSOR_HPP
#define POPART_TENSOR_HPP
#include <popart/tensorinfo.hpp>
namespace popart {
class Tensor {
public:
  Tensor(const TensorId &id_, const TensorInfo &info_) : id(id_), info(info_) {}
  const TensorId id;
  TensorInfo info;
  const std::string &str() const { return id; }
};
} // namespace popart
#endif
