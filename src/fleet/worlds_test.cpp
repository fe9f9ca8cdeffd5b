// Random worlds of members, boards that lose messages, and combiners that stall, under an audit.
//
// HEADWAY_FLEET_OPERATIONS: so many acts in all (3 × 10^5 unless it says otherwise; 10^8 is the
// long mode). HEADWAY_SEED: the first world; it is told with a failure.

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "headway/fleet/blob.hpp"
#include "headway/fleet/board.hpp"
#include "headway/fleet/member.hpp"

namespace headway::fleet {
namespace {

/// Members that want turns, on one board, in steps of a millisecond.
class world {
 public:
  explicit world(std::uint64_t seed) : draw_(seed) {
    seek begins;
    if (pick(2) == 0) begins.remember({.rate = 20.0 + pick(500), .latency = 0.05}, 0s);
    board_ = board(begins);
    limit_ = 20 + pick(400);
    lost_ = pick(3) == 0 ? 10 : 0;
    for (int n = 2 + pick(60); n > 0; --n) join();
  }

  /// Runs for ten seconds; returns the number of acts.
  std::int64_t run() {
    for (auto const end = now_ + 10s; now_ < end; now_ += 1ms) {
      if (pick(400) == 0) join();
      if (pick(400) == 0) kill();
      if (pick(400) == 0) stop();
      tokens_ = std::min(20.0, tokens_ + limit_ / 1000);
      for (auto& [id, p] : all_) act(*p);
    }
    EXPECT_LE(board_.valid().law.so_far.successes, served_);
    EXPECT_LE(board_.valid().law.so_far.epoch, refused_);
    EXPECT_GT(served_, 0U);
    return acts_;
  }

 private:
  struct flying {
    stamp permit;
    time_point answered;
    bool served;
  };
  struct one {
    explicit one(member_id id) : seat(id, {}) {}
    member seat;
    std::deque<flying> out{};
    time_point stopped = time_point::min();
    struct reply {
      time_point at;
      board::reply what;
    };
    std::vector<reply> replies{};  // one may overtake another
    std::uint64_t heard = 0, cut_version = 0, cut_epoch = 0;
    std::optional<board::collected> collected{};
    std::uint64_t made_of = 0;
    time_point publishes_at{};
    time_point held = time_point::min();
  };

  int pick(int count) { return static_cast<int>(draw_() % static_cast<unsigned>(count)); }
  bool lost() { return pick(100) < lost_; }

  void join() {
    auto const id = ++ids_;
    all_.emplace(id, std::make_unique<one>(id));
  }
  void kill() {
    if (all_.size() > 2) all_.erase(any());
  }
  void stop() { any()->second->stopped = now_ + std::chrono::milliseconds(pick(3000)); }
  std::map<member_id, std::unique_ptr<one>>::iterator any() {
    return std::next(all_.begin(), pick(static_cast<int>(all_.size())));
  }

  void act(one& p) {
    if (now_ < p.stopped) return;
    answers(p);
    p.seat.refresh(now_, static_cast<int>(p.out.size()), 50);
    converse(p);
    while (p.seat.claim(now_, 1, draw_())) send(p);
    p.seat.refresh(now_, static_cast<int>(p.out.size()), 50);
  }

  void send(one& p) {
    ++acts_;
    ASSERT_GE(now_, p.seat.held_until()) << "sent before a hold that it knew of";
    ASSERT_GE(now_, p.held) << "sent before a hold that its server told it";
    auto const permit = p.seat.take(now_, 1, draw_());
    if (permit.sends > 0) {
      ASSERT_TRUE(used_.insert(permit.sends).second) << "a turn was used twice";
      auto const at = dealt_.find(permit.sends);
      ASSERT_NE(at, dealt_.end()) << "a turn that no valid state has dealt";
      ASSERT_EQ(at->second.to, p.seat.id()) << "the turn of another";
      ASSERT_GE(now_, at->second.at) << "sent before its pace";
      ASSERT_TRUE(permit.epoch > p.cut_epoch || p.heard > p.cut_version)
          << "sent on a turn that a cut had taken back";
    }
    bool const served = tokens_ >= 1;
    if (served) tokens_ -= 1;
    p.out.push_back({permit, now_ + std::chrono::milliseconds(5 + pick(80)), served});
  }

  void answers(one& p) {
    for (std::size_t i = 0; i < p.out.size();) {
      if (p.out[i].answered > now_) {
        ++i;
        continue;
      }
      ++acts_;
      auto const f = p.out[i];
      sample const s{.sent = f.permit,
                     .in_flight = static_cast<int>(p.out.size()),
                     .rtt = now_ - f.permit.sent};
      p.out.erase(p.out.begin() + static_cast<std::ptrdiff_t>(i));
      if (f.served) {
        ++served_;
        p.seat.on_success(now_, s, draw_());
        continue;
      }
      ++refused_;
      if (pick(10) == 0) {
        p.held = std::max(p.held, now_ + 500ms);
        p.seat.on_hint(now_, {.retry_after = 500ms});
      }
      p.seat.on_throttle(now_, s, resource::unknown, draw_());
    }
  }

