// Calls of functions of the Python packages, by name. Each header of a library is made of these calls:
//
//   inline void addInPlace(poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b,
//                          poplar::program::Sequence &prog, const poplar::DebugContext &debug = {},
//                          const poplar::OptionFlags &options = {}) {
//     poplar::detail::call("popops", "addInPlace", graph, a, b, prog, debug, options);
//   }
//
// What the arguments become in Python:
//   Graph, Tensor, Type, ComputeSet, DataStream, RemoteBuffer, Function: the objects of the package `poplar`
//   bool, integers, floating point, const char *, std::string, StringRef, nullptr: bool, int, float, str, str, str, None
//   DebugContext, DebugNameAndId: the path of names as str; OptionFlags: dict of str
//   std::vector, ArrayRef, std::array: list; std::set: list; std::pair, std::tuple: list; std::map: dict (keys are text
//     or numbers)
//   Sequence & (not const): an empty `poplar.program.Sequence`; what the function adds to it is added here afterwards
//   const Program &: the program
//   out(vector): an empty list; what the function appends to it is appended here afterwards (of ComputeSet, Tensor or
//     Program)
//   enumeration("popops", "Operation", "ADD"): the member `popops.Operation.ADD`
//   object("popops", "ReduceParams", args...): what `popops.ReduceParams(*args)` makes; nests, for expressions too
//   callback([](const std::vector<Result> &args) -> Value {...}): a Python function; `value(x)` makes a Value of any
//     argument
//   std::shared_ptr<RemoteObject>: an object of the Python process that a call has returned
// A class of a library becomes any of these if a function `poplar::detail::Value remoteValue(const C &)` is found for
// it, for instance in the namespace of the class.
//
// Errors are thrown as the exceptions of poplar/exceptions.hpp, or of poputil/exceptions.hpp for poplibs_error.
#ifndef POPLAR_DETAIL_CALL_HPP
#define POPLAR_DETAIL_CALL_HPP

#include <poplar/ArrayRef.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplar/detail/Prelude.hpp>
#include <poplar/detail/Wire.hpp>

namespace poplar {
namespace detail {

// An object of the other process. The last reference to it lets it go.
struct RemoteObject {
  explicit RemoteObject(std::uint32_t number) : number(number) {}
  ~RemoteObject();
  RemoteObject(const RemoteObject &) = delete;
  RemoteObject &operator=(const RemoteObject &) = delete;
  std::uint32_t number;
};

// A value that came back.
class Result {
public:
  enum class Kind { None, Boolean, Integer, Real, Text, Data, List, Map, Tensor, Type, Program, ComputeSet, Object };

  Kind kind = Kind::None;
  bool isNone() const { return kind == Kind::None; }
  bool boolean() const;
  std::int64_t integer() const;
  double real() const;
  const std::string &text() const;
  // Bytes, or the numbers of an array as they lie in memory.
  const std::string &data() const;
  Tensor tensor() const;
  std::vector<Tensor> tensors() const;
  Type type() const;
  program::Program program() const;
  ComputeSet computeSet() const;
  std::shared_ptr<RemoteObject> object() const;
  // Items of a list, or values of a map in its order.
  const std::vector<Result> &items() const { return items_; }
  const std::vector<std::string> &keys() const { return keys_; }
  std::size_t size() const { return items_.size(); }
  const Result &operator[](std::size_t place) const;
  // The value of a key; one of kind None where there is none.
  const Result &at(const std::string &key) const;
  // Numbers of a list or an array.
  template <typename T> std::vector<T> numbers() const {
    std::vector<T> found;
    if (kind == Kind::Data) {
      if (letter == 'd')
        copyNumbers<double>(found);
      else
        copyNumbers<std::int64_t>(found);
      return found;
    }
    for (const Result &each : items_)
      found.push_back(each.kind == Kind::Real ? static_cast<T>(each.real())
                                              : static_cast<T>(each.integer()));
    return found;
  }

