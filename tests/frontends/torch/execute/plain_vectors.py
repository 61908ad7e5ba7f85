"""Compiles the C++ that our code generators write without torch: with its vectors as plain loops, of any width, under a
sanitizer.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
import torch

from tremula.frontends.torch.execute.compile_request import cxx_compiler

_VECTORS = """
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>
namespace at::vec {
template <class T> struct Vectorized {
  T lane[WIDTH];
  Vectorized(T value = 0) { std::fill_n(lane, WIDTH, value); }
  static Vectorized loadu(const T* from, int64_t count = WIDTH) {
    Vectorized found(0);
    std::copy_n(from, count, found.lane);
    return found;
  }
  Vectorized operator+(const Vectorized& other) const {
    Vectorized found(*this);
    for (int i = 0; i < WIDTH; ++i) found.lane[i] += other.lane[i];
    return found;
  }
  // masks are ones and zeros
#define COMPARISON(op) \\
  Vectorized operator op(const Vectorized& other) const { \\
    Vectorized found; \\
    for (int i = 0; i < WIDTH; ++i) found.lane[i] = lane[i] op other.lane[i]; \\
    return found; \\
  }
  COMPARISON(>) COMPARISON(!=) COMPARISON(==)
  Vectorized operator&(const Vectorized& other) const {
    Vectorized found;
    for (int i = 0; i < WIDTH; ++i) found.lane[i] = lane[i] != 0 && other.lane[i] != 0;
    return found;
  }
  Vectorized operator|(const Vectorized& other) const {
    Vectorized found;
    for (int i = 0; i < WIDTH; ++i) found.lane[i] = lane[i] != 0 || other.lane[i] != 0;
    return found;
  }
  static Vectorized blendv(const Vectorized& a, const Vectorized& b, const Vectorized& mask) {
    Vectorized found;
    for (int i = 0; i < WIDTH; ++i) found.lane[i] = mask.lane[i] != 0 ? b.lane[i] : a.lane[i];
    return found;
  }
  void store(T* to, int64_t count = WIDTH) const { std::copy_n(lane, count, to); }
};
template <class T> Vectorized<T> fmadd(Vectorized<T> a, Vectorized<T> b, Vectorized<T> c) {
  for (int i = 0; i < WIDTH; ++i) c.lane[i] += a.lane[i] * b.lane[i];
  return c;
}
template <class T> Vectorized<T> maximum(Vectorized<T> a, Vectorized<T> b) {
  for (int i = 0; i < WIDTH; ++i) {
    if (std::isnan(b.lane[i]) || b.lane[i] > a.lane[i]) a.lane[i] = std::isnan(a.lane[i]) ? a.lane[i] : b.lane[i];
  }
  return a;
}
template <class T> std::pair<Vectorized<T>, Vectorized<T>> deinterleave2(Vectorized<T> a, Vectorized<T> b) {
  std::pair<Vectorized<T>, Vectorized<T>> found;
  for (int i = 0; i < WIDTH; ++i) {
    const int place = 2 * i;
    found.first.lane[i] = place < WIDTH ? a.lane[place] : b.lane[place - WIDTH];
    found.second.lane[i] = place < WIDTH ? a.lane[place + 1] : b.lane[place + 1 - WIDTH];
  }
  return found;
}
template <class T, class F> T vec_reduce_all(F f, Vectorized<T> a) {
  T total = a.lane[0];
  for (int i = 1; i < WIDTH; ++i) {
    Vectorized<T> sum(total), other(a.lane[i]);
    total = f(sum, other).lane[0];
  }
  return total;
}
}
"""


def compiled(tmp_path: Path, functions: dict[str, str], width: int) -> ctypes.CDLL:
    """A library of functions: signature -> body."""
    compiler = cxx_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    source, library = tmp_path / "direct.cpp", tmp_path / "direct.so"
    text = [f"#define WIDTH {width}", _VECTORS]
    text += [f'extern "C" void {name} {{\n{body}\n}}' for name, body in functions.items()]
    source.write_text("\n".join(text))
    command = [
        compiler,
        "-std=c++20",
        "-O1",
        "-fsanitize=undefined",
        "-fno-sanitize-recover",
        "-shared",
        "-fPIC",
    ]
    subprocess.run([*command, str(source), "-o", str(library)], check=True, timeout=120)
    return ctypes.CDLL(str(library))


def called(library: ctypes.CDLL, name: str, *tensors: torch.Tensor) -> None:
    """Call a function with pointers to what the tensors hold."""
    getattr(library, name)(*(ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors))
