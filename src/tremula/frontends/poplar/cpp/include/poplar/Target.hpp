// The chip that a program is compiled for.
#ifndef POPLAR_TARGET_HPP
#define POPLAR_TARGET_HPP

#include <poplar/OptionFlags.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/TargetType.hpp>
#include <poplar/Type.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

namespace detail {
struct TargetFacts;
}

class Target {
public:
  Target() = default;
  explicit Target(std::shared_ptr<const detail::TargetFacts> facts)
      : facts_(std::move(facts)) {}

  static Target createCPUTarget(bool accurateHalf = false, unsigned numIPUs = 1);
  static Target createIPUTarget(unsigned numIPUs, StringRef systemType,
                                const OptionFlags &opts = {});
  static Target createIPUTarget(unsigned numIPUs, const char *systemType,
                                const OptionFlags &opts = {}) {
    return createIPUTarget(numIPUs, StringRef(systemType), opts);
  }
  static Target createIPUTarget(unsigned numIPUs, unsigned tilesPerIPU,
                                StringRef systemType, const OptionFlags &opts = {});
  Target createVirtualTarget(unsigned numIPUs, unsigned tilesPerIPU) const;

  TargetType getTargetType() const;
  StringRef getTargetArchString() const;
  StringRef getTargetSystemString() const { return getTargetArchString(); }
  unsigned getNumIPUs() const;
  unsigned getTilesPerIPU() const;
  unsigned getNumTiles() const;
  unsigned getNumWorkerContexts() const;
  unsigned getBytesPerTile() const;
  unsigned getExchangeBytesPerCycle() const;
  unsigned getMemcpyBytesPerCycle() const;
  unsigned getMinIPUSyncDelay() const;
  unsigned getMaxIPUSyncDelay() const;
  unsigned getGlobalSyncCycles() const;
  std::uint64_t getMemoryBytes() const;
  double getTileClockFrequency() const;
  unsigned getNumStrideBits() const;
  unsigned getRptCountMax() const;
  unsigned getDataPathWidth() const;
  unsigned getFp16ConvUnitMaxPipelineDepth() const;
  unsigned getFp32ConvUnitMaxPipelineDepth() const;
  unsigned getFp16InFp16OutConvUnitsPerTile() const;
  unsigned getFp16InFp32OutConvUnitsPerTile() const;
  unsigned getFp32InFp32OutConvUnitsPerTile() const;
  unsigned getConvUnitCoeffLoadBytesPerCycle() const;
  unsigned getFloatVectorWidth() const;
  unsigned getHalfVectorWidth() const;
  unsigned getVectorWidth(const Type &type) const;
  std::size_t getTypeSize(const Type &type) const;
  unsigned getTilesPerSharedExchangeBus() const;
  bool supportsExchangeBusSharing() const;
  unsigned getAtomicStoreGranularity() const;
  unsigned getInterleavedMemoryElementIndex() const;
  std::vector<unsigned> getMemoryElementOffsets() const;
  bool getGatewayMode() const { return true; }
  bool operator==(const Target &other) const;
  bool operator!=(const Target &other) const { return !(*this == other); }

  const std::shared_ptr<const detail::TargetFacts> &facts() const { return facts_; }

private:
  const detail::TargetFacts &known() const;
  std::shared_ptr<const detail::TargetFacts> facts_;
};

// Conversions between the host's floats and the halves in buffers that are exchanged with tensors of type HALF.
void copyFloatToDeviceHalf(const Target &target, const float *source, void *destination,
                           std::size_t count);
void copyDeviceHalfToFloat(const Target &target, const void *source, float *destination,
                           std::size_t count);
void copyDoubleToDeviceHalf(const Target &target, const double *source, void *destination,
                            std::size_t count);
void copyDeviceHalfToDouble(const Target &target, const void *source, double *destination,
                            std::size_t count);

} // namespace poplar

#endif
