/// The one state machine: it composes a law, a backoff and a retry budget, and names the request
/// that may go.
///
/// It never sleeps, locks, allocates below its high-water mark, reads a clock or draws a number: a
/// governor is a pure function of its inputs, so that a recorded run replays bit for bit. Every
/// driver is the same pump, run after any event:
///
///   while (auto t = governor.expired(now)) governor.cancel(now, *t), tell(*t);
///   while (auto p = governor.parked(now)) governor.cancel(now, p->id), tell(p->id);
///   while (auto t = governor.next(now)) governor.start(now, *t, draw()), send(*t);
///   arm(governor.wakeup(now));
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headway/allowance.hpp"
#include "headway/backoff/exponential.hpp"
#include "headway/backoff/retry_level.hpp"
#include "headway/blame.hpp"
#include "headway/budget/retry_budget.hpp"
#include "headway/export.hpp"
#include "headway/heap.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/policy.hpp"
#include "headway/require.hpp"

namespace headway {

/// One submitted request. Never reused while a caller may still hold it.
enum class ticket : std::uint64_t {};

/// Why a request is held back, refused or given up.
enum class reason : std::uint8_t {
  none,
  server_hint,    ///< the server said when (Retry-After)
  first_answer,   ///< the first request of a scope flies alone
  pace,           ///< the law spaces the sends
  others,         ///< the rest of a window is left to others that share it
  window,         ///< as many are out as the law allows
  quota,          ///< a ceiling that the caller set
  backoff,        ///< a retry waits out its backoff
  refused_alone,  ///< the server refuses this request, and accepts others
  retry_budget,   ///< retries have used up their share
  queue,          ///< as many wait as may
  deadline,       ///< it would come too late
  attempts,       ///< it failed as often as it may
  server_broken,  ///< the server answers nothing but failures: one, now and then, asks whether it
                  ///< is back
  paused,         ///< its user has paused it; a driver's answer, never a governor's
  cancelled,      ///< its owner cancelled it; a driver's answer, never a governor's
};
/// Returns it in words, for people: "server hint".
HEADWAY_EXPORT std::string_view to_string(reason) noexcept;

/// The reason that holds a request back.
struct held_back {
  reason why = reason::none;  ///< `none`: nothing
  time_point until = never;   ///< `never`: until an answer or another event
  friend bool operator==(held_back const&, held_back const&) = default;
};
/// Not sent: why, and from when on it might be.
using refused = held_back;

/// The needs of a request. Costs are in the units of the server's quota.
struct request_terms {
  std::int64_t cost = 1;        ///< at least 1
  time_point deadline = never;  ///< not sent after this
  int failures = 0;             ///< attempts of it that broke before, under another ticket
  int throttles = 0;            ///< … and that were refused; backoffs go on from there
  friend bool operator==(request_terms const&, request_terms const&) = default;
};

/// The result of an attempt.
struct attempt_result {
  outcome what = outcome::success;        ///< of the four
  resource short_of = resource::unknown;  ///< where the server says so
  hint advice{};                          ///< of the server
  bool may_retry =
      true;  ///< false: a failure may have been carried out, and must not be sent again
  bool held_elsewhere = false;  ///< a quota that the caller counts binds, not the law; then the law
                                ///< neither grows with a success nor is cut by a throttle
};

/// The fate of a request after an attempt.
enum class verdict : std::uint8_t {
  done,     ///< answered; the ticket is gone
  retry,    ///< queued again under the same ticket
  give_up,  ///< failed for good; the ticket is gone
  park,     ///< queued again, but it has to wait for longer than hint_max: cancel it, or wait
};
/// A verdict with its reason.
struct decision {
  verdict what = verdict::done;  ///< its fate
  reason why = reason::none;     ///< `none` when it is done
  time_point until = never;      ///< retry, park: not before this
  friend bool operator==(decision const&, decision const&) = default;
};

/// A request that has to wait for longer than hint_max.
struct parked_request {
  ticket id{};                       ///< still waits
  time_point until = never;          ///< not before this
  reason why = reason::server_hint;  ///< … or refused_alone, or server_broken
  friend bool operator==(parked_request const&, parked_request const&) = default;
};

/// The place where a throttled request waits. A failed one always waits out its own backoff.
enum class after_throttle : std::uint8_t {
  stand_in_line,  ///< stands last, but once among a few keeps its place, and waits for the law; it
                  ///< goes again before its turn while others pass
  back_off,       ///< waits out a backoff of its own, as plain retry libraries do
  share_level,    ///< waits out a backoff at the scope's retry level (seed text 002)
};

/// The caller's settings; each has a default.
struct governor_settings {
  int attempts_max = 4;          ///< failures until a request is given up; throttles never count,
                                 ///< nor do those of a request that has not failed before the
                                 ///< server broke, while it answers nothing but failures
  std::size_t queue_max = 1024;  ///< requests that wait at most; retries always find room
  duration hint_max = 15min;     ///< a request that has to wait for longer is parked
  duration first_alone = 250ms;  ///< zero: off
  after_throttle throttled = after_throttle::stand_in_line;  ///< where a throttled request waits
  int quiet_successes = 10;                                  ///< of the shared retry level
  std::optional<gcra> rate_ceiling{};                        ///< besides the law
  int in_flight_max = std::numeric_limits<int>::max();       ///< besides the law
  retry_budget budget{};                                     ///< of failures, not of throttles
  friend bool operator==(governor_settings const&, governor_settings const&) = default;
};

/// A heap with members that may go stale in place; after prune() the top is live.
template <class Item>
class lazy_heap : public heap<Item> {
 public:
  /// Makes room for `live_count` live members and as many stale ones as prune() may leave.
  void make_room(std::size_t live_count) { this->reserve(size_max(live_count) + 1); }
  /// Returns whether it has so much room.
  bool has_room(std::size_t live) const noexcept { return this->capacity() > size_max(live); }
  /// Drops stale members from the top, and all of them once they are the majority.
  template <class Live>
  [[gnu::noinline]] void prune(Live live, std::size_t live_count) {
    while (!this->empty() && !live(this->top())) this->pop();
    if (this->size() > size_max(live_count)) [[unlikely]]
      this->erase_if([&](Item const& item) { return !live(item); });
  }
  friend bool operator==(lazy_heap const&, lazy_heap const&) = default;

