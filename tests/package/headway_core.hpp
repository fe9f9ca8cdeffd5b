// The core, from the library or as the single header, whichever is there.
#if __has_include(<headway/headway.hpp>)
#include <headway/headway.hpp>
#else
#include <headway.hpp>
#endif
