/// A line in virtual time: one governor, one server, and the wire between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

#include "headway/governor.hpp"
#include "headway/sim/server.hpp"

namespace headway::sim {

struct line {
  int requests = 1000;
  duration each{};             ///< from one submission to the next; zero: all at the start
  duration connect{};          ///< before the server hears of a request
  duration jitter = 200us;     ///< more of it, uniform
  duration wakes_late = 60us;  ///< how late a timer is
  duration give_up_after = 1h;
  bool told = false;  ///< each answer says what remains, and until when
};

/// What came of it.
struct tally {
  int attempts = 0, throttled = 0, done = 0;
  int peak = 0;     ///< most in flight
  duration took{};  ///< until the last answer
  duration p95{};   ///< of the time from send to answer, rejects included

  double throttled_share() const { return static_cast<double>(throttled) / attempts; }
  double per_second() const { return done / to_seconds(took); }
};

/// Runs `l.requests` requests through `g` against `server(now, u) -> answer`. Events of one instant
/// happen in the order in which they were scheduled.
template <class Governor, class Server>
tally run(line const& l, Governor g, Server server, std::uint64_t seed) {
  enum class kind { wakeup, submit, arrival, reply };
  struct event {
    time_point at;
    std::uint64_t sequence;
    kind what;
    ticket t{};
    time_point sent{};
    outcome came{};
    hint said{};
    bool operator<(event const& o) const {  // std::priority_queue has the greatest on top
      return at != o.at ? at > o.at : sequence > o.sequence;
    }
  };
  std::priority_queue<event> events;
  std::uint64_t sequence = 0;
  auto const push = [&](event e) {
    e.sequence = sequence++;
    events.push(e);
  };
  rng draw(seed);
  tally f;
  std::vector<duration> latencies;
  time_point now{};
  auto armed = never;
  for (int i = 0; i < l.requests; ++i) push({now + i * l.each, 0, kind::submit});

  while (f.done < l.requests && !events.empty() && events.top().at < time_point(l.give_up_after)) {
    auto const e = events.top();
    events.pop();
    now = e.at;
    switch (e.what) {
      case kind::wakeup:
        if (e.at != later(armed, l.wakes_late)) continue;  // armed for earlier since
        armed = never;
        break;
      case kind::submit:
        g.submit(now);
        if (!events.empty() && events.top().at == now && events.top().what == kind::submit)
          continue;  // all of one instant are queued before anyone goes
        break;
      case kind::arrival: {
        auto const a = server(now, draw());
        hint const said{.remaining = a.remaining, .reset = a.reset};
        push({now + a.after, 0, kind::reply, e.t, e.sent, a.what, l.told ? said : hint{}});
        continue;
      }
      case kind::reply:
        f.throttled += e.came == outcome::throttle;
        f.done += e.came == outcome::success;
        latencies.push_back(now - e.sent);
        g.finish(now, e.t, {.what = e.came, .advice = e.said}, draw());
    }
    while (auto const t = g.next(now)) {
      g.start(now, *t, draw());
      ++f.attempts;
      f.peak = std::max(f.peak, g.in_flight());
      push({now + l.connect + scale(l.jitter, draw()), 0, kind::arrival, *t, now});
    }
    if (auto const at = g.wakeup(now); at < armed) {
      armed = at;
      push({later(at, l.wakes_late), 0, kind::wakeup});
    }
  }
  f.took = now - time_point{};
  std::ranges::sort(latencies);
  if (!latencies.empty()) f.p95 = latencies[latencies.size() * 95 / 100];
  return f;
}

}  // namespace headway::sim