 private:
  static std::size_t size_max(std::size_t live_count) noexcept { return 2 * live_count + 8; }
};

/// Decides for one scope (one limit) which request waits, goes or is retried, and why.
///
/// next, expired, parked, wakeup and why only ask and are O(1). submit, start, finish and cancel
/// act; they are O(log n), each with one asserted precondition. The turn order is (ready since,
/// sequence): the head waits for all it needs, and no request overtakes it but those that are asked
/// aside or again (`blame`). A throttled one stands last, or keeps its place once among a few, and
/// goes again 8 to 4096 sends later while others pass; a failed one rests. One that is
/// refused repeatedly while others are accepted waits by itself, ever longer, and a hint that comes
/// with it holds no other, unless the server refuses many; so does one that is refused ten times
/// since anything was accepted, where all that is left was refused twice, but its hint holds all.
/// Retries never lack queue space. A waiting retry holds no permit. Threads: distinct objects safe,
/// shared objects unsafe.
template <backoff B, law L>
class governor {
 public:
  /// Starts with all defaults.
  governor() : governor(B{}) {}
  /// Starts idle, with what `law` knows.
  explicit governor(B backoff, L law = {}, governor_settings settings = {})
      : backoff_(std::move(backoff)),
        law_(std::move(law)),
        settings_(std::move(settings)),
        level_{.quiet_successes = settings_.quiet_successes} {}

  /// Queues a request. Refused with `queue` when queue_max wait, with `quota` when the cost can
  /// never be admitted, with `deadline` when it could not go in time even if it were alone.
  /// Throws std::bad_alloc above the high-water mark, or first of a copy, and has changed nothing
  /// then; after it no other act allocates.
  std::variant<ticket, refused> submit(time_point now, request_terms terms = {}) {
    HEADWAY_REQUIRE(terms.cost >= 1 && terms.failures >= 0 && terms.throttles >= 0);
    if (waiting_ >= settings_.queue_max) return refused{reason::queue, never};
    auto const earliest = ready_for(terms.cost, now);
    if (earliest.until == never && earliest.why != reason::server_hint)
      return refused{reason::quota, never};
    if (earliest.until > terms.deadline) return refused{reason::deadline, earliest.until};
    auto const index = allocate();
    auto& r = requests_[index];
    r.ready_since = now;
    r.terms = terms;
    r.last_delay = {};
    r.refused = blame_.begin(terms.throttles);
    r.waits_alone = 0;
    r.waits_for = reason::none;
    r.sequence = next_sequence_++;
    enqueue(index);
    return ticket_of(index);
  }

  /// Returns the request that may go now, if any. Changes with time and with every act.
  std::optional<ticket> next(time_point now) const noexcept {
    if (queue_.empty() || head(now).until > now) return std::nullopt;
    return ticket_of(queue_.top().index());
  }

