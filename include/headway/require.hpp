#pragma once

#include <cstdio>
#include <cstdlib>

/// A caller's bug, always checked: says where, and aborts. Never used for input or for an expected
/// no.
#define HEADWAY_REQUIRE(condition)                                                            \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::fprintf(stderr, "%s:%d: headway: violated: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                           \
    }                                                                                         \
  } while (false)
