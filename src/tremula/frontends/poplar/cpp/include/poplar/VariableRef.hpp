// Variables, and intervals of their elements.
#ifndef POPLAR_VARIABLE_REF_HPP
#define POPLAR_VARIABLE_REF_HPP

#include <poplar/Interval.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

class VariableRef {
public:
  VariableRef(unsigned id = 0, unsigned replication = 1)
      : id_(id), replication_(replication) {}
  unsigned id() const { return id_; }
  unsigned replicationFactor() const { return replication_; }
  bool operator==(const VariableRef &o) const { return id_ == o.id_; }
  bool operator<(const VariableRef &o) const { return id_ < o.id_; }

private:
  unsigned id_, replication_;
};

struct VariableInterval {
  VariableInterval(VariableRef var, Interval interval) : var(var), interval(interval) {}
  VariableInterval() = default;
  VariableRef var;
  Interval interval;
};

inline bool operator==(const VariableInterval &a, const VariableInterval &b) {
  return a.var == b.var && a.interval == b.interval;
}
inline bool operator<(const VariableInterval &a, const VariableInterval &b) {
  return a.var < b.var || (a.var == b.var && a.interval < b.interval);
}

} // namespace poplar

namespace std {
template <> struct hash<poplar::VariableRef> {
  size_t operator()(const poplar::VariableRef &v) const { return v.id(); }
};
} // namespace std

#endif
