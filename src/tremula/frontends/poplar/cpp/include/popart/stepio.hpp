// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_STEPIO_HPP
#define POPART_STEPIO_HPP
#include <popart/names.hpp>
#endif