  /// Sends it: takes a permit and the law's units. Requires: next(now) == t.
  [[gnu::flatten]] void start(time_point now, ticket t, fraction u) {
    HEADWAY_REQUIRE(next(now) == t);
    auto& r = requests_[index_of(t)];
    r.where = place::flying;
    r.heard = false;
    queue_.pop();
    if (!queue_.empty()) __builtin_prefetch(&requests_[queue_.top().index()]);
    --waiting_;
    ++in_flight_;
    r.in_order = told_.send(now, r.terms.cost);
    auto const allowed_at = std::max(law_.ready_at(r.terms.cost), r.ready_since);
    auto const paced = allowed_at > r.ready_since;
    duration held{};
    if (settings_.rate_ceiling) {
      held = std::max(settings_.rate_ceiling->lends_at(r.terms.cost), allowed_at) - allowed_at;
      settings_.rate_ceiling->take(now, r.terms.cost);
    }
    new (&r.flight.sent) stamp(law_.take(now, r.terms.cost, u));  // in its place: a copy stalls
    r.flight.sent.sent = now;
    r.flight.sent.in_flight = std::max(r.flight.sent.in_flight, in_flight_);
    r.flight.sent.cost = r.terms.cost;
    r.flight.sent.paced |= paced;
    r.flight.sent.held = held;
    if (!first_sent_) first_sent_ = now;
    blame_.send(r.refused);
    ++sends_;
    prune();
    if (!again_.empty()) [[unlikely]]
      ask_again(now);
    if (blame_.wants_aside()) [[unlikely]]
      ask_aside(now);
  }

  /// Hears the head of an answer, before its end. A success teaches here what it would teach at its
  /// end; the permit stays out, and finish() must follow. Any other head is for finish() alone.
  /// Returns whether it taught: never twice for one attempt, nor for a cancelled or unknown ticket.
  bool learn(time_point now, ticket t, attempt_result const& head, fraction u) {
    if (!flies(t) || head.what != outcome::success || requests_[index_of(t)].heard) return false;
    auto& r = requests_[index_of(t)];
    answer(now, r, head);
    first_answered_ = true;
    told_.come_back(r.in_order, r.terms.cost, true, tells(head.advice));
    obey(now, r, head);
    succeed(now, r, u);
    r.heard = true;
    ++heard_;
    return true;
  }

  /// Ends an attempt. After learn() a success frees its permit and teaches nothing more; a body
  /// that breaks or refuses teaches that. One of a cancelled or unknown ticket teaches nothing.
  [[gnu::flatten]] decision finish(time_point now, ticket t, attempt_result const& result,
                                   fraction u) {
    if (!holds(t, place::flying)) return {};
    auto const index = index_of(t);
    auto& r = requests_[index];
    auto const& s = answer(now, r, result);
    --in_flight_;
    heard_ -= r.heard ? 1 : 0;
    first_answered_ = true;
    auto const refused_it = result.what == outcome::throttle;
    r.flight.own = refused_it && blame_.refuse(now, r.refused, s.sent.sent);
    auto const its_own = refused_it && r.refused.alone() && (r.flight.own || blame_.refuses_few());
    if (!r.heard)
      told_.come_back(r.in_order, r.terms.cost,
                      result.what == outcome::success || (refused_it && !its_own),
                      !its_own && tells(result.advice));
    if (!its_own && result.advice != hint{})
      obey(now, r, {.what = result.what, .advice = unheard(t, result)});
    if (refused_it && !result.held_elsewhere)
      law_.on_throttle(now, s, result.short_of, derive(u, 0));
    if (refused_it || result.what == outcome::failure) return unserved(now, index, result, u);
    if (result.what == outcome::success) settings_.budget.deposit();
    if (result.what == outcome::success && !r.heard) succeed(now, r, u);
    release(index);
    return {};
  }

  /// Forgets a request, waiting or flying: gives its permit back and learns nothing, but that what
  /// the law asked by it is not answered.
  void cancel(time_point now, ticket t) {
    if (!holds(t, place::waiting) && !holds(t, place::flying)) return;
    auto const index = index_of(t);
    auto const& r = requests_[index];
    if (r.where == place::flying) {
      --in_flight_;
      heard_ -= r.heard ? 1 : 0;
      if (!r.heard) {
        told_.come_back(r.in_order, r.terms.cost, false, false);
        if constexpr (requires { law_.on_cancel(now, r.flight.sent); })
          law_.on_cancel(now, r.flight.sent);
      }
    } else {
      --waiting_;
    }
    release(index);
  }

  /// Returns a waiting request that is past its deadline, if any: the driver cancels it and tells
  /// its owner. Until then it is never sent, and holds up those behind it.
  std::optional<ticket> expired(time_point now) const noexcept {
    if (deadlines_.empty() || deadlines_.top().of.at >= now) return std::nullopt;
    return ticket_of(deadlines_.top().of.index());
  }

