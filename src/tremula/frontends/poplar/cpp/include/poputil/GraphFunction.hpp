// Functions of a graph with arguments: tensors are copied to parameters, the program runs, results are copied back.
#ifndef POPUTIL_GRAPHFUNCTION_HPP
#define POPUTIL_GRAPHFUNCTION_HPP

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {
namespace graphfn {

enum ArgType { InputArg, OutputArg, InOutArg, CreatedArg };

// One parameter: what it is for, and a tensor that it is made like. A created one is made by the function itself.
struct ArgSig {
  ArgSig(ArgType type, poplar::Tensor tensor, std::string debugName)
      : type(type), similarTensor(std::move(tensor)), debugName(std::move(debugName)) {}
  ArgType type;
  poplar::Tensor similarTensor;
  std::string debugName;
};

inline ArgSig input(poplar::Tensor similar, std::string debugName = "") {
  return ArgSig(InputArg, std::move(similar), std::move(debugName));
}
inline ArgSig inout(poplar::Tensor similar, std::string debugName = "") {
  return ArgSig(InOutArg, std::move(similar), std::move(debugName));
}
inline ArgSig output(poplar::Tensor similar, std::string debugName = "") {
  return ArgSig(OutputArg, std::move(similar), std::move(debugName));
}
inline ArgSig created(std::string debugName = "") {
  return ArgSig(CreatedArg, poplar::Tensor(), std::move(debugName));
}

typedef std::vector<ArgSig> Signature;
typedef std::vector<poplar::Tensor> Arguments;

// A function that writes its results to its arguments.
class VoidFunction {
public:
  typedef std::function<void(Arguments &, poplar::program::Sequence &)> Body;
  typedef std::function<void(Arguments &, poplar::program::Sequence &,
                             const poplar::DebugNameAndId &)>
      NamedBody;

  VoidFunction(poplar::Graph &graph, Signature sig, Body body, bool inlined = false,
               const poplar::DebugContext &debugContext = {})
      : VoidFunction(graph, std::move(sig), inlined, debugContext) {
    body(params_, prog_);
    finish();
  }
  VoidFunction(poplar::Graph &graph, Signature sig, NamedBody body, bool inlined = false,
               const poplar::DebugContext &debugContext = {})
      : VoidFunction(graph, std::move(sig), inlined, debugContext) {
    body(params_, prog_, poplar::DebugNameAndId(debugContext.getPathName()));
    finish();
  }

  void operator()(Arguments &args, poplar::program::Sequence &seq,
                  const poplar::DebugContext &debugContext = {}) {
    if (args.size() != sig_.size())
      throw poplibs_error("a function of " + std::to_string(sig_.size()) +
                          " tensors was called with " + std::to_string(args.size()));
    for (std::size_t place = 0; place < sig_.size(); ++place)
      if (sig_[place].type == InputArg || sig_[place].type == InOutArg)
        seq.add(poplar::program::Copy(args[place], params_[place], false, debugContext));
    if (inlined_)
      seq.add(prog_);
    else
      seq.add(poplar::program::Call(function_, debugContext));
    for (std::size_t place = 0; place < sig_.size(); ++place) {
      if (sig_[place].type == InputArg)
        continue;
      if (sig_[place].type == CreatedArg)
        args[place] = graph_->clone(params_[place], {debugContext, sig_[place].debugName});
      seq.add(poplar::program::Copy(params_[place], args[place], false, debugContext));
    }
  }

private:
  VoidFunction(poplar::Graph &graph, Signature sig, bool inlined,
               const poplar::DebugContext &debugContext)
      : graph_(&graph), sig_(std::move(sig)), inlined_(inlined), prog_(debugContext) {
    for (const ArgSig &each : sig_)
      params_.push_back(each.type == CreatedArg
                            ? poplar::Tensor()
                            : graph.clone(each.similarTensor, {debugContext, each.debugName}));
  }
  void finish() {
    if (!inlined_)
      function_ = graph_->addFunction(prog_);
  }

  poplar::Graph *graph_;
  Signature sig_;
  bool inlined_;
  poplar::program::Sequence prog_;
  poplar::Function function_;
  Arguments params_;
};

// A function whose body is a program, and whose call is one.
class ProgramFunction {
public:
  ProgramFunction(poplar::Graph &graph, Signature sig,
                  std::function<poplar::program::Program(Arguments &)> body,
                  bool inlined = false, const poplar::DebugContext &debugContext = {})
      : function_(
            graph, std::move(sig),
            VoidFunction::Body([body](Arguments &args, poplar::program::Sequence &seq) {
              seq.add(body(args));
            }),
            inlined, debugContext) {}
  poplar::program::Program operator()(Arguments &args,
                                      const poplar::DebugContext &debugContext = {}) {
    poplar::program::Sequence made(debugContext);
    function_(args, made, debugContext);
    return std::move(made);
  }

private:
  VoidFunction function_;
};

// A function that gives a tensor.
class TensorFunction {
public:
  TensorFunction(
      poplar::Graph &graph, Signature sig,
      std::function<poplar::Tensor(Arguments &, poplar::program::Sequence &)> body,
      bool inlined = false, const poplar::DebugContext &debugContext = {})
      : function_(
            graph, withResult(std::move(sig)),
            VoidFunction::Body([body](Arguments &args, poplar::program::Sequence &seq) {
              poplar::Tensor made = body(args, seq);
              args.back() = made;
            }),
            inlined, debugContext) {}
  poplar::Tensor operator()(Arguments &args, poplar::program::Sequence &prog,
                            const poplar::DebugContext &debugContext = {}) {
    args.push_back(poplar::Tensor());
    function_(args, prog, debugContext);
    const poplar::Tensor made = args.back();
    args.pop_back();
    return made;
  }

private:
  static Signature withResult(Signature sig) {
    sig.push_back(created());
    return sig;
  }
  VoidFunction function_;
};

} // namespace graphfn
} // namespace poputil

#endif
