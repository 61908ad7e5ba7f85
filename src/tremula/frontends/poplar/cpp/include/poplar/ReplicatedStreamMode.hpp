// Whether each replica has a stream of its own, or all get the same data.
#ifndef POPLAR_REPLICATED_STREAM_MODE_HPP
#define POPLAR_REPLICATED_STREAM_MODE_HPP

namespace poplar {
enum class ReplicatedStreamMode { REPLICATE, BROADCAST };
}

#endif
