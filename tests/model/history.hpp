/// The governor against a naive model of its contract: plain vectors, linear scans, every rule
/// written out. For random histories and for the fuzzer's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headway/headway.hpp"

namespace headway {

template <law L>
struct naive_governor {
  struct request {
    ticket id{};
    std::uint64_t sequence = 0;
    time_point ready_since{};
    reason rests = reason::none;
    request_terms terms{};
    bool flying = false;
    bool awaited = false;  // nothing is heard of it since it went
    bool heard = false;
    bool paced = false;
    stamp permit{};
    int failures = 0, throttles = 0, waits_alone = 0;
    std::int64_t lead_before = 0;
    std::int64_t accepted_failed = 0;  // when it failed last
    bool fails_alone = false;
    std::optional<time_point> alone_since{};
    std::vector<time_point> row{};  // of its refusals since anything was accepted
    duration last_delay{};
    std::int64_t sent = 0;
    std::int64_t beside = 0;  // units of others that flew unheard when it went
    bool asks = false;        // its answer is to tell what is left of a window that has begun
    bool aside = false;       // asked before its turn
    std::int64_t accepted_before = 0;  // when it was refused last
    // When it went, or the last of what had been accepted.
    time_point before = time_point::min();
    bool witnessed = false;                // it went while others passed
    int telling = 0;                       // refusals after others had been accepted
    bool own = false;                      // it is bad
    bool stays_apart = false;              // it is likely bad, and waits by itself
    std::optional<std::uint64_t> again{};  // the count of sends at which it may go again, …
    std::uint64_t again_sequence = 0;      // … and its place among those
    bool vain(time_point last_accepted) const { return throttles > 0 && last_accepted <= before; }
    auto turn() const { return std::pair(ready_since, sequence); }
  };
  governor_settings settings;
  L law;
  full_jitter backoff{};
  std::vector<request> alive{};
  std::uint64_t submitted = 0, sequences = 0;
  int level = 0, quiet = 0;
  time_point held_until = time_point::min(), resets = time_point::min();
  std::optional<std::int64_t> remaining{};
  std::int64_t most = 0;  // that remained of that window
  duration slowest{};     // round trip that told of it
  duration span{};        // that window, as it was first told of
  time_point ends = time_point::min();
  bool unheard = true;                  // no answer has come
  std::optional<std::int64_t> taken{};  // of it, by what was accepted, or broke
  bool refills = false;                 // more was left than a window explains
  std::int64_t least = 0;               // that an answer of that window told …
  bool silent = false;                  // … and one did not tell
  fair_share of_window{};               // tested by itself
  std::int64_t sent = 0;
  std::int64_t lead = 0;  // accepted, less those refused for no fault of theirs
  std::int64_t accepted = 0;
  std::int64_t wanted = 0, passed = 0;  // aside
  int asked = 0;                        // … were refused since one was asked that had been before
  std::int64_t accepted_refused = 0;    // when the last refusal was heard
  time_point refused_at = time_point::min();
  time_point accepted_sent = time_point::min(), refused_sent = time_point::min();
  bool passed_last = true;
  std::uint64_t sends = 0;
  int firsts_refused = 0;                 // since anything was accepted
  int proven = 0;                         // refused three times while others passed, less …
  double limits = 0;                      // of refusals whose doing is not known: a limit's, so far
  std::vector<bool> firsts{}, seconds{};  // refused: of first and of second attempts
  double refused_lately = 0;              // … of all
  std::optional<time_point> first_sent{};
  bool answered = false;

