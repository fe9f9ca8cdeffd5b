#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "../model/history.hpp"

namespace {

using namespace headway;

/// What a generator would draw, two bytes at a time; zeros when they are used up.
struct bytes {
  char const* at;
  char const* end;

  std::uint64_t operator()() {
    std::uint16_t two = 0;
    if (end - at >= 2) {
      std::memcpy(&two, at, 2);
      at += 2;
    }
    return two * std::uint64_t{0x0001'0001'0001'0001};  // % reads the low bits, scale() the high
  }
};

template <class T, std::size_t N>
T one_of(bytes& draw, T const (&all)[N]) {
  return all[draw() % N];
}

governor_settings any_settings(bytes& draw) {
  governor_settings s;
  s.attempts_max = one_of(draw, {4, 1, 2, 100});
  s.queue_max = one_of<std::size_t>(draw, {1024, 0, 1, 5});
  s.hint_max = one_of<duration>(draw, {15min, 0ns, 1s});
  s.first_alone = one_of<duration>(draw, {250ms, 0ns, 1ns});
  s.throttled = one_of(
      draw, {after_throttle::stand_in_line, after_throttle::back_off, after_throttle::share_level});
  s.quiet_successes = one_of(draw, {10, 1, 3});
  if (draw() % 2 == 1)
    s.rate_ceiling = gcra::per(one_of(draw, {20.0, 0.5, 1e4}), 1s, one_of<long>(draw, {5, 20}));
  if (draw() % 2 == 1) s.in_flight_max = one_of(draw, {1, 2, 3, 10});
  if (draw() % 2 == 1)
    s.budget = {.ratio = one_of(draw, {0.1, 0.0, 1.0}),
                .per_second = one_of(draw, {0.0, 0.5}),
                .balance_max = 2,
                .balance = one_of(draw, {2.0, 0.0})};
  return s;
}

template <law L>
void run(bytes draw, int steps) {
  auto const settings = any_settings(draw);
  history<L, bytes>(settings, L{}, draw).run(steps);
}

}  // namespace

// Settings, a law, and what happens: wherever the governor and its naive model differ, it aborts.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  testing::InitGoogleTest(argc, *argv);
  GTEST_FLAG_SET(throw_on_failure, true);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(char const* data, std::size_t size) {
  bytes draw{data, data + size};
  auto const steps = static_cast<int>(std::min<std::size_t>(size / 4, 300));
  switch (draw() % 5) {
    case 0:
      run<seek>(draw, steps);
      break;
    case 1:
      run<paced<unpaced, reno>>(draw, steps);
      break;
    case 2:
      run<paced<unpaced, fixed_window>>(draw, steps);
      break;
    case 3:
      run<paced<gcra, fixed_window>>(draw, steps);
      break;
    default:
      run<auto_sleeper>(draw, steps);
  }
  return 0;
}
