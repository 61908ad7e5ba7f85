// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_OP_L1_HPP
#define POPART_OP_L1_HPP
#include <popart/op.hpp>
#endif
