// What the library keeps beside the public classes: the connection, and what was recorded of a graph.
#ifndef TREMULA_CORE_HPP
#define TREMULA_CORE_HPP

#include <poplar/Engine.hpp>
#include <poplar/detail/Call.hpp>

#include <mutex>
#include <unordered_set>

namespace poplar {
namespace detail {

typedef std::vector<std::int64_t> Column;

// -- the connection ----------------------------------------------------------------------------------------------

// What the server asks of this process while it serves a request. Returns the answer.
typedef std::function<Value(const std::vector<Result> &)> Answer;

class Connection {
public:
  // The one connection of this process; starts the server at the first use.
  static Connection &get();
  // Whether the server was started, is this process's, and is still there.
  static bool alive();

  // Sends a request and waits for its answer. `name`: what the server shall do.
  Result request(const std::string &name, const Value &arguments, std::size_t count,
                 const std::string &where = "");
  // Sends what needs no answer.
  void notice(const std::string &name, const Writer &arguments, std::size_t count);

  std::uint32_t addAnswer(Answer answer);
  void removeAnswer(std::uint32_t number);
  void release(char kind, std::uint32_t number);
  void addCore(GraphCore *core);
  void removeCore(GraphCore *core);

  std::recursive_mutex mutex;

private:
  Connection();
  friend struct ConnectionAtExit;
  void start();
  void finish();

public:
  void flushGraphs();

private:
  void flush();
  void send(char kind, const Writer &payload);
  char receive(std::vector<char> &payload);
  void answer(const std::vector<char> &payload);
  void learn(const Result &changes);
  [[noreturn]] void lost();
  void readAll(void *to, std::size_t length);
  void writeAll(const void *from, std::size_t length);

  int socket_ = -1;
  long owner_ = 0;
  bool broken_ = false;
  std::map<std::uint32_t, std::shared_ptr<Answer>> answers_;
  std::uint32_t nextAnswer_ = 1;
  std::vector<GraphCore *> cores_;
  std::mutex releasedMutex_;
  std::vector<std::pair<char, std::uint32_t>> released_;
};

// Values from bytes; whatever does not fit is an error.
class Reader {
public:
  Reader(const char *data, std::size_t length) : at_(data), end_(data + length) {}
  Result value();
  bool atEnd() const { return at_ == end_; }

private:
  const char *take(std::size_t length);
  template <typename T> T raw();
  std::string string();
  std::shared_ptr<Tensor> tensor();
  const char *at_, *end_;
  unsigned depth_ = 0;
};

std::shared_ptr<GraphCore> coreByNumber(std::uint32_t number);
void registerCore(const std::shared_ptr<GraphCore> &core);
std::string placeOf(const SourceLocation &where);
std::string placeOf(const DebugContext &debug);

// An object of the server that is called by name: a public method, or an attribute.
template <typename... A>
Result method(const std::shared_ptr<RemoteObject> &object, const char *name, A &&... arguments) {
  Value all;
  addObject(all, object);
  all.writer.text(name, std::strlen(name));
  all.append(list(std::forward<A>(arguments)...));
  SourceLocation where;
  noteLocation(where, arguments...);
  Result found = Connection::get().request("method", all, 3, placeOf(where));
  for (const auto &each : all.returned)
    each(found);
  return found;
}

// What the server does, by the name of the request.
template <typename... A> Result ask(const char *name, A &&... arguments) {
  Value all;
  int each[] = {0, (addAny(all, std::forward<A>(arguments)), 0)...};
  static_cast<void>(each);
  SourceLocation where;
  noteLocation(where, arguments...);
  return Connection::get().request(name, all, sizeof...(A), placeOf(where));
}

// -- targets -----------------------------------------------------------------------------------------------------

struct TargetFacts {
  std::shared_ptr<RemoteObject> object;
  TargetType type = TargetType::IPU;
  std::string version;
  std::map<std::string, double> figures;
  std::vector<unsigned> memoryElementOffsets;
  bool accurateHalf = true;
  double figure(const char *name) const;
};

Target targetOf(const Result &facts);
Device deviceOf(const Result &facts);

// -- graphs ------------------------------------------------------------------------------------------------------

struct FieldInfo {
  std::string name;
  unsigned number = 0;
  std::string kind;
  bool writes = false;
  int type = -1; // -1: any
};

struct CodeletInfo {
  std::string name;
  std::map<std::string, FieldInfo> fields;
};

// Connections of one field of the vertices of a batch since the last block.
struct FieldColumns {
  Column vertex, number, offset, count, step;
  Writer views;
  std::size_t viewCount = 0;
};

// Values of plain members, of one type of the host.
struct StateColumns {
  Column vertex, count;
  std::vector<char> bytes;
};

struct StateKey {
  unsigned field;
  char letter;
  std::size_t size;
  bool scalar;
  bool operator<(const StateKey &o) const {
    return std::tie(field, letter, size, scalar) < std::tie(o.field, o.letter, o.size, o.scalar);
  }
};

struct Batch {
  ComputeSet set;
  unsigned codelet = 0;
  std::size_t count = 0; // vertices
  std::size_t sent = 0;  // of them in blocks that were sent
  bool touched = false;
  Column tiles;           // of those not sent
  Column movedVertex, movedTile;
  std::map<unsigned, FieldColumns> fields;
  std::map<StateKey, StateColumns> states;
  Column sizeField, sizeVertex, sizeValue;
  Column estimateVertex;
  std::vector<double> estimateCycles, estimateFlops;
  std::string source;
};

struct Variable {
  std::int64_t address, bytes;
  unsigned char type;
  unsigned char elementBytes;
  bool constant;
  std::string name;
};

// A graph as this process knows it. All parts of a graph share it.
class GraphCore {
public:
  GraphCore(unsigned number, unsigned replicas, bool accurateHalf);
  ~GraphCore();

