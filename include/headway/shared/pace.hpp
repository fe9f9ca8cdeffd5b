/// The seam between a governor and those that it shares a limit with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "headway/governor.hpp"
#include "headway/law/any.hpp"

namespace headway {

/// One pace for many: a law that several processes take turns by and teach.
///
/// Answers are those of the last look, refresh() or another act; each act looks, too. A claim may
/// fail although the last look promised the turn, since another process took it or an answer took
/// it back: then look again. Samples that the law must not hear, since no process knows how long
/// their answers took, are dropped here. Threads: one at a time for each object.
class HEADWAY_EXPORT pace {
 public:
  pace() = default;
  pace(pace const&) = delete;
  pace& operator=(pace const&) = delete;
  virtual ~pace();

  /// Looks at what others did meanwhile, and tells them that `out` permits are ours and how many
  /// requests of ours wait for the law to give more.
  virtual void refresh(time_point now, int out, int waiting) noexcept = 0;
  /// Takes the turn that the last look promised; false where there is none any more. The next
  /// take() then has its stamp. Requires: no turn is claimed.
  virtual bool claim(time_point now, std::int64_t cost, fraction u) noexcept = 0;
  /// Holds all processes until `until`, as a server said elsewhere. Never makes a hold shorter.
  virtual void hold(time_point until) noexcept = 0;
  /// Returns the end of a hold that a server asked for.
  virtual time_point held_until() const noexcept = 0;
  /// Returns when to look again, although nothing of ours happens.
  virtual time_point look_again(time_point now) const noexcept = 0;
  /// Returns the most others that shared it at a look.
  virtual int company() const noexcept = 0;

  /// Returns the law of all, to look at.
  virtual any_law const& law() const noexcept = 0;
  /// Returns when a turn of that cost may be taken, as a law's; so all that follow.
  virtual time_point ready_at(std::int64_t cost) const noexcept = 0;
  /// Returns how many permits may be out.
  virtual double allowed() const noexcept = 0;
  /// Spends a turn.
  virtual stamp take(time_point now, std::int64_t cost, fraction u) noexcept = 0;
  /// Tells of a success.
  virtual void on_success(time_point now, sample const& s, fraction u) noexcept = 0;
  /// Tells of a refusal.
  virtual void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept = 0;
  /// Tells of a failure.
  virtual void on_failure(time_point now, sample const& s, fraction u) noexcept = 0;
  /// Tells of an attempt that was given up before it was answered, if the law may hear of it.
  virtual void on_cancel(time_point, stamp const&) noexcept {}
  /// Tells what the server advises.
  virtual void on_hint(time_point now, hint const& h) noexcept = 0;
};

/// A law that is this process's own, or that of a pace. A copy shares what is shared.
struct shared_law {
  any_law own{};                 ///< in use where there is no `with`
  std::shared_ptr<pace> with{};  ///< null: it paces alone

  /// Returns the one of the two that is in use.
  any_law const& now_known() const noexcept { return with ? with->law() : own; }

  time_point ready_at(std::int64_t cost) const noexcept {
    return with ? with->ready_at(cost) : own.ready_at(cost);
  }
  double allowed() const noexcept { return with ? with->allowed() : own.allowed(); }
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept {
    return with ? with->take(now, cost, u) : own.take(now, cost, u);
  }
  void on_success(time_point now, sample const& s, fraction u) noexcept {
    with ? with->on_success(now, s, u) : own.on_success(now, s, u);
  }
  void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept {
    with ? with->on_throttle(now, s, r, u) : own.on_throttle(now, s, r, u);
  }
  void on_failure(time_point now, sample const& s, fraction u) noexcept {
    with ? with->on_failure(now, s, u) : own.on_failure(now, s, u);
  }
  /// Takes an attempt that was given up before it was answered.
  void on_cancel(time_point now, stamp const& sent) noexcept {
    with ? with->on_cancel(now, sent) : own.on_cancel(now, sent);
  }
  void on_hint(time_point now, hint const& h) noexcept {
    with ? with->on_hint(now, h) : own.on_hint(now, h);
  }
  /// Returns since when nothing answers; `never`: something does.
  time_point broken_since() const noexcept { return now_known().broken_since(); }
  friend bool operator==(shared_law const&, shared_law const&) = default;
};
static_assert(law<shared_law>);

/// Refreshes `shared`, the law of `g`, with what `g` has out and waits for, and holds `g` where
/// another was told to wait. Call it before the turns of `g`, and after the last one: a process
/// that is said to wait and does not look for a second is taken to be stopped. A governor that is
/// `held_elsewhere`, as by a quota of its own, waits for no turn.
template <class Governor>
void look_at(pace& shared, Governor& g, time_point now, bool held_elsewhere = false) {
  auto const why = g.why(now).why;
  auto const for_the_law = why == reason::none || why == reason::pace || why == reason::window ||
                           why == reason::server_broken;
  auto const waiting = for_the_law && !held_elsewhere ? g.waiting() : std::size_t{0};
  constexpr std::size_t most = std::numeric_limits<int>::max();
  shared.refresh(now, g.in_flight(), static_cast<int>(std::min(waiting, most)));
  g.hold(shared.held_until());
}

}  // namespace headway
