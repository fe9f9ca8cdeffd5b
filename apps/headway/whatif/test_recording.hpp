/// Runs against the model of a server, recorded.
#pragma once

#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "headway/sim/server.hpp"
#include "headway/text/law.hpp"
#include "pacing/trace.hpp"
#include "whatif/recording.hpp"
#include "whatif/test_file.hpp"

namespace headway::app {

/// What else there is in a run.
struct beside {
  std::optional<gcra> ceiling{};  ///< of its user
  double noise = 0;               ///< share of what is accepted that is refused by chance
  duration clock{};               ///< since a whole period of the server's, at the begin
  duration first_late{};          ///< the first attempt comes, as where a connection is made
};

/// Writes the trace of a run of `requests` against the model of a server, under the law that `text`
/// names.
inline void record(sim::behaviour const& serves, std::string_view text, int requests,
                   std::string const& path, std::uint64_t seed = 7, beside const& more = {}) {
  auto const law = parse_law(text);
  constexpr time_point began{2h};
  governor_settings const settings{
      .queue_max = 4096, .throttled = law.throttled, .rate_ceiling = more.ceiling};
  trace to(path);
  to.head({.law = law, .settings = settings, .began = began});
  traced_governor g(&to, 0, "http://host", law, settings);
  sim::server server(serves);
  rng chance(seed);
  using flight = std::tuple<time_point, ticket, outcome>;
  auto const later_first = [](auto const& a, auto const& b) {
    return std::get<0>(a) > std::get<0>(b);
  };
  std::priority_queue<flight, std::vector<flight>, decltype(later_first)> flying(later_first);
  auto now = began;
  int open = requests;
  auto late = more.first_late;
  for (int i = 0; i < requests; ++i) g.submit(now, {});
  while (open > 0) {
    while (auto const t = g.next(now)) {
      g.start(now, *t, chance());
      auto const on_the_way = std::exchange(late, 0ns);
      auto const a = server.arrive(time_point(now - began + more.clock + on_the_way), 1, chance());
      auto const by_chance = more.noise > 0 && unit(chance()) < more.noise;
      flying.emplace(now + on_the_way + a.after + 100us, *t,
                     by_chance ? outcome::throttle : a.what);
    }
    auto const wake = g.wakeup(now);
    if (flying.empty() || wake < std::get<0>(flying.top())) {
      now = later(wake, 50us);
      continue;
    }
    auto const [at, id, what] = flying.top();
    flying.pop();
    now = at;
    open -= g.finish(now, id, {.what = what}, chance()).what == verdict::done;
  }
  g.end();
  to.flush();
}

inline recording recorded(sim::behaviour const& serves, std::string_view text, int requests,
                          std::string const& path) {
  record(serves, text, requests, path);
  return read_recording(path);
}

/// A server that does so, and takes 20 to 80 ms.
inline sim::behaviour limited_by(sim::limit l) {
  return {.limits = {std::move(l)}, .latency = {20ms, 80ms}, .error_latency = 1ms};
}

inline sim::behaviour fifty_a_second() {
  return limited_by(sim::token_bucket{.interval = 20ms, .burst = 10});
}

/// Its limit is another every few seconds.
inline sim::behaviour changing() {
  sim::behaviour b{.latency = {20ms, 80ms}, .error_latency = 1ms};
  b.schedule = {{time_point{}, sim::token_bucket{.interval = 100ms, .burst = 5}},
                {time_point{10s}, sim::concurrency{.max_busy = 3}},
                {time_point{20s}, sim::token_bucket{.interval = 5ms, .burst = 1}},
                {time_point{25s}, sim::token_bucket{.interval = 500ms, .burst = 1}}};
  return b;
}

inline recording recorded_without_limit(std::string const& path) {
  return recorded({.latency = {20ms, 80ms}}, "fixed(rate=30/s,concurrency=8)", 300, path);
}

}  // namespace headway::app
