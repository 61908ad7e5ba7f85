// Constants of a tile. Those that only assembly needs are not here.
#ifndef POPLAR_TILE_CONSTANTS_HPP
#define POPLAR_TILE_CONSTANTS_HPP

#ifdef TREMULA_WORKERS
#define CTXT_WORKERS TREMULA_WORKERS
#else
#define CTXT_WORKERS 6
#endif
#define CTXT_TOTAL (CTXT_WORKERS + 1)
#define NUM_WORKERS CTXT_WORKERS

#endif
