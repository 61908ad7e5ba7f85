// The model of aliases that operators may describe themselves to; see region.hpp.
#ifndef POPART_ALIAS_ALIASMODEL_HPP
#define POPART_ALIAS_ALIASMODEL_HPP
namespace popart {
class AliasModel {};
} // namespace popart
#endif
