// Profiles: every question goes to the process that reads the file.
#include "core.hpp"

#include <pva/pva.hpp>

namespace pva {

using poplar::detail::Result;

namespace {

Result ask(const Part &part, const char *name) {
  if (!part.object())
    throw poplar::poplar_error("this part of a profile stands for nothing: openReport or Engine::getReport give one");
  return poplar::detail::ask("attribute", part.object(), name);
}

template <typename T> std::vector<T> listOf(const Result &found) {
  std::vector<T> all;
  for (const Result &each : found.items())
    all.emplace_back(each.object());
  return all;
}

std::shared_ptr<Program> programOf(const Result &found) {
  return std::make_shared<Program>(found.object());
}

std::vector<std::shared_ptr<Program>> programsOf(const Result &found) {
  std::vector<std::shared_ptr<Program>> all;
  for (const Result &each : found.items())
    all.push_back(programOf(each));
  return all;
}

} // namespace

unsigned PoplarVersion::major() const { return static_cast<unsigned>(ask(*this, "major").integer()); }
unsigned PoplarVersion::minor() const { return static_cast<unsigned>(ask(*this, "minor").integer()); }
unsigned PoplarVersion::point() const { return static_cast<unsigned>(ask(*this, "point").integer()); }
std::string PoplarVersion::string() const { return ask(*this, "string").text(); }
std::string PoplarVersion::packageHash() const { return ask(*this, "packageHash").text(); }

unsigned Version::major() const { return static_cast<unsigned>(ask(*this, "major").integer()); }
unsigned Version::minor() const { return static_cast<unsigned>(ask(*this, "minor").integer()); }
unsigned Version::point() const { return static_cast<unsigned>(ask(*this, "point").integer()); }
bool Version::isUnstableFormat() const { return ask(*this, "isUnstableFormat").boolean(); }

Target::TargetType Target::type() const {
  return static_cast<Target::TargetType>(ask(*this, "type").integer());
}
Target::Architecture Target::architecture() const {
  return static_cast<Target::Architecture>(ask(*this, "architecture").integer());
}
std::uint64_t Target::numIPUs() const { return static_cast<std::uint64_t>(ask(*this, "numIPUs").integer()); }
std::uint64_t Target::numReplicas() const { return static_cast<std::uint64_t>(ask(*this, "numReplicas").integer()); }
std::uint64_t Target::ipusPerReplica() const { return static_cast<std::uint64_t>(ask(*this, "ipusPerReplica").integer()); }
std::uint64_t Target::numTiles() const { return static_cast<std::uint64_t>(ask(*this, "numTiles").integer()); }
std::uint64_t Target::tilesPerIpu() const { return static_cast<std::uint64_t>(ask(*this, "tilesPerIpu").integer()); }
std::uint64_t Target::tilesPerReplica() const { return static_cast<std::uint64_t>(ask(*this, "tilesPerReplica").integer()); }
std::uint64_t Target::bytesPerTile() const { return static_cast<std::uint64_t>(ask(*this, "bytesPerTile").integer()); }
std::uint64_t Target::bytesPerIPU() const { return static_cast<std::uint64_t>(ask(*this, "bytesPerIPU").integer()); }
std::uint64_t Target::memoryPerReplica() const { return static_cast<std::uint64_t>(ask(*this, "memoryPerReplica").integer()); }
std::uint64_t Target::totalMemory() const { return static_cast<std::uint64_t>(ask(*this, "totalMemory").integer()); }
double Target::clockFrequency() const { return ask(*this, "clockFrequency").real(); }
std::vector<std::uint64_t> Target::relativeSyncDelayByTile() const { return ask(*this, "relativeSyncDelayByTile").numbers<std::uint64_t>(); }
std::uint64_t Target::minSyncDelay() const { return static_cast<std::uint64_t>(ask(*this, "minSyncDelay").integer()); }

std::uint64_t Graph::numComputeSets() const { return static_cast<std::uint64_t>(ask(*this, "numComputeSets").integer()); }
std::uint64_t Graph::numVertices() const { return static_cast<std::uint64_t>(ask(*this, "numVertices").integer()); }
std::uint64_t Graph::numVars() const { return static_cast<std::uint64_t>(ask(*this, "numVars").integer()); }
std::uint64_t Graph::numEdges() const { return static_cast<std::uint64_t>(ask(*this, "numEdges").integer()); }

std::string VertexType::name() const { return ask(*this, "name").text(); }
std::uint64_t VertexType::size() const { return static_cast<std::uint64_t>(ask(*this, "size").integer()); }

VertexType Vertex::type() const { return VertexType(ask(*this, "type").object()); }
std::uint64_t Vertex::count() const { return static_cast<std::uint64_t>(ask(*this, "count").integer()); }
std::vector<std::uint64_t> Vertex::countByTile() const { return ask(*this, "countByTile").numbers<std::uint64_t>(); }

std::string ComputeSet::name() const { return ask(*this, "name").text(); }
std::vector<Vertex> ComputeSet::vertices() const { return listOf<Vertex>(ask(*this, "vertices")); }
std::uint64_t ComputeSet::numVertices() const { return static_cast<std::uint64_t>(ask(*this, "numVertices").integer()); }
std::vector<double> ComputeSet::estimatedCyclesByTile() const { return ask(*this, "estimatedCyclesByTile").numbers<double>(); }

std::uint64_t Bytes::includingGaps() const { return static_cast<std::uint64_t>(ask(*this, "includingGaps").integer()); }
std::uint64_t Bytes::excludingGaps() const { return static_cast<std::uint64_t>(ask(*this, "excludingGaps").integer()); }

Bytes Memory::total() const { return Bytes(ask(*this, "total").object()); }
Bytes Memory::interleaved() const { return Bytes(ask(*this, "interleaved").object()); }
Bytes Memory::nonInterleaved() const { return Bytes(ask(*this, "nonInterleaved").object()); }
Bytes Memory::overflowed() const { return Bytes(ask(*this, "overflowed").object()); }
std::uint64_t Memory::alwaysLiveBytes() const { return static_cast<std::uint64_t>(ask(*this, "alwaysLiveBytes").integer()); }
std::uint64_t Memory::notAlwaysLiveBytes() const { return static_cast<std::uint64_t>(ask(*this, "notAlwaysLiveBytes").integer()); }

Memory Tile::memory() const { return Memory(ask(*this, "memory").object()); }

std::vector<Tile> IPU::tiles() const { return listOf<Tile>(ask(*this, "tiles")); }
Memory IPU::memory() const { return Memory(ask(*this, "memory").object()); }

std::string Variable::name() const { return ask(*this, "name").text(); }
std::uint64_t Variable::size() const { return static_cast<std::uint64_t>(ask(*this, "size").integer()); }

std::uint64_t LiveMemory::bytes() const { return static_cast<std::uint64_t>(ask(*this, "bytes").integer()); }
std::vector<Variable> LiveMemory::variables() const { return listOf<Variable>(ask(*this, "variables")); }

std::shared_ptr<Program> LivenessProgramStep::program() const { return programOf(ask(*this, "program")); }
LiveMemory LivenessProgramStep::notAlwaysLiveMemory() const { return LiveMemory(ask(*this, "notAlwaysLiveMemory").object()); }

Target CompilationReport::target() const { return Target(ask(*this, "target").object()); }
Graph CompilationReport::graph() const { return Graph(ask(*this, "graph").object()); }
std::vector<std::shared_ptr<Program>> CompilationReport::programs() const { return programsOf(ask(*this, "programs")); }
std::vector<ComputeSet> CompilationReport::computeSets() const { return listOf<ComputeSet>(ask(*this, "computeSets")); }
std::vector<Tile> CompilationReport::tiles() const { return listOf<Tile>(ask(*this, "tiles")); }
std::vector<IPU> CompilationReport::ipus() const { return listOf<IPU>(ask(*this, "ipus")); }
std::vector<LivenessProgramStep> CompilationReport::livenessProgramSteps() const { return listOf<LivenessProgramStep>(ask(*this, "livenessProgramSteps")); }
std::vector<Variable> CompilationReport::alwaysLiveVariables() const { return listOf<Variable>(ask(*this, "alwaysLiveVariables")); }

std::uint64_t Microseconds::start() const { return static_cast<std::uint64_t>(ask(*this, "start").integer()); }
std::uint64_t Microseconds::end() const { return static_cast<std::uint64_t>(ask(*this, "end").integer()); }

std::uint64_t Range::min() const { return static_cast<std::uint64_t>(ask(*this, "min").integer()); }
std::uint64_t Range::max() const { return static_cast<std::uint64_t>(ask(*this, "max").integer()); }

Range CycleInterval::cyclesFrom() const { return Range(ask(*this, "cyclesFrom").object()); }
Range CycleInterval::cyclesTo() const { return Range(ask(*this, "cyclesTo").object()); }

std::uint64_t StepOnIpu::cycles() const { return static_cast<std::uint64_t>(ask(*this, "cycles").integer()); }
CycleInterval StepOnIpu::activeCycles() const { return CycleInterval(ask(*this, "activeCycles").object()); }
CycleInterval StepOnIpu::allCycles() const { return CycleInterval(ask(*this, "allCycles").object()); }
std::uint64_t StepOnIpu::activeTiles() const { return static_cast<std::uint64_t>(ask(*this, "activeTiles").integer()); }
double StepOnIpu::tileBalance() const { return ask(*this, "tileBalance").real(); }
double StepOnIpu::activeTileBalance() const { return ask(*this, "activeTileBalance").real(); }
std::uint64_t StepOnIpu::dataIn() const { return static_cast<std::uint64_t>(ask(*this, "dataIn").integer()); }
std::uint64_t StepOnIpu::dataOut() const { return static_cast<std::uint64_t>(ask(*this, "dataOut").integer()); }

std::shared_ptr<Program> ExecutionStep::program() const { return programOf(ask(*this, "program")); }
std::vector<StepOnIpu> ExecutionStep::ipus() const { return listOf<StepOnIpu>(ask(*this, "ipus")); }
std::vector<double> ExecutionStep::cyclesByTile() const { return ask(*this, "cyclesByTile").numbers<double>(); }

std::string Run::name() const { return ask(*this, "name").text(); }
std::vector<ExecutionStep> Run::steps() const { return listOf<ExecutionStep>(ask(*this, "steps")); }
Microseconds Run::microseconds() const { return Microseconds(ask(*this, "microseconds").object()); }

std::uint64_t TotalCycles::total() const { return static_cast<std::uint64_t>(ask(*this, "total").integer()); }
double TotalCycles::compute() const { return ask(*this, "compute").real(); }
double TotalCycles::exchange() const { return ask(*this, "exchange").real(); }
double TotalCycles::stream() const { return ask(*this, "stream").real(); }
double TotalCycles::sync() const { return ask(*this, "sync").real(); }

std::uint64_t Block::cyclesFrom() const { return static_cast<std::uint64_t>(ask(*this, "cyclesFrom").integer()); }
std::uint64_t Block::cyclesTo() const { return static_cast<std::uint64_t>(ask(*this, "cyclesTo").integer()); }
std::shared_ptr<Program> Block::program() const { return programOf(ask(*this, "program")); }
unsigned Block::tile() const { return static_cast<unsigned>(ask(*this, "tile").integer()); }
bool Block::isCommon() const { return ask(*this, "isCommon").boolean(); }
bool Block::isOverflow() const { return ask(*this, "isOverflow").boolean(); }
bool Block::isBlockFlush() const { return ask(*this, "isBlockFlush").boolean(); }
bool Block::isStreamCopy() const { return ask(*this, "isStreamCopy").boolean(); }

std::vector<Run> ExecutionReport::runs() const { return listOf<Run>(ask(*this, "runs")); }
std::vector<ExecutionStep> ExecutionReport::steps() const { return listOf<ExecutionStep>(ask(*this, "steps")); }
TotalCycles ExecutionReport::totalCycles() const { return TotalCycles(ask(*this, "totalCycles").object()); }

CompilationReport Report::compilation() const { return CompilationReport(ask(*this, "compilation").object()); }
ExecutionReport Report::execution() const { return ExecutionReport(ask(*this, "execution").object()); }
PoplarVersion Report::poplarVersion() const { return PoplarVersion(ask(*this, "poplarVersion").object()); }
Version Report::version() const { return Version(ask(*this, "version").object()); }

std::string Program::name() const { return ask(*this, "name").text(); }
std::vector<std::shared_ptr<Program>> Program::children() const { return programsOf(ask(*this, "children")); }
ComputeSet Program::computeset() const { return ComputeSet(ask(*this, "computeset").object()); }
std::vector<std::uint64_t> Program::controlCodeByTile() const {
  return ask(*this, "controlCodeByTile").numbers<std::uint64_t>();
}
std::vector<double> Program::estimatedCyclesByTile() const {
  return ask(*this, "estimatedCyclesByTile").numbers<double>();
}

namespace {
const char *const PROGRAM_TYPES[] = {
    "Unknown",
    "Sequence",
    "Repeat",
    "RepeatWhile",
    "If",
    "Switch",
    "OnEveryTileSwitch",
    "OnTileExecute",
    "DoExchange",
    "GlobalExchange",
    "StreamCopyBegin",
    "StreamCopyMid",
    "StreamCopyEnd",
    "Sync",
    "SyncAns",
    "Sans",
    "Call",
    "WriteUndef",
    "SetLocalConsensusFromVar",
};
} // namespace

Program::Type Program::type() const {
  const std::string name = poplar::detail::ask("attribute name", object(), "type").text();
  for (unsigned i = 0; i < sizeof(PROGRAM_TYPES) / sizeof(PROGRAM_TYPES[0]); ++i)
    if (name == PROGRAM_TYPES[i])
      return static_cast<Type>(i);
  return Type::Unknown;
}

void Program::accept(ProgramVisitor &visitor) const {
  switch (type()) {
  case Type::Unknown:
    visitor.visitUnknown(*this);
    break;
  case Type::Sequence:
    visitor.visitSequence(*this);
    break;
  case Type::Repeat:
    visitor.visitRepeat(*this);
    break;
  case Type::RepeatWhile:
    visitor.visitRepeatWhile(*this);
    break;
  case Type::If:
    visitor.visitIf(*this);
    break;
  case Type::Switch:
    visitor.visitSwitch(*this);
    break;
  case Type::OnEveryTileSwitch:
    visitor.visitOnEveryTileSwitch(*this);
    break;
  case Type::OnTileExecute:
    visitor.visitOnTileExecute(*this);
    break;
  case Type::DoExchange:
    visitor.visitDoExchange(*this);
    break;
  case Type::GlobalExchange:
    visitor.visitGlobalExchange(*this);
    break;
  case Type::StreamCopyBegin:
    visitor.visitStreamCopyBegin(*this);
    break;
  case Type::StreamCopyMid:
    visitor.visitStreamCopyMid(*this);
    break;
  case Type::StreamCopyEnd:
    visitor.visitStreamCopyEnd(*this);
    break;
  case Type::Sync:
    visitor.visitSync(*this);
    break;
  case Type::SyncAns:
    visitor.visitSyncAns(*this);
    break;
  case Type::Sans:
    visitor.visitSans(*this);
    break;
  case Type::Call:
    visitor.visitCall(*this);
    break;
  case Type::WriteUndef:
    visitor.visitWriteUndef(*this);
    break;
  case Type::SetLocalConsensusFromVar:
    visitor.visitSetLocalConsensusFromVar(*this);
    break;
  }
}

std::vector<Block> ExecutionReport::blocks(unsigned tile) const {
  return listOf<Block>(poplar::detail::ask("blocks", object(), tile));
}

Report openReport(const std::string &profile, const std::string &debugInfo) {
  if (debugInfo.empty())
    return Report(poplar::detail::call("pva", "openReport", profile).object());
  return Report(poplar::detail::call("pva", "openReport", profile, debugInfo).object());
}

} // namespace pva
