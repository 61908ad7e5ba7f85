// Alignment of the elements of vectors.
#ifndef POPLAR_ALIGNMENT_HPP
#define POPLAR_ALIGNMENT_HPP

#ifdef __POPC__
#define WORKER_ALIGN
#define SUPERVISOR_ALIGN
#endif

#endif
