// Constants of encodings and losses.
#ifndef POPOPS_ENCODINGCONSTANTS_HPP
#define POPOPS_ENCODINGCONSTANTS_HPP

#include <poplar/detail/Prelude.hpp>

// A label that is not counted.
#define MASKED_LABEL_CODE 0xFFFFFFFFU
// What is added to an argument of a logarithm.
#define EPS_LOG_N_FLOAT (1.17549435e-38F)
#define EPS_LOG_N_HALF (0.000000059605F)

#endif
