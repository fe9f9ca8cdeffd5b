// Seed text 000 in its own shape: a worker that sleeps after every call, longer while the table
// throttles it.

#include <headway/driver/auto_sleeper.hpp>

#include <cstdio>

int main() {
  using namespace std::chrono_literals;
  headway::blocking::auto_sleeper sleeper(
      {.initial_interval = 1ms, .down_multiplier_threshold = 3});

  for (int write = 0; write < 40; ++write) {
    bool const throttled = write % 10 < 2;  // stands for the answer of a table of yours
    if (throttled)
      sleeper.sleep_on_failure();
    else
      sleeper.sleep_on_success();
  }

  auto const m = sleeper.metrics();
  std::printf("%lld calls, slept %lld times, %.1f ms in all; up %lld, down %lld\n",
              static_cast<long long>(m.total_invocation), static_cast<long long>(m.total_slept),
              headway::to_seconds(m.total_sleep_time) * 1e3,
              static_cast<long long>(m.total_went_up), static_cast<long long>(m.total_went_down));
  return m.total_invocation == 40 && m.total_went_up > 0 && m.total_went_down > 0 ? 0 : 1;
}