  /// Returns the first waiting request if it has to wait for longer than hint_max, since
  ///
  /// - a server's hint, of any answer, holds it for longer;
  /// - it was refused alone for so long;
  /// - all that is left was refused twice, and nothing was accepted for so long;
  /// - the server is broken for so long, and is not to be asked yet whether it is back.
  ///
  /// The driver cancels it and tells its owner, or has that patience.
  std::optional<parked_request> parked(time_point now) const noexcept {
    if (queue_.empty()) return std::nullopt;
    auto const index = queue_.top().index();
    auto const& r = requests_[index];
    auto const until = held_until(r.terms.cost);
    if (until > later(now, settings_.hint_max) && !may_tell(now))
      return parked_request{ticket_of(index), until};
    if ((r.waits_for == reason::refused_alone && hopeless(r)) || now > tried_until(r))
      return parked_request{ticket_of(index), std::max(r.ready_since, until),
                            reason::refused_alone};
    auto const asks = law_.ready_at(r.terms.cost);  // whether the server is back
    if (asks > now && now > later(broken_since(), settings_.hint_max))
      return parked_request{ticket_of(index), asks, reason::server_broken};
    return std::nullopt;
  }

  /// Returns when to ask again if nothing happens before: later than now; `never` if only an event
  /// can help.
  time_point wakeup(time_point now) const noexcept {
    auto at = queue_.empty() ? never : head(now).until;
    if (!deadlines_.empty()) at = std::min(at, later(deadlines_.top().of.at, 1ns));
    auto const ends = queue_.empty() ? never : tried_until(requests_[queue_.top().index()]);
    if (ends >= now) at = std::min(at, later(ends, 1ns));
    return std::max(at, later(now, 1ns));
  }

  /// Returns what holds the head back, and until when; `none` if nothing waits or the head may go.
  held_back why(time_point now) const noexcept {
    if (queue_.empty()) return {};
    auto const h = head(now);
    return h.until > now ? h : held_back{};
  }

  /// Holds all requests until `until`, as the server said elsewhere: to another process, or of a
  /// larger scope. Never makes a hold shorter.
  void hold(time_point until) noexcept { hold_until_ = std::max(hold_until_, until); }

  /// Sets the caller's own ceilings anew; `rate` with what is owed of it.
  void limit(std::optional<gcra> rate, int in_flight_max) noexcept {
    settings_.rate_ceiling = rate;
    settings_.in_flight_max = in_flight_max;
  }
  /// Returns what the caller has set.
  governor_settings const& settings() const noexcept { return settings_; }
  /// Goes on with another law.
  void follow(L law) noexcept { law_ = std::move(law); }

  /// Returns the number of permits out.
  int in_flight() const noexcept { return in_flight_; }
  /// Returns the number of requests that wait, for their first turn or another.
  std::size_t waiting() const noexcept { return waiting_; }
  /// Returns whether the server refuses this request and accepts others: a hint for it holds no
  /// other.
  bool refused_alone(ticket t) const noexcept {
    return holds(t, place::waiting) && requests_[index_of(t)].refused.alone();
  }
  /// Returns what a request costs that waits or flies.
  std::int64_t cost_of(ticket t) const noexcept { return requests_[index_of(t)].terms.cost; }
  /// Returns the law.
  L const& law_state() const noexcept { return law_; }
  /// Returns the scope's retry level; it moves only with after_throttle::share_level.
  int level() const noexcept { return level_.level; }
  /// Returns until when a server's hint holds a request of `cost`; in the past if none does.
  time_point held_until(std::int64_t cost = 1) const noexcept {
    return std::max(hold_until_, told_.held_until(cost));
  }
  /// Returns until when a new governor in its place could be faster, since a hint, others, the pace
  /// or the ceiling holds its next request; in the past if none does.
  time_point busy_until() const noexcept {
    auto const at = std::max({held_until(), told_.left_to_others_until(1), law_.ready_at(1)});
    return settings_.rate_ceiling ? std::max(at, settings_.rate_ceiling->tat) : at;
  }

  friend bool operator==(governor const&, governor const&) = default;

 protected:
  /// Returns the law, for a decorator of this governor.
  L& law_to_tell() noexcept { return law_; }
  /// Returns the advice of an answer that its head has not given. What remained is as old as the
  /// head. Requires: it flies.
  hint unheard(ticket t, attempt_result const& result) const noexcept {
    if (!requests_[index_of(t)].heard) return result.advice;
    if (result.what == outcome::success) return {};
    return {.retry_after = result.advice.retry_after};
  }
  /// Returns whether a request flies.
  bool flies(ticket t) const noexcept { return holds(t, place::flying); }

