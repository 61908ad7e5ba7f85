// What graphs are made of beside tensors: compute sets, vertices and their fields, functions.
#ifndef POPLAR_GRAPH_ELEMENTS_HPP
#define POPLAR_GRAPH_ELEMENTS_HPP

#include <poplar/StringRef.hpp>
#include <poplar/Type.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

namespace detail {
class GraphCore;
struct RemoteObject;
} // namespace detail

class ComputeSet {
public:
  ComputeSet() = default;
  explicit ComputeSet(unsigned id, unsigned graph = 0) : id_(id), graph_(graph) {}
  unsigned getId() const { return id_; }
  // The number of the graph that it belongs to.
  unsigned graph() const { return graph_; }
  bool operator==(const ComputeSet &o) const { return id_ == o.id_ && graph_ == o.graph_; }

private:
  unsigned id_ = ~0u, graph_ = 0;
};

class FieldRef;

class VertexRef {
public:
  VertexRef() = default;
  VertexRef(detail::GraphCore *core, unsigned batch, std::size_t number)
      : core_(core), batch_(batch), number_(number) {}
  FieldRef operator[](StringRef field) const;
  FieldRef getFieldByName(StringRef field) const;

  detail::GraphCore *core() const { return core_; }
  // The vertices of one type in one compute set are a batch.
  unsigned batch() const { return batch_; }
  std::size_t number() const { return number_; }

private:
  detail::GraphCore *core_ = nullptr;
  unsigned batch_ = 0;
  std::size_t number_ = 0;
};

class FieldRef {
public:
  FieldRef(const VertexRef &vertex, std::string name, long edge = -1)
      : vertex_(vertex), name_(std::move(name)), edge_(edge) {}
  // One edge of a list.
  FieldRef operator[](std::size_t edge) const {
    return FieldRef(vertex_, name_, static_cast<long>(edge));
  }
  const VertexRef &vertex() const { return vertex_; }
  const std::string &name() const { return name_; }
  // The number of the edge, or -1 for the whole field.
  long edge() const { return edge_; }

private:
  VertexRef vertex_;
  std::string name_;
  long edge_;
};

inline FieldRef VertexRef::operator[](StringRef field) const {
  return FieldRef(*this, field.str());
}
inline FieldRef VertexRef::getFieldByName(StringRef field) const {
  return FieldRef(*this, field.str());
}

// A program that may be called from several places.
class Function {
public:
  Function() = default;
  explicit Function(std::shared_ptr<detail::RemoteObject> object)
      : object_(std::move(object)) {}
  const std::shared_ptr<detail::RemoteObject> &object() const { return object_; }
  bool operator==(const Function &o) const { return object_ == o.object_; }
  bool operator<(const Function &o) const { return object_ < o.object_; }

private:
  std::shared_ptr<detail::RemoteObject> object_;
};

// A function of the program on the host, which programs on the device call.
class HostFunction {
public:
  HostFunction() = default;
  HostFunction(std::string handle, std::shared_ptr<detail::RemoteObject> object)
      : handle_(std::move(handle)), object_(std::move(object)) {}
  const std::string &handle() const { return handle_; }
  const std::shared_ptr<detail::RemoteObject> &object() const { return object_; }

private:
  std::string handle_;
  std::shared_ptr<detail::RemoteObject> object_;
};

} // namespace poplar

#endif
