// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_BUILDER_HPP
#define POPART_BUILDER_HPP
#include <popart/names.hpp>
#endif
