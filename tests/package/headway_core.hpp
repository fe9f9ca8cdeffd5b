// The core, from the library or as the single header.
#ifdef SINGLE_HEADER
#include <headway.hpp>
#else
#include <headway/headway.hpp>
#endif
