// Included by sources of custom operators, which need nothing of it.
#ifndef POPART_DEVICEMANAGER_HPP
#define POPART_DEVICEMANAGER_HPP
#include <popart/names.hpp>
#endif
