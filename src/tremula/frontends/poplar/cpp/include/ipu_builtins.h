// The builtins of the chip's compiler that have a meaning on the host. Those that name registers of a tile do not exist.
#ifndef IPU_BUILTINS_H
#define IPU_BUILTINS_H

#include <poplar/VectorMath.hpp>

static inline float __builtin_ipu_exp2(float x) { return ::exp2f(x); }
static inline float __builtin_ipu_exp(float x) { return ::expf(x); }
static inline float __builtin_ipu_ln(float x) { return ::logf(x); }
static inline float __builtin_ipu_log2(float x) { return ::log2f(x); }
static inline float __builtin_ipu_tanh(float x) { return ::tanhf(x); }
static inline float __builtin_ipu_sigm(float x) { return poplar::detail::sigmoidOf(x); }
static inline float __builtin_ipu_oorx(float x) { return poplar::detail::rsqrtOf(x); }
static inline float __builtin_ipu_sqrt(float x) { return ::sqrtf(x); }
static inline bool __builtin_ipu_isnan(float x) { return ipu::isnan(x); }
static inline bool __builtin_ipu_isinf(float x) { return ipu::isinf(x); }
static inline bool __builtin_ipu_isfinite(float x) { return ipu::isfinite(x); }
static inline float __builtin_ipu_andc_f32(float x, float y) { return ipu::andc(x, y); }
static inline float __builtin_ipu_f16tof32(half x) { return float(x); }
static inline half __builtin_ipu_f32tof16(float x) { return half(x); }
template <class V> static inline V __builtin_ipu_max(V x, V y) { return ipu::max(x, y); }
template <class V> static inline V __builtin_ipu_min(V x, V y) { return ipu::min(x, y); }

#endif
