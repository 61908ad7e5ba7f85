// Element types of PopART.
#ifndef POPART_DATATYPE_HPP
#define POPART_DATATYPE_HPP

#include <popart/error.hpp>
#include <popart/names.hpp>
#include <poplar/Type.hpp>

namespace popart {

enum class DataType {
  UINT8 = 0,
  INT8,
  UINT16,
  INT16,
  INT32,
  INT64,
  UINT32,
  UINT64,
  BOOL,
  FLOAT,
  FLOAT16,
  BFLOAT16,
  DOUBLE,
  COMPLEX64,
  COMPLEX128,
  STRING,
  FLOAT8_143,
  FLOAT8_152,
  UNDEFINED
};

class DataTypeInfo {
public:
  DataTypeInfo(DataType type, int bytes, bool fixedPoint, std::string name, std::string lower)
      : type_(type), bytes_(bytes), fixedPoint_(fixedPoint), name_(std::move(name)), lower_(std::move(lower)) {}
  DataType type() const { return type_; }
  const int &nbytes() const { return bytes_; }
  bool isFixedPoint() const { return fixedPoint_; }
  const std::string &name() const { return name_; }
  const std::string &lcasename() const { return lower_; }

private:
  DataType type_;
  int bytes_;
  bool fixedPoint_;
  std::string name_, lower_;
};

const DataTypeInfo &dataTypeInfo(DataType type);
DataType dataTypeFromString(const std::string &name);
std::ostream &operator<<(std::ostream &os, const DataType &type);

namespace popx {
poplar::Type popType(const TensorInfo &info);
poplar::Type popType(DataType type);
} // namespace popx

} // namespace popart

#endif
