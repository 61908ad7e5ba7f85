// Tensors of an operator by their index.
#ifndef POPART_TENSORINDEX_HPP
#define POPART_TENSORINDEX_HPP
#include <popart/tensor.hpp>
namespace popart {
class TensorIndexMap {
public:
  void insert(int index, const Tensor &tensor) { tensors_[index] = std::make_shared<Tensor>(tensor); }
  void erase(int index) { tensors_.erase(index); }
  void clear() { tensors_.clear(); }
  bool hasIndex(int index) const { return tensors_.count(index) != 0; }
  int n() const { return static_cast<int>(tensors_.size()); }
  Tensor *tensor(int index) const;
  const TensorId &id(int index) const { return tensor(index)->id; }
  std::map<int, Tensor *> tensorMap() const {
    std::map<int, Tensor *> found;
    for (const auto &each : tensors_)
      found[each.first] = each.second.get();
    return found;
  }
  std::map<int, TensorId> tensorIdMap() const {
    std::map<int, TensorId> found;
    for (const auto &each : tensors_)
      found[each.first] = each.second->id;
    return found;
  }
  std::vector<Tensor *> tensors() const {
    std::vector<Tensor *> found;
    for (const auto &each : tensors_)
      found.push_back(each.second.get());
    return found;
  }

private:
  std::map<int, std::shared_ptr<Tensor>> tensors_;
};
} // namespace popart
#endif
