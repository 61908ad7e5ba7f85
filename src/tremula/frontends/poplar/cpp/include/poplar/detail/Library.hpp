// What the headers of libraries share: results of several parts, arguments that may be null.
#ifndef POPLAR_DETAIL_LIBRARY_HPP
#define POPLAR_DETAIL_LIBRARY_HPP

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplar/detail/Call.hpp>

namespace poplar {
namespace detail {

// The tensor behind a pointer, or None.
inline Value pointed(const Tensor *tensor) { return tensor ? value(*tensor) : value(nullptr); }

inline std::pair<Tensor, Tensor> tensorPair(const Result &found) {
  return {found[0].tensor(), found[1].tensor()};
}
inline std::tuple<Tensor, Tensor, Tensor> tensorTriple(const Result &found) {
  return std::make_tuple(found[0].tensor(), found[1].tensor(), found[2].tensor());
}
inline program::Sequence sequenceOf(const Result &found) {
  program::Sequence made;
  made.add(found.program());
  return made;
}
// A program that a callback answers with. It has to live until the answer is sent.
inline Value answerOf(const program::Program &made) {
  Value answer = value(made);
  answer.returned.push_back([made](const Result &) {});
  return answer;
}
// The first of several results, or the only one.
inline const Result &firstOf(const Result &found) {
  return found.kind == Result::Kind::List ? found[0] : found;
}
// A function that is there for programs that call it, and has nothing to do.
inline void nothingToDo(const Graph &) {}

} // namespace detail
} // namespace poplar

#endif
