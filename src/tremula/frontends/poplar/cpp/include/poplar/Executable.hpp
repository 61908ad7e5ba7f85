// Compiled programs, which can be saved and loaded.
#ifndef POPLAR_EXECUTABLE_HPP
#define POPLAR_EXECUTABLE_HPP

#include <poplar/ArrayRef.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/detail/Prelude.hpp>

namespace pva {
class Report;
}

namespace poplar {

namespace detail {
struct RemoteObject;
}

class Executable {
public:
  Executable() = default;
  explicit Executable(std::shared_ptr<detail::RemoteObject> object)
      : object_(std::move(object)) {}
  Executable(Executable &&) = default;
  Executable &operator=(Executable &&) = default;
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  void serialize(std::ostream &os) const;
  // Reads a program that serialize wrote. Programs are data: nothing in them is executed while they are read, but
  // codelets in C++ are compiled from their source when the program is loaded.
  static Executable deserialize(std::istream &is);
  StringRef getInternalName() const { return ""; }

  const std::shared_ptr<detail::RemoteObject> &object() const { return object_; }

private:
  std::shared_ptr<detail::RemoteObject> object_;
};

} // namespace poplar

#endif