 private:
  enum class place : std::uint8_t { nowhere, waiting, flying };

  static constexpr auto none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t ahead = 8;         // that a refused one gives way to at first
  static constexpr std::size_t looked_at = 1024;  // for one to ask before its turn
  // Of a request that is refused alone.
  static constexpr exponential_backoff alone_backoff{.initial = 1s, .multiplier = 2, .cap = 30s};
  // Of one that is refused on and on, as all that waits: 20 attempts in five minutes.
  static constexpr int row_max = 9;  // before it
  static constexpr exponential_backoff row_backoff{.initial = 1s, .multiplier = 1.7, .cap = 1min};

  struct request {
    time_point ready_since{};
    request_terms terms{};  // with its failures so far: what attempts_max counts
    sample flight{};        // the latest, as the law sees it
    duration last_delay{};
    allowance::place in_order{};
    blame::record refused{};  // its refusals
    int waits_alone = 0;      // that followed one of them
    reason waits_for = reason::none;
    place where = place::nowhere;
    bool heard = false;  // the head of its answer
    std::uint32_t sequence = 0;
    std::uint32_t waits = 0;         // so far
    std::uint32_t generation = 0;    // of the tickets for its slot
    std::uint32_t next_free = none;  // slot
    friend bool operator==(request const&, request const&) = default;
  };
  /// In the queue. Of two at one instant the first submitted goes first, by sequence numbers that
  /// may have wrapped round (RFC 1982). Two words: a third part would be written by itself, and to
  /// read it with its neighbour at once stalls.
  struct turn {
    time_point at{};
    std::uint64_t order = 0;  // its sequence number, above its slot
    std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(order); }
    friend bool operator<(turn const& a, turn const& b) noexcept {
      return a.at != b.at ? a.at < b.at : static_cast<std::int64_t>(a.order - b.order) < 0;
    }
    friend bool operator==(turn const&, turn const&) = default;
  };
  /// A turn after so many sends, of one wait of a refused one.
  struct another_turn {
    std::uint64_t sends = 0;
    turn of{};
    std::uint32_t wait = 0;
    friend bool operator<(another_turn const& a, another_turn const& b) noexcept {
      return a.sends != b.sends ? a.sends < b.sends
                                : static_cast<std::int64_t>(a.of.order - b.of.order) < 0;
    }
    friend bool operator==(another_turn const&, another_turn const&) = default;
  };
  /// A deadline of one wait.
  struct due {
    turn of{};
    std::uint32_t wait = 0;
    friend bool operator<(due const& a, due const& b) noexcept { return a.of < b.of; }
    friend bool operator==(due const&, due const&) = default;
  };

  ticket ticket_of(std::uint32_t index) const noexcept {
    return ticket{std::uint64_t{requests_[index].generation} << 32 | index};
  }
  static std::uint32_t index_of(ticket t) noexcept { return static_cast<std::uint32_t>(t); }
  bool holds(ticket t, place where) const noexcept {
    auto const index = index_of(t);
    return index < requests_.size() && ticket_of(index) == t && requests_[index].where == where;
  }

  /// Takes down the answer to `r`, and returns it as the law sees it.
  sample const& answer(time_point now, request& r, attempt_result const& result) const noexcept {
    auto& s = r.flight;  // in its place: a copy stalls
    s.in_flight = in_flight_;
    s.rtt = now - s.sent.sent;
    s.capped = result.held_elsewhere || capped(now, s.sent.cost);
    s.app_limited = s.capped || application_limited(now, s.sent);
    s.heard = heard_;
    s.again = r.refused.refusals > 0;
    return s;
  }
  void succeed(time_point now, request& r, fraction u) noexcept {
    blame_.accept(r.refused, r.flight.sent.sent);
    r.flight.own = r.refused.fails_alone;
    law_.on_success(now, r.flight, derive(u, 0));
    level_.on_success();
  }

  /// Takes a throttle or a failure.
  [[gnu::noinline]] decision unserved(time_point now, std::uint32_t index,
                                      attempt_result const& result, fraction u) {
    auto& r = requests_[index];
    if (result.what == outcome::throttle) {
      if (!result.held_elsewhere) level_.on_throttle();
      return wait_again(now, index, after_throttled(now, r, result.advice, derive(u, 1)));
    }
    if (broken_since() == never || r.terms.failures > 0) ++r.terms.failures;
    r.flight.own = blame_.fail(r.refused, r.terms.failures > 1);
    law_.on_failure(now, r.flight, derive(u, 0));
    if (r.terms.failures >= settings_.attempts_max || !result.may_retry)
      return give_up(index, reason::attempts);
    return wait_again(now, index, after_failed(now, r, derive(u, 1)));
  }

