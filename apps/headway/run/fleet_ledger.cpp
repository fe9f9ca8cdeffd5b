#include "run/fleet_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/words.hpp"
#include "headway/driver/entropy.hpp"
#include "run/spending.hpp"

namespace headway::app {
namespace {

constexpr duration ask_again = 1s;  // for a block, where others have what is left
constexpr duration status_every = 2s;
constexpr duration spent_every = 500ms;
constexpr equal_jitter attempts{.base = 300ms, .cap = 3s};
constexpr std::size_t whys_max = 8;
constexpr duration end_grace = 1s;
constexpr int not_looked_at = std::numeric_limits<int>::max();

time_point on_timeline(std::chrono::steady_clock::time_point at) noexcept {
  return time_point(at.time_since_epoch());
}

}  // namespace

fleet_ledger::fleet_ledger(queue_engine& engine, queue_facts const& facts, settings its,
                           std::unique_ptr<collector> collects)
    : engine_(engine),
      settings_(std::move(its)),
      worker_(engine, facts, settings_.lease),
      collector_(std::move(collects)),
      chance_(entropy()),
      collected_(collector_ == nullptr) {
  if (!collector_) collect_at_ = never;
  status_.all.facts = facts;
  see_spent();
}

// ── of the recorder's thread ──────────────────────────────────────────────────────────────────

void fleet_ledger::commit(change_group const& group) {
  auto const [ended, lost] = [&] {
    try {
      auto const spent = std::ranges::find(group.notes, spent_key, &note::key);
      return worker_.commit(
          group.changes, group.results,
          spent == group.notes.end() ? std::nullopt : std::optional(spent->value));
    } catch (fatal const& e) {
      if (e.code != exit_parked) throw;
      throw fatal(exit_parked,
                  fmt::format("{}; what has come since is not recorded: another host sends those "
                              "lines again if they may be repeated, and calls the rest unknown",
                              e.what()));
    }
  }();
  // Whether there is room for what is announced is for the loop to see, now that others see it.
  if (bounded_ && std::ranges::any_of(group.changes,
                                      [](change const& c) { return c.to == line_state::intended; }))
    see_spent();
  answered();
  note(lost);
  locked([&, by_us = ended] {
    ours_ += by_us;
    for (auto const& [line, to] : group.changes)
      if (to != line_state::open && to != line_state::intended)
        ++handed_in_.of(static_cast<final_outcome>(to));
    pass_stale_group();
  });
  note_leases();
}

void fleet_ledger::tend(bool idle) {
  auto const now = clock_now();
  for (auto const& [first, why] : locked([&] { return std::exchange(to_park_, {}); }))
    worker_.park(first, why);
  for (auto const& most : locked([&] { return std::exchange(to_allow_, {}); })) {
    allow_queue(engine_, worker_.facts().id, most);
    spent_at_ = now;
  }
  if (now >= renew_at_) {
    auto const r = worker_.renew();
    note(r.lost);
    locked([&] {
      news_.stopped = news_.stopped || r.stopped;
      news_.gone = news_.gone || r.gone;
    });
    renew_at_ = now + settings_.lease / 3;
  }
  auto const may_lease = locked([&] {
    if (idle) pass_stale_group();
    return wanted_ && stale_groups_ == 0;
  });
  auto const none = may_lease && now >= lease_at_ ? lease(now) : std::nullopt;
  auto collected = now >= collect_at_ ? std::optional(collect(now)) : std::nullopt;
  if (now >= status_at_) {
    auto const asked = clock_now();
    auto all = status_of(engine_, worker_.facts().name);
    if (!all.empty())
      locked([&] {
        auto const& a = all.front();
        auto const before = looked_ ? status_.before : a.success + a.failed + a.unknown;
        status_ = {.all = std::move(all.front()), .ours = ours_, .before = before};
        looked_ = true;
      });
    // It is a look at all blocks that have begun: a hundredth of the time at most.
    status_at_ = clock_now() + std::max(status_every, 100 * (clock_now() - asked));
  }
  if (now >= spent_at_) see_spent();
  answered();
  note_leases();
  std::lock_guard const held(mutex_);
  if (none) none_ = none;  // that it has ended comes after how
  if (collected) collected_ = *collected;
  news_.stopped = news_.stopped || none == queue_worker::none::stopped;
  news_.gone = news_.gone || none == queue_worker::none::gone;
  for (auto const& told = worker_.parked(); parked_told_ < told.size(); ++parked_told_)
    news_.said.push_back(told[parked_told_]);
  news_.tended = true;
}

void fleet_ledger::see_spent() {
  auto spent = worker_.spent();
  bounded_ = !spent.most.empty();
  spent_at_ = clock_now() + (bounded_ ? spent_every : status_every);
  locked([&] { news_.spent = std::move(spent); });
}

/// Handed over before the last look, one may have been under way then, and one gathered.
void fleet_ledger::pass_stale_group() {
  if (stale_groups_ > 0 && stale_groups_ != not_looked_at) --stale_groups_;
}

/// Why there is no block, if there is none.
std::optional<queue_worker::none> fleet_ledger::lease(time_point now) {
  auto found = worker_.lease();
  lease_at_ = found.block ? now : now + ask_again;
  if (!found.block) {
    if (found.why != queue_worker::none::wait) status_at_ = now;
    return found.why;
  }
  auto& b = *found.block;
  // What its last owner had out is in doubt with us from now on, and not lost with others.
  if (!b.intended.empty()) see_spent();
  std::lock_guard const held(mutex_);
  held_[b.first] = {b.first + b.size() - 1, on_timeline(worker_.held_until(b.first))};
  news_.blocks.push_back(std::move(b));
  wanted_ = false;
  none_.reset();
  return std::nullopt;
}

/// Whether nothing is left to collect as things are: what was parked may go on, and what has ended
/// may be opened again. A block at a time, so that commits do not wait.
bool fleet_ledger::collect(time_point now) {
  using what = enum to_collect::what;
  try {
    auto const next = collector_->next();
    collect_at_ = next.what == what::block ? now : now + ask_again;
    if (next.what == what::block || next.what == what::wait) return false;
    if (!collected_) status_at_ = now;  // nothing waits to be collected by now
  } catch (fatal const& e) {
    if (e.code == exit_parked) throw;  // the engine is away, for commits as well
    // What others send and what is in flight has nothing to do with a file of this host.
    collect_at_ = never;
    collector_.reset();
    locked([&] { news_.failed = std::current_exception(); });
  }
  return true;
}

time_point fleet_ledger::due() const {
  auto const at = std::min({renew_at_, collect_at_, status_at_, spent_at_});
  std::lock_guard const held(mutex_);
  if (!to_park_.empty() || !to_allow_.empty()) return time_point::min();
  return wanted_ && stale_groups_ != not_looked_at ? std::min(at, lease_at_) : at;
}

void fleet_ledger::close() {
  auto const& name = worker_.facts().name;
  if (locked([&] { return stops_all_; })) try {
      stop_queue(engine_, name);
    } catch (fatal const& e) {
      say(fmt::format("other hosts go on: {}; `headway fleet stop {}` ends them", e.what(), name));
    }
  for (auto const& [first, why] : locked([&] { return std::exchange(to_park_, {}); }))
    worker_.park(first, why);
  worker_.release();
  if (collector_) collector_->close();
}

bool fleet_ledger::wait_for_engine(std::string const& why) {
  std::unique_lock held(mutex_);
  auto const now = clock_now();
  if (!away_) {
    auto last = now;
    for (auto const& [first, its] : held_) last = std::max(last, its.until);
    news_.said.push_back(
        fmt::format("the database is away: {}; what may be repeated goes on for {}, the rest waits",
                    why, in_words(last - now)));
    whys_ = {why};
  } else if (whys_.size() < whys_max && whys_.insert(why).second) {
    news_.said.push_back(fmt::format("the database is still away: {}", why));
  }
  away_ = {away_ ? away_->since : now, why};
  leaving_.wait_for(held, attempts.delay(attempts_++, {}, chance_()),
                    [&] { return clock_now() >= leaves_; });
  return clock_now() < std::min(leaves_, later(away_->since, settings_.patience));
}

void fleet_ledger::answered() {
  std::lock_guard const held(mutex_);
  if (!away_) return;
  news_.said.push_back(
      fmt::format("the database answers again, after {}", in_words(clock_now() - away_->since)));
  away_.reset();
  attempts_ = 0;
}

void fleet_ledger::note(std::vector<queue_worker::dropped> const& all) {
  std::lock_guard const held(mutex_);
  for (auto const& d : all) {
    auto const found = held_.find(d.first);
    if (found == held_.end()) continue;
    news_.lost.push_back({d.first, found->second.last});
    news_.said.push_back(fmt::format(
        "lines {} to {} are another worker's by now: {}", d.first, found->second.last,
        d.why == queue_worker::dropped::reason::fenced
            ? "their lease had run out"
            : "the database has lost commits that it had acknowledged, as after a failover to a "
              "standby that was behind"));
    held_.erase(found);
    stale_groups_ = not_looked_at;
  }
}

void fleet_ledger::note_leases() {
  std::lock_guard const held(mutex_);
  for (auto at = held_.begin(); at != held_.end();) {
    auto const until = worker_.held_until(at->first);
    if (until == std::chrono::steady_clock::time_point::min()) {
      at = held_.erase(at);  // it has ended, or is parked
    } else {
      at->second.until = on_timeline(until);
      ++at;
    }
  }
}

// ── of the loop ───────────────────────────────────────────────────────────────────────────────

fleet_ledger::news fleet_ledger::look() {
  std::lock_guard const held(mutex_);
  if (stale_groups_ == not_looked_at) stale_groups_ = 2;
  return std::exchange(news_, {});
}

bool fleet_ledger::want(bool more) {
  std::lock_guard const held(mutex_);
  if (wanted_ == more) return false;
  // Not before it is known what became of the last one.
  if (more && !news_.blocks.empty()) return false;
  wanted_ = more;
  return true;
}

std::optional<queue_worker::none> fleet_ledger::why_none() const {
  return locked([&] { return none_; });
}

void fleet_ledger::park(std::int64_t first, std::string why) {
  std::lock_guard const held(mutex_);
  to_park_.emplace_back(first, std::move(why));
}

time_point fleet_ledger::held_until(std::int64_t line) const {
  std::lock_guard const held(mutex_);
  auto const found = block_of(line);
  return found == held_.end() ? time_point::min() : found->second.until;
}

/// Requires the mutex.
auto fleet_ledger::block_of(std::int64_t line) const
    -> std::map<std::int64_t, holding>::const_iterator {
  auto const after = held_.upper_bound(line);
  if (after == held_.begin()) return held_.end();
  auto const at = std::prev(after);
  return line <= at->second.last ? at : held_.end();
}

std::int64_t fleet_ledger::block_with(std::int64_t line) const {
  std::lock_guard const held(mutex_);
  auto const found = block_of(line);
  return found == held_.end() ? -1 : found->first;
}

std::optional<fleet_ledger::absence> fleet_ledger::away() const {
  return locked([&] { return away_; });
}

fleet_ledger::state fleet_ledger::status() const {
  return locked([&] {
    auto s = status_;
    auto const then = std::exchange(s.ours, ours_);
    s.all.success += ours_.success - then.success;
    s.all.failed += ours_.failed - then.failed;
    s.all.unknown += ours_.unknown - then.unknown;
    s.refused = handed_in_ - ours_;
    return s;
  });
}

bool fleet_ledger::collected() const {
  return locked([&] { return collected_; });
}

void fleet_ledger::leave(duration patience) {
  {
    std::lock_guard const held(mutex_);
    leaves_ = std::min(leaves_, later(clock_now(), patience));
    hurried_ = hurried_ || patience == 0s;
    if (!end_.joinable())
      end_ = std::jthread([this](std::stop_token const& unneeded) { end(unneeded); });
  }
  leaving_.notify_all();
}

/// Ends what the engine is asked, once all patience with it is over: one that answers will end it.
void fleet_ledger::end(std::stop_token const& unneeded) {
  std::unique_lock held(mutex_);
  auto const at = [this] { return later(leaves_, end_grace); };
  while (clock_now() < at() && !unneeded.stop_requested())
    leaving_.wait_until(held, unneeded,
                        std::chrono::steady_clock::time_point(at().time_since_epoch()),
                        [&, before = leaves_] { return leaves_ != before; });
  if (!unneeded.stop_requested() && (away_ || hurried_)) settings_.stop.request_stop();
}

void fleet_ledger::allow(quota_units most) {
  locked([&] { to_allow_.push_back(std::move(most)); });
}

void fleet_ledger::stop_all() {
  locked([&] { stops_all_ = true; });
}

}  // namespace headway::app