  int in_flight() const {
    return static_cast<int>(std::ranges::count_if(alive, [](auto& r) { return r.flying; }));
  }
  int heard() const {
    return static_cast<int>(
        std::ranges::count_if(alive, [](auto& r) { return r.flying && r.heard; }));
  }
  /// Returns the cost of all but one that went and are not heard of.
  std::int64_t unheard_of(request const& but) const {
    std::int64_t cost = 0;
    for (auto const& r : alive)
      if (&r != &but && r.awaited) cost += r.terms.cost;
    return cost;
  }
  std::size_t waiting() const { return alive.size() - static_cast<std::size_t>(in_flight()); }
  bool untold() const { return std::ranges::any_of(alive, &request::asks); }
  time_point held(std::int64_t cost) const {
    if (untold()) return held_until;
#ifdef HEADWAY_CANARY  // a bug that the fuzzer has to find
    return remaining && *remaining <= cost ? std::max(held_until, resets) : held_until;
#else
    return remaining && *remaining < cost ? std::max(held_until, resets) : held_until;
#endif
  }
  request* find(ticket id) {
    auto const found = std::ranges::find(alive, id, &request::id);
    return found == alive.end() ? nullptr : &*found;
  }
  void end(ticket id) {
    come_back(*find(id), false, {});
    std::erase_if(alive, [&](auto& r) { return r.id == id; });
  }
  void cancel(time_point now, ticket id) {
    auto const& r = *find(id);
    if constexpr (requires { law.on_cancel(now, r.permit); })
      if (r.flying && !r.heard) law.on_cancel(now, r.permit);
    end(id);
  }
  void come_back(request& r, bool replied, hint const& advice) {
    bool const tells = advice.remaining && advice.reset;
    if (replied && !tells) unheard = false;
    if (std::exchange(r.awaited, false) && !tells) {
      silent = true;
      if (taken) *taken += r.terms.cost;
    }
    if (!r.asks) return;
    r.asks = false;
    if (untold() && !replied) return;
    told();
    remaining.reset();
    if (!tells) taken.reset();
  }
  void told() {
    for (auto& r : alive) r.asks = false;
  }
  request const* head() const {
    request const* first = nullptr;
    for (auto const& r : alive)
      if (!r.flying && (!first || r.turn() < first->turn())) first = &r;
    return first;
  }

  void move_up(request& r, request const& first) {
    if (&r == &first) return;
    r.ready_since = std::min(r.ready_since, first.ready_since - 1ns);
    r.sequence = sequences++;
    if (!r.again) return;
    r.again = sends;
    r.again_sequence = r.sequence;
  }
  request* one_refused(time_point now) {
    request* first = nullptr;
    auto const turn = [](request const& r) { return std::pair(*r.again, r.again_sequence); };
    for (auto& r : alive)
      if (!r.flying && r.again && (!first || turn(r) < turn(*first))) first = &r;
    return first && first->ready_since <= now ? first : nullptr;
  }
  request* last_fresh() {
    request* last = nullptr;
    for (auto& r : alive)
      if (!r.flying && r.throttles == 0 && r.failures == 0 && (!last || r.turn() > last->turn()))
        last = &r;
    return last;
  }
  void ask_again(time_point now) {
    auto const* const first = head();
    auto const due = [&](auto& r) { return !r.flying && r.again && *r.again <= sends; };
    if (!first || first->ready_since > now || accepted_sent <= refused_sent) return;
    if (auto* const r = one_refused(now); r && std::ranges::any_of(alive, due)) move_up(*r, *first);
  }
  void ask_aside(time_point now) {
    auto const* const first = head();
    if (wanted == 0 || !first || first->ready_since > now || first->aside) return;
    request *const fresh = last_fresh(), *const once = one_refused(now);
    auto* const r = asked >= 7 ? (once ? once : fresh) : (fresh ? fresh : once);
    if (!r || r == first) return;
    r->aside = true;
    if (r->throttles > 0) asked = 0;
    --wanted;
    move_up(*r, *first);
  }
  void compare(request& r) {
    bool const vain = accepted == std::exchange(accepted_refused, accepted);
    if (std::exchange(r.aside, false)) {
      ++asked;
      if (vain && r.throttles == 0) wanted = passed = 0;
    } else if (vain || passed > 0) {
      wanted = 8 * std::max<std::int64_t>(passed, 1);
    }
  }

