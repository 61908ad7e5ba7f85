// The fields of vertices: scalars, vectors and lists of vectors, with a direction.
#ifndef POPLAR_FIELD_TYPES_HPP
#define POPLAR_FIELD_TYPES_HPP

#include <poplar/HalfFloat.hpp>
#include <poplar/VectorLayout.hpp>

#include <cstddef>

namespace poplar {
namespace detail {

constexpr bool hasSize(VectorLayout layout) {
  return layout == VectorLayout::SPAN || layout == VectorLayout::SHORT_SPAN || layout == VectorLayout::NOT_STATIC;
}

// Elements of an input: constant where the vector has a size. Programs cast pointers of other layouts as they like.
template <class T, VectorLayout L> struct ReadElement {
  using type = T;
};
template <class T> struct ReadElement<T, VectorLayout::SPAN> {
  using type = const T;
};
template <class T> struct ReadElement<T, VectorLayout::SHORT_SPAN> {
  using type = const T;
};

// Elements side by side. E is const for inputs.
template <class E, VectorLayout L> class Elements {
public:
  using value_type = E;
  using iterator = E *;
  using const_iterator = const E *;

  E &operator[](std::size_t i) { return data_[i]; }
  const E &operator[](std::size_t i) const { return data_[i]; }
  E &operator*() { return *data_; }
  const E &operator*() const { return *data_; }
  E *data() { return data_; }
  const E *data() const { return data_; }
  template <VectorLayout M = L> unsigned size() const {
    static_assert(hasSize(M), "this vector has no size: its layout is only a pointer; use VectorLayout::SPAN");
    return size_;
  }
  template <VectorLayout M = L> bool empty() const { return this->template size<M>() == 0; }
  E *begin() { return data_; }
  const E *begin() const { return data_; }
  template <VectorLayout M = L> E *end() { return data_ + this->template size<M>(); }
  template <VectorLayout M = L> const E *end() const { return data_ + this->template size<M>(); }
  E &front() { return *data_; }
  const E &front() const { return *data_; }
  template <VectorLayout M = L> E &back() { return data_[this->template size<M>() - 1]; }
  template <VectorLayout M = L> const E &back() const { return data_[this->template size<M>() - 1]; }

  E *data_;
  unsigned size_;
};

// A list of vectors.
template <class E> class Lists {
public:
  using value_type = Elements<E, VectorLayout::SPAN>;

  value_type &operator[](std::size_t i) { return lists_[i]; }
  const value_type &operator[](std::size_t i) const { return lists_[i]; }
  unsigned size() const { return size_; }
  bool empty() const { return size_ == 0; }
  value_type *begin() { return lists_; }
  const value_type *begin() const { return lists_; }
  value_type *end() { return lists_ + size_; }
  const value_type *end() const { return lists_ + size_; }

  value_type *lists_;
  unsigned size_;
};

// One element that is read.
template <class E> class ReadScalar {
public:
  operator const E &() const { return *data_; }
  const E &operator*() const { return *data_; }
  const E *operator->() const { return data_; }

  E *data_;
};

// Half converts to float in the same step, as a built-in type would.
template <> class ReadScalar<::half> {
public:
  operator const ::half &() const { return *data_; }
  operator float() const { return float(*data_); }
  const ::half &operator*() const { return *data_; }
  const ::half *operator->() const { return data_; }

  ::half *data_;
};

// One element that is written.
template <class E> class WrittenScalar {
public:
  operator E &() { return *data_; }
  operator const E &() const { return *data_; }
  E &operator*() { return *data_; }
  const E &operator*() const { return *data_; }
  E *operator->() { return data_; }
  template <class T> WrittenScalar &operator=(const T &value) {
    *data_ = value;
    return *this;
  }
  // assigns the element, as from any other value
  WrittenScalar &operator=(const WrittenScalar &other) {
    *data_ = *other.data_;
    return *this;
  }

  E *data_;
};

} // namespace detail

// Without a direction around it: a vector of the vertex's own, or, of vectors with a direction, a list of edges.
template <class T, VectorLayout L = VectorLayout::SPAN, unsigned A = 0, bool I = false>
class Vector : public detail::Elements<T, L> {};

template <class T, VectorListLayout L = VectorListLayout::DELTAN, unsigned A = 0, bool I = false>
class VectorList : public detail::Lists<T> {};

namespace detail {
// The elements of a field as the vector without its direction, for functions that take one.
template <class V, class T> inline V asVector(T *data, unsigned size) {
  V made;
  made.data_ = data;
  made.size_ = size;
  return made;
}
} // namespace detail

template <class T> class Input : public detail::ReadScalar<T> {};
template <class T> class Output : public detail::WrittenScalar<T> {
public:
  using detail::WrittenScalar<T>::operator=;
};
template <class T> class InOut : public detail::WrittenScalar<T> {
public:
  using detail::WrittenScalar<T>::operator=;
};

template <class T, VectorLayout L, unsigned A, bool I>
class Input<Vector<T, L, A, I>> : public detail::Elements<typename detail::ReadElement<T, L>::type, L> {
public:
  const Input *operator->() const { return this; }
  operator const Vector<T, L, A, I>() const {
    return detail::asVector<Vector<T, L, A, I>>(const_cast<T *>(this->data_), this->size_);
  }
};
template <class T, VectorLayout L, unsigned A, bool I>
class Output<Vector<T, L, A, I>> : public detail::Elements<T, L> {
public:
  Output *operator->() { return this; }
  operator Vector<T, L, A, I>() const { return detail::asVector<Vector<T, L, A, I>>(this->data_, this->size_); }
};
template <class T, VectorLayout L, unsigned A, bool I>
class InOut<Vector<T, L, A, I>> : public detail::Elements<T, L> {
public:
  InOut *operator->() { return this; }
  operator Vector<T, L, A, I>() const { return detail::asVector<Vector<T, L, A, I>>(this->data_, this->size_); }
};

template <class T, VectorListLayout L, unsigned A, bool I>
class Input<VectorList<T, L, A, I>> : public detail::Lists<const T> {
public:
  const Input *operator->() const { return this; }
};
template <class T, VectorListLayout L, unsigned A, bool I>
class Output<VectorList<T, L, A, I>> : public detail::Lists<T> {
public:
  Output *operator->() { return this; }
};
template <class T, VectorListLayout L, unsigned A, bool I>
class InOut<VectorList<T, L, A, I>> : public detail::Lists<T> {
public:
  InOut *operator->() { return this; }
};

template <class T> using InputOutput = InOut<T>;

} // namespace poplar

#endif
