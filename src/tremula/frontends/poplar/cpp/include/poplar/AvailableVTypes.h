// Which layouts of vectors there are. Those that depend on where a tile's memory begins are left out.
#ifndef POPLAR_AVAILABLE_VTYPES_H
#define POPLAR_AVAILABLE_VTYPES_H

#define VECTOR_AVAIL_ONE_PTR
#define VECTOR_AVAIL_SPAN
#define VECTOR_AVAIL_SHORT_SPAN
#define VECTORLIST_AVAIL_DELTANELEMENTS
#define VECTORLIST_AVAIL_DELTAN

#endif
