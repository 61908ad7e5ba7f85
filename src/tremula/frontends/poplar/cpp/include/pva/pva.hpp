// Profiles of programs, as programs read them. All figures are modelled.
#ifndef PVA_PVA_HPP
#define PVA_PVA_HPP

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace poplar {
namespace detail {
struct RemoteObject;
}
} // namespace poplar

namespace pva {

// A part of a profile, which the other process reads.
class Part {
public:
  Part() = default;
  explicit Part(std::shared_ptr<poplar::detail::RemoteObject> object) : object_(std::move(object)) {}
  const std::shared_ptr<poplar::detail::RemoteObject> &object() const { return object_; }

protected:
  std::shared_ptr<poplar::detail::RemoteObject> object_;
};

class ProgramVisitor;
class ComputeSet;

// A node of the program tree.
class Program : public Part {
public:
  enum class Type {
    Unknown,
    Sequence,
    Repeat,
    RepeatWhile,
    If,
    Switch,
    OnEveryTileSwitch,
    OnTileExecute,
    DoExchange,
    GlobalExchange,
    StreamCopyBegin,
    StreamCopyMid,
    StreamCopyEnd,
    Sync,
    SyncAns,
    Sans,
    Call,
    WriteUndef,
    SetLocalConsensusFromVar,
  };
  using Part::Part;
  std::string name() const;
  Type type() const;
  std::vector<std::shared_ptr<Program>> children() const;
  ComputeSet computeset() const;
  std::vector<std::uint64_t> controlCodeByTile() const;
  std::vector<double> estimatedCyclesByTile() const;
  // Calls the visitor with this program; children are visited by the visitor.
  void accept(ProgramVisitor &visitor) const;
};

class ProgramVisitor {
public:
  virtual ~ProgramVisitor() = default;
  virtual void visitProgram(const Program &) {}
  virtual void visitUnknown(const Program &program) { visitProgram(program); }
  virtual void visitSequence(const Program &program) { visitProgram(program); }
  virtual void visitRepeat(const Program &program) { visitProgram(program); }
  virtual void visitRepeatWhile(const Program &program) { visitProgram(program); }
  virtual void visitIf(const Program &program) { visitProgram(program); }
  virtual void visitSwitch(const Program &program) { visitProgram(program); }
  virtual void visitOnEveryTileSwitch(const Program &program) { visitProgram(program); }
  virtual void visitOnTileExecute(const Program &program) { visitProgram(program); }
  virtual void visitDoExchange(const Program &program) { visitProgram(program); }
  virtual void visitGlobalExchange(const Program &program) { visitProgram(program); }
  virtual void visitStreamCopyBegin(const Program &program) { visitProgram(program); }
  virtual void visitStreamCopyMid(const Program &program) { visitProgram(program); }
  virtual void visitStreamCopyEnd(const Program &program) { visitProgram(program); }
  virtual void visitSync(const Program &program) { visitProgram(program); }
  virtual void visitSyncAns(const Program &program) { visitProgram(program); }
  virtual void visitSans(const Program &program) { visitProgram(program); }
  virtual void visitCall(const Program &program) { visitProgram(program); }
  virtual void visitWriteUndef(const Program &program) { visitProgram(program); }
  virtual void visitSetLocalConsensusFromVar(const Program &program) { visitProgram(program); }
};

class PoplarVersion : public Part {
public:
  using Part::Part;
  unsigned major() const;
  unsigned minor() const;
  unsigned point() const;
  std::string string() const;
  std::string packageHash() const;
};

class Version : public Part {
public:
  using Part::Part;
  unsigned major() const;
  unsigned minor() const;
  unsigned point() const;
  bool isUnstableFormat() const;
};

// What the program was compiled for.
class Target : public Part {
public:
  enum class TargetType { Ipu, IpuModel, Cpu, Unknown };
  enum class Architecture { Ipu1, Ipu2, Ipu21, Unknown };
  using Part::Part;
  Target::TargetType type() const;
  Target::Architecture architecture() const;
  std::uint64_t numIPUs() const;
  std::uint64_t numReplicas() const;
  std::uint64_t ipusPerReplica() const;
  std::uint64_t numTiles() const;
  std::uint64_t tilesPerIpu() const;
  std::uint64_t tilesPerReplica() const;
  std::uint64_t bytesPerTile() const;
  std::uint64_t bytesPerIPU() const;
  std::uint64_t memoryPerReplica() const;
  std::uint64_t totalMemory() const;
  double clockFrequency() const;
  std::vector<std::uint64_t> relativeSyncDelayByTile() const;
  std::uint64_t minSyncDelay() const;
};

class Graph : public Part {
public:
  using Part::Part;
  std::uint64_t numComputeSets() const;
  std::uint64_t numVertices() const;
  std::uint64_t numVars() const;
  std::uint64_t numEdges() const;
};

class VertexType : public Part {
public:
  using Part::Part;
  std::string name() const;
  std::uint64_t size() const;
};

class Vertex : public Part {
public:
  using Part::Part;
  VertexType type() const;
  std::uint64_t count() const;
  std::vector<std::uint64_t> countByTile() const;
};

class ComputeSet : public Part {
public:
  using Part::Part;
  std::string name() const;
  std::vector<Vertex> vertices() const;
  std::uint64_t numVertices() const;
  std::vector<double> estimatedCyclesByTile() const;
};

class Bytes : public Part {
public:
  using Part::Part;
  std::uint64_t includingGaps() const;
  std::uint64_t excludingGaps() const;
};

class Memory : public Part {
public:
  using Part::Part;
  Bytes total() const;
  Bytes interleaved() const;
  Bytes nonInterleaved() const;
  Bytes overflowed() const;
  std::uint64_t alwaysLiveBytes() const;
  std::uint64_t notAlwaysLiveBytes() const;
};

class Tile : public Part {
public:
  using Part::Part;
  Memory memory() const;
};

class IPU : public Part {
public:
  using Part::Part;
  std::vector<Tile> tiles() const;
  Memory memory() const;
};

class Variable : public Part {
public:
  using Part::Part;
  std::string name() const;
  std::uint64_t size() const;
};

class LiveMemory : public Part {
public:
  using Part::Part;
  std::uint64_t bytes() const;
  std::vector<Variable> variables() const;
};

class LivenessProgramStep : public Part {
public:
  using Part::Part;
  std::shared_ptr<Program> program() const;
  LiveMemory notAlwaysLiveMemory() const;
};

class CompilationReport : public Part {
public:
  using Part::Part;
  Target target() const;
  Graph graph() const;
  std::vector<std::shared_ptr<Program>> programs() const;
  std::vector<ComputeSet> computeSets() const;
  std::vector<Tile> tiles() const;
  std::vector<IPU> ipus() const;
  std::vector<LivenessProgramStep> livenessProgramSteps() const;
  std::vector<Variable> alwaysLiveVariables() const;
};

class Microseconds : public Part {
public:
  using Part::Part;
  std::uint64_t start() const;
  std::uint64_t end() const;
};

class Range : public Part {
public:
  using Part::Part;
  std::uint64_t min() const;
  std::uint64_t max() const;
};

class CycleInterval : public Part {
public:
  using Part::Part;
  Range cyclesFrom() const;
  Range cyclesTo() const;
};

class StepOnIpu : public Part {
public:
  using Part::Part;
  std::uint64_t cycles() const;
  CycleInterval activeCycles() const;
  CycleInterval allCycles() const;
  std::uint64_t activeTiles() const;
  double tileBalance() const;
  double activeTileBalance() const;
  std::uint64_t dataIn() const;
  std::uint64_t dataOut() const;
};

class ExecutionStep : public Part {
public:
  using Part::Part;
  std::shared_ptr<Program> program() const;
  std::vector<StepOnIpu> ipus() const;
  std::vector<double> cyclesByTile() const;
};

class Run : public Part {
public:
  using Part::Part;
  std::string name() const;
  std::vector<ExecutionStep> steps() const;
  Microseconds microseconds() const;
};

class TotalCycles : public Part {
public:
  using Part::Part;
  std::uint64_t total() const;
  double compute() const;
  double exchange() const;
  double stream() const;
  double sync() const;
};

// A stretch of cycles on one tile, recorded between two points of the program.
class Block : public Part {
public:
  using Part::Part;
  std::uint64_t cyclesFrom() const;
  std::uint64_t cyclesTo() const;
  std::shared_ptr<Program> program() const;
  unsigned tile() const;
  bool isCommon() const;
  bool isOverflow() const;
  bool isBlockFlush() const;
  bool isStreamCopy() const;
};

class ExecutionReport : public Part {
public:
  using Part::Part;
  std::vector<Run> runs() const;
  std::vector<ExecutionStep> steps() const;
  TotalCycles totalCycles() const;
  std::vector<Block> blocks(unsigned tile) const;
};

// A profile.
class Report : public Part {
public:
  using Part::Part;
  CompilationReport compilation() const;
  ExecutionReport execution() const;
  PoplarVersion poplarVersion() const;
  Version version() const;
};

// Opens a profile.pop, or the one in a folder. Debug contexts are in the profile itself; the second file is not read.
Report openReport(const std::string &profile, const std::string &debugInfo = "");

} // namespace pva

#endif
