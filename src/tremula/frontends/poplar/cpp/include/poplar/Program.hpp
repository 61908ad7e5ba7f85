// Programs: what an engine runs. They are values: a program that was put into another one is not changed by later
// additions to the first.
#ifndef POPLAR_PROGRAM_HPP
#define POPLAR_PROGRAM_HPP

#include <poplar/ArrayRef.hpp>
#include <poplar/DataStream.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/PrintTensor.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/SyncType.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

namespace detail {
struct ProgramNode;
struct ProgramAccess;
} // namespace detail

namespace program {

class Program {
public:
  Program();
  Program(const Program &) = default;
  Program(Program &&) = default;
  Program &operator=(const Program &) = default;
  Program &operator=(Program &&) = default;
  virtual ~Program() = default;
  bool isEmpty() const;
  bool operator==(const Program &o) const { return node_ == o.node_; }

protected:
  friend struct detail::ProgramAccess;
  std::shared_ptr<detail::ProgramNode> node_;
};

class Sequence : public Program {
  template <typename... T> struct AllPrograms : std::true_type {};
  template <typename F, typename... R>
  struct AllPrograms<F, R...>
      : std::integral_constant<
            bool, std::is_base_of<Program, typename std::decay<F>::type>::value &&
                      AllPrograms<R...>::value> {};

public:
  Sequence(const DebugContext &debug = {});
  Sequence(std::initializer_list<Program> programs, const DebugContext &debug = {});
  Sequence(const std::vector<Program> &programs, const DebugContext &debug = {});
  template <typename F, typename S, typename... R,
            typename = typename std::enable_if<AllPrograms<F, S, R...>::value>::type>
  explicit Sequence(F &&first, S &&second, R &&... rest) : Sequence() {
    const Program *all[] = {&first, &second, &rest...};
    for (const Program *each : all)
      add(*each);
  }
  template <typename F,
            typename = typename std::enable_if<
                AllPrograms<F>::value &&
                !std::is_base_of<Sequence, typename std::decay<F>::type>::value>::type>
  Sequence(F &&only) : Sequence() {
    add(only);
  }
  void add(const Program &program);
  void add(std::initializer_list<Program> programs) {
    for (const Program &each : programs)
      add(each);
  }
};

class Block : public Program {
public:
  Block(const Program &body, const DebugContext &debug = {});
};

class Execute : public Program {
public:
  explicit Execute(ComputeSet cs, const DebugContext &debug = {});
  Execute(ComputeSet cs, Tensor exitValue, const DebugContext &debug = {});
};

class Copy : public Program {
public:
  Copy(Tensor source, Tensor destination, bool dontOutline = false,
       const DebugContext &debug = {});
  Copy(Tensor source, Tensor destination, const char *name, const DebugContext &debug = {});
  Copy(const DataStream &stream, Tensor destination, bool optimiseMemory = false,
       const DebugContext &debug = {});
  Copy(Tensor source, const DataStream &stream, bool optimiseMemory = false,
       const DebugContext &debug = {});
  Copy(const RemoteBuffer &buffer, Tensor destination, const DebugContext &debug = {});
  Copy(const RemoteBuffer &buffer, Tensor destination, Tensor offset,
       const DebugContext &debug = {});
  Copy(Tensor source, const RemoteBuffer &buffer, const DebugContext &debug = {});
  Copy(Tensor source, const RemoteBuffer &buffer, Tensor offset,
       const DebugContext &debug = {});
};

class CrossReplicaCopy : public Program {
public:
  CrossReplicaCopy(Tensor source, Tensor destination,
                   std::map<unsigned, unsigned> replicaMap, const DebugContext &debug = {});
};

class WriteUndef : public Program {
public:
  explicit WriteUndef(Tensor tensor, const DebugContext &debug = {});
};

class AssumeEqualAcrossReplicas : public Program {
public:
  AssumeEqualAcrossReplicas(Tensor tensor, const DebugContext &debug = {});
};

class Repeat : public Program {
public:
  Repeat(unsigned count, const Program &body, const DebugContext &debug = {});
};

class RepeatWhileTrue : public Program {
public:
  RepeatWhileTrue(const Program &condition, Tensor predicate, const Program &body,
                  const DebugContext &debug = {});
};

class RepeatWhileFalse : public Program {
public:
  RepeatWhileFalse(const Program &condition, Tensor predicate, const Program &body,
                   const DebugContext &debug = {});
};

class If : public Program {
public:
  If(Tensor predicate, const Program &trueBody, const Program &falseBody,
     const DebugContext &debug = {});
  If(Tensor predicate, const Program &trueBody, const DebugContext &debug = {});
};

class Switch : public Program {
public:
  Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
         const DebugContext &debug = {});
  Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
         const Program &defaultCase, const DebugContext &debug = {});
  Switch(Tensor control, const DebugContext &debug = {});
  Switch(Tensor control, const Program &defaultCase, const DebugContext &debug = {});
  static Switch switchWithBoundsChecking(
      Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
      const DebugContext &debug = {});
  static Switch switchWithBoundsChecking(Tensor control, const DebugContext &debug = {});
  static Switch switchWithUnreachableDefault(Tensor control, const DebugContext &debug = {});
  Switch &add(std::int32_t value, const Program &body);
};

class Call : public Program {
public:
  explicit Call(Function function, const DebugContext &debug = {});
};

class PrintTensor : public Program {
public:
  explicit PrintTensor(Tensor tensor, const DebugContext &debug = {});
  PrintTensor(StringRef title, Tensor tensor, const DebugContext &debug = {});
  PrintTensor(Tensor tensor, const PrintTensorFmt &format, const DebugContext &debug = {});
  PrintTensor(StringRef title, Tensor tensor, const PrintTensorFmt &format,
              const DebugContext &debug = {});
};

class Sync : public Program {
public:
  explicit Sync(SyncType type, const DebugContext &debug = {});
};

class Abort : public Program {
public:
  explicit Abort(const DebugContext &debug = {});
  explicit Abort(const std::string &message, const DebugContext &debug = {});
  explicit Abort(const char *message, const DebugContext &debug = {})
      : Abort(std::string(message), debug) {}
};

class AbortOnCondition : public Program {
public:
  explicit AbortOnCondition(Tensor predicate, const DebugContext &debug = {});
  AbortOnCondition(Tensor predicate, const std::string &message,
                   const DebugContext &debug = {});
  AbortOnCondition(Tensor predicate, const char *message, const DebugContext &debug = {})
      : AbortOnCondition(predicate, std::string(message), debug) {}
};

class ErrorProgram : public Program {
public:
  ErrorProgram(StringRef message, Tensor data, const DebugContext &debug = {});
};

class CallHost : public Program {
public:
  CallHost(const HostFunction &function, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs,
           const DebugContext &debug = {});
};

class Nop : public Program {};

} // namespace program
} // namespace poplar

#endif
