// Prefixes of the names of tensors.
#ifndef POPART_TENSORNAMES_HPP
#define POPART_TENSORNAMES_HPP
#include <popart/names.hpp>
namespace popart {
inline const char *reservedGradientPrefix() { return "Gradient___"; }
inline const char *reservedAccumPrefix() { return "Accum___"; }
inline TensorId getGradId(const TensorId &id) { return reservedGradientPrefix() + id; }
} // namespace popart
#endif
