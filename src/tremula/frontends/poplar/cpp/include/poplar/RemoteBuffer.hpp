// Buffers outside the chip.
#ifndef POPLAR_REMOTE_BUFFER_HPP
#define POPLAR_REMOTE_BUFFER_HPP
#include <poplar/DataStream.hpp>
#endif
