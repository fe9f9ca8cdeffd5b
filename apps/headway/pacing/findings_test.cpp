/// What a lane says of servers in virtual time, whose limits are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "pacing/test_lane.hpp"

namespace headway::app {
namespace {

/// A server: whether it accepts what comes at that time and leaves at that.
using server = std::function<bool(time_point now, time_point leaves)>;

/// So many at a time.
server slots(std::size_t count) {
  return [count, ends = std::vector<time_point>()](time_point now, time_point leaves) mutable {
    std::erase_if(ends, [&](time_point end) { return end <= now; });
    if (ends.size() >= count) return false;
    ends.push_back(leaves);
    return true;
  };
}
/// So many in a time that begins with the first.
server window(int count, duration period) {
  return [=, begin = time_point::min(), used = 0](time_point now, time_point) mutable {
    if (begin == time_point::min() || now >= begin + period) begin = now, used = 0;
    return used < count && ++used > 0;
  };
}
/// So many a second, and so many saved.
server bucket(double rate, double burst) {
  return [=, room = burst, seen = time_point::min()](time_point now, time_point) mutable {
    if (seen != time_point::min()) room = std::min(burst, room + rate * to_seconds(now - seen));
    seen = now;
    return room >= 1 && (room -= 1) >= 0;
  };
}

struct options {
  std::uint64_t seed = 1;
  duration latency_min = 20ms, latency_max = 80ms;
  bool hints = false;  // a refusal says to wait for a second
};

/// What is found after so many requests.
std::string found(server serves, int requests, options const& o = {}) {
  auto l = test_lane("seek", {.queue_max = 4096, .hint_max = 15min});
  rng chance(o.seed), latencies(o.seed + 100);
  struct answer {
    time_point at;
    ticket id;
    time_point sent;
    bool refused;
    bool operator>(answer const& other) const {
      return std::tie(at, id) > std::tie(other.at, other.id);
    }
  };
  std::priority_queue<answer, std::vector<answer>, std::greater<>> answers;
  time_point now{1h};
  std::vector<ticket> tickets;
  for (int i = 0; i < requests; ++i)
    tickets.push_back(std::get<ticket>(l.submit(now, {}, static_cast<std::uint32_t>(i))));
  for (auto open = requests; open > 0;) {
    l.open(now, true);
    while (auto const turn = l.next(now, chance)) {
      auto const takes = from_seconds(
          std::lerp(to_seconds(o.latency_min), to_seconds(o.latency_max), unit(latencies())));
      bool const ok = serves(now + 150us, now + 150us + takes);
      answers.push({now + (ok ? takes : 1ms) + 300us, tickets[turn->number], now, !ok});
      now += 20us;
    }
    l.rest(now, true);
    now = std::max(now, answers.empty() ? l.wake() : std::min(l.wake(), answers.top().at));
    while (!answers.empty() && answers.top().at <= now) {
      auto const a = answers.top();
      answers.pop();
      judgement told;
      if (a.refused) told.what = reaction::rate;
      if (a.refused && o.hints) told.hold = 1s;
      auto const end =
          l.settle(now, a.id, told,
                   {.status = a.refused ? 429 : 200, .sent = a.sent, .error = "429"}, chance());
      open -= end.ruling.what == verdict::done;
    }
  }
  return l.findings().substr(0, l.findings().find(", latency"));
}

/// Of `found` the number after `words`; nothing where it says something else.
double number_after(std::string const& found, std::string const& words) {
  auto const at = found.find(words);
  return at == found.npos ? std::nan("") : std::stod(found.substr(at + words.size()));
}

TEST(findings, name_a_window_where_it_gave_as_many_each_time) {
  EXPECT_EQ(found(window(300, 10s), 1500), "about 300 in 10 s");
  EXPECT_EQ(found(window(60, 60s), 300), "about 60 in 1 min 0 s");
}

// Before: "a limit of about 1,250/s", and "3.92/s".
TEST(findings, of_a_window_that_ended_once_are_what_happened) {
  EXPECT_EQ(found(window(300, 10s), 450).find("a limit of about"), std::string::npos);
  auto const once = found(window(60, 60s), 90);
  EXPECT_NE(once.find("refused, at no certain rate, 60 accepted, then none for "), once.npos)
      << once;
}

// Before: one too many.
TEST(findings, name_as_many_slots_as_there_are) {
  for (std::size_t const count : {5U, 10U})
    for (std::uint64_t const seed : {1U, 2U, 3U}) {
      auto const said = found(slots(count), 2000, {.seed = seed});
      EXPECT_EQ(said, "about " + std::to_string(count) + " at once") << seed;
    }
}

TEST(findings, leave_open_whether_slots_or_a_rate_refuse_where_answers_take_as_long) {
  auto const said = found(slots(8), 1000, {.latency_min = 100ms, .latency_max = 100ms});
  EXPECT_TRUE(said.starts_with("about 8 at once, or ") || said.starts_with("a limit of ")) << said;
}

TEST(findings, name_a_rate_that_was_kept_up) {
  for (double const rate : {5, 50, 300})
    for (double const burst : {5, 20}) {
      auto const said = found(bucket(rate, burst), 1500);
      EXPECT_NEAR(number_after(said, "a limit of about "), rate, 0.05 * rate) << said;
    }
}

// Before: "a limit of about 148/s" for 12/s after a burst of 100.
TEST(findings, name_no_rate_of_a_burst) {
  for (int const requests : {50, 100, 150, 200})
    for (bool const hints : {false, true}) {
      auto const said = found(bucket(12, 100), requests, {.hints = hints});
      auto const least = number_after(said, "a limit of at least ");
      EXPECT_TRUE(std::isnan(least) || least < 12.5) << said;
      auto const about = number_after(said, "a limit of about ");
      EXPECT_TRUE(std::isnan(about) || std::abs(about - 12) < 1.8) << said;
    }
}

}  // namespace
}  // namespace headway::app
