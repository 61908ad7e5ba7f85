// The name of an operator: domain, type, version.
#ifndef POPART_OPERATORIDENTIFIER_HPP
#define POPART_OPERATORIDENTIFIER_HPP

#include <popart/names.hpp>

namespace popart {

namespace Domain {
static const char *const ai_onnx = "ai.onnx";
static const char *const ai_onnx_ml = "ai.onnx.ml";
static const char *const ai_graphcore = "ai.graphcore";
} // namespace Domain

struct NumInputs {
  int min, max;
  NumInputs() : min(0), max(0) {}
  NumInputs(int both) : min(both), max(both) {}
  NumInputs(int least, int most) : min(least), max(most) {}
};

struct OperatorIdentifier {
  OperatorIdentifier(const OpDomain &domain_, const OpType &type_, OpVersion version_, NumInputs inputs = {},
                     int outputs = 0)
      : domain(domain_), type(type_), version(version_), numInputs(inputs), numOutputs(outputs) {}
  OpDomain domain;
  OpType type;
  OpVersion version;
  NumInputs numInputs;
  int numOutputs;
  bool operator==(const OperatorIdentifier &o) const {
    return std::tie(domain, type, version) == std::tie(o.domain, o.type, o.version);
  }
  bool operator!=(const OperatorIdentifier &o) const { return !(*this == o); }
  bool operator<(const OperatorIdentifier &o) const {
    return std::tie(domain, type, version) < std::tie(o.domain, o.type, o.version);
  }
};

inline std::ostream &operator<<(std::ostream &os, const OperatorIdentifier &id) {
  return os << id.domain << "." << id.type << ":" << id.version;
}

} // namespace popart

#endif
