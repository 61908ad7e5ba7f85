// Functions that infer shapes for ONNX. `Op::setup` is asked here, so they are kept and not called.
#ifndef POPART_SHAPEINFERENCE_HPP
#define POPART_SHAPEINFERENCE_HPP
#include <popart/attributes.hpp>
#include <popart/operatoridentifier.hpp>
#include <popart/tensorinfo.hpp>
namespace popart {
class ShapeInferenceContext {
public:
  TensorInfo &inInfo(int index) { return inputs_[index]; }
  TensorInfo &outInfo(int index) { return outputs_[index]; }
  const Shape &inShape(int index) { return inputs_[index].shape(); }
  DataType inType(int index) { return inputs_[index].dataType(); }
  const Attributes &getAttributes() const { return attributes_; }
  template <typename T> T getAttribute(const std::string &name) const { return attributes_.getAttribute<T>(name); }
  template <typename T> T getAttribute(const std::string &name, const T &other) const {
    return attributes_.getAttribute<T>(name, other);
  }
  int getNumOutputs() const { return static_cast<int>(outputs_.size()); }

private:
  std::map<int, TensorInfo> inputs_, outputs_;
  Attributes attributes_;
};
typedef std::function<void(ShapeInferenceContext &)> ShapeInferenceFunction;
class RegisterShapeInferenceFunction {
public:
  RegisterShapeInferenceFunction(const OperatorIdentifier &, ShapeInferenceFunction) {}
};
} // namespace popart
#endif