  std::int64_t elementSize(const Type &type) const {
    return type == HALF && !accurateHalf ? 4 : static_cast<std::int64_t>(deviceSize(type));
  }
  std::int64_t addVariable(const Type &type, const Dims &shape, const std::string &name,
                           bool constant, const std::string &source);
  void setInitial(const Tensor &tensor, const HostValues &values);
  void map(const Tensor &tensor, unsigned tile);
  Batch &batchOf(ComputeSet set, const std::string &type, unsigned &number);
  const FieldInfo &fieldOf(const Batch &batch, const std::string &name) const;
  std::string name(const Batch &batch) const { return codelets[batch.codelet].name; }
  void connect(unsigned batch, std::size_t vertex, const std::string &field, long edge,
               const Tensor &tensor);
  void connect(unsigned batch, std::size_t vertex, const std::string &field, long edge,
               ArrayRef<Tensor> tensors);
  void setState(unsigned batch, std::size_t vertex, const std::string &field, long edge,
                const HostValues &values);
  void learnCodelets(const Result &table);
  void learnVariables(const Result &columns);
  std::size_t variableAt(std::int64_t address) const;
  void flush();
  bool pending() const;

  unsigned number;
  unsigned replicas;
  bool accurateHalf;
  std::vector<Variable> variables;
  std::vector<std::int64_t> bases;
  std::int64_t memorySize = 0;
  unsigned computeSets = 0;
  std::vector<CodeletInfo> codelets;
  std::unordered_map<std::string, unsigned> codeletNumbers;
  std::vector<Batch> batches;
  SourceLocation where; // the place in the program that messages name
  // That place in brackets, for the end of a message.
  std::string place() const;

private:
  void addEdge(FieldColumns &columns, std::size_t vertex, std::int64_t number, const Tensor &tensor);
  void writeBatches(Writer &block);
  void flushIfMuch();

  std::unordered_map<std::uint64_t, unsigned> batchNumbers_;
  std::size_t rows_ = 0;
  // variables since the last block
  Column newTypes_, newRanks_, newLengths_, newConstant_;
  std::vector<std::string> newNames_, newSources_;
  Writer initial_;
  std::size_t initialCount_ = 0;
  Column mapStart_, mapCount_, mapStep_, mapTile_;
  Column besideVariable_, besideBatch_, besideVertex_;
  std::vector<std::pair<std::string, std::string>> newSets_;
  std::vector<unsigned> touched_;
  Batch *touch(unsigned number);

public:
  void addComputeSet(const std::string &name, const std::string &source);
  void setTile(unsigned batch, std::size_t vertex, unsigned tile);
  void setSize(unsigned batch, std::size_t vertex, const std::string &field, std::size_t size);
  void setEstimate(unsigned batch, std::size_t vertex, double cycles, double flops);
  std::size_t addVertex(Batch &batch, unsigned number);
};

// -- tensors -----------------------------------------------------------------------------------------------------

struct TensorAccess {
  static Tensor make(std::shared_ptr<GraphCore> graph, const Type &type, const Dims &shape,
                     std::int64_t offset, const Dims &strides,
                     std::shared_ptr<const Addresses> list = nullptr);
  static const std::shared_ptr<GraphCore> &graph(const Tensor &t) { return t.graph_; }
  static const Dims &shape(const Tensor &t) { return t.shape_; }
  static const Dims &strides(const Tensor &t) { return t.strides_; }
  static std::int64_t offset(const Tensor &t) { return t.offset_; }
  static const std::shared_ptr<const Addresses> &list(const Tensor &t) { return t.list_; }
  static std::int64_t elementBytes(const Tensor &t);
  static Addresses addresses(const Tensor &t);
  static std::vector<Run> runs(const Tensor &t);
  // The only run, if there is one; quick.
  static bool singleRun(const Tensor &t, Run &run);
};

Dims contiguousStrides(const Dims &shape, std::int64_t size);
std::int64_t product(const Dims &dims);
std::string shapeText(const Dims &dims);
Dims dimsOf(ArrayRef<std::size_t> shape);

// -- programs ----------------------------------------------------------------------------------------------------

struct ProgramNode {
  ~ProgramNode();
  std::string kind = "Program";
  std::string name, source;
  std::vector<std::shared_ptr<ProgramNode>> children;
  std::vector<Tensor> tensors;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  std::vector<std::shared_ptr<RemoteObject>> objects;
  std::uint32_t sent = 0; // its number in the server; 0: not sent
};

struct ProgramAccess {
  static std::shared_ptr<ProgramNode> &node(program::Program &p) { return p.node_; }
  static const std::shared_ptr<ProgramNode> &node(const program::Program &p) { return p.node_; }
  static program::Program ofServer(std::uint32_t number);
};

} // namespace detail
} // namespace poplar

#endif
