// Members of one pace in random worlds, in virtual time: processes come, send, are overtaken,
// stopped and killed between any two statements, and go. A failure prints the HEADWAY_SEED that
// repeats it.

#include "headway/shared/paged_pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "headway/backoff/full_jitter.hpp"
#include "headway/sim/event_queue.hpp"
#include "headway/sim/limit.hpp"
#include "model/seeds.hpp"

namespace headway {
namespace {

/// What all members of a world stand on.
struct shelf {
  page::version version = 0;
  common_pace value{};
  bool damaged = false;
  std::array<bool, common_pace::members_max> taken{};
};

/// One process's view of a shelf, and its seat.
class shelf_page final : public page {
 public:
  /// What happens around an act of the process.
  struct moments {
    std::function<bool()> before;  // false: it is dead, and publishes nothing any more
    std::function<void(common_pace const& was)> after;
    std::function<time_point()> now;
  };
  shelf_page(shelf& on, moments m) : on_(on), moments_(std::move(m)) {
    while (taken(seat_)) ++seat_;
    on_.taken.at(static_cast<std::size_t>(seat_)) = sits_ = true;
  }
  ~shelf_page() override { vacate(); }
  /// What the system does for a process that has come to its end.
  void vacate() {
    if (std::exchange(sits_, false)) on_.taken.at(static_cast<std::size_t>(seat_)) = false;
  }

  version latest() const noexcept override { return on_.version; }
  bool read(version& seen, common_pace& value) const noexcept override {
    seen = on_.version;
    value = on_.value;
    return seen != 0 && !on_.damaged;
  }
  bool publish(version& seen, common_pace const& value) noexcept override {
    if (!moments_.before()) return true;
    if (seen != on_.version) return false;
    auto const was = std::exchange(on_.value, value);
    seen = ++on_.version;
    moments_.after(was);
    return true;
  }
  int seat() const noexcept override { return seat_; }
  bool taken(int seat) const noexcept override {
    return on_.taken.at(static_cast<std::size_t>(seat));
  }
  bool inherited() const noexcept override { return false; }
  std::unique_ptr<page> join_anew() const noexcept override { return nullptr; }
  time_point now() const noexcept override { return moments_.now(); }

 private:
  shelf& on_;
  moments moments_;
  int seat_ = 0;
  bool sits_ = false;
};

struct setting {
  any_law law;
  double refused = 0;                         // share, at random
  duration retry_after{};                     // up to this, with every other refusal
  std::optional<sim::token_bucket> server{};  // refuses, too
  bool kills = false;
  bool stops = false;
  bool strangers = false;  // some processes have another clock
};

class world {
 public:
  world(setting s, std::uint64_t seed) : setting_(std::move(s)), chance_(seed) {
    if (auto const* const p = std::get_if<paced<gcra, fixed_window>>(&setting_.law.choice))
      turns_ = p->pace;
    for (auto left = 1 + below(7); left > 0; --left) born(once_in(3) ? upto(5s) : 0ns);
  }

  ~world() {
    for (auto& each : all_) each->dead = true;  // none acts on the others that are gone
  }

  void run(duration span) {
    auto const end = now_ + span;
    while (!pending_.empty() && !testing::Test::HasFailure()) {
      auto const [at, what] = pending_.pop();
      if (at > end) return;
      now_ = std::max(now_, at);
      handle(what);
      for (std::size_t i = 0; i < all_.size(); ++i)
        if (all_[i]->dead) bury(*all_[i]);
      audit_progress();
    }
  }

  /// What came to pass: whether a world was tame.
  struct tally {
    int claims = 0, overtaken = 0, kills = 0, stops = 0, holds = 0, alone = 0, left_by_dead = 0;
    int passed_over_max = 0;
    void operator+=(tally const& o) {
      claims += o.claims, overtaken += o.overtaken, kills += o.kills, stops += o.stops;
      holds += o.holds, alone += o.alone, left_by_dead += o.left_by_dead;
      passed_over_max = std::max(passed_over_max, o.passed_over_max);
    }
  };
  tally seen{};
  /// Successes that living members told the law.
  std::uint64_t told() const { return told_; }
  any_law const& law() const { return shelf_.value.law; }

 private:
  static constexpr time_point nothing = never;
  static constexpr duration idle_max = 5s;     // though a turn or a permit is there
  static constexpr std::size_t born_max = 20;  // processes in a world

