#ifndef POPART_IR_HPP
#define POPART_IR_HPP
#include <popart/graph.hpp>
#endif
