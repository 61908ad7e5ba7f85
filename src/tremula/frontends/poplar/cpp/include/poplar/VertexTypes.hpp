// The fields of vertices, under a name that some codelets include.
#ifndef POPLAR_VERTEX_TYPES_HPP
#define POPLAR_VERTEX_TYPES_HPP

#include <poplar/Vertex.hpp>

#endif
