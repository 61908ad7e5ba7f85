// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_SESSION_HPP
#define POPART_SESSION_HPP
#include <popart/names.hpp>
#endif
