// Vertices of the tests: all kinds of fields, templates, private members, macros.
#include <poplar/HalfFloat.hpp>
#include <poplar/StackSizeDefs.hpp>
#include <poplar/Vertex.hpp>

#include <cassert>
#include <cmath>
#include <ipu_builtins.h>
#include <ipu_memory_intrinsics>
#include <ipu_vector_math>
#include <ipudef.h>
#include <print.h>

using namespace poplar;

class Scale : public Vertex {
  Input<Vector<float>> x;

public:
  Output<Vector<float>> y;
  const float k;

  bool compute() {
    for (unsigned i = 0; i < x.size(); ++i)
      y[i] = k * x[i];
    return true;
  }
};

struct Dot : Vertex {
  Dot(); // nobody writes it
  Input<Vector<float>> x;
  Input<Vector<float, VectorLayout::ONE_PTR>> y;
  Output<float> out;

  void compute() {
    float total = 0;
    for (auto i = 0u; i < x.size(); ++i)
      total += x[i] * y[i];
    *out = total;
  }
};

namespace outer {
namespace {
enum class Mode : unsigned char { ADD, MULTIPLY };
template <class T, Mode mode, unsigned N = 2> class [[poplar::constraint("elem(*a) != elem(*b)")]] Combine : public MultiVertex {
public:
  Input<Vector<T, VectorLayout::SPAN, 8>> a;
  InOut<Vector<T>> b;

  bool compute(unsigned worker) {
    for (auto i = worker; i < a.size(); i += numWorkers())
      b[i] = mode == Mode::ADD ? b[i] + a[i] * T(N) : b[i] * a[i];
    return true;
  }
};
template class Combine<float, Mode::ADD>;
template class Combine<half, Mode::MULTIPLY, 5>;
template class Combine<std::uint16_t, Mode::ADD, 1u>;
} // namespace
} // namespace outer

struct Lists : public SupervisorVertex {
  Vector<Input<Vector<float>>> parts;
  Input<VectorList<int, VectorListLayout::COMPACT_DELTAN, 4, false>> counts;
  Output<Vector<float>> y;
  Vector<float> weights;

  __attribute__((target("supervisor"))) bool compute() {
    for (unsigned i = 0; i < y.size(); ++i)
      y[i] = 0;
    for (unsigned part = 0; part < parts.size(); ++part) {
      for (unsigned i = 0; i < parts[part].size(); ++i)
        y[i] += parts[part][i] * weights[part];
      for (unsigned i = 0; i < counts[part].size(); ++i)
        y[0] += counts[part][i];
    }
    return y[0] > 0;
  }
};

#define COUNTER(NAME, STEP)                                                                                            \
  class NAME : public Vertex {                                                                                         \
  public:                                                                                                              \
    Output<int> value;                                                                                                 \
    int count;                                                                                                         \
    unsigned short table[4];                                                                                           \
    bool compute() {                                                                                                   \
      count += STEP;                                                                                                   \
      value = count + table[3];                                                                                        \
      return true;                                                                                                     \
    }                                                                                                                  \
  };
COUNTER(CountByOne, 1)
COUNTER(CountByTwo, 2)

template <class T> class Base : public Vertex {
public:
  Input<Vector<T>> in;
};
class Rounded : public Base<half> {
public:
  Output<Vector<half>> out;
  Output<float> largest;

  bool compute() {
    half most = -std::numeric_limits<half>::max();
    const half4 three = {3, 3, 3, 3};
    for (unsigned i = 0; i + 4 <= in.size(); i += 4) {
      half4 *to = reinterpret_cast<half4 *>(&out[i]);
      *to = *reinterpret_cast<const half4 *>(&in[i]) / three + 0.1f;
      for (unsigned j = 0; j < 4; ++j)
        most = most < out[i + j] ? out[i + j] : most;
    }
    largest = most;
    return true;
  }
};

class Vectors : public Vertex {
public:
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> in;
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> out;
  unsigned pairs;

  bool compute() {
    auto from = reinterpret_cast<const float2 *>(&in[0]);
    auto to = reinterpret_cast<float2 *>(&out[0]);
    for (unsigned i = 0; i < pairs; ++i) {
      const float2 x = ipu::load_postinc(&from, 1);
      auto [a, b] = ipu::fma(x, x, float2{1.0f, 2.0f});
      ipu::store_postinc(&to, ipu::exp(-ipu::fabs(float2{b, a})) * 2, 1);
    }
    return true;
  }
};

class Checked : public Vertex {
public:
  Input<int> divisor;
  Output<int> out;

  bool compute() {
    printf("divisor %d of %s\n", divisor, "1000");
    assert(divisor != 0 && "no division by zero");
    *out = 1000 / divisor;
    return true;
  }
};

class Disagrees : public Vertex {
public:
  InOut<Vector<int>> x;
  bool compute() { return ++x[0] < 3; }
};

class NoVertex {
  int x;
};

// Whole numbers and numbers of an enumeration, beside the operators of half.
class Picked : public Vertex {
  enum Part { FIRST, SECOND };
  static int at(const Vector<int> &given, unsigned i) { return given[i]; }

public:
  Input<Vector<int>> in;
  Output<Vector<int>> out;

  bool compute() {
    for (unsigned i = 0; i < out.size(); ++i)
      out[i] = at(in, 2 * i + SECOND) + (__builtin_ipu_f16tof32(half(FIRST + 1.5f)) * 2 > SECOND ? putchar('\n') : 0);
    const float4 cut = ipu::clamp(float4{-2, 0.5f, 3, 1}, float2{-1, 1});
    return at(out, 0) == out[0] && cut[0] == -1 && cut[1] == 0.5f && cut[2] == 1;
  }
};
