/// A server that answers nothing but failures, for the tests of the governor and of its drivers.
#pragma once

#include <algorithm>

#include "headway/backoff/constant.hpp"
#include "headway/driver/clock.hpp"
#include "headway/governor.hpp"
#include "headway/law/seek.hpp"

namespace headway {

using seeking = governor<constant_backoff, seek>;

/// Sends the next of `g` when it may go, and answers it 10 ms later.
inline decision answer_next(seeking& g, time_point& now, outcome what) {
  now = std::max(now, g.wakeup(now) - 1ns);
  while (!g.next(now)) now = g.wakeup(now);
  auto const t = *g.next(now);
  g.start(now, t, 0);
  now += 10ms;
  return g.finish(now, t, {.what = what}, 0);
}

/// A governor with one accepted request, and then nothing but failures.
inline seeking broken_server(time_point& now) {
  seeking g({.wait = 1s}, {}, {.attempts_max = 2, .hint_max = 1min, .first_alone = 0ns});
  g.submit(now);
  answer_next(g, now, outcome::success);
  for (int i = 0; i < breakage::row_max; ++i) {
    g.submit(now);
    answer_next(g, now, outcome::failure);
  }
  return g;
}

/// One that has asked for ten minutes whether the server is back, the last time at `now`.
inline seeking long_broken_server(time_point& now) {
  auto const since = now;
  auto g = broken_server(now);
  while (g.waiting() > 0) answer_next(g, now, outcome::failure);  // under way when it broke
  auto const asks = std::get<ticket>(g.submit(now));
  while (now < since + 10min) answer_next(g, now, outcome::failure);
  g.cancel(now, asks);
  return g;
}
/// The same, on the clock of the drivers.
inline seeking broken_until_now() {
  time_point end{1s};
  long_broken_server(end);
  auto now = steady_now() - (end - time_point{1s});
  return long_broken_server(now);
}

}  // namespace headway
