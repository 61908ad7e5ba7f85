// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_TENSORDATA_HPP
#define POPART_TENSORDATA_HPP
#include <popart/names.hpp>
#endif
