// Targets, devices, and models of IPUs.
#include "core.hpp"

#include <poplar/DeviceManager.hpp>
#include <poplar/IPUModel.hpp>

namespace poplar {

using detail::Result;
using detail::TargetFacts;

namespace detail {

double TargetFacts::figure(const char *name) const {
  const auto found = figures.find(name);
  if (found == figures.end())
    throw invalid_machine_model(std::string("the target has no figure '") + name + "'");
  return found->second;
}

Target targetOf(const Result &facts) {
  auto made = std::make_shared<TargetFacts>();
  made->object = facts[0].object();
  const std::string kind = facts[1].text();
  made->type = kind == "IPU" ? TargetType::IPU : kind == "CPU" ? TargetType::CPU : TargetType::IPU_MODEL;
  made->version = facts[2].text();
  made->accurateHalf = facts[3].boolean();
  for (std::size_t i = 0; i < facts[4].size(); ++i)
    made->figures[facts[4].keys()[i]] = facts[4][i].real();
  made->memoryElementOffsets = facts[5].numbers<unsigned>();
  return Target(made);
}

Device deviceOf(const Result &facts) {
  return Device(targetOf(facts[1]), static_cast<unsigned>(facts[2].integer()), facts[3].numbers<int>(),
                facts[0].object());
}

} // namespace detail

// -- targets

Target Target::createCPUTarget(bool accurateHalf, unsigned numIPUs) {
  return detail::targetOf(detail::ask("target of host", accurateHalf, numIPUs));
}
Target Target::createIPUTarget(unsigned numIPUs, StringRef systemType, const OptionFlags &opts) {
  return detail::targetOf(detail::ask("target", numIPUs, systemType, 0, opts));
}
Target Target::createIPUTarget(unsigned numIPUs, unsigned tilesPerIPU, StringRef systemType,
                               const OptionFlags &opts) {
  return detail::targetOf(detail::ask("target", numIPUs, systemType, tilesPerIPU, opts));
}
Target Target::createVirtualTarget(unsigned numIPUs, unsigned tilesPerIPU) const {
  return detail::targetOf(detail::ask("part of target", known().object, numIPUs, tilesPerIPU));
}

const TargetFacts &Target::known() const {
  if (!facts_)
    throw invalid_machine_model("this Target stands for no device: take one from a Device, or make one with createIPUTarget");
  return *facts_;
}

namespace {
unsigned whole(double figure) { return static_cast<unsigned>(figure); }
} // namespace

TargetType Target::getTargetType() const { return known().type; }
StringRef Target::getTargetArchString() const { return known().version; }
double Target::getTileClockFrequency() const { return known().figure("getTileClockFrequency"); }
std::uint64_t Target::getMemoryBytes() const {
  return static_cast<std::uint64_t>(known().figure("getMemoryBytes"));
}
bool Target::supportsExchangeBusSharing() const { return getTilesPerSharedExchangeBus() > 1; }
#define POPLAR_DETAIL_FIGURE(NAME)                                             \
  unsigned Target::NAME() const { return whole(known().figure(#NAME)); }
POPLAR_DETAIL_FIGURE(getNumIPUs)
POPLAR_DETAIL_FIGURE(getTilesPerIPU)
POPLAR_DETAIL_FIGURE(getNumTiles)
POPLAR_DETAIL_FIGURE(getNumWorkerContexts)
POPLAR_DETAIL_FIGURE(getBytesPerTile)
POPLAR_DETAIL_FIGURE(getExchangeBytesPerCycle)
POPLAR_DETAIL_FIGURE(getMemcpyBytesPerCycle)
POPLAR_DETAIL_FIGURE(getMinIPUSyncDelay)
POPLAR_DETAIL_FIGURE(getMaxIPUSyncDelay)
POPLAR_DETAIL_FIGURE(getGlobalSyncCycles)
POPLAR_DETAIL_FIGURE(getNumStrideBits)
POPLAR_DETAIL_FIGURE(getRptCountMax)
POPLAR_DETAIL_FIGURE(getDataPathWidth)
POPLAR_DETAIL_FIGURE(getFp16ConvUnitMaxPipelineDepth)
POPLAR_DETAIL_FIGURE(getFp32ConvUnitMaxPipelineDepth)
POPLAR_DETAIL_FIGURE(getFp16InFp16OutConvUnitsPerTile)
POPLAR_DETAIL_FIGURE(getFp16InFp32OutConvUnitsPerTile)
POPLAR_DETAIL_FIGURE(getFp32InFp32OutConvUnitsPerTile)
POPLAR_DETAIL_FIGURE(getConvUnitCoeffLoadBytesPerCycle)
POPLAR_DETAIL_FIGURE(getTilesPerSharedExchangeBus)
POPLAR_DETAIL_FIGURE(getAtomicStoreGranularity)
POPLAR_DETAIL_FIGURE(getInterleavedMemoryElementIndex)
#undef POPLAR_DETAIL_FIGURE

unsigned Target::getFloatVectorWidth() const { return getVectorWidth(FLOAT); }
unsigned Target::getHalfVectorWidth() const { return getVectorWidth(HALF); }
unsigned Target::getVectorWidth(const Type &type) const {
  return std::max(1u, getDataPathWidth() / 8 / static_cast<unsigned>(detail::deviceSize(type)));
}
std::size_t Target::getTypeSize(const Type &type) const { return detail::deviceSize(type); }
std::vector<unsigned> Target::getMemoryElementOffsets() const { return known().memoryElementOffsets; }

bool Target::operator==(const Target &other) const {
  if (!facts_ || !other.facts_)
    return facts_ == other.facts_;
  return facts_->type == other.facts_->type && facts_->version == other.facts_->version &&
         facts_->accurateHalf == other.facts_->accurateHalf && facts_->figures == other.facts_->figures;
}

// -- halves

namespace {

std::uint16_t toHalf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u)
    return static_cast<std::uint16_t>(sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u : 0u));
  if (magnitude >= 0x477ff000u) // rounds to more than the largest half
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x33000001u) // rounds to zero
    return static_cast<std::uint16_t>(sign);
  std::uint32_t exponent = magnitude >> 23, mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  unsigned shift = 13;
  std::uint32_t result;
  if (exponent < 113) { // a denormal half
    shift += 113 - exponent;
    result = mantissa >> shift;
  } else {
    result = ((exponent - 112) << 10) + ((mantissa & 0x7fffffu) >> 13);
  }
  const std::uint32_t rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
  if (rest > middle || (rest == middle && (result & 1)))
    ++result;
  return static_cast<std::uint16_t>(sign | result);
}

float fromHalf(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const int exponent = (half >> 10) & 0x1f;
  const std::uint32_t mantissa = half & 0x3ffu;
  float value;
  if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    const std::uint32_t bits = exponent == 31 ? 0x7f800000u | (mantissa << 13)
                                              : (static_cast<std::uint32_t>(exponent + 112) << 23) | (mantissa << 13);
    std::memcpy(&value, &bits, 4);
  }
  return sign ? -value : value;
}