  static double share(std::vector<bool> const& all, double most) {
    double of = 0, answers = 1;
    for (bool const r : all) {
      answers = std::min(answers + 1, most);
      of += ((r ? 1 : 0) - of) / answers;
    }
    return of;
  }
  double by_limit() const {
    auto const f = share(firsts, 128), r = share(seconds, 16);
    return f < r ? f * (1 - r) / (1 - f) : r;
  }
  double bad() const {
    auto const p = by_limit();
    return p < 1 ? (share(seconds, 16) - p) / (1 - p) : 0;
  }
  bool most_bad() const {
    return bad() > 0.5;
  }
  /// Of those that were refused so often, the odds of those that always are.
  double odds(int refusals) const {
    auto good = 1 - bad();
    auto const answers = std::min(1. + static_cast<double>(firsts.size()), 128.);
    auto const p = std::max(by_limit(), 0.5 / answers);
    for (int k = 1; k < std::min(refusals, 32); ++k) good *= p;
    return bad() / std::max(good, 1e-9);
  }
  void note(request const& r, bool not_served) {
    bool const fair = r.witnessed && !r.vain(accepted_sent);
    if (r.throttles == 0 && fair) firsts.push_back(not_served);
    if (r.throttles == 1 && (fair || most_bad())) seconds.push_back(not_served);
  }
  /// Returns whether its refusal is its own, and no limit's.
  bool blames(time_point now, request& r) {
    note(r, true);
    bool const vain = r.vain(accepted_sent), first = r.throttles == 0, fair = r.witnessed && !vain;
    firsts_refused += first ? 1 : 0;
    r.telling += vain ? 0 : 1;
    if (!vain && r.telling == 3) ++proven;
    if (fair && !first && odds(r.telling) > 100) r.own = true;
    bool const others_passed = !r.aside && passed >= 8;
    r.stays_apart = false;
    bool const none = r.throttles > 0 && r.accepted_before == accepted;
    if (none && (r.row.empty() || now - r.row.front() >= 30s)) return false;
    if (r.own) r.stays_apart = !others_passed && !first && (vain || most_bad());
    if (r.own || others_passed) return true;
    if (proven < 1 || (first && (!most_bad() || firsts_refused > 8))) return false;
    if (!first && bad() < 0.1) return false;
    auto const of_a_limit = 1 / (1 + odds(std::max(r.telling, 1)));
    limits += first ? std::max(of_a_limit, 0.2) : of_a_limit;
    if (limits >= 0.5) {
      limits -= 1;
      return false;
    }
    r.stays_apart = !first && (vain || most_bad());
    return true;
  }

  /// All that holds the head back now.
  std::vector<held_back> holds(time_point now) const {
    std::vector<held_back> all;
    auto const* r = head();
    if (!r) return all;
    auto const hold = [&](reason why, time_point until) {
      if (until > now) all.push_back({why, until});
    };
    if (r->terms.deadline < now) hold(reason::deadline, never);
    if (in_flight() >= settings.in_flight_max) hold(reason::quota, never);
    if (in_flight() >= law.allowed()) hold(reason::window, never);
    if (untold() && *remaining < r->terms.cost) hold(reason::server_hint, resets);
    hold(reason::others, of_window.held_until(static_cast<std::uint64_t>(r->terms.cost)));
    if (first_sent && !answered && settings.first_alone > 0ns)
      hold(reason::first_answer, *first_sent + settings.first_alone);
    hold(r->rests, r->ready_since);
    hold(broken_since() == never ? reason::pace : reason::server_broken,
         law.ready_at(r->terms.cost));
    if (settings.rate_ceiling) hold(reason::quota, settings.rate_ceiling->lends_at(r->terms.cost));
    hold(reason::server_hint, held(r->terms.cost));
    return all;
  }

  time_point broken_since() const {
    if constexpr (requires { law.broken_since(); }) return law.broken_since();
    return never;
  }

  std::optional<held_back> refuses(time_point now, request_terms const& terms) const {
    if (waiting() >= settings.queue_max) return held_back{reason::queue, never};
    auto at = std::max(now, law.ready_at(terms.cost));
    if (settings.rate_ceiling) at = std::max(at, settings.rate_ceiling->lends_at(terms.cost));
    if (at == never) return held_back{reason::quota, never};
    at = std::max(at, held(terms.cost));
    if (at > terms.deadline) return held_back{reason::deadline, at};
    return {};
  }

  void start(time_point now, ticket id, fraction u) {
    auto& r = *find(id);
    r.paced = law.ready_at(r.terms.cost) > r.ready_since;
    auto const allowed_at = std::max(law.ready_at(r.terms.cost), r.ready_since);
    auto const ceiling_at =
        settings.rate_ceiling ? settings.rate_ceiling->lends_at(r.terms.cost) : allowed_at;
    r.permit = law.take(now, r.terms.cost, u);
    r.permit.held = std::max(ceiling_at, allowed_at) - allowed_at;
    r.permit.sent = now;
    r.beside = unheard_of(r);
    r.awaited = true;
    r.flying = true;
    r.heard = false;
    r.permit.in_flight = in_flight();
    r.permit.cost = r.terms.cost;
    r.asks = untold();
    if (now >= resets) {
      taken.reset();
      r.asks = remaining && !r.asks;
      remaining.reset();
      if (bool const begins = r.asks; told(), r.asks = begins) {
        taken = 0;
        remaining = std::max(most - unheard_of(r), std::int64_t{0});
        resets = later(later(now, slowest), slowest);
      }
    }
    r.again.reset();
    r.witnessed = std::exchange(passed_last, accepted_sent > refused_sent);
    ++sends;
    r.sent = sent += r.terms.cost;
    of_window.send(static_cast<std::uint64_t>(r.terms.cost));
    if (remaining) remaining = std::max(*remaining - r.terms.cost, std::int64_t{0});
    if (settings.rate_ceiling) settings.rate_ceiling->take(now, r.terms.cost);
    if (!first_sent) first_sent = now;
    ask_again(now);
    ask_aside(now);
  }

