// How the vectors of a field lie in the memory of a tile.
#ifndef POPLAR_VECTOR_LAYOUT_HPP
#define POPLAR_VECTOR_LAYOUT_HPP

namespace poplar {
enum class VectorLayout {
  SPAN,
  ONE_PTR,
  SCALED_PTR32,
  SCALED_PTR64,
  SCALED_PTR128,
  COMPACT_PTR,
  NOT_VECTOR,
  NOT_A_VECTOR,
  SHORT_SPAN,
  NOT_STATIC
};
enum class VectorListLayout {
  ONE_PTR,
  SCALED_PTR32,
  SCALED_PTR64,
  SCALED_PTR128,
  COMPACT_DELTAN,
  DELTANELEMENTS,
  DELTAN,
  NOT_A_VECTOR
};
namespace layout {
using Vector = VectorLayout;
using VectorList = VectorListLayout;
} // namespace layout
} // namespace poplar

#endif
