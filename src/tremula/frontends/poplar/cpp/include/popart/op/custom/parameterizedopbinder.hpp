// Python bindings of parameterised operators: a PopXL program adds them to its graphs.
//
// The graph, the settings and the identifiers of operators are Python objects, those of popart._internal.ir.
#ifndef POPART_OP_CUSTOM_PARAMETERIZEDOPBINDER_HPP
#define POPART_OP_CUSTOM_PARAMETERIZEDOPBINDER_HPP

#include <popart/op/custom/parameterizedop.hpp>
#include <popart/opserialiser.hpp>

#include <pybind11/numpy.h>
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace popart {
namespace ir {
namespace op {
// hidden, as the types of pybind11 are
namespace detail __attribute__((visibility("hidden"))) {

inline py::object bindings() { return py::module_::import("popart._internal.ir"); }

inline py::object toPython(const OperatorIdentifier &opid) {
  py::object inputs = bindings().attr("NumInputs")(opid.numInputs.min, opid.numInputs.max);
  return bindings().attr("OperatorIdentifier")(opid.domain, opid.type, opid.version, inputs, opid.numOutputs);
}

inline OperatorIdentifier toIdentifier(const py::object &given) {
  py::object inputs = given.attr("numInputs");
  return OperatorIdentifier(given.attr("domain").cast<std::string>(), given.attr("type").cast<std::string>(),
                            given.attr("version").cast<int>(),
                            NumInputs(inputs.attr("min").cast<int>(), inputs.attr("max").cast<int>()),
                            given.attr("numOutputs").cast<int>());
}

inline Op::Settings toSettings(Graph &graph, const py::object &given) {
  Op::Settings made(graph, given.attr("name").cast<std::string>());
  py::object ipu = given.attr("ipu");
  if (!ipu.is_none())
    made.vgraphId = ipu.cast<VGraphId>();
  return made;
}

// A graph of a PopXL program while one operator is added to it. Operators refer to it later; then it has no Python object
// any more.
class PythonGraph : public Graph {
public:
  // Calls `create` with this graph, and gives what the Python graph has got.
  template <typename F> static py::object with(const py::object &graph, const py::object &settings, const F &create) {
    std::shared_ptr<PythonGraph> made = std::make_shared<PythonGraph>();
    Adding adding{graph, settings, py::none()};
    made->adding_ = &adding;
    try {
      create(*made, toSettings(*made, settings));
    } catch (...) {
      made->adding_ = nullptr;
      throw;
    }
    made->adding_ = nullptr;
    return adding.made;
  }

protected:
  void connect(const std::shared_ptr<Op> &op, const std::map<InIndex, TensorId> &in,
               const std::map<OutIndex, TensorId> &out) override {
    if (adding_ == nullptr)
      return Graph::connect(op, in, out);
    OpSerialiser attributes;
    op->appendAttributes(attributes);
    py::object add = py::module_::import("popart._internal.ir._library_ops").attr("add_library_op");
    adding_->made = add(adding_->graph, in, out, handleOf(op), toPython(op->opid), attributes.attributes(),
                        adding_->settings);
    for (const auto &each : in)
      op->connectIn(each.first, tensorOf(each.second));
    for (const auto &each : out)
      op->output->insert(each.first, tensorOf(each.second));
  }

private:
  struct Adding {
    py::object graph, settings, made;
  };
  // An operator with its graph, for as long as Python needs them.
  struct Kept {
    std::shared_ptr<Graph> graph;
    std::shared_ptr<Op> op;
  };

  Tensor tensorOf(const TensorId &id) const {
    py::object info = adding_->graph.attr("getTensor")(id).attr("info");
    return Tensor(id, TensorInfo(info.attr("data_type")().cast<std::string>(), info.attr("shape")().cast<Shape>()));
  }

  // The address of the operator, and what keeps it.
  py::tuple handleOf(const std::shared_ptr<Op> &op) {
    py::capsule kept(new Kept{shared_from_this(), op}, [](void *each) { delete static_cast<Kept *>(each); });
    return py::make_tuple(reinterpret_cast<std::uintptr_t>(op.get()), kept);
  }

  Adding *adding_ = nullptr;
};

// An operator by itself keeps the graph that its settings refer to.
template <typename OP, typename F> std::shared_ptr<OP> alone(const py::object &settings, const F &make) {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  return std::shared_ptr<OP>(make(toSettings(*graph, settings)), [graph](OP *op) { delete op; });
}

} // namespace detail

// A Python class for an operator, with the name `op_name` in the module. Its parameters must have one already.
template <typename TParameterizedOp>
py::class_<TParameterizedOp, Op, std::shared_ptr<TParameterizedOp>>
makeParameterizedOpBindings(py::module_ m, const char *op_name) {
  using Params = typename std::decay<decltype(std::declval<const TParameterizedOp &>().params())>::type;
  using In = std::map<InIndex, TensorId>;
  using Out = std::map<OutIndex, TensorId>;

  if (!py::detail::get_type_info(typeid(Op))) // modules share it: the first one makes it
    py::class_<Op, std::shared_ptr<Op>>(m, "_Op");
  py::class_<TParameterizedOp, Op, std::shared_ptr<TParameterizedOp>> made(m, op_name);
  made.def(py::init([](const py::object &opid, const Params &params, const py::object &settings) {
             return detail::alone<TParameterizedOp>(settings, [&](const Op::Settings &given) {
               return new TParameterizedOp(detail::toIdentifier(opid), params, given);
             });
           }),
           py::arg("opid"), py::arg("params"), py::arg("settings"));
  made.def(py::init([](const Params &params, const py::object &settings) {
             return detail::alone<TParameterizedOp>(
                 settings, [&](const Op::Settings &given) { return new TParameterizedOp(params, given); });
           }),
           py::arg("params"), py::arg("settings"));
  made.def_property_readonly("params", &TParameterizedOp::params);
  made.def_static("default_opid", []() { return detail::toPython(TParameterizedOp::defaultOperatorId()); });
  made.def_static(
      "create_op_in_graph",
      [](const py::object &graph, const In &inputs, const Out &outputs, const py::object &opid, const Params &params,
         const py::object &settings) {
        return detail::PythonGraph::with(graph, settings, [&](Graph &made_, const Op::Settings &given) {
          TParameterizedOp::createOpInGraph(made_, inputs, outputs, detail::toIdentifier(opid), params, given);
        });
      },
      py::arg("graph"), py::arg("inputs"), py::arg("outputs"), py::arg("opid"), py::arg("params"),
      py::arg("settings"));
  made.def_static(
      "create_op_in_graph",
      [](const py::object &graph, const In &inputs, const Out &outputs, const Params &params,
         const py::object &settings) {
        return detail::PythonGraph::with(graph, settings, [&](Graph &made_, const Op::Settings &given) {
          TParameterizedOp::createOpInGraph(made_, inputs, outputs, params, given);
        });
      },
      py::arg("graph"), py::arg("inputs"), py::arg("outputs"), py::arg("params"), py::arg("settings"));
  return made;
}

} // namespace op
} // namespace ir
} // namespace popart

#endif
