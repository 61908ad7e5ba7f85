// The 16-bit floating-point type, under the name that some codelets include.
#ifndef POPLAR_IEEE_HALF_HPP
#define POPLAR_IEEE_HALF_HPP

#include <poplar/HalfFloat.hpp>

namespace poplar {
using IeeeHalf = ::half;
} // namespace poplar

#endif
