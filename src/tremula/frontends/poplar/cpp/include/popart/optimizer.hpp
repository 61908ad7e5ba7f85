// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_OPTIMIZER_HPP
#define POPART_OPTIMIZER_HPP
#include <popart/names.hpp>
#endif