template <typename F> void pack(const F *source, void *destination, std::size_t count) {
  char *to = static_cast<char *>(destination);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t half = toHalf(static_cast<float>(source[i]));
    std::memcpy(to + 2 * i, &half, 2);
  }
}

template <typename F> void unpack(const void *source, F *destination, std::size_t count) {
  const char *from = static_cast<const char *>(source);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half;
    std::memcpy(&half, from + 2 * i, 2);
    destination[i] = static_cast<F>(fromHalf(half));
  }
}

} // namespace

void copyFloatToDeviceHalf(const Target &, const float *source, void *destination, std::size_t count) {
  pack(source, destination, count);
}
void copyDoubleToDeviceHalf(const Target &, const double *source, void *destination, std::size_t count) {
  pack(source, destination, count);
}
void copyDeviceHalfToFloat(const Target &, const void *source, float *destination, std::size_t count) {
  unpack(source, destination, count);
}
void copyDeviceHalfToDouble(const Target &, const void *source, double *destination, std::size_t count) {
  unpack(source, destination, count);
}

// -- devices

Device::Device(Target target, unsigned id, std::vector<int> driverIds,
               std::shared_ptr<detail::RemoteObject> object)
    : target_(std::move(target)), id_(id), driverIds_(std::move(driverIds)), object_(std::move(object)) {}

namespace {
const std::shared_ptr<detail::RemoteObject> &present(const std::shared_ptr<detail::RemoteObject> &object) {
  if (!object)
    throw poplar_error("this Device is empty: take one from a DeviceManager or an IPUModel");
  return object;
}
} // namespace

Device Device::createCPUDevice(const OptionFlags &) { return detail::deviceOf(detail::ask("host device")); }
Device Device::createCPUDevice(unsigned, const OptionFlags &opts) { return createCPUDevice(opts); }
Device Device::createSimulatorDevice(const Target &, const OptionFlags &) {
  throw poplar_error("there is no simulator of instructions: use an IPUModel, whose cycles are modelled");
}

