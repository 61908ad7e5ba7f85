// Operators of TensorFlow programs for Python, through ctypes: functions of a library of the user's that build Poplar
// programs (Build, Build_grad), or compute on the host (Callback).
#include "graph_runner.hpp"

#include <dlfcn.h>

namespace {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;
using tremula::guarded;

typedef Program (*BuildFunction)(Graph &, const std::vector<Tensor> &, std::vector<Tensor> &, const std::string &,
                                 const std::string &);
typedef Program (*GradientFunction)(Graph &, int, const std::vector<Tensor> &, const std::vector<Tensor> &,
                                    const std::vector<Tensor> &, std::vector<Tensor> &, const std::string &,
                                    const std::string &);
typedef void (*MetadataFunction)(std::vector<std::int64_t> &, std::vector<std::int64_t> &,
                                 std::map<std::int64_t, std::int64_t> &, bool &, bool &, bool &, std::uint32_t);
typedef void (*HostFunction)(const std::vector<void *> &, const std::vector<std::uint32_t> &, std::vector<void *> &,
                             const std::string &, const std::string &);

// The level of the functions' signatures above.
const std::int32_t apiLevel = 5;

void *open(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *why = dlerror();
    throw std::runtime_error(why ? why : path + " cannot be loaded");
  }
  return library;
}

template <typename F> F find(void *library, const std::string &name) {
  return reinterpret_cast<F>(dlsym(library, name.c_str()));
}

template <typename F> F need(void *library, const std::string &path, const std::string &name) {
  F found = find<F>(library, name);
  if (found == nullptr)
    throw std::runtime_error(path + " has no function " + name + "; is it declared extern \"C\"?");
  return found;
}

// A library that was compiled for other signatures.
class WrongLevel : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

void checkLevel(void *library, const std::string &path) {
  const std::int32_t *level = find<const std::int32_t *>(library, "custom_op_api_level");
  if (level == nullptr)
    throw std::runtime_error(path + " does not say its API level: it has no variable custom_op_api_level");
  if (*level != apiLevel)
    throw WrongLevel(path + " has API level " + std::to_string(*level) + ", level " +
                     std::to_string(apiLevel) + " is needed: change its functions and compile it again");
}

struct Operator {
  std::unique_ptr<tremula::GraphRunner> runner;
};

} // namespace

extern "C" {

const char *tremula_user_op_error() { return tremula::lastError().c_str(); }

void tremula_user_op_free(void *handle) { delete static_cast<Operator *>(handle); }

// The operator that `function` builds, for inputs of these types. With `gradients` from 0 on it is a gradient: the inputs
// are so many gradients, then the forward operator's `forwardOutputs` outputs, then its inputs.
void *tremula_user_op_make(const char *path, const char *function, const char *codelets,
                           const tremula::TremulaTensor *inputs, int inputCount, int gradients, int forwardOutputs,
                           int gradientIndex, const char *attributes, const char *name) {
  return guarded<void *>(nullptr, [&]() -> void * {
    void *library = open(path);
    checkLevel(library, path);
    std::string functionName(function), given(attributes), debugName(name), codeletPath(codelets);
    std::unique_ptr<Operator> made(new Operator);
    tremula::Grow grow;
    if (gradients < 0) {
      BuildFunction build = need<BuildFunction>(library, path, functionName);
      grow = [=](Graph &graph, poplar::program::Sequence &prog, const std::vector<Tensor> &all) {
        if (!codeletPath.empty())
          graph.addCodelets(codeletPath);
        std::vector<Tensor> outputs;
        prog.add(build(graph, all, outputs, given, debugName));
        return outputs;
      };
    } else {
      GradientFunction build = need<GradientFunction>(library, path, functionName);
      grow = [=](Graph &graph, poplar::program::Sequence &prog, const std::vector<Tensor> &all) {
        if (!codeletPath.empty())
          graph.addCodelets(codeletPath);
        auto first = all.begin() + gradients, second = first + forwardOutputs;
        std::vector<Tensor> outputs;
        prog.add(build(graph, gradientIndex, std::vector<Tensor>(all.begin(), first),
                       std::vector<Tensor>(second, all.end()), std::vector<Tensor>(first, second), outputs, given,
                       debugName));
        return outputs;
      };
    }
    made->runner.reset(new tremula::GraphRunner(tremula::shapesOf(inputs, inputCount), grow));
    return made.release();
  });
}

int tremula_user_op_outputs(void *handle) { return static_cast<int>(static_cast<Operator *>(handle)->runner->outputs.size()); }

// The type of an output and its shape; gives the rank, or -2 for an output that is missing.
int tremula_user_op_output(void *handle, int index, int *type, long long *shape, int room) {
  return guarded(-1, [&]() {
    const tremula::TensorShape &found = static_cast<Operator *>(handle)->runner->outputs.at(static_cast<std::size_t>(index));
    if (!found.valid)
      return -2;
    if (static_cast<int>(found.shape.size()) > room)
      throw std::runtime_error("an output has too many dimensions");
    *type = static_cast<int>(found.type.number());
    std::copy(found.shape.begin(), found.shape.end(), shape);
    return static_cast<int>(found.shape.size());
  });
}

int tremula_user_op_run(void *handle, const void *const *inputs, void *const *outputs) {
  return guarded(1, [&]() {
    static_cast<Operator *>(handle)->runner->run(inputs, outputs);
    return 0;
  });
}

// What the library says of an operator: bit 1 stateless, bit 2 elementwise, bit 4 hashable; -1: an error, -2: it was
// compiled for another API level.
int tremula_user_op_metadata(const char *path, const char *function, int inputCount) {
  return guarded(-1, [&]() {
    void *library = open(path);
    try {
      checkLevel(library, path);
    } catch (const WrongLevel &problem) {
      tremula::lastError() = problem.what();
      return -2;
    }
    MetadataFunction tell = find<MetadataFunction>(library, std::string(function) + "_metadata");
    bool elementwise = false, stateless = false, hashable = false;
    if (tell != nullptr) {
      std::vector<std::int64_t> allocating, identical;
      std::map<std::int64_t, std::int64_t> aliasing;
      tell(allocating, identical, aliasing, elementwise, stateless, hashable, static_cast<std::uint32_t>(inputCount));
    }
    return (stateless ? 1 : 0) + (elementwise ? 2 : 0) + (hashable ? 4 : 0);
  });
}

// Calls a function that computes on the host. 0: done.
int tremula_host_op_run(const char *path, const char *function, void **inputs, const std::uint32_t *elements,
                        int inputCount, void **outputs, int outputCount, const char *attributes, const char *name) {
  return guarded(1, [&]() {
    void *library = open(path);
    checkLevel(library, path);
    HostFunction compute = need<HostFunction>(library, path, function);
    std::vector<void *> data(inputs, inputs + inputCount), results(outputs, outputs + outputCount);
    std::vector<std::uint32_t> sizes(elements, elements + inputCount);
    compute(data, sizes, results, attributes, name);
    return 0;
  });
}

} // extern "C"
