// The type of the counts of loops that the chip repeats in hardware.
#ifndef POPLAR_LOOPS_HPP
#define POPLAR_LOOPS_HPP

using rptsize_t = unsigned;

#endif
