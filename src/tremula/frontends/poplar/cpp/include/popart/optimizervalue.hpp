// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_OPTIMIZERVALUE_HPP
#define POPART_OPTIMIZERVALUE_HPP
#include <popart/names.hpp>
#endif