  struct process {
    std::size_t number = 0;
    duration offset{};  // of its clock
    bool greedy = false;
    bool dead = false;
    bool acts = false;                          // now
    enum { joins, claims, other } act = other;  // which
    time_point stopped_until = time_point::min();
    time_point read{};                    // its clock, for this act
    time_point back = time_point::min();  // from being stopped while it waited
    time_point wake = never;
    time_point waits_since = nothing;  // for a turn, while it runs
    int passed_over = 0;               // by others meanwhile
    shelf_page* seat = nullptr;        // while it lives
    std::shared_ptr<paged_pace> pace{};
    std::optional<governor<full_jitter, shared_law>> lane{};
    bool shares() const { return !dead && pace && pace->shared(); }
  };
  struct event {
    enum class kind : std::uint8_t { join, submit, wake, answer } what;
    std::size_t whose;
    ticket id{};
    time_point sent{};  // by its clock
    bool refused = false;
  };

  std::uint64_t below(std::uint64_t n) { return chance_() % n; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  duration upto(duration d) { return scale(d, chance_()); }

  void born(duration in) {
    auto p = std::make_unique<process>();
    p->number = all_.size();
    p->greedy = !once_in(3);
    if (setting_.strangers && once_in(3)) p->offset = once_in(2) ? 24h : -24h;
    pending_.push(now_ + in, {event::kind::join, p->number});
    all_.push_back(std::move(p));
  }
  void join(process& p) {
    auto its = std::make_unique<shelf_page>(
        shelf_, shelf_page::moments{.before = [this, &p] { return overtake(p), !p.dead; },
                                    .after = [this, &p](auto const& was) { audit_act(p, was); },
                                    .now = [this, &p] { return now_ + p.offset; }});
    p.seat = its.get();
    p.act = process::joins;
    p.pace = std::make_shared<paged_pace>(std::move(its), setting_.law, 15min);
    p.act = process::other;
    p.lane.emplace(full_jitter{}, shared_law{setting_.law, p.pace},
                   governor_settings{.first_alone = 0ns});
    pending_.push(now_, {event::kind::submit, p.number});
  }
  /// It dies at once. What it has taken is left as it is, but for its seat.
  void kill(process& p) {
    p.dead = true;
    if (p.pace == nullptr || p.pace->shared()) p.seat->vacate();
    ++seen.kills;
  }
  void bury(process& p) {
    if (!p.pace) return;
    p.lane.reset();
    p.pace.reset();
    if (all_.size() < born_max) born(upto(2s));
  }
  void stop(process& p) {
    p.stopped_until = now_ + upto(20s);
    p.waits_since = nothing;
    ++seen.stops;
  }
  /// All processes stand still, and some of them in the middle of an act.
  void sleep() {
    now_ += upto(3s);
    slept_ = now_;
    for (auto& each : all_) each->waits_since = nothing, each->passed_over = 0;
  }

  void handle(event const& e) {
    auto& p = *all_[e.whose];
    if (p.dead) return;
    if (p.stopped_until > now_) return pending_.push(p.stopped_until, e);
    begin(p);
    if (e.what == event::kind::join) {
      join(p);
    } else if (setting_.kills && once_in(3000)) {
      kill(p);
    } else if (setting_.stops && once_in(3000)) {
      stop(p);
      pending_.push(p.stopped_until, e);
    } else if (once_in(p.offset == 0ns ? 10'000 : 10)) {  // it has done its work
      p.lane.reset();
      p.pace.reset();
      p.dead = true;
      if (all_.size() < born_max) born(upto(2s));
    } else {
      if (e.what == event::kind::wake) p.wake = never;
      if (e.what == event::kind::submit) submit(p);
      if (e.what == event::kind::answer) answer(p, e);
      if (!p.dead) round(p);
    }
    p.acts = false;
  }
  void begin(process& p) {
    p.acts = true;
    p.read = now_ + p.offset;
    if (!p.shares()) return;
    auto const& told = shelf_.value.of(p.seat->seat());
    if (told.waits && told.looked + 1s <= p.read) p.back = p.read;
  }
  void submit(process& p) {
    if (p.lane->waiting() < 5) p.lane->submit(p.read);
    pending_.push(now_ + upto(p.greedy ? 20ms : 500ms), {event::kind::submit, p.number});
  }
  void answer(process& p, event const& e) {
    if (once_in(20)) return p.lane->cancel(p.read, e.id);
    attempt_result result{.what = e.refused ? outcome::throttle : outcome::success};
    if (e.refused && setting_.retry_after > 0ns && once_in(2))
      result.advice.retry_after = upto(setting_.retry_after);
    p.lane->finish(p.read, e.id, result, chance_());
    if (!p.shares()) return;
    if (!e.refused && e.sent >= p.back) ++told_;
    if (!result.advice.retry_after || p.lane->refused_alone(e.id)) return;
    held_ = std::max(held_, p.read + *result.advice.retry_after);
    ++seen.holds;
  }
  /// A driver's pump, as that of `headway run`.
  void round(process& p) {
    look_at(*p.pace, *p.lane, p.read);
    while (auto const turn = p.dead ? std::nullopt : p.lane->next(p.read)) {
      auto const u = chance_();
      p.act = process::claims;
      auto const claimed = p.pace->claim(p.read, 1, u);
      p.act = process::other;
      if (p.dead) return;
      if (!claimed) {
        look_at(*p.pace, *p.lane, p.read);
        continue;
      }
      p.lane->start(p.read, *turn, u);
      send(p, *turn);
    }
    if (p.dead) return;
    look_at(*p.pace, *p.lane, p.read);
    if (p.dead) return;
    auto at = p.lane->wakeup(p.read);
    if (p.lane->waiting() > 0) at = std::min(at, p.pace->look_again(p.read));
    if (at != never && at - p.offset < p.wake) {
      p.wake = at - p.offset;
      pending_.push(p.wake + upto(100us), {event::kind::wake, p.number});
    }
    auto const why = p.lane->why(p.read).why;
    auto const waits = why == reason::pace || why == reason::window;
    if (waits && p.waits_since != nothing) return;
    p.waits_since = waits ? now_ : nothing;
    p.passed_over = 0;
  }
  void send(process& p, ticket id) {
    sent_ = now_;
    p.waits_since = nothing;
    p.passed_over = 0;
    auto const latency = 1ms + upto(200ms);
    auto refused = unit(chance_()) < setting_.refused;
    if (auto& server = setting_.server) {
      refused = server->wait(now_, 1) > 0ns;
      if (!refused) server->admit(now_, 1, latency);
    }
    pending_.push(now_ + latency, {event::kind::answer, p.number, id, p.read, refused});
  }

  /// Before `p` publishes: others act, all stand still, or it dies.
  void overtake(process& p) {
    if (p.dead) return;
    if (setting_.kills && once_in(5000)) return kill(p);
    if (setting_.stops && once_in(5000)) sleep();
    if (!once_in(10)) return;
    auto& other = *all_[below(all_.size())];
    if (other.acts || other.dead || !other.lane || other.stopped_until > now_) return;
    ++seen.overtaken;
    begin(other);
    round(other);
    if (setting_.retry_after > 0ns && other.shares() && once_in(200)) {  // heard elsewhere
      auto const until = other.read + upto(setting_.retry_after);
      other.pace->hold(until);
      if (!other.dead) held_ = std::max(held_, until);
    }
    other.acts = false;
  }

  /// An act is right by the page as it was before, and by what truly came to pass.
  void audit_act(process& p, common_pace const& was) {
    auto const& is = shelf_.value;
    if (p.act == process::joins) {
      if (std::ranges::any_of(all_, [](auto const& each) { return each->shares(); })) {
        EXPECT_EQ(is.law, was.law) << "it goes on with the law of the present members";
        return;
      }
      EXPECT_EQ(is.law, setting_.law) << "what the dead left is not believed";
      seen.left_by_dead += was.law != setting_.law;
      forget();
    } else if (p.act == process::claims) {
      ++seen.claims;
      if (setting_.strangers) return;
      EXPECT_LE(was.law.ready_at(1), p.read) << "a turn that was there";
      if (turns_) {
        EXPECT_LE(turns_->ready_at(1), p.read) << "a turn that no other took";
        turns_->take(p.read, 1);
      }
      EXPECT_LE(held_, p.read) << "a server holds all";
      EXPECT_LT(truly_out(was, p.read), was.law.allowed()) << "a permit that was there";
      for (auto const& each : all_) {
        if (each.get() == &p || !each->shares() || each->waits_since == nothing) continue;
        seen.passed_over_max = std::max(seen.passed_over_max, ++each->passed_over);
        if (turns_) {
          EXPECT_LT(each->passed_over, 2 * was.size()) << "each has its turn";
        }
      }
      if (setting_.kills && once_in(300)) kill(p);
    }
  }
  /// Permits of living members, but for those that are stopped while they wait.
  int truly_out(common_pace const& was, time_point now) const {
    int sum = 0;
    for (auto const& each : all_) {
      if (!each->shares() || !each->lane) continue;
      auto const& told = was.of(each->seat->seat());
      if (!(told.waits && told.looked + 1s <= now)) sum += each->lane->in_flight();
    }
    return sum;
  }
  void forget() {
    told_ = 0;
    held_ = time_point::min();
    if (turns_) turns_ = std::get<paced<gcra, fixed_window>>(setting_.law.choice).pace;
  }

  /// No process waits for long while a turn and a permit are there, nor for others only.
  void audit_progress() {
    int kept = 0;  // by stopped ones that cannot be told from those that wait for an answer
    for (auto const& each : all_)
      if (each->shares() && each->lane && each->stopped_until > now_ &&
          !shelf_.value.of(each->seat->seat()).waits)
        kept += each->lane->in_flight();
    if (kept >= shelf_.value.law.allowed()) full_ = now_;
    for (auto const& each : all_) {
      seen.alone += !each->dead && each->pace && !each->pace->shared();
      if (each->waits_since == nothing || each->dead || each->stopped_until > now_) continue;
      auto since = std::max({each->waits_since, slept_, held_, full_});
      if (!turns_) since = std::max(since, sent_);
      EXPECT_LE((now_ - since).count(), duration(idle_max).count())
          << "process " << each->number << " waits";
    }
  }

  setting setting_;
  rng chance_;
  shelf shelf_{};
  std::vector<std::unique_ptr<process>> all_;
  sim::event_queue<event> pending_;
  time_point now_{48h};
  std::optional<gcra> turns_{};  // as they were truly taken
  time_point held_ = time_point::min();
  time_point full_ = time_point::min();  // stopped ones kept all permits
  time_point sent_ = time_point::min();  // the last request of all
  time_point slept_ = time_point::min();
  std::uint64_t told_ = 0;
};

any_law a_pace(duration interval) {
  return {paced<gcra, fixed_window>{.pace = {.interval = interval}, .win = {.permits = 1000}}};
}
constexpr auto successes = [](auto const& law) -> std::uint64_t {
  if constexpr (requires { law.so_far; }) return law.so_far.successes;
  if constexpr (requires { law.successes; }) return law.successes;
  return 0;
};
any_law slots(double permits) {
  return {paced<unpaced, fixed_window>{.win = {.permits = permits}}};
}

/// Runs a world for each seed, and audits each act in it.
world::tally run_worlds(setting const& s) {
  world::tally all;
  for (auto const seed : seeds(60)) {
    SCOPED_TRACE(rerun(seed));
    world one(s, seed);
    one.run(30s);
    EXPECT_EQ(std::visit(successes, one.law().choice), one.told()) << "each answer is heard once";
    all += one.seen;
    if (testing::Test::HasFailure()) break;
  }
  if (!s.strangers) {
    EXPECT_EQ(all.alone, 0) << "none leaves those of its clock";
  }
  if (std::getenv("HEADWAY_SEED")) return all;
  EXPECT_GT(all.claims, 10'000) << "the worlds are too tame";
  EXPECT_GT(all.overtaken, 1000);
  EXPECT_GT(all.left_by_dead, 10);
  EXPECT_EQ(all.kills > 50, s.kills);
  EXPECT_EQ(all.stops > 50, s.stops);
  EXPECT_EQ(all.holds > 50, s.retry_after > 0ns);
  EXPECT_EQ(all.alone > 100, s.strangers);
  return all;
}

TEST(paged_pace, a_member_that_leaves_goes_on_with_the_law_that_it_believed_last) {
  shelf common;
  constexpr time_point now{1h};
  auto const join = [&] {
    return std::make_unique<paged_pace>(
        std::make_unique<shelf_page>(common, shelf_page::moments{.before = [] { return true; },
                                                                 .after = [](auto const&) {},
                                                                 .now = [&] { return now; }}),
        a_pace(5ms), 1min);
  };
  auto const a = join();
  auto const b = join();
  b->on_success(now, {.sent = {.sent = now}}, 0);
  b->hold(now + 5s);
  a->refresh(now, 0, 1);
  b->on_success(now, {.sent = {.sent = now}}, 0);
  common.damaged = true;
  a->refresh(now + 1s, 0, 1);
  EXPECT_FALSE(a->shared());
  EXPECT_EQ(std::visit(successes, a->law().choice), 1U);
  EXPECT_EQ(a->held_until(), now + 5s);
  EXPECT_TRUE(a->claim(now + 5s, 1, 0));
}
TEST(paged_pace, takes_each_turn_once_and_passes_no_member_over) {
  run_worlds({.law = a_pace(5ms)});
}
TEST(paged_pace, takes_each_turn_once_though_members_are_killed_and_stopped) {
  run_worlds({.law = a_pace(5ms), .kills = true, .stops = true});
}
TEST(paged_pace, permits_of_killed_and_stopped_members_come_back) {
  run_worlds({.law = slots(3), .kills = true, .stops = true});
}
TEST(paged_pace, a_hint_to_one_holds_all) {
  run_worlds({.law = a_pace(5ms), .refused = 0.01, .retry_after = 2s, .kills = true});
}
TEST(paged_pace, what_one_is_answered_teaches_all_once) {
  run_worlds({.law = {},
              .server = sim::token_bucket{.interval = 10ms, .burst = 10},
              .kills = true,
              .stops = true});
}
TEST(paged_pace, another_clock_holds_no_member) {
  run_worlds({.law = a_pace(5ms), .kills = true, .strangers = true});
  run_worlds({.law = slots(3), .stops = true, .strangers = true});
}

}  // namespace
}  // namespace headway
