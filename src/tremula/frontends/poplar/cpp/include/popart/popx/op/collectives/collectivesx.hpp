// Collectives belong to the graph of PopART's compiler, which does not run here
#error "popart/popx/op/collectives/collectivesx.hpp is not offered: collectives belong to the graph of PopART's compiler, which does not run here. Custom operators made of Op, Opx and OpCreator compile; for others, register a Python implementation with popart.register_custom_op or tremula.custom_ops.register."
