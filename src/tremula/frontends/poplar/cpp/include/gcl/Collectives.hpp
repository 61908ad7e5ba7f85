// Exchanges of data between replicas.
#ifndef GCL_COLLECTIVES_HPP
#define GCL_COLLECTIVES_HPP

#include <gcl/CollectiveOperator.hpp>

namespace gcl {

enum class CommGroupType { ALL, CONSECUTIVE, ORTHOGONAL };
inline poplar::detail::Value remoteValue(CommGroupType value) {
  static const char *const names[] = {"ALL", "CONSECUTIVE", "ORTHOGONAL"};
  return poplar::detail::enumeration("gcl", "CommGroupType",
                                     names[static_cast<int>(value)]);
}

// Which replicas exchange data: all, neighbours, or those at equal distances.
struct CommGroup {
  CommGroup() = default;
  CommGroup(CommGroupType type, unsigned replicaGroupSize, unsigned replicaGroupStride = 0)
      : type(type), replicaGroupSize(replicaGroupSize), replicaGroupStride(replicaGroupStride) {}
  CommGroupType type = CommGroupType::ALL;
  unsigned replicaGroupSize = 0;
  unsigned replicaGroupStride = 0;
};

inline poplar::detail::Value remoteValue(const CommGroup &group) {
  return poplar::detail::object("gcl", "CommGroup", group.type, group.replicaGroupSize,
                                group.replicaGroupStride);
}

inline poplar::Tensor allReduceCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allReduceCrossReplica", graph, data, op, prog, group, debugContext, options).tensor();
}

inline void allReduceInPlaceCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allReduceInPlaceCrossReplica", graph, data, op, prog, group, debugContext, options);
}

inline void allReduceToDestinationCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, const poplar::Tensor &destination,
    CollectiveOperator op, poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allReduceToDestinationCrossReplica", graph, data, destination, op, prog, group,
      debugContext, options);
}

inline poplar::Tensor reduceScatterCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "reduceScatterCrossReplica", graph, data, op, prog, group, debugContext,
      options).tensor();
}

inline void reduceScatterToDestinationCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, const poplar::Tensor &destination,
    CollectiveOperator op, poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "reduceScatterToDestinationCrossReplica", graph, data, destination, op, prog, group,
      debugContext, options);
}

inline poplar::Tensor allGatherCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, poplar::program::Sequence &prog,
    const CommGroup &group, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allGatherCrossReplica", graph, data, prog, group, debugContext, options).tensor();
}

inline void allGatherToDestinationCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, const poplar::Tensor &destination,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allGatherToDestinationCrossReplica", graph, data, destination, prog, group,
      debugContext, options);
}

inline poplar::Tensor allToAllCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, poplar::program::Sequence &prog,
    const CommGroup &group, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allToAllCrossReplica", graph, data, prog, group, debugContext, options).tensor();
}

inline poplar::Tensor broadcastCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, poplar::program::Sequence &prog,
    const CommGroup &group, unsigned rootReplica = 0, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "broadcastCrossReplica", graph, data, prog, group, rootReplica, debugContext,
      options).tensor();
}

inline poplar::Tensor allReduceCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allReduceCrossReplica", graph, data, op, prog, debugContext, options).tensor();
}

inline void allReduceInPlaceCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allReduceInPlaceCrossReplica", graph, data, op, prog, debugContext, options);
}

inline void allReduceToDestinationCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, const poplar::Tensor &destination,
    CollectiveOperator op, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allReduceToDestinationCrossReplica", graph, data, destination, op, prog, debugContext,
      options);
}

inline poplar::Tensor reduceScatterCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "reduceScatterCrossReplica", graph, data, op, prog, debugContext, options).tensor();
}

inline void reduceScatterToDestinationCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, const poplar::Tensor &destination,
    CollectiveOperator op, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "reduceScatterToDestinationCrossReplica", graph, data, destination, op, prog,
      debugContext, options);
}

inline poplar::Tensor allGatherCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allGatherCrossReplica", graph, data, prog, debugContext, options).tensor();
}

