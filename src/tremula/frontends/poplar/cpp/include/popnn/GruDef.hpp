// The gates of a GRU.
#ifndef POPNN_GRUDEF_HPP
#define POPNN_GRUDEF_HPP

#include <poplar/detail/Prelude.hpp>

enum BasicGruCellUnit { 
    BASIC_GRU_CELL_RESET_GATE = 0, BASIC_GRU_CELL_UPDATE_GATE = 1, BASIC_GRU_CELL_CANDIDATE = 2,
    BASIC_GRU_CELL_NUM_UNITS = 3 };

#endif
