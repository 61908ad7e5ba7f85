// The vector types of codelets, and the type of hardware loop counts.
#ifndef IPUDEF_H
#define IPUDEF_H

#include <poplar/VectorTypes.hpp>

using half2 = poplar::detail::ShortVector<half, 2>;
using half4 = poplar::detail::ShortVector<half, 4>;
using half8 = poplar::detail::ShortVector<half, 8>;
using half16 = poplar::detail::ShortVector<half, 16>;
using float2 = poplar::detail::ShortVector<float, 2>;
using float4 = poplar::detail::ShortVector<float, 4>;
using float8 = poplar::detail::ShortVector<float, 8>;

using char2 = poplar::detail::ShortVector<signed char, 2>;
using char4 = poplar::detail::ShortVector<signed char, 4>;
using char8 = poplar::detail::ShortVector<signed char, 8>;
using uchar2 = poplar::detail::ShortVector<unsigned char, 2>;
using uchar4 = poplar::detail::ShortVector<unsigned char, 4>;
using uchar8 = poplar::detail::ShortVector<unsigned char, 8>;
using short2 = poplar::detail::ShortVector<short, 2>;
using short4 = poplar::detail::ShortVector<short, 4>;
using short8 = poplar::detail::ShortVector<short, 8>;
using ushort2 = poplar::detail::ShortVector<unsigned short, 2>;
using ushort4 = poplar::detail::ShortVector<unsigned short, 4>;
using ushort8 = poplar::detail::ShortVector<unsigned short, 8>;
using int2 = poplar::detail::ShortVector<int, 2>;
using int4 = poplar::detail::ShortVector<int, 4>;
using uint2 = poplar::detail::ShortVector<unsigned, 2>;
using uint4 = poplar::detail::ShortVector<unsigned, 4>;
// long has four bytes on the chip
using long2 = poplar::detail::ShortVector<int, 2>;
using long4 = poplar::detail::ShortVector<int, 4>;
using ulong2 = poplar::detail::ShortVector<unsigned, 2>;
using ulong4 = poplar::detail::ShortVector<unsigned, 4>;
using longlong2 = poplar::detail::ShortVector<long long, 2>;
using ulonglong2 = poplar::detail::ShortVector<unsigned long long, 2>;

using rptsize_t = unsigned;

#endif
