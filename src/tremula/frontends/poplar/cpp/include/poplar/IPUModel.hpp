// Models of IPUs: the figures of a chip, any of which may be changed.
#ifndef POPLAR_IPU_MODEL_HPP
#define POPLAR_IPU_MODEL_HPP

#include <poplar/Device.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

class IPUModel {
public:
  enum class RelativeSyncDelayType { AUTO, NO_DELAY };

  IPUModel(const char *version = "ipu2");
  explicit IPUModel(const std::string &version) : IPUModel(version.c_str()) {}

  std::string IPUVersion;
  unsigned numIPUs;
  unsigned tilesPerIPU;
  unsigned memoryBytesPerTile;
  std::vector<unsigned> memoryElementOffsets;
  unsigned interleavedMemoryElementIndex;
  unsigned numWorkerContexts;
  unsigned exchangeBytesPerCycle;
  unsigned memcpyBytesPerCycle;
  unsigned minIPUSyncDelay;
  unsigned globalSyncCycles;
  unsigned instructionBytes;
  RelativeSyncDelayType relativeSyncDelay = RelativeSyncDelayType::AUTO;
  double tileClockFrequency;
  unsigned tilesPerSuperTile;
  bool supportsSuperTileSendReceive;
  bool compileIPUCode;

  Device createDevice(const OptionFlags &opts = {}, bool accurateHalf = false,
                      unsigned deviceManagerId = ~0u) const;

private:
  // What the constructor set, so that changes can be told.
  std::map<std::string, double> initial_;
  std::map<std::string, double> figures() const;
};

} // namespace poplar

#endif
