// A failed assertion of a codelet becomes an error of the run instead of the end of the process.
#include <tremula_failure.hpp>

#undef assert
#ifdef NDEBUG
#define assert(condition) (static_cast<void>(0))
#else
#define assert(condition)                                                                                              \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::tremula_codelet::assertionFailed(#condition, __FILE__, __LINE__))
#endif
