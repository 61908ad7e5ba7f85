// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_OPERATORS_HPP
#define POPART_OPERATORS_HPP
#include <popart/names.hpp>
#endif
