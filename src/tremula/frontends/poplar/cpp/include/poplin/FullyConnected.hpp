// Fully connected layers: the products that they are made of.
#ifndef POPLIN_FULLYCONNECTED_HPP
#define POPLIN_FULLYCONNECTED_HPP

#include <poplin/MatMul.hpp>

namespace poplin {
namespace fc {

struct FullyConnectedParams {
  std::size_t numGroups;
  std::size_t batchSize;
  std::size_t inputSize;
  std::size_t outputSize;
};

} // namespace fc
} // namespace poplin

#endif
