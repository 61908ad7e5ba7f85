// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_NDARRAYWRAPPER_HPP
#define POPART_NDARRAYWRAPPER_HPP
#include <popart/names.hpp>
#endif
