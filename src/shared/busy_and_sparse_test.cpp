// A busy caller and a sparse one that share a law, in virtual time: the few requests that go as
// they come must not keep the busy one's pace from rising, nor from falling.

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "headway/backoff/full_jitter.hpp"
#include "headway/shared/paged_pace.hpp"
#include "headway/sim/event_queue.hpp"
#include "headway/sim/limit.hpp"
#include "headway/sim/sampling.hpp"

namespace headway {
namespace {

/// What the members of one page have in common.
struct common_page {
  page::version version = 0;
  common_pace value{};
  std::array<bool, common_pace::members_max> taken{};
};

class seat_on_page final : public page {
 public:
  explicit seat_on_page(common_page& on) : on_(on) {
    while (taken(seat_)) ++seat_;
    on_.taken.at(static_cast<std::size_t>(seat_)) = true;
  }
  version latest() const noexcept override { return on_.version; }
  bool read(version& seen, common_pace& value) const noexcept override {
    seen = on_.version;
    value = on_.value;
    return seen != 0;
  }
  bool publish(version& seen, common_pace const& value) noexcept override {
    if (seen != on_.version) return false;
    on_.value = value;
    seen = ++on_.version;
    return true;
  }
  int seat() const noexcept override { return seat_; }
  bool taken(int seat) const noexcept override {
    return on_.taken.at(static_cast<std::size_t>(seat));
  }
  bool inherited() const noexcept override { return false; }
  std::unique_ptr<page> join_anew() const noexcept override { return nullptr; }
  time_point now() const noexcept override { return time_point{}; }

 private:
  common_page& on_;
  int seat_ = 0;
};

struct setting {
  char const* name;
  double limit = 100;         // per second
  double sparse = 0.5;        // requests of the sparse caller, as a share of it
  duration latency = 5ms;     // of an answer, whatever it is
  duration wakes_late = 1ms;  // at most
  bool one_governor = false;  // for both, else one each on a page
  int workers = 64;           // of the busy caller
  double later_limit = 0;     // per second, from `changes` on
  duration joins{};           // the busy caller; until then the sparse one is alone
  int busy_max = 0;           // in flight, of the busy caller; 0: any number
  double busy_rate = 0;       // per second, at most, of the busy caller; 0: any
};

class world {
 public:
  world(setting const& s, std::uint64_t seed)
      : setting_(s), chance_(seed), server_{.interval = from_seconds(1 / s.limit), .burst = 20} {
    for (int i = 0; i < (s.one_governor ? 1 : 2); ++i) {
      auto pace = std::make_shared<paged_pace>(std::make_unique<seat_on_page>(page_),
                                               any_law{seek{}}, 15min);
      governor_settings settings{.queue_max = 1U << 20U};
      if (i == 0 && s.busy_max > 0) settings.in_flight_max = s.busy_max;
      if (i == 0 && s.busy_rate > 0) settings.rate_ceiling = gcra::per(s.busy_rate, 1s);
      members_.push_back({pace, sharer({}, shared_law{{}, pace}, settings)});
    }
    events_.push(time_point(s.joins), {event::join});
    if (s.later_limit > 0) events_.push(time_point(changes), {event::change});
    next_arrival();
  }

  /// Answers to the busy caller from `from` to `end`, as a share of what the sparse one leaves.
  double share_of_the_rest(duration from, duration end) {
    std::int64_t served[2] = {0, 0};
    while (true) {
      auto const [at, e] = events_.pop();
      if (at > time_point(end)) break;
      now_ = at;
      auto& m = members_[e.member];
      if (e.what == event::join) {
        for (int i = 0; i < setting_.workers; ++i) submit(busy, 0);
      } else if (e.what == event::change) {
        setting_.limit = setting_.later_limit;
        server_ = {.interval = from_seconds(1 / setting_.limit), .burst = 20, .tat = server_.tat};
        continue;
      } else if (e.what == event::answer) {
        auto const caller = m.callers[static_cast<std::uint32_t>(e.id)];
        auto const end_of = m.governor.finish(
            now_, e.id, {.what = e.is_refused ? outcome::throttle : outcome::success}, chance_());
        ++answered_;
        refused_ += e.is_refused ? 1 : 0;
        if (end_of.what == verdict::done) {
          if (now_ >= time_point(from)) ++served[caller];
          if (caller == busy) submit(busy, e.member);
        }
      } else if (e.what == event::arrival) {
        submit(sparse, e.member);
        next_arrival();
      } else if (m.wake != now_) {
        continue;
      } else {
        m.wake = never;
      }
      pump(m);
    }
    auto const all = setting_.limit * to_seconds(end - from);
    return static_cast<double>(served[busy]) / (all - static_cast<double>(served[sparse]));
  }

