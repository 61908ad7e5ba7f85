// Where tensors are kept. Custom operators run one by one here, so a location has no effect on them.
#ifndef POPART_TENSORLOCATION_HPP
#define POPART_TENSORLOCATION_HPP
namespace popart {
enum class TensorStorage { OffChip = 0, OnChip = 1, N };
enum class TileSet { Compute = 0, IO, Undefined, N };
enum class ReplicatedTensorSharding { Off = 0, On = 1, N };
struct TensorLocation {
  TensorStorage storage = TensorStorage::OnChip;
  TileSet loadTileSet = TileSet::Compute;
  TileSet storageTileSet = TileSet::Compute;
  ReplicatedTensorSharding replicatedTensorSharding = ReplicatedTensorSharding::Off;
};
} // namespace popart
#endif
