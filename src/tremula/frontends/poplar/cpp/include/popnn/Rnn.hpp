// What recurrent layers share.
#ifndef POPNN_RNN_HPP
#define POPNN_RNN_HPP

#include <poplar/detail/Library.hpp>

namespace popnn {
namespace rnn {

struct RnnParams {
  poplar::Type dataType;
  std::size_t batchSize, maxTimeSteps, timeSteps;
  poplar::Tensor varTimeSteps;
  std::vector<std::size_t> layerSizes;
  RnnParams(poplar::Type dataType, std::size_t batchSize, std::size_t timeSteps,
            std::vector<std::size_t> layerSizes)
      : dataType(dataType), batchSize(batchSize), maxTimeSteps(timeSteps), timeSteps(timeSteps),
        layerSizes(std::move(layerSizes)) {}
  RnnParams(poplar::Type dataType, std::size_t batchSize, std::size_t maxTimeSteps,
            const poplar::Tensor &varTimeSteps, std::vector<std::size_t> layerSizes)
      : dataType(dataType), batchSize(batchSize), maxTimeSteps(maxTimeSteps),
        timeSteps(maxTimeSteps), varTimeSteps(varTimeSteps), layerSizes(std::move(layerSizes)) {}
  bool variableTimeSteps() const { return varTimeSteps.valid(); }
  bool batchVariableTimeSteps() const {
    return varTimeSteps.valid() && varTimeSteps.numElements() > 1;
  }
};

} // namespace rnn
} // namespace popnn

namespace popnn {
namespace detail {

// The parameters of a layer as its Python class takes them: by position, then fields by name.
template <typename Order, typename Activation>
poplar::detail::Value layer(const char *module, const char *name, const rnn::RnnParams &rnn,
                            Activation activation, Activation recurrent, const Order &order,
                            std::initializer_list<std::pair<const char *, bool>> flags) {
  poplar::detail::Value fields;
  fields.writer.map(flags.size() + 1);
  for (const auto &each : flags) {
    fields.writer.key(each.first);
    fields.writer.boolean(each.second);
  }
  fields.writer.key("cellOrder");
  std::vector<int> numbers(order.begin(), order.end());
  poplar::detail::add(fields, numbers);
  return rnn.varTimeSteps.valid()
             ? poplar::detail::object(module, name, rnn.dataType, rnn.batchSize,
                                      rnn.maxTimeSteps, rnn.varTimeSteps, rnn.layerSizes,
                                      activation, recurrent, fields)
             : poplar::detail::object(module, name, rnn.dataType, rnn.batchSize,
                                      rnn.maxTimeSteps, rnn.layerSizes, activation, recurrent,
                                      fields);
}

// Results that were wished for follow the first one, in order.
class Wished {
public:
  Wished(const poplar::detail::Result &found, std::size_t first) : found_(found), next_(first) {}
  void give(poplar::Tensor *to) {
    if (to)
      *to = found_[next_++].tensor();
  }
  const poplar::detail::Result &next() { return found_[next_++]; }

private:
  const poplar::detail::Result &found_;
  std::size_t next_;
};

} // namespace detail
} // namespace popnn

#endif
