// Plans ahead of use: they are made when somebody asks for figures.
#ifndef POPLIN_CONVPREPLAN_HPP
#define POPLIN_CONVPREPLAN_HPP

#include <poplin/MatMul.hpp>

namespace poplin {

inline void preplan(const std::set<ConvPlanParams> &, const std::set<MatMulPlanParams> &,
                    PlanningCache &) {}

} // namespace poplin

#endif