  sample seen(time_point now, request const& r) const {
    bool const one_waits = std::ranges::any_of(
        alive, [&](auto& other) { return !other.flying && other.ready_since <= now; });
    auto const allowed_at = law.ready_at(r.terms.cost);
    bool const own_ceiling =
        (in_flight() >= settings.in_flight_max && allowed_at <= now) ||
        (settings.rate_ceiling &&
         settings.rate_ceiling->lends_at(r.terms.cost) > std::max(now, allowed_at));
    return {r.permit,
            in_flight(),
            now - r.permit.sent,
            own_ceiling || (!r.paced && !one_waits && in_flight() < law.allowed()),
            own_ceiling,
            heard(),
            false,
            r.throttles > 0};
  }
  void obey(time_point now, request const& r, hint const& advice, duration rtt, bool throttled) {
    auto const& [wait, left, reset, shared] = advice;
    if (wait) held_until = std::max(held_until, later(now, std::max(*wait, duration(0))));
    bool const soon = reset && *reset <= 2 * rtt;
    auto const is_left = std::max(left.value_or(0) - (sent - r.sent), std::int64_t{0});
    bool const agrees = remaining && slowest <= span / 4 && is_left <= *remaining + r.beside;
    if (left && reset && !(soon && (untold() || agrees))) {
      auto const was = std::max(*left, std::int64_t{0}) + (throttled ? 0 : r.terms.cost);
      bool const first = !remaining || untold();
      most = first ? was : std::max(most, was);
      slowest = first ? rtt : std::max(slowest, rtt);
      told();
      auto const here = std::max(*left, std::int64_t{0});
      bool const anew = first || now >= resets;
      least = anew ? here : std::min(least, here);
      silent = silent && !anew;
      if (now >= (first ? resets : ends)) taken.reset();
      if (std::exchange(unheard, false)) taken = 0;
      if (taken) *taken += throttled ? 0 : r.terms.cost;
      remaining.reset();
      if (!soon) remaining = is_left;
      if (!soon && taken) {
        auto const of_it = std::max(most - *taken - unheard_of(r), std::int64_t{0});
        refills = *remaining > of_it + r.beside;
        if (refills)
          taken.reset();
        else
          remaining = std::min(*remaining, of_it);
      }
      if (unheard_of(r) == 0 && !silent && remaining && least > *remaining) {
        remaining = least;
        most = std::max(most, least + taken.value_or(0));
      }
      resets = later(now, std::max(*reset, duration(0)));
      if (first) {
        ends = resets, span = std::max(*reset, duration(0));
        auto const went = unheard_of(r) + (throttled ? 0 : r.terms.cost);
        of_window.begin(now, span, static_cast<std::uint64_t>(went));
      }
      if (!soon && !refills)
        of_window.tell(now - rtt, static_cast<std::uint64_t>(most), is_left == 0);
    }
    auto said = advice;
    said.shared = left && reset && of_window.shared();
    if (wait || left || reset) law.on_hint(now, said);
  }
  void succeed(time_point now, request& by, sample const& s, fraction u) {
    note(by, false);
    refused_lately -= refused_lately / 64;
    if (by.telling >= 3) proven = std::max(proven - 2, -16);
    by.telling = 0;
    auto heard = s;
    heard.own = by.fails_alone;
    law.on_success(now, heard, derive(u, 0));
    ++lead, ++accepted;
    accepted_sent = std::max(accepted_sent, by.permit.sent);
    firsts_refused = 0;
    passed = by.aside ? passed + 1 : 0;
    if (!by.aside) wanted = 0;
    for (auto& r : alive) r.row.clear();
    if (level > 0 && ++quiet >= settings.quiet_successes) --level, quiet = 0;
  }

  bool learn(time_point now, ticket id, attempt_result const& head, fraction u) {
    auto* const r = find(id);
    if (!r || !r->flying || r->heard || head.what != outcome::success) return false;
    auto const s = seen(now, *r);
    answered = true;
    come_back(*r, true, head.advice);
    obey(now, *r, head.advice, s.rtt, false);
    succeed(now, *r, s, u);
    return r->heard = true;
  }