  /// Holds the scope for a Retry-After, or until the reset of a limit with nothing left.
  void obey(time_point now, request const& r, attempt_result const& said) {
    auto advice = said.advice;
    if (advice.retry_after) hold(later(now, std::max(*advice.retry_after, 0ns)));
    if (tells(advice))
      told_.tell(now, {r.in_order, said.what == outcome::throttle ? 0 : r.terms.cost,
                       *advice.remaining, *advice.reset, r.flight.rtt});
    advice.shared |= tells(advice) && told_.shared();
    if (advice != hint{}) law_.on_hint(now, advice);
  }
  static bool tells(hint const& h) noexcept { return h.remaining && h.reset; }

  /// Returns what a request of `cost` that is ready since `since` must wait for, besides permits.
  held_back ready_for(std::int64_t cost, time_point since) const noexcept {
    held_back latest{reason::none, since};
    auto const at_least = [&](reason why, time_point until) {
      if (until > latest.until) latest = {why, until};
    };
    at_least(broken_since() == never ? reason::pace : reason::server_broken, law_.ready_at(cost));
    if (settings_.rate_ceiling) at_least(reason::quota, settings_.rate_ceiling->lends_at(cost));
    at_least(reason::others, told_.left_to_others_until(cost));
    at_least(reason::server_hint, held_until(cost));
    return latest;
  }

  /// Returns since when nothing answers, as far as the law tells; `never`: something does.
  time_point broken_since() const noexcept {
    if constexpr (requires { law_.broken_since(); }) return law_.broken_since();
    return never;
  }
  /// Returns whether a ceiling of the caller holds a request of `cost` for longer than the law
  /// does.
  bool capped(time_point now, std::int64_t cost) const noexcept {
    auto const paced = std::max(now, law_.ready_at(cost));
    return (in_flight_ >= settings_.in_flight_max && paced == now) ||
           (settings_.rate_ceiling && settings_.rate_ceiling->lends_at(cost) > paced);
  }
  /// Returns whether `answered` went when it wished and none waits now. A caller that asks again
  /// only after each answer has none waiting then; that its request was paced shows that the law
  /// binds.
  bool application_limited(time_point now, stamp const& answered) const noexcept {
    return !answered.paced && (queue_.empty() || queue_.top().at > now) &&
           in_flight_ < law_.allowed();
  }

  held_back head(time_point now) const noexcept {
    auto const& r = requests_[queue_.top().index()];
    if (r.terms.deadline < now) return {reason::deadline, never};
    auto latest = ready_for(r.terms.cost, r.ready_since);
    if (latest.why == reason::none) latest.why = r.waits_for;
    if (in_flight_ >= settings_.in_flight_max) return {reason::quota, never};
    if (in_flight_ >= law_.allowed()) return {reason::window, never};
    if (auto const until = told_.asks_until(r.terms.cost); until > latest.until)
      latest = {reason::server_hint, until};
    if (first_answered_ || !first_sent_ || settings_.first_alone <= 0ns) [[likely]]
      return latest;
    auto const alone = later(*first_sent_, settings_.first_alone);
    return alone > latest.until ? held_back{reason::first_answer, alone} : latest;
  }

  /// Returns whether it was refused alone for longer than hint_max: not by bad luck.
  bool hopeless(request const& r) const noexcept {
    if (!r.refused.alone()) return false;
    return r.last_delay > settings_.hint_max ||
           (r.waits_alone > 2 && r.ready_since > later(r.refused.alone_since, settings_.hint_max));
  }

  /// Returns whether all that wait or fly, and `more`, were refused twice since anything was
  /// accepted.
  bool all_in_vain(std::size_t more) const noexcept {
    return blame_.in_vain(waiting_ + static_cast<std::size_t>(in_flight_) + more);
  }
  /// Returns until when it is tried though nothing is accepted, once that holds; until then
  /// `never`.
  time_point tried_until(request const& r) const noexcept {
    if (!all_in_vain(0)) return never;
    return broken_since() == never ? later(r.refused.row_since, settings_.hint_max) : never;
  }