  void converse(one& p) {
    for (std::size_t i = 0; i < p.replies.size();) {
      if (p.replies[i].at > now_) {
        ++i;
        continue;
      }
      auto const r = p.replies[i].what;
      p.replies.erase(p.replies.begin() + static_cast<std::ptrdiff_t>(i));
      p.seat.hear(now_, r.granted, r.told, r.combine);
      p.heard = std::max(p.heard, r.granted.version);
      if (r.combine && !p.collected) {
        p.collected = board_.collect();
        p.publishes_at = now_ + std::chrono::milliseconds(pick(20) == 0 ? 600 : 2);
      }
    }
    if (p.collected && p.publishes_at <= now_) publish(p);
    if (p.seat.speaks_at() > now_) return;
    ++acts_;
    auto const& r = p.seat.speak(now_);
    if (lost()) return;
    auto const sent = read_report(to_blob(r));  // as bytes, as a database has it
    ASSERT_EQ(sent, r);
    auto reply = board_.exchange(now_, *sent);
    auto const read = read_grant(common_blob(reply.granted), own_blob(reply.granted));
    ASSERT_EQ(read, reply.granted);
    if (r.refused && reply.fresh)
      for (auto& [id, other] : all_)
        if (other.get() != &p && !lost()) {
          other->seat.cut(now_, reply.granted.version, *r.refused, r.held);
          other->cut_version = reply.granted.version;
          other->cut_epoch = *r.refused;
        }
    if (lost()) return;
    p.replies.push_back(
        {now_ + std::chrono::milliseconds(pick(20) == 0 ? 150 : 2), std::move(reply)});
  }

  void publish(one& p) {
    ++acts_;
    auto const all = *std::exchange(p.collected, std::nullopt);
    auto const next = combine(all.valid, all.reports, now_);
    auto const before = board_.valid();
    if (!board_.publish(now_, p.seat.id(), all.valid.version, next)) {
      ASSERT_EQ(board_.valid(), before) << "a stale state changed something";
      return;
    }
    ASSERT_EQ(before.version, all.valid.version) << "a stale state was taken";
    ASSERT_GT(next.version, before.version);
    ASSERT_LE(next.law.so_far.epoch, before.law.so_far.epoch + all.reports.size() * 1000);
    ASSERT_EQ(read_state(to_blob(next)), next);
    audit(before, next);
    for (auto const id : to_wake(next, before, now_))
      if (auto const at = all_.find(id); at != all_.end() && !lost()) at->second->seat.wake(now_);
  }

  void audit(state const& before, state const& next) {
    for (auto const& m : next.members) {
      for (auto const& t : m.planned) {
        if (t.number <= before.dealt) continue;
        ASSERT_TRUE(dealt_.emplace(t.number, dealing{m.id, t.at}).second) << "dealt twice";
        ASSERT_GE(t.at, now_) << "dealt into the past";
        ASSERT_GE(t.at, next.held) << "dealt before a hold";
        ASSERT_EQ(t.epoch, next.law.so_far.epoch) << "dealt by a law that was cut";
        ASSERT_TRUE(m.live) << "dealt to a member that is silent";
        last_[m.id] = now_;
      }
      if (!m.live || !m.quick) last_[m.id] = now_;
    }
    if (next.dealt == before.dealt || next.law.server.shut || next.law.pace() < 10) {
      for (auto& [id, at] : last_) at = now_;  // a law that deals none starves no member
      return;
    }
    auto const active = std::ranges::count(next.members, true, &member_state::active);
    round_ = std::max(round_, term_of(next) * next.sharing / std::max<std::int64_t>(active, 1));
    auto const starves = std::max<duration>(8s, round_ * 3 / 2);
    for (auto const& m : next.members)
      if (auto const at = last_.find(m.id); at != last_.end()) {
        ASSERT_LT(now_ - at->second, starves) << "member " << m.id << " starves";
      }
  }

  struct dealing {
    member_id to;
    time_point at;
  };
  rng draw_;
  board board_;
  std::map<member_id, std::unique_ptr<one>> all_;
  std::map<std::uint64_t, dealing> dealt_;
  std::map<member_id, time_point> last_;
  std::set<std::uint64_t> used_;
  duration round_{};  // of the ring, the longest
  member_id ids_ = 0;
  time_point now_{10s};
  double limit_ = 100, tokens_ = 20;
  int lost_ = 0;
  std::uint64_t served_ = 0, refused_ = 0;
  std::int64_t acts_ = 0;
};

TEST(fleet_worlds, none_breaks_what_must_always_hold) {
  char const* const wanted = std::getenv("HEADWAY_FLEET_OPERATIONS");
  auto const operations = wanted != nullptr ? std::atoll(wanted) : 300'000LL;
  std::int64_t acts = 0, worlds = 0;
  char const* const first = std::getenv("HEADWAY_SEED");
  auto seed = first != nullptr ? std::strtoull(first, nullptr, 10) : 1ULL;
  for (; acts < operations && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("world " + std::to_string(seed));
    acts += world(seed).run();
    ++worlds;
    if (testing::Test::HasFailure()) break;
  }
  std::printf("%lld acts in %lld worlds\n", static_cast<long long>(acts),
              static_cast<long long>(worlds));
}

}  // namespace
}  // namespace headway::fleet