  /// Of all attempts so far.
  double refused_share() const { return static_cast<double>(refused_) / answered_; }

 private:
  static constexpr duration changes = 40s;
  enum kind { busy, sparse };
  using sharer = governor<full_jitter, shared_law>;
  struct member {
    std::shared_ptr<pace> shared;
    sharer governor;
    time_point wake = never;
    std::deque<kind> callers{};  // by a ticket's low half
  };
  struct event {
    enum { answer, arrival, wake, join, change } what;
    std::size_t member = 0;
    ticket id{};
    bool is_refused = false;
  };

  void submit(kind caller, std::size_t index) {
    auto& m = members_[index];
    auto const id = std::get<ticket>(m.governor.submit(now_));
    auto const slot = static_cast<std::uint32_t>(id);
    if (slot >= m.callers.size()) m.callers.resize(slot + 1);
    m.callers[slot] = caller;
  }
  void next_arrival() {
    auto const mean = from_seconds(1 / sparse_rate_);
    events_.push(now_ + sim::exponential{mean}.draw(chance_()),
                 {event::arrival, members_.size() - 1});
  }
  void pump(member& m) {
    look_at(*m.shared, m.governor, now_);
    while (auto const turn = m.governor.next(now_)) {
      auto const u = chance_();
      if (m.shared->claim(now_, 1, u)) {
        m.governor.start(now_, *turn, u);
        auto const no = server_.wait(now_, 1) > 0ns;
        if (!no) server_.admit(now_, 1, setting_.latency);
        auto const index = static_cast<std::size_t>(&m - members_.data());
        events_.push(now_ + setting_.latency, {event::answer, index, *turn, no});
      }
      look_at(*m.shared, m.governor, now_);
    }
    auto at = m.governor.wakeup(now_);
    if (m.governor.waiting() > 0) at = std::min(at, m.shared->look_again(now_));
    if (at == never || at >= m.wake) return;
    m.wake = later(at, scale(setting_.wakes_late, chance_()));
    events_.push(m.wake, {event::wake, static_cast<std::size_t>(&m - members_.data())});
  }

  setting setting_;
  double const sparse_rate_ = setting_.sparse * setting_.limit;
  rng chance_;
  sim::token_bucket server_;
  common_page page_;
  std::vector<member> members_;
  sim::event_queue<event> events_;
  time_point now_{};
  int answered_ = 0, refused_ = 0;
};

constexpr setting settings[] = {
    {.name = "a tenth", .limit = 20, .sparse = 0.1, .latency = 50ms},
    {.name = "half, very late timers", .wakes_late = 20ms},
    {.name = "half, 1,000/s", .limit = 1000, .latency = 1ms},
    {.name = "half, one governor", .limit = 1000, .latency = 1ms, .one_governor = true},
    {.name = "workers", .sparse = 0.3, .latency = 20ms, .workers = 16},
    {.name = "workers, one governor",
     .sparse = 0.3,
     .latency = 20ms,
     .one_governor = true,
     .workers = 16},
    {.name = "joins late", .sparse = 0.1, .latency = 50ms, .joins = 20s},
    {.name = "the limit falls", .limit = 200, .sparse = 0.1, .latency = 50ms, .later_limit = 50},
    {.name = "… at its own ceiling",
     .limit = 200,
     .sparse = 0.02,
     .later_limit = 50,
     .busy_rate = 100},
    {.name = "… with four in flight",
     .limit = 200,
     .sparse = 0.1,
     .latency = 50ms,
     .later_limit = 50,
     .busy_max = 4},
};

TEST(busy_and_sparse, the_busy_one_has_what_the_sparse_one_leaves) {
  for (auto const& s : settings)
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      world one(s, seed);
      EXPECT_GE(one.share_of_the_rest(50s, 100s), 0.95) << s.name << ", seed " << seed;
      EXPECT_LE(one.refused_share(), 0.02) << s.name << ", seed " << seed;
    }
}

}  // namespace
}  // namespace headway
