#ifndef POPART_POPX_POPOPX_HPP
#define POPART_POPX_POPOPX_HPP
#include <popart/popx/opx.hpp>
#endif
