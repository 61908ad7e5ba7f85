// Optional numbers of settings.
#ifndef POPART_BASICOPTIONALS_HPP
#define POPART_BASICOPTIONALS_HPP
#include <popart/names.hpp>
#include <popart/vendored/optional.hpp>
namespace popart {
typedef nonstd::optional<VGraphId> OptionalVGraphId;
typedef nonstd::optional<PipelineStage> OptionalPipelineStage;
typedef nonstd::optional<ExecutionPhase> OptionalExecutionPhase;
typedef nonstd::optional<std::int64_t> OptionalBatchSerializedPhase;
typedef nonstd::optional<float> OptionalFloat;
} // namespace popart
#endif