  // The parts, as the decoder fills them in.
  std::int64_t integer_ = 0;
  double real_ = 0;
  char letter = 'q';
  std::string text_;
  std::vector<Result> items_;
  std::vector<std::string> keys_;
  std::shared_ptr<Tensor> tensor_;
  std::shared_ptr<program::Program> program_;
  std::shared_ptr<RemoteObject> object_;

private:
  template <typename F, typename T> void copyNumbers(std::vector<T> &found) const {
    for (std::size_t i = 0; i + sizeof(F) <= text_.size(); i += sizeof(F)) {
      F number;
      std::memcpy(&number, text_.data() + i, sizeof(F));
      found.push_back(static_cast<T>(number));
    }
  }
};

// An argument in its byte form, with what has to happen when the call has returned.
class Value {
public:
  Writer writer;
  std::vector<std::function<void(const Result &)>> returned;
  void append(const Value &part) {
    writer.append(part.writer);
    returned.insert(returned.end(), part.returned.begin(), part.returned.end());
  }
};

typedef std::function<Value(const std::vector<Result> &)> Callback;

// -- the byte forms of arguments; `add` appends one to a Value

void addGraph(Value &to, const Graph &graph);
void addProgram(Value &to, const program::Program &program);
void addSequence(Value &to, program::Sequence &sequence);
void addComputeSet(Value &to, const ComputeSet &cs);
void addObject(Value &to, const std::shared_ptr<RemoteObject> &object);
void addCallback(Value &to, Callback function);
void addOut(Value &to, std::vector<ComputeSet> &vector);
void addOut(Value &to, std::vector<Tensor> &vector);
void addOut(Value &to, std::vector<program::Program> &vector);

template <typename T> struct Out {
  std::vector<T> *vector;
};
template <typename T> Out<T> out(std::vector<T> &vector) { return Out<T>{&vector}; }

inline Value enumeration(const char *module, const char *name, const char *member) {
  Value made;
  made.writer.enumeration(module, name, member);
  return made;
}
inline Value callback(Callback function) {
  Value made;
  addCallback(made, std::move(function));
  return made;
}

template <typename T> void addAny(Value &to, T &&value);

inline void add(Value &to, const Value &value) { to.append(value); }
inline void add(Value &to, std::nullptr_t) { to.writer.none(); }
inline void add(Value &to, const char *value) { to.writer.text(value, std::strlen(value)); }
inline void add(Value &to, const std::string &value) { to.writer.text(value); }
inline void add(Value &to, const StringRef &value) { to.writer.text(value.data(), value.size()); }
inline void add(Value &to, const Tensor &value) { to.writer.tensor(value); }
inline void add(Value &to, const Type &value) { to.writer.type(value); }
inline void add(Value &to, const Graph &value) { addGraph(to, value); }
inline void add(Value &to, program::Sequence &value) { addSequence(to, value); }
inline void add(Value &to, const program::Program &value) { addProgram(to, value); }
inline void add(Value &to, const ComputeSet &value) { addComputeSet(to, value); }
inline void add(Value &to, const DebugContext &value) { add(to, value.getPathName()); }
inline void add(Value &to, const DebugNameAndId &value) { add(to, value.getPathName()); }
inline void add(Value &to, const std::shared_ptr<RemoteObject> &value) { addObject(to, value); }
inline void add(Value &to, const DataStream &value) { addObject(to, value.object()); }
inline void add(Value &to, const RemoteBuffer &value) { addObject(to, value.object()); }
inline void add(Value &to, const Function &value) { addObject(to, value.object()); }
inline void add(Value &to, const HostFunction &value) { addObject(to, value.object()); }
inline void add(Value &to, const Callback &value) { addCallback(to, value); }
template <typename T> void add(Value &to, const Out<T> &value) { addOut(to, *value.vector); }
inline void add(Value &to, const Interval &value) {
  to.writer.list(2);
  to.writer.integerUnsigned(value.begin());
  to.writer.integerUnsigned(value.end());
}
inline void add(Value &to, const OptionFlags &value) {
  to.writer.map(value.size());
  for (const auto &each : value) {
    to.writer.key(each.first);
    to.writer.text(each.second);
  }
}
template <typename T>
typename std::enable_if<std::is_arithmetic<T>::value>::type add(Value &to, T value) {
  if (std::is_same<T, bool>::value)
    to.writer.boolean(static_cast<bool>(value));
  else if (std::is_floating_point<T>::value)
    to.writer.real(static_cast<double>(value));
  else if (std::is_signed<T>::value)
    to.writer.integer(static_cast<std::int64_t>(value));
  else
    to.writer.integerUnsigned(static_cast<std::uint64_t>(value));
}
template <typename I> void addItems(Value &to, I begin, I end) {
  to.writer.list(static_cast<std::size_t>(std::distance(begin, end)));
  for (; begin != end; ++begin)
    addAny(to, *begin);
}
template <typename T> void add(Value &to, const ArrayRef<T> &value) {
  addItems(to, value.begin(), value.end());
}
template <typename T, typename A> void add(Value &to, const std::vector<T, A> &value) {
  addItems(to, value.begin(), value.end());
}
template <typename A> void add(Value &to, const std::vector<bool, A> &value) {
  to.writer.list(value.size());
  for (bool each : value)
    to.writer.boolean(each);
}
template <typename T, std::size_t N> void add(Value &to, const std::array<T, N> &value) {
  addItems(to, value.begin(), value.end());
}
template <typename T> void add(Value &to, const std::set<T> &value) {
  addItems(to, value.begin(), value.end());
}
template <typename A, typename B> void add(Value &to, const std::pair<A, B> &value) {
  to.writer.list(2);
  addAny(to, value.first);
  addAny(to, value.second);
}
template <typename K, typename V> void add(Value &to, const std::map<K, V> &value) {
  to.writer.map(value.size());
  for (const auto &each : value) {
    std::ostringstream key;
    key << each.first;
    to.writer.key(key.str());
    addAny(to, each.second);
  }
}

// Whether a class says itself what it becomes.
template <typename T>
auto addOwn(Value &to, T &value, int) -> decltype(remoteValue(value), void()) {
  to.append(remoteValue(value));
}
template <typename T> void addOwn(Value &to, T &value, long) { add(to, value); }
template <typename T> void addAny(Value &to, T &&value) {
  // a temporary is never what results are written to
  typedef typename std::conditional<std::is_lvalue_reference<T>::value, T, const T &>::type Kept;
  addOwn(to, static_cast<Kept>(value), 0);
}

template <typename T> Value value(T &&from) {
  Value made;
  addAny(made, std::forward<T>(from));
  return made;
}
template <typename... A>
Value object(const char *module, const char *name, A &&... arguments) {
  Value made;
  made.writer.object(module, name, sizeof...(A));
  int each[] = {0, (addAny(made, std::forward<A>(arguments)), 0)...};
  static_cast<void>(each);
  return made;
}
template <typename... A> Value list(A &&... items) {
  Value made;
  made.writer.list(sizeof...(A));
  int each[] = {0, (addAny(made, std::forward<A>(items)), 0)...};
  static_cast<void>(each);
  return made;
}

// -- calls

// The place in the program that messages name: that of the innermost DebugContext among the arguments.
inline void noteLocation(SourceLocation &) {}
template <typename F, typename... R>
void noteLocation(SourceLocation &where, const F &, const R &... rest);
template <typename... R>
void noteLocation(SourceLocation &where, const DebugContext &debug, const R &... rest) {
  where = debug.location();
  noteLocation(where, rest...);
}
template <typename F, typename... R>
void noteLocation(SourceLocation &where, const F &, const R &... rest) {
  noteLocation(where, rest...);
}

Result finishCall(const char *module, const char *function, std::size_t count, Value &arguments,
                  const SourceLocation &where);

template <typename... A>
Result call(const char *module, const char *function, A &&... arguments) {
  Value all;
  int each[] = {0, (addAny(all, std::forward<A>(arguments)), 0)...};
  static_cast<void>(each);
  SourceLocation where;
  noteLocation(where, arguments...);
  return finishCall(module, function, sizeof...(A), all, where);
}

} // namespace detail
} // namespace poplar

#endif
