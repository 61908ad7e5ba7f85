// The graph that an operator belongs to. Operators of PopART sessions are built and run one by one, so theirs has no other
// ones. The graph of a PopXL program is in Python; the bindings of parameterised operators add operators to it.
#ifndef POPART_GRAPH_HPP
#define POPART_GRAPH_HPP
#include <popart/names.hpp>
namespace popart {
class Ir {};
class Graph : public std::enable_shared_from_this<Graph> {
public:
  virtual ~Graph() {}
  Ir &getIr() { return ir_; }
  const Ir &getIr() const { return ir_; }

  // Makes an operator from `arguments`, reads the tensors `in` and makes the tensors `out`. The operator lives as long as
  // the graph keeps it.
  template <typename OP, typename... A>
  OP *createConnectedOp(const std::map<InIndex, TensorId> &in, const std::map<OutIndex, TensorId> &out, A &&... arguments) {
    std::shared_ptr<OP> made = std::make_shared<OP>(std::forward<A>(arguments)...);
    connect(made, in, out);
    return made.get();
  }

protected:
  virtual void connect(const std::shared_ptr<Op> &op, const std::map<InIndex, TensorId> &in,
                       const std::map<OutIndex, TensorId> &out);

private:
  Ir ir_;
};
} // namespace popart
#endif
