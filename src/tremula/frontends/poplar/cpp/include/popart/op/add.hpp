// It is an operator of PopART's compiler, which does not run here
#error "popart/op/add.hpp is not offered: it is an operator of PopART's compiler, which does not run here. Custom operators made of Op, Opx and OpCreator compile; for others, register a Python implementation with popart.register_custom_op or tremula.custom_ops.register."
