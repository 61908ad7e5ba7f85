// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_SCOPE_HPP
#define POPART_SCOPE_HPP
#include <popart/names.hpp>
#endif
