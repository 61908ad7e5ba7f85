// How floating-point exceptions and rounding are handled on the chip. The host computes with its own rules: these
// functions say once that they have no effect here.
#ifndef POPLAR_CSR_FUNCTIONS_HPP
#define POPLAR_CSR_FUNCTIONS_HPP

#include <poplar/DebugContext.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplar {

struct FloatingPointBehaviour {
  bool exceptOnInv = true;
  bool exceptOnDiv0 = true;
  bool exceptOnOflo = true;
  bool enableStochasticRounding = true;
  bool nanooMode = true;

  FloatingPointBehaviour(bool inv, bool div0, bool oflo, bool esr, bool nanoo)
      : exceptOnInv(inv), exceptOnDiv0(div0), exceptOnOflo(oflo), enableStochasticRounding(esr),
        nanooMode(nanoo) {}
  FloatingPointBehaviour() = default;
};

void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog,
                               const FloatingPointBehaviour &behaviour, const DebugContext &debug = {});
void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog,
                               const FloatingPointBehaviour &behaviour, unsigned tile,
                               const DebugContext &debug = {});
void setStochasticRounding(Graph &graph, program::Sequence &prog, bool enable,
                           const DebugContext &debug = {});
void setStochasticRounding(Graph &graph, program::Sequence &prog, bool enable, unsigned tile,
                           const DebugContext &debug = {});

} // namespace poplar

#endif