  struct again {
    reason why;
    time_point since;  // ready since, for the turn order
  };
  again after_throttled(time_point now, request& r, hint const& advice, fraction u) {
    auto const a = after_refusal(now, r, advice, u);
    if (r.refused.alone() || settings_.throttled == after_throttle::back_off) return a;
    if (!blame_.accepted_any() || r.refused.row <= row_max || !all_in_vain(1)) return a;
    auto const rested = later(now, row_backoff.delay(r.refused.row - row_max - 1, {}, u));
    return rested > a.since ? again{reason::backoff, rested} : a;
  }
  again after_refusal(time_point now, request& r, hint const& advice, fraction u) {
    auto const alone = r.refused.alone();
    auto const why = alone ? reason::refused_alone : reason::backoff;
    if (settings_.throttled == after_throttle::back_off) {
      ++r.waits_alone;
      r.last_delay = backoff_.delay(r.refused.refusals - 1, r.last_delay, u);
    } else if (alone || r.refused.rests) {
      r.last_delay = alone_backoff.delay(r.waits_alone++, {}, u);
    } else if (settings_.throttled == after_throttle::share_level) {
      r.last_delay = backoff_.delay(std::max(level_.level - 1, 0), r.last_delay, u);
    } else {
      auto const first = std::min(r.ready_since, now);
      if (r.refused.refusals > 1 || !blame_.accepted_any()) return {reason::none, now};
      // Among a few, or those that fail, it would wait for their retries.
      bool const last = waiting_ >= ahead && requests_[queue_.top().index()].terms.failures == 0;
      return {reason::none, last ? now : first};
    }
    if (alone) r.last_delay = std::max(r.last_delay, advice.retry_after.value_or(0ns));
    return {why, later(now, r.last_delay)};
  }
  again after_failed(time_point now, request& r, fraction u) {
    if (r.terms.failures == 0) return {reason::none, now};  // the law's probes are far enough apart
    auto const paid = settings_.budget.withdraw(now);
    r.last_delay = backoff_.delay(r.terms.failures - 1, r.last_delay, u);
    auto const rested = later(now, r.last_delay);
    return paid > rested ? again{reason::retry_budget, paid} : again{reason::backoff, rested};
  }

  decision wait_again(time_point now, std::uint32_t index, again a) {
    auto& r = requests_[index];
    if (a.since == never && a.why == reason::retry_budget) return give_up(index, a.why);
    auto const held = held_until(r.terms.cost);
    auto const earliest = std::max(a.since, held);
    if (earliest > r.terms.deadline) return give_up(index, reason::deadline);
    r.ready_since = a.since;
    r.waits_for = a.why;
    enqueue(index);
    go_again(index, sends_ + gives_way(r.refused));
    if (blame_.wants_aside()) ask_aside(now);
    if (a.why == reason::refused_alone && hopeless(r)) return {verdict::park, a.why, earliest};
    auto const why = held > std::max(a.since, now) ? reason::server_hint : a.why;
    auto const parked =
        earliest - now > settings_.hint_max && why == reason::server_hint && !may_tell(now);
    return {parked ? verdict::park : verdict::retry, why, earliest};
  }
  /// Returns whether an answer may tell that more is left than is known.
  bool may_tell(time_point now) const noexcept {
    return in_flight_ > heard_ && hold_until_ <= later(now, settings_.hint_max);
  }
  decision give_up(std::uint32_t index, reason why) {
    release(index);
    return {verdict::give_up, why, never};
  }

