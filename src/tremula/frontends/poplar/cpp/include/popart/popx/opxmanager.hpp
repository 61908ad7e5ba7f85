// The registry of implementations. A static OpxCreator connects one with its operator when the library is loaded.
#ifndef POPART_POPX_OPXMANAGER_HPP
#define POPART_POPX_OPXMANAGER_HPP

#include <popart/popx/opx.hpp>

namespace popart {
namespace popx {

class OpxManager {
public:
  typedef std::function<std::unique_ptr<Opx>(Op *, Devicex *)> OpxFactoryFunc;
  static void registerOpx(const OperatorIdentifier &opid, OpxFactoryFunc make);
  // Null where an operator has none.
  static std::unique_ptr<Opx> createOpx(Op *op, Devicex *device);
};

template <class OPX> class OpxCreator {
public:
  OpxCreator(const OperatorIdentifier &opid, double = 0) { add(opid); }
  OpxCreator(const std::vector<OperatorIdentifier> &opids) {
    for (const auto &each : opids)
      add(each);
  }
  OpxCreator(const OperatorIdentifier &opid, const std::string &failing) {
    OpxManager::registerOpx(opid, [failing](Op *, Devicex *) -> std::unique_ptr<Opx> { throw error(failing); });
  }

private:
  static void add(const OperatorIdentifier &opid) {
    OpxManager::registerOpx(
        opid, [](Op *op, Devicex *device) { return std::unique_ptr<Opx>(new OPX(op, device)); });
  }
};

} // namespace popx
} // namespace popart

#endif