  decision finish(time_point now, ticket id, attempt_result result, fraction u) {
    auto* const r = find(id);
    if (!r || !r->flying) return {};
    auto s = seen(now, *r);
    answered = true;
    bool const many = waiting() >= 8 && head()->failures == 0;
    r->flying = false;
    bool const throttled = result.what == outcome::throttle;
    if (throttled) refused_lately += (1 - refused_lately) / 64;
    s.own = throttled && blames(now, *r) && refused_lately < 0.9;
    if (throttled && !s.own) r->stays_apart = false;
    if (throttled) {
      if (r->permit.sent >= refused_at) compare(*r);
      refused_at = std::max(refused_at, now);
      refused_sent = std::max(refused_sent, r->permit.sent);
      r->accepted_before = accepted;
      r->before = std::max(accepted_sent, r->permit.sent);
    }
    if (r->heard) result.advice.remaining.reset(), result.advice.reset.reset();
    if (r->heard && result.what == outcome::success) result.advice.retry_after.reset();
    bool const blamed = throttled && ++r->throttles > 2 && lead > r->lead_before;
    if (!r->alone_since && (blamed || (throttled && r->own && r->throttles > 1)))
      r->alone_since = now;
    bool const its_own = throttled && r->alone_since && (s.own || refused_lately < 0.25);
    come_back(*r, result.what == outcome::success || (throttled && !its_own),
              its_own ? hint{} : result.advice);
    if (!its_own) obey(now, *r, result.advice, s.rtt, throttled);
    auto const for_law = derive(u, 0), for_backoff = derive(u, 1);
    if (result.what == outcome::success) {
      if (!r->heard) succeed(now, *r, s, u);
      settings.budget.deposit();
    } else if (result.what == outcome::throttle) {
      r->row.push_back(now);
      if (!blamed) --lead;
      law.on_throttle(now, s, result.short_of, for_law);
      ++level, quiet = 0;
      r->lead_before = lead;
      auto rest = duration::min();
      if (accepted > 0 && !r->alone_since && r->row.size() > 9 && all_in_vain() &&
          settings.throttled != after_throttle::back_off)
        rest = exponential_backoff{.initial = 1s, .multiplier = 1.7, .cap = 1min}.delay(
            static_cast<int>(r->row.size()) - 10, {}, 0);
      if (settings.throttled == after_throttle::back_off) {
        ++r->waits_alone;
        r->last_delay = backoff.delay(r->throttles - 1, r->last_delay, for_backoff);
      } else if (r->alone_since || r->stays_apart) {
        r->last_delay = std::min<duration>(1s * (1 << std::min(r->waits_alone++, 10)), 30s);
      } else if (settings.throttled == after_throttle::share_level) {
        r->last_delay = backoff.delay(level - 1, r->last_delay, for_backoff);
      } else {
        if (r->throttles > 1 || many || accepted == 0) r->ready_since = now;
        if (rest > 0s) r->ready_since = later(now, rest);
        return again(now, *r, rest > 0s ? reason::backoff : reason::none);
      }
      if (r->alone_since && result.advice.retry_after)
        r->last_delay = std::max(r->last_delay, *result.advice.retry_after);
      r->ready_since = later(now, std::max(r->last_delay, rest));
      return again(now, *r, r->alone_since ? reason::refused_alone : reason::backoff);
    } else if (result.what == outcome::failure) {
      bool const probed = broken_since() != never && r->failures == 0;
      r->failures += probed ? 0 : 1;
      if (r->failures > 1 && r->accepted_failed != accepted) r->fails_alone = true;
      r->accepted_failed = accepted;
      auto broken = s;
      broken.own = r->fails_alone;
      law.on_failure(now, broken, for_law);
      if (r->failures >= settings.attempts_max || !result.may_retry)
        return give_up(id, reason::attempts);
      if (probed) {
        r->ready_since = now;
        return again(now, *r, reason::none);
      }
      r->last_delay = backoff.delay(r->failures - 1, r->last_delay, for_backoff);
      auto const paid = settings.budget.withdraw(now);
      if (paid == never) return give_up(id, reason::retry_budget);
      r->ready_since = std::max(now + r->last_delay, paid);
      return again(now, *r, paid > now + r->last_delay ? reason::retry_budget : reason::backoff);
    }
    end(id);
    return {};
  }
  decision again(time_point now, request& r, reason why) {
    auto const until = held(r.terms.cost);
    auto const earliest = std::max(r.ready_since, until);
    if (earliest > r.terms.deadline) return give_up(r.id, reason::deadline);
    r.rests = why;
    auto const since = r.ready_since;
    if (r.throttles > 0 && r.failures == 0) {
      int const eights = r.own ? 4 : std::min(r.throttles, 4);
      r.again = sends + (most_bad() && r.throttles < 3 ? 8 : std::uint64_t{1} << 3 * eights);
      r.again_sequence = r.sequence;
    }
    ask_aside(now);
    if (refused_too_long(r)) return {verdict::park, why, earliest};
    if (until > now && until > since) {
      bool const patience = earliest - now <= settings.hint_max || may_tell(now);
      return {patience ? verdict::retry : verdict::park, reason::server_hint, earliest};
    }
    return {verdict::retry, why, earliest};
  }
  bool may_tell(time_point now) const {
    return in_flight() > heard() && held_until <= later(now, settings.hint_max);
  }
  bool refused_too_long(request const& r) const {
    return r.rests == reason::refused_alone &&
           (r.last_delay > settings.hint_max ||
            (r.waits_alone > 2 && r.ready_since > later(*r.alone_since, settings.hint_max)));
  }
  bool all_in_vain() const {
    return std::ranges::all_of(alive, [](auto& a) { return a.row.size() > 1; });
  }
  time_point tried_until(request const& r) const {
    return all_in_vain() && broken_since() == never ? later(r.row.front(), settings.hint_max)
                                                    : never;
  }
  decision give_up(ticket id, reason why) {
    end(id);
    return {verdict::give_up, why, never};
  }
};

/// One history of both, driven by what `Draw` says; gtest hears where they differ.
template <law L, class Draw = rng>
class history {
 public:
  history(governor_settings const& settings, L const& law, Draw draw)
      : real_({}, law, settings), naive_{.settings = settings, .law = law}, draw_(std::move(draw)) {
    kinds_[0] = 1 + pick(16);  // throttles and failures, of 32
    kinds_[1] = pick(8);
    hints_ = pick(4);
    unbounded_hints_ = pick(8) == 0;
    shut_ = pick(4) == 0;
  }

