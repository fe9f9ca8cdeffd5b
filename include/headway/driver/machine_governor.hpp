#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "headway/backoff/full_jitter.hpp"
#include "headway/driver/machine_pace.hpp"
#include "headway/governor.hpp"

namespace headway {

/// The default governor for a driver, with one limit for all processes of this user on this machine
/// that have the same key. No daemon; any of them may be killed at any instant.
///
///   headway::blocking::shared_governor api(headway::machine_governor("https://api.example"));
///
/// Processes share pace, permits, what was learned and a server's hints; each has its own queue,
/// retries, ceilings and retry budget. While a request waits, wakeup() is at most 100 ms away, 5 ms
/// if the others hold all permits. Every act looks at the others' acts, and so does expired(),
/// which a driver calls before next(). Threads: as governor. After a fork(2) each side is a member
/// of its own, if no request waited or flew then.
class machine_governor {
 public:
  /// Joins the processes that have `key` and `folder`. The first to join begins with `law`. Throws
  /// std::runtime_error, as machine_pace does; alone() is then the way to go on.
  explicit machine_governor(std::string_view key, governor_settings const& settings = {},
                            seek const& law = {},
                            std::string const& folder = machine_pace::default_folder())
      : machine_governor(
            std::make_shared<machine_pace>(folder, key, any_law{law}, settings.hint_max),
            settings) {}
  /// Returns a governor that shares nothing.
  static machine_governor alone(governor_settings const& settings = {}, seek const& law = {}) {
    return machine_governor(std::make_shared<machine_pace>(any_law{law}), settings);
  }
  machine_governor(machine_governor&&) = default;  ///< leaves the other one for destruction only
  machine_governor& operator=(machine_governor&&) = delete;

  /// Queues a request, or says why not and until when; as governor's, like all that follows.
  std::variant<ticket, refused> submit(time_point now, request_terms const& terms = {}) {
    look(now);
    return inner_.submit(now, terms);
  }
  /// Returns the request that may go, as of the last look at the others.
  std::optional<ticket> next(time_point now) const noexcept { return inner_.next(now); }
  /// Takes the turn of a request from the other processes; false if one was faster. Requires:
  /// next() named it, and start() follows.
  bool claim(time_point now, ticket t, fraction u) noexcept {
    if (machine_->claim(now, inner_.cost_of(t), u)) return true;
    look(now);
    return false;
  }
  /// Takes the permit of a request that goes.
  void start(time_point now, ticket t, fraction u) {
    inner_.start(now, t, u);
    if (waiting() == 0) look(now);  // it waits no more
  }
  /// Hears the head of an answer; all processes learn from it.
  bool learn(time_point now, ticket t, attempt_result const& head, fraction u) {
    auto const taught = inner_.learn(now, t, head, u);
    look(now);
    return taught;
  }
  /// Ends an attempt; all processes learn from it.
  decision finish(time_point now, ticket t, attempt_result const& result, fraction u) {
    auto const decided = inner_.finish(now, t, result, u);
    look(now);
    return decided;
  }
  /// Forgets a request, waiting or in flight.
  void cancel(time_point now, ticket t) {
    inner_.cancel(now, t);
    look(now);
  }
  /// Looks at the others, and returns a waiting request that is past its deadline.
  std::optional<ticket> expired(time_point now) noexcept {
    look(now);
    return inner_.expired(now);
  }
  /// Returns the first waiting request, if a server's hint holds it for longer than hint_max.
  std::optional<parked_request> parked(time_point now) const noexcept { return inner_.parked(now); }
  /// Returns when to look again if nothing happens before.
  time_point wakeup(time_point now) const noexcept {
    auto const at = inner_.wakeup(now);
    return waiting() > 0 ? std::min(at, machine_->look_again(now)) : at;
  }
  /// Returns what holds the first waiting request back.
  held_back why(time_point now) const noexcept { return inner_.why(now); }
  /// Holds all requests of all processes until `until`, as a server asked elsewhere.
  void hold(time_point until) noexcept { machine_->hold(until), inner_.hold(until); }
  /// Returns the permits of this process.
  int in_flight() const noexcept { return inner_.in_flight(); }
  /// Returns the waiting requests of this process.
  std::size_t waiting() const noexcept { return inner_.waiting(); }
  /// Returns the law of all.
  any_law const& law_state() const noexcept { return machine_->law(); }
  /// Returns until when a server's hint holds it.
  time_point held_until(std::int64_t cost = 1) const noexcept { return inner_.held_until(cost); }
  /// Returns until when a new one in its place could be faster.
  time_point busy_until() const noexcept { return inner_.busy_until(); }

  /// Returns whether it shares its limit.
  bool shared() const noexcept { return machine_->shared(); }
  /// Returns the most other processes that shared it at any look.
  int company() const noexcept { return machine_->company(); }

 private:
  machine_governor(std::shared_ptr<machine_pace> machine, governor_settings const& settings)
      : machine_(std::move(machine)), inner_({}, {.with = machine_}, settings) {}

  void look(time_point now) noexcept { look_at(*machine_, inner_, now); }

  std::shared_ptr<machine_pace> machine_;
  governor<full_jitter, shared_law> inner_;
};

}  // namespace headway
