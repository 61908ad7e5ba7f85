// Such operators are made in the graph of PopART's compiler, which does not run here
#error "popart/op/custom/parameterizedop.hpp is not offered: such operators are made in the graph of PopART's compiler, which does not run here. Custom operators made of Op, Opx and OpCreator compile; for others, register a Python implementation with popart.register_custom_op or tremula.custom_ops.register."