  std::set<reason> met;  ///< of waits, refusals and ends
  int in_vain = 0;       ///< looks at which all that was left was refused for too long

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      act();
      check();
      if (step == steps / 2) twin_ = real_;
    }
    if (testing::Test::HasFatalFailure()) return;
    drain();
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return draw_() % n; }
  template <class Act>
  auto both(Act act) {
    if (twin_) act(*twin_);
    return act(real_);
  }

  void act() {
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
        return pass(scale(pick(4) == 0 ? duration(2s) : duration(20ms), draw_()));
      case 3:
        return pass(wakes() ? real_.wakeup(now_) - now_ : duration(1ns));
      case 4:
      case 5:
      case 6:
        return submit();
      case 7:
      case 8:
      case 9:
        return pump();
      case 10:
        return unknown_ticket();
      case 11:
        return cancel();
      case 12:
        return pick(2) == 0 ? hear_one() : answer_one();
      default:
        return answer_one();
    }
  }
  bool wakes() const { return real_.wakeup(now_) < now_ + 1h; }
  void pass(duration d) { now_ += d; }

  void submit() {
    if (shut_ && naive_.alive.size() > 2) return;  // so that what is left is refused on and on
    request_terms terms{.cost = 1 + static_cast<std::int64_t>(pick(5))};
    constexpr duration deadlines[] = {-1s, 0ns, 1ns, 50ms, 3s};
    if (pick(3) == 0) terms.deadline = now_ + deadlines[pick(std::size(deadlines))];
    if (pick(8) == 0) terms.failures = static_cast<int>(pick(4));
    if (pick(8) == 0) terms.throttles = static_cast<int>(pick(4));
    auto const expect = naive_.refuses(now_, terms);
    auto const result = both([&](auto& g) { return g.submit(now_, terms); });
    auto const* const refusal = std::get_if<refused>(&result);
    ASSERT_EQ(refusal != nullptr, expect.has_value());
    if (refusal) {
      EXPECT_EQ(refusal->why, expect->why) << to_string(refusal->why);
      EXPECT_EQ(refusal->until, expect->until);
      met.insert(refusal->why);
      return;
    }
    auto const id = std::get<ticket>(result);
    ASSERT_TRUE(seen_.insert(id).second) << "a ticket is never reused";
    naive_.alive.push_back({.id = id,
                            .sequence = naive_.sequences++,
                            .ready_since = now_,
                            .terms = terms,
                            .failures = terms.failures,
                            .throttles = terms.throttles,
                            .lead_before = naive_.lead});
    ++naive_.submitted;
  }

  void pump() {
    for (int sends = 0;; ++sends) {
      auto const late = real_.expired(now_);
      if (!late) break;
      end(*late);
    }
    if (naive_.submitted % 16 == 0)  // the others have that patience
      while (auto const parked = real_.parked(now_)) end(parked->id);
    for (auto sends = pick(20) + 1; sends > 0; --sends) {
      auto const turn = real_.next(now_);
      if (!turn) return;
      ASSERT_TRUE(naive_.holds(now_).empty());
      ASSERT_EQ(*turn, naive_.head()->id);
      ASSERT_GE(now_, real_.held_until());
      auto const u = draw_();
      both([&](auto& g) { g.start(now_, *turn, u); });
      naive_.start(now_, *turn, u);
    }
  }

  attempt_result any_result() {
    constexpr duration hints[] = {0ns, -5s, 1ns, 30ms, 2s, duration::min(), 20min};
    auto const kind = pick(32);
    attempt_result r{.what = kind < kinds_[0]               ? outcome::throttle
                             : kind < kinds_[0] + kinds_[1] ? outcome::failure
                             : kind == 31                   ? outcome::ignore
                                                            : outcome::success,
                     .may_retry = pick(4) != 0};
    if (shut_ && pick(64) != 0) r.what = outcome::throttle;
    if (pick(16) < hints_) r.advice.retry_after = hints[pick(hints_ < 2 ? 6 : std::size(hints))];
    if (pick(16) < hints_) r.advice.remaining = static_cast<std::int64_t>(pick(12)) - 2;
    if (pick(16) < hints_) r.advice.reset = hints[pick(hints_ < 2 ? 6 : std::size(hints))];
    if (unbounded_hints_ && pick(100) == 0) r.advice.retry_after = duration::max();
    return r;
  }
  std::optional<ticket> any(bool flying) {
    std::vector<ticket> all;
    for (auto const& r : naive_.alive)
      if (r.flying == flying) all.push_back(r.id);
    if (all.empty()) return {};
    return all[pick(all.size())];
  }
  void hear_one() {
    auto const id = any(true);
    if (!id) return;
    auto const head = any_result();
    auto const u = draw_();
    auto const expect = naive_.learn(now_, *id, head, u);
    EXPECT_EQ(both([&](auto& g) { return g.learn(now_, *id, head, u); }), expect);
  }
  void answer_one() {
    if (auto const id = any(true)) answer(*id, any_result());
  }
  void answer(ticket id, attempt_result const& result) {
    auto const u = draw_();
    auto const expect = naive_.finish(now_, id, result, u);
    auto const got = both([&](auto& g) { return g.finish(now_, id, result, u); });
    EXPECT_EQ(got.what, expect.what);
    EXPECT_EQ(got.why, expect.why) << to_string(got.why);
    EXPECT_EQ(got.until, expect.until);
    met.insert(got.why);
    bool const ends = got.what == verdict::done || got.what == verdict::give_up;
    ASSERT_EQ(ends, naive_.find(id) == nullptr);
    if (ends) ++ended_[id];
  }
  void end(ticket id) {
    both([&](auto& g) { g.cancel(now_, id); });
    naive_.cancel(now_, id);
    ++ended_[id];
  }
  void cancel() {
    if (auto const id = any(pick(2) == 0)) end(*id);
  }
  /// Acts on tickets that are not in flight: nothing may change.
  void unknown_ticket() {
    auto const before = real_;
    auto id = ticket{draw_() % 4 == 0 ? draw_() : pick(64)};
    if (auto const waits = any(false); waits && pick(2) == 0) id = *waits;
    if (!ended_.empty() && pick(2) == 0) {
      id = std::next(ended_.begin(), static_cast<long>(pick(ended_.size())))->first;
      both([&](auto& g) { g.cancel(now_, id); });
    }
    if (auto const* const r = naive_.find(id); r && r->flying) return;
    EXPECT_FALSE(real_.learn(now_, id, any_result(), draw_()));
    EXPECT_EQ(real_.finish(now_, id, any_result(), draw_()), decision{});
    EXPECT_EQ(real_, before);
  }

  void check() {
    ASSERT_EQ(real_.in_flight(), naive_.in_flight());
    ASSERT_EQ(real_.waiting(), naive_.waiting());
    ASSERT_EQ(real_.law_state(), naive_.law);
    ASSERT_EQ(real_.level(), naive_.level);
    ASSERT_EQ(real_.held_until(), naive_.held(1));

    auto const before = real_;
    auto const turn = real_.next(now_);
    auto const late = real_.expired(now_);
    auto const wakeup = real_.wakeup(now_);
    auto const why = real_.why(now_);
    ASSERT_EQ(real_, before) << "asking changes nothing";
    ASSERT_TRUE(!twin_ || *twin_ == real_) << "a copy driven alike";

    auto const* const head = naive_.head();
    auto const holds = naive_.holds(now_);
    ASSERT_EQ(turn.has_value(), head && holds.empty());
    ASSERT_TRUE(!turn || *turn == head->id);

    auto const until = holds.empty() ? (head ? now_ : never)
                                     : std::ranges::max(holds, {}, &held_back::until).until;
    if (holds.empty()) {
      ASSERT_EQ(why, held_back{}) << to_string(why.why);
    } else {
      ASSERT_NE(why.why, reason::none);
      met.insert(why.why);
      ASSERT_TRUE(std::ranges::count(holds, why)) << to_string(why.why);
      ASSERT_EQ(why.until, until) << to_string(why.why);
    }

    auto const held = head ? naive_.held(head->terms.cost) : time_point::min();
    auto const parks = held > later(now_, naive_.settings.hint_max) && !naive_.may_tell(now_);
    auto expect = parks ? std::optional(parked_request{head->id, held}) : std::nullopt;
    auto const ends = head ? naive_.tried_until(*head) : never;
    in_vain += now_ > ends;
    if (!parks && head && (naive_.refused_too_long(*head) || now_ > ends))
      expect = {head->id, std::max(head->ready_since, held), reason::refused_alone};
    else if (!parks && head && naive_.law.ready_at(head->terms.cost) > now_ &&
             now_ > later(naive_.broken_since(), naive_.settings.hint_max))
      expect = {head->id, naive_.law.ready_at(head->terms.cost), reason::server_broken};
    ASSERT_EQ(real_.parked(now_), expect);

    auto deadline = never;
    for (auto const& r : naive_.alive)
      if (!r.flying) deadline = std::min(deadline, r.terms.deadline);
    ASSERT_EQ(late.has_value(), deadline < now_);
    ASSERT_TRUE(!late || naive_.find(*late)->terms.deadline == deadline);
    ASSERT_GT(wakeup, now_);
    auto soonest = std::min(until, later(deadline, 1ns));
    if (ends >= now_) soonest = std::min(soonest, later(ends, 1ns));
    ASSERT_EQ(wakeup, std::max(soonest, now_ + 1ns));

    ASSERT_EQ(naive_.submitted, naive_.alive.size() + ended_.size());
    for (auto const& [id, times] : ended_) ASSERT_EQ(times, 1) << "a ticket ends once";
  }

  /// Faults stop: every request is answered in a bounded number of steps.
  void drain() {
    SCOPED_TRACE("drain");
    if (real_.held_until() > now_ + 24h) {  // a server that asks for ever is obeyed for ever
      now_ += 24h * 365 * 100;
      pump();
      EXPECT_EQ(real_.next(now_), std::nullopt);
      EXPECT_EQ(real_.wakeup(now_), never) << "no spin";
      while (!naive_.alive.empty()) end(naive_.alive.front().id);
    }
    auto const all = naive_.alive;
    for (auto const& r : all)  // … also where it refuses one alone
      if (!r.flying && r.ready_since > now_ + 24h) end(r.id);
    for (auto left = 4 * naive_.alive.size() + 8; !naive_.alive.empty(); --left) {
      ASSERT_GT(left, 0U) << "still alive: " << naive_.alive.size();
      pump();
      if (auto const id = any(true)) {
        pass(1ms);
        answer(*id, {});
      } else if (!naive_.alive.empty()) {
        auto const wakeup = real_.wakeup(now_);
        ASSERT_LT(wakeup, now_ + 24h);
        now_ = wakeup;
      }
      check();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(ended_.size(), naive_.submitted);
    EXPECT_EQ(real_.in_flight(), 0);
    EXPECT_EQ(real_.wakeup(now_), never);
  }

  governor<full_jitter, L> real_;
  std::optional<governor<full_jitter, L>> twin_;
  naive_governor<L> naive_;
  Draw draw_;
  time_point now_{1000s};
  std::uint64_t kinds_[2], hints_;
  bool unbounded_hints_, shut_;
  std::set<ticket> seen_;
  std::map<ticket, int> ended_;
};

}  // namespace headway
