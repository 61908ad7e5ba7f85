// Runs a piece of a Poplar graph on arrays: what custom operators of the frameworks are made of.
#ifndef TREMULA_GRAPH_RUNNER_HPP
#define TREMULA_GRAPH_RUNNER_HPP

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <poplar/VariableMappingMethod.hpp>

namespace tremula {

struct TensorShape {
  poplar::Type type;
  std::vector<std::size_t> shape;
  bool valid; // a result may be missing: an input has no gradient
};

// Adds the computation of an operator to a program, and gives its results.
typedef std::function<std::vector<poplar::Tensor>(poplar::Graph &, poplar::program::Sequence &,
                                                  const std::vector<poplar::Tensor> &)>
    Grow;

// A graph on one modelled IPU whose only program computes an operator. Half is rounded where the device rounds.
class GraphRunner {
public:
  GraphRunner(const std::vector<TensorShape> &inputs, const Grow &grow) : device_(makeDevice()), graph_(device_) {
    poplar::program::Sequence body;
    std::vector<poplar::Tensor> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      poplar::Tensor tensor = graph_.addVariable(inputs[i].type, inputs[i].shape,
                                                 poplar::VariableMappingMethod::LINEAR, name("input", i));
      graph_.createHostWrite(name("input", i), tensor);
      inputBytes_.push_back(bytes(tensor));
      given.push_back(tensor);
    }
    std::vector<poplar::Tensor> results = grow(graph_, body, given);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].valid()) {
        outputs.push_back(TensorShape{poplar::FLOAT, {}, false});
        outputBytes_.push_back(0);
        continue;
      }
      graph_.createHostRead(name("output", i), results[i]);
      outputBytes_.push_back(bytes(results[i]));
      outputs.push_back(TensorShape{results[i].elementType(), results[i].shape(), true});
    }
    engine_.reset(new poplar::Engine(graph_, body));
    engine_->load(device_);
  }

  // Computes once. The arrays have the types and sizes of the tensors.
  void run(const void *const *inputs, void *const *results) {
    for (std::size_t i = 0; i < inputBytes_.size(); ++i) {
      const char *from = static_cast<const char *>(inputs[i]);
      engine_->writeTensor(name("input", i), from, from + inputBytes_[i]);
    }
    engine_->run(0);
    for (std::size_t i = 0; i < outputBytes_.size(); ++i) {
      if (!outputs[i].valid)
        continue;
      char *to = static_cast<char *>(results[i]);
      engine_->readTensor(name("output", i), to, to + outputBytes_[i]);
    }
  }

  std::vector<TensorShape> outputs;

private:
  static poplar::Device makeDevice() {
    poplar::IPUModel model;
    return model.createDevice(poplar::OptionFlags(), true);
  }
  static std::string name(const char *kind, std::size_t number) { return kind + std::to_string(number); }
  std::size_t bytes(const poplar::Tensor &tensor) const {
    return tensor.numElements() * graph_.getTarget().getTypeSize(tensor.elementType());
  }
  poplar::Device device_;
  poplar::Graph graph_;
  std::unique_ptr<poplar::Engine> engine_;
  std::vector<std::size_t> inputBytes_, outputBytes_;
};

// -- what Python gives and gets: plain structs, through ctypes

extern "C" {
struct TremulaTensor {
  int type; // number of a Poplar type
  int rank;
  const long long *shape;
};
}

inline TensorShape shapeOf(const TremulaTensor &given) {
  TensorShape made{poplar::Type(static_cast<unsigned char>(given.type)), {}, true};
  for (int i = 0; i < given.rank; ++i)
    made.shape.push_back(static_cast<std::size_t>(given.shape[i]));
  return made;
}

inline std::vector<TensorShape> shapesOf(const TremulaTensor *given, int count) {
  std::vector<TensorShape> made;
  for (int i = 0; i < count; ++i)
    made.push_back(shapeOf(given[i]));
  return made;
}

// The text of the last error of this thread.
inline std::string &lastError() {
  static thread_local std::string text;
  return text;
}

// Calls what may throw; an exception becomes `failed`, and its text is kept.
template <typename R, typename F> R guarded(R failed, F call) {
  try {
    return call();
  } catch (const std::exception &problem) {
    lastError() = problem.what();
  } catch (...) {
    lastError() = "an exception that is not a std::exception";
  }
  return failed;
}

} // namespace tremula

#endif
