// What an operator tells of its attributes, for messages and for comparing operators.
#ifndef POPART_OPSERIALISER_HPP
#define POPART_OPSERIALISER_HPP

#include <popart/names.hpp>

namespace popart {

class OpSerialiserBase {
public:
  virtual ~OpSerialiserBase() {}
  template <typename T> void appendAttribute(const std::string &name, const T &value) {
    std::ostringstream os;
    write(os, value);
    attributes_.emplace_back(name, os.str());
  }
  template <typename T> void appendForwardOp(const T &) {}
  const std::vector<std::pair<std::string, std::string>> &attributes() const { return attributes_; }

private:
  template <typename T> static auto writeValue(std::ostream &os, const T &value, int) -> decltype(os << value, void()) {
    os << value;
  }
  template <typename T> static void writeValue(std::ostream &os, const T &, long) { os << "..."; }
  template <typename T> static void write(std::ostream &os, const T &value) { writeValue(os, value, 0); }
  template <typename T> static void write(std::ostream &os, const std::vector<T> &values) {
    os << "[";
    for (std::size_t i = 0; i < values.size(); ++i) {
      os << (i ? ", " : "");
      writeValue(os, values[i], 0);
    }
    os << "]";
  }
  std::vector<std::pair<std::string, std::string>> attributes_;
};

class OpSerialiser : public OpSerialiserBase {};
class OpEquivIdCreator : public OpSerialiserBase {};

} // namespace popart

#endif
