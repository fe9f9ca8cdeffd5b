#pragma once

#include <cstdio>
#include <cstdlib>

/// Aborts and names the line if `condition` is false, in all builds. For a caller's bug, never for
/// input or an expected refusal.
#define HEADWAY_REQUIRE(condition)                                                            \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::fprintf(stderr, "%s:%d: headway: violated: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                           \
    }                                                                                         \
  } while (false)
