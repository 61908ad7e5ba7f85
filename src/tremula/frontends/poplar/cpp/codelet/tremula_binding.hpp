// What a compiled codelet offers to the process that loads it: its vertex types with their fields, and one call that
// runs all vertices of a batch. Read before the user's code, so that the user's macros cannot change it.
#ifndef TREMULA_BINDING_HPP
#define TREMULA_BINDING_HPP

#include <poplar/Vertex.hpp>

#include <tremula_failure.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <type_traits>

namespace tremula_codelet {

// The edges of one field for all vertices of a batch, or, of a state vector, where its values begin.
struct FieldData {
  char *buffer;
  const std::int64_t *offsets;
  const std::int64_t *counts;
  const std::int64_t *first; // of each vertex's edges; null: one edge each
  char *lists;               // room for the vectors of lists
};

// The values of one plain member for all vertices.
struct StateData {
  char *column; // null: it was never set
  std::int64_t stride;
};

// ---- names of element types ----

template <class T> struct TypeName { static std::string get() { return ""; } };
template <class T> struct TypeName<const T> : TypeName<T> {};
#define TREMULA_TYPE(type, label)                                                                                      \
  template <> struct TypeName<type> { static std::string get() { return label; } };
TREMULA_TYPE(bool, "bool")
TREMULA_TYPE(char, "char")
TREMULA_TYPE(signed char, "signed char")
TREMULA_TYPE(unsigned char, "unsigned char")
TREMULA_TYPE(short, "short")
TREMULA_TYPE(unsigned short, "unsigned short")
TREMULA_TYPE(int, "int")
TREMULA_TYPE(unsigned int, "unsigned int")
TREMULA_TYPE(long, sizeof(long) == 8 ? "long long" : "int")
TREMULA_TYPE(unsigned long, sizeof(long) == 8 ? "unsigned long long" : "unsigned int")
TREMULA_TYPE(long long, "long long")
TREMULA_TYPE(unsigned long long, "unsigned long long")
TREMULA_TYPE(half, "half")
TREMULA_TYPE(float, "float")
#undef TREMULA_TYPE

// Enumerations are what they are made of.
template <class T, bool isEnum = std::is_enum<T>::value> struct Plain { using type = T; };
template <class T> struct Plain<T, true> { using type = typename std::underlying_type<T>::type; };

// ---- kinds of fields ----

struct Facts {
  const char *kind;
  const char *direction;
  std::string type;
  unsigned align;
  bool hasSize;
  std::size_t extent;
};

template <class T> Facts facts(const char *kind, const char *direction, unsigned align = 1, bool hasSize = true) {
  return Facts{kind, direction, TypeName<T>::get(), align, hasSize, 1};
}

template <class E> void bindElements(E *&data, unsigned &size, const FieldData &field, std::int64_t edge) {
  data = reinterpret_cast<E *>(field.buffer + field.offsets[edge]);
  size = static_cast<unsigned>(field.counts[edge]);
}

// A plain member.
template <class M> struct Member {
  static constexpr bool state = true;
  static constexpr std::size_t listItem = 0;
  static Facts get() {
    using Element = typename std::remove_cv<typename std::remove_all_extents<M>::type>::type;
    Facts found = facts<typename Plain<Element>::type>("state", "state");
    found.extent = sizeof(M) / sizeof(Element);
    return found;
  }
  static void bind(M &, const FieldData &, std::int64_t) {}
};

template <class M, class T> struct ScalarMember {
  static constexpr bool state = false;
  static constexpr std::size_t listItem = 0;
  static void bind(M &member, const FieldData &field, std::int64_t vertex) {
    member.data_ = reinterpret_cast<T *>(field.buffer + field.offsets[vertex]);
  }
};

template <class M> struct VectorMember {
  static constexpr bool state = false;
  static constexpr std::size_t listItem = 0;
  static void bind(M &member, const FieldData &field, std::int64_t vertex) {
    bindElements(member.data_, member.size_, field, vertex);
  }
};

// A list of edges: its items lie in a room of the batch's, one for each edge.
template <class M, class Item> struct ListMember {
  static constexpr bool state = false;
  static constexpr std::size_t listItem = sizeof(Item);
  template <class L> static void bindList(L *&lists, unsigned &size, const FieldData &field, std::int64_t vertex) {
    const std::int64_t begin = field.first ? field.first[vertex] : vertex;
    const std::int64_t end = field.first ? field.first[vertex + 1] : vertex + 1;
    lists = reinterpret_cast<L *>(field.lists) + begin;
    size = static_cast<unsigned>(end - begin);
  }
};

#define TREMULA_DIRECTION(Direction)                                                                                   \
  template <class T> struct Member<poplar::Direction<T>> : ScalarMember<poplar::Direction<T>, T> {                     \
    static Facts get() { return facts<T>("scalar", #Direction); }                                                      \
  };                                                                                                                   \
  template <class T, poplar::VectorLayout L, unsigned A, bool I>                                                       \
  struct Member<poplar::Direction<poplar::Vector<T, L, A, I>>>                                                         \
      : VectorMember<poplar::Direction<poplar::Vector<T, L, A, I>>> {                                                  \
    static Facts get() { return facts<T>("vector", #Direction, A, poplar::detail::hasSize(L)); }                       \
  };                                                                                                                   \
  template <class T, poplar::VectorListLayout L, unsigned A, bool I>                                                   \
  struct Member<poplar::Direction<poplar::VectorList<T, L, A, I>>>                                                     \
      : ListMember<poplar::Direction<poplar::VectorList<T, L, A, I>>,                                                  \
                   poplar::detail::Elements<T, poplar::VectorLayout::SPAN>> {                                          \
    using M = poplar::Direction<poplar::VectorList<T, L, A, I>>;                                                       \
    static Facts get() { return facts<T>("vector list", #Direction, A); }                                              \
    static void bind(M &member, const FieldData &field, std::int64_t vertex) {                                         \
      Member::bindList(member.lists_, member.size_, field, vertex);                                                    \
      const std::int64_t begin = field.first ? field.first[vertex] : vertex;                                           \
      for (unsigned i = 0; i < member.size_; ++i)                                                                      \
        bindElements(member.lists_[i].data_, member.lists_[i].size_, field, begin + i);                                \
    }                                                                                                                  \
  };                                                                                                                   \
  template <class T, poplar::VectorLayout K, unsigned B, bool J>                                                       \
  struct Member<poplar::Vector<poplar::Direction<T>, K, B, J>>                                                         \
      : ListMember<poplar::Vector<poplar::Direction<T>, K, B, J>, poplar::Direction<T>> {                              \
    using M = poplar::Vector<poplar::Direction<T>, K, B, J>;                                                           \
    static Facts get() {                                                                                               \
      Facts found = Member<poplar::Direction<T>>::get();                                                               \
      found.kind = "vector list";                                                                                      \
      found.hasSize = poplar::detail::hasSize(K);                                                                      \
      return found;                                                                                                    \
    }                                                                                                                  \
    static void bind(M &member, const FieldData &field, std::int64_t vertex) {                                         \
      Member::bindList(member.data_, member.size_, field, vertex);                                                     \
      const std::int64_t begin = field.first ? field.first[vertex] : vertex;                                           \
      for (unsigned i = 0; i < member.size_; ++i)                                                                      \
        Member<poplar::Direction<T>>::bind(member.data_[i], field, begin + i);                                         \
    }                                                                                                                  \
  };
TREMULA_DIRECTION(Input)
TREMULA_DIRECTION(Output)
TREMULA_DIRECTION(InOut)
#undef TREMULA_DIRECTION

// A vector of the vertex's own: `offsets` are places in the column of values.
template <class T, poplar::VectorLayout L, unsigned A, bool I>
struct Member<poplar::Vector<T, L, A, I>> : VectorMember<poplar::Vector<T, L, A, I>> {
  static Facts get() { return facts<T>("state vector", "state", A, poplar::detail::hasSize(L)); }
};
template <class M> struct Member<const M> : Member<M> {
  static void bind(const M &member, const FieldData &field, std::int64_t vertex) {
    Member<M>::bind(const_cast<M &>(member), field, vertex);
  }
};

// ---- fields of a class, by the names that its text mentions ----

template <class T, class Name> struct Pointer {
  using type = decltype(Name::template pointer<T>(0));
  static constexpr bool found = std::is_member_object_pointer<type>::value;
};

template <class P> struct MemberOf;
template <class M, class T> struct MemberOf<M T::*> { using type = M; };

template <class T, class... Names> struct Fields {
  template <class F> static void each(F &) {}
};
template <class T, class Name, class... Names> struct Fields<T, Name, Names...> {
  template <class F> static void each(F &function) {
    if constexpr (Pointer<T, Name>::found)
      function.template apply<typename MemberOf<typename Pointer<T, Name>::type>::type>(Name::name,
                                                                                        Name::template pointer<T>(0));
    Fields<T, Names...>::each(function);
  }
};

// Where a member lies, found without making an object: classes may declare constructors that nobody wrote.
template <class T> T *placeholder() {
  alignas(T) static char room[sizeof(T)];
  return reinterpret_cast<T *>(room);
}
template <class T, class P> std::size_t offsetOf(P pointer) {
  T *object = placeholder<T>();
  return static_cast<std::size_t>(reinterpret_cast<const volatile char *>(&(object->*pointer)) -
                                  reinterpret_cast<const volatile char *>(object));
}

template <class T> struct Describe {
  std::string text;
  template <class M, class P> void apply(const char *name, P pointer) {
    const Facts found = Member<M>::get();
    text += std::string("field|") + name + "|" + found.kind + "|" + found.direction + "|" + found.type + "|" +
            std::to_string(found.align) + "|" + (found.hasSize ? "1" : "0") + "|" + std::to_string(found.extent) + "|" +
            std::to_string(sizeof(M)) + "|" + std::to_string(Member<M>::listItem) + "|" +
            std::to_string(offsetOf<T>(pointer)) + "\n";
  }
};

template <class T> struct Bind {
  T &object;
  const FieldData *&field;
  std::int64_t vertex;
  template <class M, class P> void apply(const char *, P pointer) {
    if constexpr (!Member<M>::state)
      Member<M>::bind(object.*pointer, *field, vertex);
    ++field;
  }
};

template <class T> struct CopyState {
  T &object;
  const StateData *state;
  std::int64_t vertex;
  bool in;
  template <class M, class P> void apply(const char *, P pointer) {
    if constexpr (Member<M>::state) {
      if (state->column) {
        char *outside = state->column + vertex * state->stride;
        char *inside = reinterpret_cast<char *>(const_cast<typename std::remove_cv<M>::type *>(&(object.*pointer)));
        if (in)
          std::memcpy(inside, outside, sizeof(M));
        else
          std::memcpy(outside, inside, sizeof(M));
      }
    }
    ++state;
  }
};

// ---- vertex types ----

template <class T, class = void> struct HasCompute : std::false_type {};
template <class T> struct HasCompute<T, decltype(void(std::declval<T &>().compute()))> : std::true_type {};
template <class T, class = void> struct HasWorkerCompute : std::false_type {};
template <class T> struct HasWorkerCompute<T, decltype(void(std::declval<T &>().compute(0u)))> : std::true_type {};
template <class T, class = void> struct IsExternal : std::false_type {};
template <class T>
struct IsExternal<T, typename std::enable_if<T::isExternalCodelet>::type> : std::true_type {};

// Called before the first turn of a worker and after each, where somebody counts what they take.
using Turn = void (*)();
inline Turn turn = nullptr;

struct Entry {
  std::string (*describe)(const char *spelled);
  void (*bind)(void *objects, std::int64_t count, const FieldData *fields);
  std::int64_t (*run)(void *objects, std::int64_t count, const StateData *states);
};

inline std::string &failure() {
  static std::string text;
  return text;
}

template <class T> std::string nameOf() { return __PRETTY_FUNCTION__; }

template <class T, class... Names> struct VertexType {
  static std::string describe(const char *spelled) {
    Describe<T> each;
    Fields<T, Names...>::each(each);
    const char *base = std::is_base_of<poplar::MultiVertex, T>::value        ? "MultiVertex"
                       : std::is_base_of<poplar::SupervisorVertex, T>::value ? "SupervisorVertex"
                                                                             : "Vertex";
    const char *code = IsExternal<T>::value ? "assembly" : HasCompute<T>::value || HasWorkerCompute<T>::value ? "yes" : "no";
    return std::string("vertex|") + spelled + "|" + nameOf<T>() + "|" + base + "|" + std::to_string(sizeof(T)) + "|" + code +
           "\n" + each.text;
  }

  static void bind(void *objects, std::int64_t count, const FieldData *fields) {
    for (std::int64_t vertex = 0; vertex < count; ++vertex) {
      const FieldData *field = fields;
      Bind<T> each{static_cast<T *>(objects)[vertex], field, vertex};
      Fields<T, Names...>::each(each);
    }
  }

  // False if the vertex, or one of its workers, says so.
  static bool compute(T &object) {
    bool agreed = true;
    if (turn)
      turn();
    if constexpr (IsExternal<T>::value) {
      (void)object;
    } else if constexpr (HasCompute<T>::value) {
      if constexpr (std::is_void<decltype(object.compute())>::value)
        object.compute();
      else
        agreed = static_cast<bool>(object.compute());
      if (turn)
        turn();
    } else if constexpr (HasWorkerCompute<T>::value) {
      // in any order; in public codelets the first worker waits for what the others share with it, so it comes last
      for (unsigned worker = CTXT_WORKERS; worker-- > 0;) {
        if constexpr (std::is_void<decltype(object.compute(worker))>::value)
          object.compute(worker);
        else
          agreed = static_cast<bool>(object.compute(worker)) && agreed;
        if (turn)
          turn();
      }
    }
    return agreed;
  }

  static std::int64_t run(void *objects, std::int64_t count, const StateData *states) {
    std::int64_t vertex = 0;
    bool agreed = true;
    try {
      for (; vertex < count; ++vertex) {
        T &object = static_cast<T *>(objects)[vertex];
        CopyState<T> before{object, states, vertex, true};
        Fields<T, Names...>::each(before);
        agreed = compute(object) && agreed;
        CopyState<T> after{object, states, vertex, false};
        Fields<T, Names...>::each(after);
      }
    } catch (const std::exception &problem) {
      failure() = problem.what();
      return vertex;
    } catch (...) {
      failure() = "an exception of an unknown type";
      return vertex;
    }
    return agreed ? -1 : -2;
  }
};

template <class T, class... Names> Entry entry() {
  if constexpr (std::is_base_of<poplar::VertexBase, T>::value)
    return Entry{VertexType<T, Names...>::describe, VertexType<T, Names...>::bind, VertexType<T, Names...>::run};
  else
    return Entry{nullptr, nullptr, nullptr};
}

// ---- printf ----

using Sink = void (*)(const char *text, std::int64_t length);

inline Sink &sink() {
  static Sink current = nullptr;
  return current;
}
inline std::string &printed() {
  static std::string text;
  return text;
}
inline void flush() {
  if (sink() && !printed().empty())
    sink()(printed().data(), static_cast<std::int64_t>(printed().size()));
  printed().clear();
}
inline void print(const char *text, std::size_t length) {
  printed().append(text, length);
  if (printed().size() > 65536)
    flush();
}

} // namespace tremula_codelet

#endif