const Target &Device::getTarget() const {
  present(object_);
  return target_;
}
bool Device::attach() const { return detail::method(present(object_), "attach").boolean(); }
void Device::detach() const {
  if (object_)
    detail::method(object_, "detach");
}
bool Device::isAttached() const { return object_ && detail::method(object_, "isAttached").boolean(); }
void Device::getDriverVersion(unsigned &major, unsigned &minor, unsigned &point) const {
  std::istringstream text(versionString());
  char dot;
  major = minor = point = 0;
  text >> major >> dot >> minor >> dot >> point;
}
std::map<std::string, std::string> Device::getAttributes() const {
  const Result found = detail::ask("attributes", present(object_));
  std::map<std::string, std::string> all;
  for (std::size_t i = 0; i < found.size(); ++i)
    all[found.keys()[i]] = found[i].text();
  return all;
}
std::string Device::getAttribute(const std::string &name) const {
  const auto all = getAttributes();
  const auto found = all.find(name);
  if (found == all.end())
    throw poplar_error("the device has no attribute '" + name + "'");
  return found->second;
}
Device Device::createVirtualDevice(unsigned tilesPerIPU) const {
  return detail::deviceOf(detail::ask("part of device", present(object_), tilesPerIPU));
}

namespace {
std::vector<Device> devicesOf(const Result &found) {
  std::vector<Device> all;
  for (const Result &each : found.items())
    all.push_back(detail::deviceOf(each));
  return all;
}
} // namespace

std::size_t DeviceManager::getNumDevices() const { return getDevices().size(); }
std::vector<Device> DeviceManager::getDevices(const OptionFlags &) const {
  return devicesOf(detail::ask("devices", nullptr, nullptr));
}
std::vector<Device> DeviceManager::getDevices(TargetType type, unsigned requiredNumIPUs,
                                              const OptionFlags &) const {
  return devicesOf(detail::ask("devices", toString(type), requiredNumIPUs));
}
Device DeviceManager::getDevice(unsigned id, const OptionFlags &) const {
  return detail::deviceOf(detail::ask("device", id));
}
Device DeviceManager::acquireAvailableDevice(unsigned numIPUs) const {
  for (Device &each : getDevices(TargetType::IPU, numIPUs))
    if (each.attach())
      return std::move(each);
  throw poplar_error("no device with " + std::to_string(numIPUs) + " IPUs is free");
}

// -- models

IPUModel::IPUModel(const char *version) : IPUVersion(version) {
  const Result found = detail::ask("model figures", version);
  const auto get = [&](const char *name) { return static_cast<unsigned>(found.at(name).real()); };
  numIPUs = get("numIPUs");
  tilesPerIPU = get("tilesPerIPU");
  memoryBytesPerTile = get("memoryBytesPerTile");
  memoryElementOffsets = found.at("memoryElementOffsets").numbers<unsigned>();
  interleavedMemoryElementIndex = get("interleavedMemoryElementIndex");
  numWorkerContexts = get("numWorkerContexts");
  exchangeBytesPerCycle = get("exchangeBytesPerCycle");
  memcpyBytesPerCycle = get("memcpyBytesPerCycle");
  minIPUSyncDelay = get("minIPUSyncDelay");
  globalSyncCycles = get("globalSyncCycles");
  instructionBytes = get("instructionBytes");
  tileClockFrequency = found.at("tileClockFrequency").real();
  tilesPerSuperTile = get("tilesPerSuperTile");
  supportsSuperTileSendReceive = false;
  compileIPUCode = true;
  initial_ = figures();
}

std::map<std::string, double> IPUModel::figures() const {
  return {{"numIPUs", numIPUs},
          {"tilesPerIPU", tilesPerIPU},
          {"memoryBytesPerTile", memoryBytesPerTile},
          {"interleavedMemoryElementIndex", interleavedMemoryElementIndex},
          {"numWorkerContexts", numWorkerContexts},
          {"exchangeBytesPerCycle", exchangeBytesPerCycle},
          {"memcpyBytesPerCycle", memcpyBytesPerCycle},
          {"minIPUSyncDelay", minIPUSyncDelay},
          {"globalSyncCycles", globalSyncCycles},
          {"instructionBytes", instructionBytes},
          {"relativeSyncDelay", static_cast<double>(relativeSyncDelay)},
          {"tileClockFrequency", tileClockFrequency},
          {"tilesPerSuperTile", tilesPerSuperTile},
          {"supportsSuperTileSendReceive", supportsSuperTileSendReceive},
          {"compileIPUCode", compileIPUCode}};
}

Device IPUModel::createDevice(const OptionFlags &opts, bool accurateHalf, unsigned) const {
  // what was not changed is left to the model, which knows more than these figures say
  std::map<std::string, double> changed;
  for (const auto &each : figures()) {
    const auto before = initial_.find(each.first);
    if (before == initial_.end() || before->second != each.second)
      changed[each.first] = each.second;
  }
  return detail::deviceOf(detail::ask("model", IPUVersion, changed, opts, accurateHalf));
}

} // namespace poplar
