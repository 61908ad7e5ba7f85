// What programs write to the control registers of tiles.
#ifndef POPLAR_CSR_FUNCTIONS_HPP
#define POPLAR_CSR_FUNCTIONS_HPP

#include <poplar/detail/Call.hpp>

namespace poplar {

// Whether to stop on invalid operations, divisions by zero and overflows, to round stochastically, and whether an
// overflow of halves gives NaN.
struct FloatingPointBehaviour {
  FloatingPointBehaviour() = default;
  FloatingPointBehaviour(bool inv, bool div0, bool oflo, bool esr, bool nanoo)
      : inv(inv), div0(div0), oflo(oflo), esr(esr), nanoo(nanoo) {}
  bool inv = true, div0 = true, oflo = true, esr = true, nanoo = true;
};

inline detail::Value remoteValue(const FloatingPointBehaviour &b) {
  return detail::object("poplar", "FloatingPointBehaviour", b.inv, b.div0, b.oflo, b.esr,
                        b.nanoo);
}

// Neither has an effect here, which the log says once.
inline void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog,
                                      const FloatingPointBehaviour &behaviour,
                                      const DebugContext &debugContext = {}) {
  detail::call("poplar", "setFloatingPointBehaviour", graph, prog, behaviour, debugContext);
}
inline void setStochasticRounding(Graph &graph, program::Sequence &prog, bool enable,
                                  const DebugContext &debugContext = {}) {
  detail::call("poplar", "setStochasticRounding", graph, prog, enable, debugContext);
}

} // namespace poplar

#endif
