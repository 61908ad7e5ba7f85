// Parameters of norms.
#ifndef POPNN_NORMS_HPP
#define POPNN_NORMS_HPP

#include <poplin/Norms.hpp>

namespace popnn {

using poplin::createNormBeta;
using poplin::createNormGamma;
using poplin::createNormParams;

} // namespace popnn

#endif
