// Who waits for each other.
#ifndef POPLAR_SYNC_TYPE_HPP
#define POPLAR_SYNC_TYPE_HPP

namespace poplar {
enum class SyncType { INTERNAL, EXTERNAL, GLOBAL };
}

#endif
