// Regions of tensors, which operators may describe for aliases and layouts. Custom operators run one by one here, so what
// is described is not used.
#ifndef POPART_REGION_HPP
#define POPART_REGION_HPP

#include <popart/names.hpp>

namespace popart {
namespace view {

enum class AccessType { None = 0, Read, Write, ReadWrite, N };

class Region {
public:
  Region() {}
  Region(const Shape &lower, const Shape &upper) : lower_(lower), upper_(upper) {}
  Region(const Shape &lower, const Shape &upper, AccessType access)
      : lower_(lower), upper_(upper), access_(access) {}
  static Region getFull(const Shape &shape, AccessType access = AccessType::ReadWrite) {
    return Region(Shape(shape.size(), 0), shape, access);
  }
  static Region getEmpty(std::int64_t rank) {
    Shape zeros(static_cast<std::size_t>(rank), 0);
    return Region(zeros, zeros, AccessType::None);
  }
  bool isEmpty() const { return lower_ == upper_ && !lower_.empty(); }
  std::int64_t rank() const { return static_cast<std::int64_t>(lower_.size()); }
  const Shape &getLower() const { return lower_; }
  const Shape &getUpper() const { return upper_; }
  AccessType getAccessType() const { return access_; }

private:
  Shape lower_, upper_;
  AccessType access_ = AccessType::None;
};

typedef std::vector<Region> Regions;
typedef std::function<Regions(const Region &)> RegMap;

} // namespace view
} // namespace popart

#endif
