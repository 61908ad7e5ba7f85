// An optional value, under the name that operators use. Libraries of different language standards share objects that hold
// one, so it is the same class in all of them.
#ifndef POPART_VENDORED_OPTIONAL_HPP
#define POPART_VENDORED_OPTIONAL_HPP
#include <memory>
namespace nonstd {
struct nullopt_t {};
static const nullopt_t nullopt = {};
template <typename T> class optional {
public:
  optional() {}
  optional(nullopt_t) {}
  optional(const T &value) : value_(new T(value)) {}
  optional(const optional &other) : value_(other.value_ ? new T(*other.value_) : nullptr) {}
  optional &operator=(const optional &other) {
    value_.reset(other.value_ ? new T(*other.value_) : nullptr);
    return *this;
  }
  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T &operator*() const { return *value_; }
  T &operator*() { return *value_; }
  const T *operator->() const { return value_.get(); }
  T *operator->() { return value_.get(); }
  const T &value() const { return *value_; }
  T value_or(const T &other) const { return value_ ? *value_ : other; }
  void reset() { value_.reset(); }

private:
  std::unique_ptr<T> value_;
};
} // namespace nonstd
#endif
