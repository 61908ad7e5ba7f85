// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_GRAPHCOREOPERATORS_HPP
#define POPART_GRAPHCOREOPERATORS_HPP
#include <popart/names.hpp>
#endif
