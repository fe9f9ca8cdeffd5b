/// Our side of a differential test: `schedule` prints one random schedule, as often as asked.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "headway/random.hpp"

/// SCHEDULES SEED
inline int print_schedules(int argc, char** argv, void (*schedule)(headway::rng&)) {
  auto const count = argc > 1 ? std::atol(argv[1]) : 100'000;
  headway::rng draw(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  for (long i = 0; i < count; ++i) schedule(draw);
  std::printf("end %ld\n", count);
  return 0;
}
