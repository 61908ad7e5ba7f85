// How much stack a function needs: said by codelets, without a meaning on the host.
#ifndef POPLAR_STACK_SIZE_DEFS_HPP
#define POPLAR_STACK_SIZE_DEFS_HPP

#define DEF_STACK_USAGE(size, function)
#define DEF_STACK_SIZE_OWN(size, function)
#define DEF_FUNCTION_CALL_PTRS(function, calls)
#define DEF_FUNC_CALL_PTRS(function, calls)

#endif