  std::uint32_t allocate() {
    auto const used = requests_.size();
    if (free_ == none || !queue_.has_room(used) || !deadlines_.has_room(used) ||
        !again_.has_room(used)) [[unlikely]]
      make_room(used);
    return std::exchange(free_, requests_[free_].next_free);
  }
  /// Makes a slot free, and room for all that the acts on the requests may push: only submit() can
  /// lack memory.
  [[gnu::noinline]] void make_room(std::size_t used) {
    auto const count = free_ == none && used == requests_.capacity() ? 2 * used + 1 : used;
    queue_.make_room(count);
    deadlines_.make_room(count);
    again_.make_room(count);
    requests_.reserve(count);
    if (free_ != none) return;
    requests_.push_back({});
    free_ = static_cast<std::uint32_t>(used);
  }
  void release(std::uint32_t index) {
    auto& r = requests_[index];
    auto const waited = r.where == place::waiting;
    blame_.end(r.refused);
    r.where = place::nowhere;
    ++r.generation;
    r.next_free = std::exchange(free_, index);
    if (waited) prune();
  }
  std::uint64_t order_of(std::uint32_t index) const noexcept {
    return std::uint64_t{requests_[index].sequence} << 32 | index;
  }
  void enqueue(std::uint32_t index) {
    auto& r = requests_[index];
    r.where = place::waiting;
    ++r.waits;
    ++waiting_;
    queue_.push({r.ready_since, order_of(index)});
    if (r.terms.deadline != never) deadlines_.push({{r.terms.deadline, order_of(index)}, r.waits});
  }
  /// Returns the sends after which a refused one goes again while others pass: 8, 64, 512, 4096; a
  /// bad one after the most, and while most are, after 8 twice.
  std::uint64_t gives_way(blame::record const& r) const noexcept {
    if (blame_.most_bad() && r.refusals < 3) return ahead;
    return std::uint64_t{1} << 3 * (r.own ? 4 : std::min(r.refusals, 4));
  }
  /// Lets a refused one go before its turn once there were so many sends.
  void go_again(std::uint32_t index, std::uint64_t sends) {
    auto const& r = requests_[index];
    if (r.refused.refusals > 0 && r.terms.failures == 0)
      again_.push({sends, {r.ready_since, order_of(index)}, r.waits});
  }
  /// Moves one before the head, if it is another. A third may be moved before it, so a refused one
  /// stays due. Returns whether it moved.
  bool move_up(std::uint32_t index) {
    auto& r = requests_[index];
    if (index == queue_.top().index()) return false;
    r.ready_since = std::min(r.ready_since, queue_.top().at - 1ns);
    r.sequence = next_sequence_++;
    --waiting_;
    enqueue(index);
    go_again(index, sends_);
    prune();
    return true;
  }
  /// Moves a refused one up that has given way to as many as it should, if others pass.
  [[gnu::noinline]] void ask_again(time_point now) {
    if (again_.empty() || again_.top().sends > sends_ || !blame_.passes()) return;
    if (queue_.empty() || queue_.top().at > now) return;  // all rest
    if (auto const found = one_refused(now)) move_up(*found);
  }
  /// Moves one up to be asked aside: the last that was never refused, as it is the least like the
  /// head, or now and then one that was.
  [[gnu::noinline]] void ask_aside(time_point now) {
    if (queue_.empty() || queue_.top().at > now) return;  // all rest
    if (requests_[queue_.top().index()].refused.aside) return;
    auto found = blame_.wants_refused() ? one_refused(now) : last_fresh(now);
    if (!found) found = blame_.wants_refused() ? last_fresh(now) : one_refused(now);
    if (found && move_up(*found)) blame_.ask(requests_[*found].refused);
  }
  /// Returns the refused one that is to go again first, if it does not rest.
  std::optional<std::uint32_t> one_refused(time_point now) const noexcept {
    if (again_.empty()) return std::nullopt;
    auto const index = again_.top().of.index();
    return requests_[index].ready_since > now ? std::nullopt : std::optional(index);
  }
  /// Returns the last in line of those that were never refused. Of many it looks at some thousand,
  /// others at each instant.
  std::optional<std::uint32_t> last_fresh(time_point now) const noexcept {
    auto const step = 1 + queue_.size() / looked_at;
    auto const instant = static_cast<std::uint64_t>(now.time_since_epoch().count());
    std::optional<turn> found;
    for (std::size_t k = instant % step; k < queue_.size(); k += step) {
      auto const& any = queue_.at(k);
      if (found && any < *found) continue;
      auto const& r = requests_[any.index()];
      if (r.refused.refusals == 0 && waits(any) && r.terms.failures == 0) found = any;
    }
    return found ? std::optional(found->index()) : std::nullopt;
  }
  bool waits(turn const& t) const noexcept {
    auto const& r = requests_[t.index()];
    return r.where == place::waiting && r.sequence == t.order >> 32;
  }
  /// Drops the entries of waits that ended, and the deadlines of requests that started.
  void prune() {
    if (queue_.size() > waiting_)
      queue_.prune([this](turn const& t) { return waits(t); }, waiting_);
    auto const still = [this](auto const& d) {
      auto const& r = requests_[d.of.index()];
      return r.where == place::waiting && r.waits == d.wait;
    };
    if (!deadlines_.empty()) deadlines_.prune(still, waiting_);
    if (!again_.empty()) again_.prune(still, waiting_);
  }

  B backoff_;
  L law_;
  governor_settings settings_;
  retry_level level_;
  std::vector<request> requests_;
  std::uint32_t free_ = none;  // the first slot of those that are
  lazy_heap<turn> queue_;
  lazy_heap<due> deadlines_;
  lazy_heap<another_turn> again_;  // of those that were refused
  std::uint64_t sends_ = 0;
  std::size_t waiting_ = 0;
  int in_flight_ = 0;
  int heard_ = 0;  // of these: the head of the answer has come
  std::uint32_t next_sequence_ = 0;
  blame blame_;
  allowance told_;
  time_point hold_until_ = time_point::min();  // by Retry-After
  std::optional<time_point> first_sent_;
  bool first_answered_ = false;
};

}  // namespace headway
