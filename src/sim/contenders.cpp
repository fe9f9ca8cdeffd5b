#include <algorithm>

#include "headway/law/shipped.hpp"
#include "headway/sim/simulation.hpp"
#include "headway/text/law.hpp"

namespace headway::sim {
namespace {

constexpr auto everything = headway::fixed_window{1e9};

/// What breaks is given up as `headway run` does it. Nothing else is, unless the scenario says so:
/// no queue is too long, and no hint asks for too much patience.
governor_settings settings(scenario const& s, after_throttle throttled,
                           int quiet_successes = governor_settings{}.quiet_successes) {
  if (s.governing) {
    auto as_told = *s.governing;
    as_told.throttled = throttled;
    as_told.quiet_successes = quiet_successes;
    return as_told;
  }
  return {.attempts_max = s.attempts_max,
          .queue_max = std::size_t{1} << 40,
          .hint_max = duration::max(),
          .first_alone = s.first_alone,
          .throttled = throttled,
          .quiet_successes = quiet_successes,
          .budget = s.budget};
}

/// Learns from an answer when it has ended, as a client does that waits for the whole of it.
contender at_ends() {
  return {.name = "seek-ends",
          .what = "hears of an answer at its end, not at its head",
          .make = [](scenario const& s) -> client_governor {
            return default_governor({}, {}, settings(s, after_throttle::stand_in_line));
          },
          .hears_ends_only = true};
}

contender variant(std::string_view name, std::string_view what, seek law) {
  return {
      .name = std::string(name), .what = what, .make = [law](scenario const& s) -> client_governor {
        return default_governor({}, law, settings(s, after_throttle::stand_in_line));
      }};
}

/// Remembers what `told` is told, from an hour ago.
contender warm() {
  return {.name = "seek-warm", .what = "remembers the limit", .make = [](scenario const& s) {
            seek law;
            law.remember({.rate = s.told.rate, .slots = s.told.window, .latency = 0.6}, 1h);
            return client_governor(
                default_governor({}, law, settings(s, after_throttle::stand_in_line)));
          }};
}

std::vector<contender> all_variants() {
  return {
      variant("seek-no-slots", "never names slots", {.with = {.slots = false}}),
      variant("seek-no-vacancy", "takes a ramp's refusal with many out for slots, unasked",
              {.with = {.vacancy = false}}),
      variant("seek-no-drain", "never looks at latency", {.with = {.drain = false}}),
      variant("seek-no-periods", "never learns from what a cycle accepted",
              {.with = {.periods = false}}),
      variant("seek-no-bans", "counts a refusal as one request where it shuts the server",
              {.with = {.bans = false}}),
      variant("seek-no-spurts", "never asks whether others share a window",
              {.with = {.spurts = false}}),
      variant("seek-no-footholds", "cuts at refusals that no cut makes rarer, too",
              {.with = {.footholds = false}}),
      variant("seek-no-failures", "no number of failures is overload",
              {.with = {.failures = false}}),
      variant("seek-no-confidence", "climbs as often at a ceiling that proves true",
              {.with = {.confidence = false}}),
      variant("seek-no-company", "cuts to what it measured, also among others",
              {.with = {.company = false}}),
      variant("seek-no-chance", "takes each refusal for a limit's", {.with = {.chance = false}}),
      variant("seek-no-demand", "cuts also where its pace was not in use",
              {.with = {.demand = false}}),
      variant("seek-no-excess", "takes a loop that works between its requests for a low demand",
              {.with = {.excess = false}}),
      variant("seek-no-mixtures", "takes a crowd's refusals for a limit's, or all for chance's",
              {.with = {.mixtures = false}}),
      variant("seek-no-depths", "asks for chance only by rows at once",
              {.with = {.depths = false}}),
      at_ends(),
      variant("seek-start-10", "begins with 10/s", {.level = 10}),
      variant("seek-start-40", "begins with 40/s", {.level = 40}),
      variant("seek-waste-1", "climbs at less than half the pace", {.waste = 0.01}),
      variant("seek-waste-6", "climbs at more than twice the pace", {.waste = 0.06}),
      variant("seek-leave-30", "leaves 30 % to others", {.leave = 0.3}),
      warm(),
  };
}

contender plain(std::string_view name, std::string_view what, any_backoff backoff, any_law law,
                after_throttle throttled) {
  return {.name = std::string(name),
          .what = what,
          .make = [=](scenario const& s) -> client_governor {
            return any_governor(backoff, law, settings(s, throttled));
          },
          .backoff = backoff};
}

contender rival(std::string_view name, std::string_view what, rival_law law,
                after_throttle throttled = after_throttle::stand_in_line) {
  return {
      .name = std::string(name), .what = what, .make = [=](scenario const& s) -> client_governor {
        return rival_governor({}, law, settings(s, throttled));
      }};
}

/// A law without a bound of its own before its first throttle: that of a pool of 100 workers.
contender pool_of_100(std::string_view name, std::string_view what, rival_law law) {
  return {
      .name = std::string(name), .what = what, .make = [=](scenario const& s) -> client_governor {
        auto bounded = settings(s, after_throttle::stand_in_line);
        bounded.in_flight_max = std::min(bounded.in_flight_max, 100);
        return rival_governor({}, law, bounded);
      }};
}

std::vector<contender> all() {
  any_law const no_law{paced<unpaced, headway::fixed_window>{.win = everything}};
  auto const exponential = [&](std::string_view name, std::string_view what, any_backoff b) {
    return plain(name, what, b, no_law, after_throttle::back_off);
  };
  std::vector<contender> list;
  for (auto const& l : shipped_laws()) list.push_back(contender_of(l));
  list.push_back(plain("tahoe-0.9", "a congestion window that starts again, ssthresh cut to 0.9",
                       {}, {paced<hesitant, tahoe>{.win = {.beta = 0.9}}},
                       after_throttle::stand_in_line));
  list.push_back(plain("adaptive-rate-only",
                       "seed text 002's rate without the decaying retry level", {},
                       {paced<adaptive_rate, headway::fixed_window>{.win = everything}},
                       after_throttle::stand_in_line));
  list.push_back(exponential("exponential-none", "50 ms × 2^k up to 30 s, without jitter",
                             {exponential_backoff{.initial = 50ms, .cap = 30s}}));
  list.push_back(exponential("exponential-full", "the same with full jitter",
                             {full_jitter{.base = 50ms, .cap = 30s}}));
  list.push_back(exponential("exponential-equal", "… with equal jitter",
                             {equal_jitter{.base = 50ms, .cap = 30s}}));
  list.push_back(exponential("exponential-decorrelated", "… with decorrelated jitter",
                             {decorrelated_jitter{.base = 50ms, .cap = 30s}}));
  list.push_back(exponential("linear", "1 s, 2 s, 3 s, … up to 60 s", {linear_backoff{}}));
  list.push_back(exponential("hammer", "again at once", {constant_backoff{.wait = 0ns}}));
  list.push_back(rival("cubic", "a window by RFC 9438", {cubic_window_law{}}));
  list.push_back(pool_of_100(
      "aws-adaptive", "the adaptive mode of the AWS SDKs, as botocore does it", {aws_adaptive{}}));
  list.push_back(pool_of_100("aws-adaptive-one-cut", "the same, one cut for each flight",
                             {aws_adaptive_one_cut{}}));
  list.push_back(rival("netflix-aimd", "Netflix concurrency-limits AIMD", {netflix_aimd_law{}}));
  list.push_back(rival("netflix-gradient2", "Netflix concurrency-limits Gradient2",
                       {netflix_gradient2_law{}}));
  list.push_back({.name = "told",
                  .what = "knows the limit: paces evenly just at it",
                  .make = [](scenario const& s) -> client_governor {
                    // What all are measured by loses nothing and waits for nothing but the limit.
                    auto free = settings(s, after_throttle::stand_in_line);
                    free.attempts_max = std::numeric_limits<int>::max();
                    free.budget = {.per_second = 1e9, .balance_max = 1e9, .balance = 1e9};
                    return rival_governor({}, {told(s.told.rate, s.told.window)}, free);
                  },
                  .omits_poisoned = true,
                  .backoff = {constant_backoff{.wait = 0ns}}});  // a contest is over first without
  return list;
}

}  // namespace

std::vector<contender> const& contenders() {
  static auto const list = all();
  return list;
}

std::vector<contender> const& variants() {
  static auto const list = all_variants();
  return list;
}

contender const* contender_named(std::string_view name) noexcept {
  for (auto const* list : {&contenders(), &variants()})
    if (auto const found = std::ranges::find(*list, name, &contender::name); found != list->end())
      return &*found;
  return nullptr;
}

contender contender_of(shipped_law const& l) {
  return {.name = l.name,
          .what = l.what,
          .make = [l](scenario const& s) -> client_governor {
            auto const governs = settings(s, l.throttled, l.quiet_successes);
            // The default law runs as the type that the library's users get.
            if (std::holds_alternative<seek>(l.law.choice) && l.backoff == any_backoff{})
              return default_governor({}, std::get<seek>(l.law.choice), governs);
            return any_governor(l.backoff, l.law, governs);
          },
          .pool = std::holds_alternative<auto_sleeper>(l.law.choice) ? 100 : 1,
          .backoff = l.backoff};
}

contender contender_of(std::string_view text) {
  if (auto const* const known = contender_named(text)) return *known;
  return contender_of(parse_law(text));
}

}  // namespace headway::sim
