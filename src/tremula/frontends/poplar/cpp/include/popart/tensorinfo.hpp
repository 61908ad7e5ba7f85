// The type and shape of a tensor.
#ifndef POPART_TENSORINFO_HPP
#define POPART_TENSORINFO_HPP

#include <popart/datatype.hpp>
#include <popart/names.hpp>

namespace popart {

class TensorInfo {
public:
  TensorInfo() {}
  TensorInfo(DataType type, const Shape &shape) : type_(type), shape_(shape), set_(true) {}
  TensorInfo(DataType type, const Shape &shape, const Shape &metaShape)
      : type_(type), shape_(shape), metaShape_(metaShape), set_(true) {}
  TensorInfo(const std::string &type, const Shape &shape)
      : type_(dataTypeFromString(type)), shape_(shape), set_(true) {}

  void set(DataType type, const Shape &shape) { *this = TensorInfo(type, shape); }
  void set(DataType type, const Shape &shape, const Shape &metaShape) {
    *this = TensorInfo(type, shape, metaShape);
  }
  void set(DataType type) {
    type_ = type;
    set_ = true;
  }
  bool isSet() const { return set_; }

  const Shape &shape() const { return shape_; }
  const Shape &metaShape() const { return metaShape_; }
  Shape shape(int from, int to) const { return Shape(shape_.begin() + from, shape_.begin() + to); }
  std::vector<std::size_t> shape_szt() const {
    return std::vector<std::size_t>(shape_.begin(), shape_.end());
  }
  int rank() const { return static_cast<int>(shape_.size()); }
  Shape::value_type dim(int number) const { return shape_.at(static_cast<std::size_t>(number)); }
  std::int64_t nelms() const {
    std::int64_t product = 1;
    for (std::int64_t each : shape_)
      product *= each;
    return product;
  }
  std::int64_t nbytes() const { return nelms() * getDataTypeInfo()->nbytes(); }
  DataType dataType() const { return type_; }
  const DataTypeInfo *getDataTypeInfo() const { return &dataTypeInfo(type_); }
  const std::string &data_type() const { return getDataTypeInfo()->name(); }
  const std::string &data_type_lcase() const { return getDataTypeInfo()->lcasename(); }
  void append(std::ostream &os) const { os << type_ << " " << shape_; }
  bool operator==(const TensorInfo &other) const {
    return type_ == other.type_ && shape_ == other.shape_;
  }
  bool operator!=(const TensorInfo &other) const { return !(*this == other); }

private:
  DataType type_ = DataType::UNDEFINED;
  Shape shape_, metaShape_;
  bool set_ = false;
};

inline std::ostream &operator<<(std::ostream &os, const TensorInfo &info) {
  info.append(os);
  return os;
}

// The shape that two operands broadcast to.
Shape npOut(const Shape &a, const Shape &b);
TensorInfo npOut(const TensorInfo &a, const TensorInfo &b);

} // namespace popart

#endif
