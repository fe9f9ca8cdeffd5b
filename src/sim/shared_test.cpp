// Processors that all requests at work share, against what is known of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "headway/random.hpp"
#include "headway/sim/server.hpp"

namespace headway::sim {
namespace {

time_point at(duration since_start) {
  return time_point(since_start);
}

/// What ends until then, in its order.
std::vector<ended> ends(server& s, time_point until = never) {
  std::vector<ended> all;
  for (auto next = s.next_end(); next != never && next <= until; next = s.next_end())
    while (auto const e = s.take(next)) {
      EXPECT_EQ(e->at, next);
      all.push_back(*e);
    }
  return all;
}

/// The ends of requests that arrive then.
std::vector<ended> ends(behaviour b, std::vector<duration> const& arrivals) {
  server s(std::move(b));
  std::vector<ended> all;
  for (duration const t : arrivals) {
    for (auto const& e : ends(s, at(t))) all.push_back(e);
    EXPECT_TRUE(s.arrive(at(t), 1, 0).number);
  }
  for (auto const& e : ends(s)) all.push_back(e);
  return all;
}

TEST(shared, ends_equal_requests_together) {
  struct {
    int requests;
    std::int64_t processors;
    duration end;
  } const rows[] = {{1, 4, 200ms},  {4, 4, 200ms},         {5, 4, 250ms},
                    {10, 4, 500ms}, {7, 3, 466'666'667ns}, {100'000, 3, 6'666'666'666'667ns}};
  for (auto const& [n, processors, end] : rows) {
    std::vector<duration> const arrivals(static_cast<std::size_t>(n), 3s);
    auto const all = ends({.limits = {shared{processors}}, .latency = {200ms}}, arrivals);
    ASSERT_EQ(all.size(), arrivals.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(all[i], (ended{i, at(3s + end)})) << n << ' ' << i;
  }
}

TEST(shared, an_arrival_slows_down_what_is_at_work) {
  struct {
    char const* what;
    std::vector<step> schedule;
    std::vector<duration> arrivals;
    std::vector<ended> expect;
  } const rows[] = {
      {"one processor",
       {{at(0s), shared{1}}},
       {0ms, 50ms, 400ms},
       {{0, at(150ms)}, {1, at(200ms)}, {2, at(500ms)}}},
      {"two processors, three requests",
       {{at(0s), shared{2}}},
       {0ms, 0ms, 50ms},
       {{0, at(125ms)}, {1, at(125ms)}, {2, at(175ms)}}},
      {"one more processor, with nothing that arrives",
       {{at(0s), shared{1}}, {at(100ms), shared{2}}},
       {0ms, 0ms},
       {{0, at(150ms)}, {1, at(150ms)}}},
      {"one less, and none for a while",
       {{at(0s), shared{2}}, {at(50ms), shared{0}}, {at(90ms), shared{1}}},
       {0ms, 0ms},
       {{0, at(190ms)}, {1, at(190ms)}}},
      {"a gateway that gives up goes, and what it waits for has its old patience",
       {{at(0s), shared{.processors = 1, .patience = 120ms}}, {at(50ms), shared{1}}},
       {0ms, 0ms, 60ms},
       {{0, at(120ms), true}, {1, at(120ms), true}, {2, at(300ms)}}},
  };
  for (auto const& r : rows)
    EXPECT_EQ(ends({.schedule = r.schedule, .latency = {100ms}}, r.arrivals), r.expect) << r.what;
}

TEST(shared, a_gateway_answers_what_takes_longer_than_its_patience) {
  auto const three = [](duration patience, bool drops, bool fourth) {
    std::vector<duration> arrivals(3, 0ms);
    if (fourth) arrivals.push_back(150ms);
    return ends({.limits = {shared{.processors = 1, .patience = patience, .drops = drops}},
                 .latency = {100ms}},
                arrivals);
  };
  using all = std::vector<ended>;
  EXPECT_EQ(three(300ms, false, false), (all{{0, at(300ms)}, {1, at(300ms)}, {2, at(300ms)}}));
  for (bool const drops : {false, true})
    EXPECT_EQ(three(250ms, drops, false),
              (all{{0, at(250ms), true}, {1, at(250ms), true}, {2, at(250ms), true}}));
  // The server works on for nothing: three have 50 ms left each, which holds the fourth up.
  all const late{{0, at(150ms), true}, {1, at(150ms), true}, {2, at(150ms), true}};
  auto works_on = late, drops = late;
  works_on.push_back({3, at(300ms), true});
  drops.push_back({3, at(250ms)});
  EXPECT_EQ(three(150ms, false, true), works_on);
  EXPECT_EQ(three(150ms, true, true), drops);
}

/// Poisson arrivals, `each` so often, and the mean from arrival to end.
double mean_response(std::int64_t processors, distribution work, duration each) {
  server s({.limits = {shared{processors}}, .latency = work});
  rng draw(3);
  exponential const gap{each};
  constexpr int n = 200'000;
  std::vector<time_point> arrived;
  double sum = 0;
  auto const count = [&](time_point until) {
    for (auto const& e : ends(s, until)) sum += to_seconds(e.at - arrived[e.number]);
  };
  for (time_point now{}; arrived.size() < n; arrived.push_back(now)) {
    now += gap.draw(draw());
    count(now);
    s.arrive(now, 1, draw());
  }
  count(never);
  return sum / n;
}

/// Half loaded: E[S] / (1 - ρ), and on two processors E[S] / (1 - ρ²), whatever the work's
/// distribution. Source: Kleinrock 1976, "Queueing Systems" II, 4.4.
TEST(shared, takes_as_long_on_average_whatever_the_distribution_of_the_work) {
  distribution const works[] = {spread{100ms}, exponential{100ms}, lognormal{100ms, 2}};
  for (auto const& work : works) {
    EXPECT_NEAR(mean_response(1, work, 200ms), 0.2, 0.006);
    EXPECT_NEAR(mean_response(2, work, 100ms), 0.4 / 3, 0.003);
  }
  EXPECT_NEAR(mean_response(1, works[1], 125ms), 0.5, 0.02);
}

TEST(shared, refuses_what_is_too_much_and_knows_when_it_is_not) {
  for (bool const drops : {false, true}) {
    server s(
        {.limits = {shared{.processors = 1, .at_work_max = 2, .patience = 150ms, .drops = drops}},
         .latency = {100ms},
         .error_latency = 5ms});
    for (int i = 0; i < 2; ++i) EXPECT_EQ(s.arrive(at(0ms), 1, 0).what, outcome::success);
    auto const refused = s.arrive(at(30ms), 1, 0);
    EXPECT_EQ(refused.what, outcome::throttle);
    EXPECT_EQ(refused.after, 5ms);
    EXPECT_FALSE(refused.number);
    // What the gateway has answered keeps its place at work, if the server goes on with it.
    duration const free = drops ? 150ms : 200ms;
    EXPECT_EQ(refused.retry_after, free - 35ms);
    EXPECT_EQ(s.arrive(at(free - 1ns), 1, 0).what, outcome::throttle);
    EXPECT_EQ(s.arrive(at(free), 1, 0).number, 2U);
  }
}

TEST(shared, has_room_again_when_enough_have_left_after_a_bound_fell) {
  server s({.schedule = {{at(0s), shared{.processors = 1}},
                         {at(10ms), shared{.processors = 1, .at_work_max = 1}}},
            .latency = {100ms}});
  for (auto const t : {0ms, 0ms, 5ms}) s.arrive(at(t), 1, 0);
  auto const refused = s.arrive(at(20ms), 1, 0);
  EXPECT_EQ(refused.what, outcome::throttle);
  EXPECT_EQ(refused.retry_after, 280ms);
}

/// What ends while 200 more arrive, from then on; moves `from` to the last of them.
std::vector<ended> ends_of_200(server& s, time_point& from, std::uint64_t seed) {
  rng draw(seed);
  std::vector<ended> all;
  for (int i = 0; i < 200; ++i) {
    from += scale(50ms, draw());
    for (auto const& e : ends(s, from)) all.push_back(e);
    s.arrive(from, 1, draw());
  }
  return all;
}

TEST(shared, a_copy_goes_on_alike_and_leaves_the_first_alone) {
  server first(
      {.limits = {shared{.processors = 3, .patience = 300ms}}, .latency = exponential{100ms}});
  time_point now{};
  ends_of_200(first, now, 5);
  server copy = first;
  auto const before = first;
  auto then = now;
  auto const of_copy = ends_of_200(copy, then, 6);
  EXPECT_EQ(first, before);
  EXPECT_NE(first, copy);
  EXPECT_EQ(ends_of_200(first, now, 6), of_copy);
  EXPECT_EQ(first, copy);
  EXPECT_TRUE(std::ranges::any_of(of_copy, &ended::late));
}

/// The same without virtual time: the work that each has left.
class plainly {
 public:
  explicit plainly(shared s) : s_(std::move(s)) {}

  /// Until then; notes what ends.
  void advance(double now) {
    while (!left_.empty()) {
      double least = left_.begin()->second.work, late = 1e30;
      for (auto const& [number, j] : left_) {
        least = std::min(least, j.work);
        if (!j.answered) late = std::min(late, j.deadline);
      }
      double const end = now_ + least / speed(), next = std::min({end, late, now});
      for (auto& [number, j] : left_) j.work -= (next - now_) * speed();
      now_ = next;
      if (next == now && next < std::min(end, late)) return;
      for (auto i = left_.begin(); i != left_.end();) {
        auto& [number, j] = *i;
        bool const done = end <= late && j.work < 1e-3;
        bool const gives_up = end > late && !j.answered && j.deadline <= late;
        if ((done || gives_up) && !j.answered) {
          j.answered = true;
          over[number] = {next, gives_up};
        }
        i = done || (gives_up && s_.drops) ? left_.erase(i) : std::next(i);
      }
    }
    now_ = now;
  }
  void admit(double now, double work) {
    left_[number_++] = {work, now + static_cast<double>(s_.patience.count())};
  }
  std::size_t size() const { return left_.size(); }

  std::map<std::uint64_t, std::pair<double, bool>> over{};

 private:
  struct job {
    double work = 0, deadline = 0;
    bool answered = false;
  };
  double speed() const {
    return std::min(1.0, static_cast<double>(s_.processors) / static_cast<double>(left_.size()));
  }

  shared s_;
  double now_ = 0;
  std::uint64_t number_ = 0;
  std::map<std::uint64_t, job> left_{};
};

TEST(shared, ends_what_a_list_of_remaining_work_ends) {
  rng draw(17);
  for (int world = 0; world < 40; ++world) {
    shared const limit{.processors = static_cast<std::int64_t>(1 + draw() % 5),
                       .patience = world % 2 == 0 ? duration(1h) : 10ms + scale(200ms, draw()),
                       .drops = draw() % 2 == 0};
    shared s = limit;
    plainly p(limit);
    time_point now{};
    std::size_t ended_so_far = 0, late = 0;
    for (int i = 0; i < 500; ++i) {
      now += scale(duration(20ms) / limit.processors * 2, draw());
      s.advance(now);
      p.advance(static_cast<double>(now.time_since_epoch().count()));
      EXPECT_EQ(s.at_work.size(), p.size());
      duration const work = scale(40ms, draw());
      s.admit(now, 1, work);
      p.admit(static_cast<double>(now.time_since_epoch().count()),
              static_cast<double>(work.count()));
    }
    s.advance(at(24h));
    p.advance(static_cast<double>(duration(24h).count()));
    while (auto const e = s.take()) {
      auto const [when, too_late] = p.over.at(e->number);
      EXPECT_NEAR(static_cast<double>(e->at.time_since_epoch().count()), when, 1);
      EXPECT_EQ(e->late, too_late);
      ++ended_so_far;
      late += e->late;
    }
    EXPECT_EQ(ended_so_far, 500U);
    EXPECT_EQ(late > 0, world % 2 != 0) << world;
    EXPECT_EQ(s.worked, 0);
    EXPECT_TRUE(s.at_work.empty() && s.unanswered.empty());
  }
}

TEST(shared, goes_with_what_it_can) {
  auto const two = [](limit one, limit other) -> std::string_view {
    auto const* const what = contradiction({.limits = {std::move(one), std::move(other)}});
    return what != nullptr ? what : "";
  };
  EXPECT_EQ(two(shared{}, token_bucket{}), "");
  EXPECT_EQ(two(concurrency{}, queue{}), "");
  for (limit const& other : {limit{shared{}}, limit{concurrency{}}, limit{queue{}}})
    EXPECT_EQ(two(shared{}, other), "shared does not go with concurrent, queue or another shared");
  EXPECT_TRUE(contradiction({.limits = {shared{}}, .schedule = {{at(0s), queue{}}}}));
  EXPECT_TRUE(contradiction({.schedule = {{at(0s), shared{}}, {at(1s), outage{}}}}));
  EXPECT_TRUE(contradiction({.limits = {shared{}}, .head = distribution(1ms)}));
  EXPECT_FALSE(contradiction({.limits = {token_bucket{}}, .schedule = {{at(0s), shared{}}}}));
}

}  // namespace
}  // namespace headway::sim