inline void allGatherToDestinationCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, const poplar::Tensor &destination,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allGatherToDestinationCrossReplica", graph, data, destination, prog, debugContext,
      options);
}

inline poplar::Tensor allToAllCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allToAllCrossReplica", graph, data, prog, debugContext, options).tensor();
}

inline poplar::Tensor broadcastCrossReplica(
    poplar::Graph &graph, const poplar::Tensor &data, poplar::program::Sequence &prog,
    unsigned rootReplica = 0, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "broadcastCrossReplica", graph, data, prog, rootReplica, debugContext,
      options).tensor();
}

inline std::vector<poplar::Tensor> allReduceCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allReduceCrossReplica", graph, data, op, prog, group, debugContext,
      options).tensors();
}

inline void allReduceInPlaceCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allReduceInPlaceCrossReplica", graph, data, op, prog, group, debugContext, options);
}

inline void allReduceToDestinationCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data,
    const std::vector<poplar::Tensor> &destination, CollectiveOperator op,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allReduceToDestinationCrossReplica", graph, data, destination, op, prog, group,
      debugContext, options);
}

inline std::vector<poplar::Tensor> reduceScatterCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "reduceScatterCrossReplica", graph, data, op, prog, group, debugContext,
      options).tensors();
}

inline void reduceScatterToDestinationCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data,
    const std::vector<poplar::Tensor> &destination, CollectiveOperator op,
    poplar::program::Sequence &prog, const CommGroup &group,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "reduceScatterToDestinationCrossReplica", graph, data, destination, op, prog, group,
      debugContext, options);
}

inline std::vector<poplar::Tensor> allGatherCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data, poplar::program::Sequence &prog,
    const CommGroup &group, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allGatherCrossReplica", graph, data, prog, group, debugContext, options).tensors();
}

inline void allGatherToDestinationCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data,
    const std::vector<poplar::Tensor> &destination, poplar::program::Sequence &prog,
    const CommGroup &group, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allGatherToDestinationCrossReplica", graph, data, destination, prog, group,
      debugContext, options);
}

inline std::vector<poplar::Tensor> allReduceCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allReduceCrossReplica", graph, data, op, prog, debugContext, options).tensors();
}

inline void allReduceInPlaceCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allReduceInPlaceCrossReplica", graph, data, op, prog, debugContext, options);
}

inline void allReduceToDestinationCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data,
    const std::vector<poplar::Tensor> &destination, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allReduceToDestinationCrossReplica", graph, data, destination, op, prog, debugContext,
      options);
}

inline std::vector<poplar::Tensor> reduceScatterCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "reduceScatterCrossReplica", graph, data, op, prog, debugContext, options).tensors();
}

inline void reduceScatterToDestinationCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data,
    const std::vector<poplar::Tensor> &destination, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "reduceScatterToDestinationCrossReplica", graph, data, destination, op, prog,
      debugContext, options);
}

inline std::vector<poplar::Tensor> allGatherCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allGatherCrossReplica", graph, data, prog, debugContext, options).tensors();
}

inline void allGatherToDestinationCrossReplica(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &data,
    const std::vector<poplar::Tensor> &destination, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "gcl", "allGatherToDestinationCrossReplica", graph, data, destination, prog, debugContext,
      options);
}

inline poplar::Tensor allReduceWithinReplica(
    poplar::Graph &graph, const poplar::Tensor &toReduce, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allReduceWithinReplica", graph, toReduce, op, prog, debugContext, options).tensor();
}

inline poplar::Tensor reduceScatterWithinReplica(
    poplar::Graph &graph, const poplar::Tensor &toReduce, CollectiveOperator op,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "reduceScatterWithinReplica", graph, toReduce, op, prog, debugContext,
      options).tensor();
}

inline poplar::Tensor allGatherWithinReplica(
    poplar::Graph &graph, const poplar::Tensor &toGather, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "gcl", "allGatherWithinReplica", graph, toGather, prog, debugContext, options).tensor();
}

} // namespace gcl

#endif
