// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_HALF_HPP
#define POPART_HALF_HPP
#include <popart/names.hpp>
#endif
