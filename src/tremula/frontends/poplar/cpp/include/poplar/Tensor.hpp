// Tensors: ordered references to elements of variables, with a shape. They own nothing.
#ifndef POPLAR_TENSOR_HPP
#define POPLAR_TENSOR_HPP

#include <poplar/ArrayRef.hpp>
#include <poplar/Interval.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/Type.hpp>
#include <poplar/VariableRef.hpp>
#include <poplar/detail/Prelude.hpp>
#include <poplar/detail/Views.hpp>

namespace poplar {

class Graph;
class Tensor;

namespace detail {
class GraphCore;
struct TensorAccess;
} // namespace detail

enum class UpsampleMethod { REPEAT };

class Tensor {
public:
  Tensor() : offset_(0) {}

  Type elementType() const { return type_; }
  std::vector<std::size_t> shape() const;
  unsigned rank() const { return static_cast<unsigned>(shape_.size()); }
  std::size_t dim(unsigned i) const;
  std::size_t numElements() const;
  bool valid() const { return static_cast<bool>(graph_); }

  Tensor operator[](std::size_t i) const &;
  Tensor slice(std::size_t begin, std::size_t end, unsigned dimension = 0) const;
  Tensor slice(const Interval &region, unsigned dimension = 0) const {
    return slice(region.begin(), region.end(), dimension);
  }
  Tensor slice(ArrayRef<std::size_t> begin, ArrayRef<std::size_t> end) const;
  std::vector<Tensor> slices(ArrayRef<Interval> intervals, unsigned dimension = 0) const;
  std::vector<Tensor> slices(const std::vector<std::vector<Interval>> &intervals,
                             unsigned dimension = 0) const;
  std::vector<Tensor> slices(const std::vector<Interval> &intervals,
                             unsigned dimension = 0) const {
    return slices(ArrayRef<Interval>(intervals), dimension);
  }
  Tensor index(ArrayRef<std::size_t> indices) const;
  Tensor reshape(ArrayRef<std::size_t> shape) const;
  Tensor reshapePartial(unsigned beginIndex, unsigned endIndex,
                        ArrayRef<std::size_t> newDims) const;
  Tensor flatten() const;
  Tensor flatten(unsigned dimBegin, unsigned dimEnd) const;
  Tensor squeeze(ArrayRef<std::size_t> dims) const;
  Tensor expand(ArrayRef<std::size_t> dims) const;
  Tensor dimShuffle(ArrayRef<unsigned> permutation) const;
  Tensor dimShufflePartial(ArrayRef<unsigned> source,
                           ArrayRef<unsigned> destination) const;
  Tensor dimRoll(unsigned dimIdx, unsigned newIdx = 0) const;
  Tensor transpose() const;
  Tensor broadcast(unsigned n, unsigned dimension) const;
  Tensor upsample(unsigned scale, unsigned dimension,
                  UpsampleMethod method = UpsampleMethod::REPEAT) const;
  Tensor subSample(unsigned stride, unsigned dimension) const;
  Tensor reverse(unsigned dimension) const;
  Tensor reinterpret(const Type &type) const;
  Tensor getMetadata() const;
  bool hasMetadata() const { return false; }

  bool isContiguous() const;
  bool containsAliases() const;
  bool containsConstant() const;
  bool isParallelWriteable() const { return !containsConstant() && !containsAliases(); }
  std::vector<Interval> getContiguousRegions() const;
  std::vector<VariableInterval> getVarRegions() const;
  // The value of a constant of one element.
  bool getConstantValue(int *value) const;
  template <typename T> bool getConstantValue(T *value) const {
    double number = 0;
    bool found = constantValue(number);
    if (found)
      *value = static_cast<T>(number);
    return found;
  }
  template <typename T> std::vector<T> getConstantData() const;

  std::string getDebugStr() const;
  std::string getVarStr() const { return getDebugStr(); }
  std::string shapeToString() const;
  void dump() const;
  void dumpRegions() const { dump(); }
  void output(std::ostream &os) const { os << getDebugStr() << shapeToString(); }
  void outputRegions(std::ostream &os) const { output(os); }

private:
  friend struct detail::TensorAccess;
  bool constantValue(double &value) const;
  Tensor with(const detail::Dims &shape, const detail::Dims &strides,
              std::int64_t offset) const;
  std::int64_t length(unsigned dimension) const;
  std::int64_t unit() const;

  std::shared_ptr<detail::GraphCore> graph_;
  // Where it is set, offset and strides choose from these addresses; else they are addresses in bytes themselves.
  std::shared_ptr<const detail::Addresses> list_;
  detail::Dims shape_, strides_;
  std::int64_t offset_;
  Type type_;
};

inline bool Tensor::getConstantValue(int *value) const {
  return getConstantValue<int>(value);
}

Tensor concat(ArrayRef<Tensor> tensors, unsigned dimension = 0);
Tensor concat(const Tensor &first, const Tensor &second, unsigned dimension = 0);
// Joins `second`, which lacks the dimension.
Tensor append(const Tensor &first, const Tensor &second, unsigned dimension);
Tensor append(const Tensor &first, const Tensor &second);

bool operator==(const Tensor &a, const Tensor &b);
inline bool operator!=(const Tensor &a, const Tensor &b) { return !(a == b); }
std::ostream &operator<<(std::ostream &os, const Tensor &tensor);

} // namespace poplar

#endif
