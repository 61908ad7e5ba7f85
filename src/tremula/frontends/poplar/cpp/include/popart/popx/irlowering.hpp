#ifndef POPART_POPX_IRLOWERING_HPP
#define POPART_POPX_IRLOWERING_HPP
#include <popart/popx/devicex.hpp>
#endif
