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
/// that give the same key. No daemon; any of them may be killed at any instant.
///
///   headway::blocking::shared_governor api(headway::machine_governor("https://api.example"));
///
/// Pace, permits, what was learned and a server's hints are shared; queue, retries, ceilings and
/// the retry budget are each process's own. While something waits it asks to be woken every 100 ms,
/// every 5 ms for permits of others. It looks at what they did in every act, and in expired(),
/// which a driver asks before next(). Threads: as governor. After a fork(2) each side is a member
/// of its own, if nothing waited or flew in it then.
class machine_governor {
 public:
  /// Joins those who call `key`. The first to join begins with `law`; `folder` is where they meet.
  /// Throws as machine_pace: std::runtime_error, where the caller may go on with a governor of its
  /// own.
  explicit machine_governor(std::string_view key, governor_settings const& settings = {},
                            seek const& law = {},
                            std::string const& folder = machine_pace::default_folder())
      : machine_governor(
            std::make_shared<machine_pace>(folder, key, any_law{law}, settings.hint_max),
            settings) {}
  /// One that shares with nobody, for where joining fails.
  static machine_governor alone(governor_settings const& settings = {}, seek const& law = {}) {
    return machine_governor(std::make_shared<machine_pace>(any_law{law}), settings);
  }
  machine_governor(machine_governor&&) = default;  ///< the other one may only be destroyed
  machine_governor& operator=(machine_governor&&) = delete;

  /// Queues a request, or says why not and until when; as governor's, like all that follow.
  std::variant<ticket, refused> submit(time_point now, request_terms const& terms = {}) {
    look(now);
    return inner_.submit(now, terms);
  }
  /// Whose turn it is, as far as we have looked.
  std::optional<ticket> next(time_point now) const noexcept { return inner_.next(now); }
  /// Sends it.
  void start(time_point now, ticket t, fraction u) {
    inner_.start(now, t, u);
    if (waiting() == 0) look(now);  // it waits no more
  }
  /// The head of an answer; what it taught is everybody's.
  bool learn(time_point now, ticket t, attempt_result const& head, fraction u) {
    auto const taught = inner_.learn(now, t, head, u);
    look(now);
    return taught;
  }
  /// The answer; what it taught is everybody's.
  decision finish(time_point now, ticket t, attempt_result const& result, fraction u) {
    auto const decided = inner_.finish(now, t, result, u);
    look(now);
    return decided;
  }
  /// Forgets a request, waiting or flying.
  void cancel(time_point now, ticket t) {
    inner_.cancel(now, t);
    look(now);
  }
  /// A waiting request whose deadline has passed. Looks.
  std::optional<ticket> expired(time_point now) noexcept {
    look(now);
    return inner_.expired(now);
  }
  /// The first that waits, if a server's hint holds it for longer than hint_max.
  std::optional<parked_request> parked(time_point now) const noexcept { return inner_.parked(now); }
  /// When to look again if nothing happens before.
  time_point wakeup(time_point now) const noexcept {
    auto const at = inner_.wakeup(now);
    return waiting() > 0 ? std::min(at, machine_->look_again(now)) : at;
  }
  /// What holds the first back who waits.
  held_back why(time_point now) const noexcept { return inner_.why(now); }
  /// The server said so elsewhere: nothing of any process goes before `until`.
  void hold(time_point until) noexcept { machine_->hold(until), inner_.hold(until); }
  /// Permits of this process.
  int in_flight() const noexcept { return inner_.in_flight(); }
  /// Requests of this process that wait.
  std::size_t waiting() const noexcept { return inner_.waiting(); }
  /// The law of all, to look at.
  any_law const& law_state() const noexcept { return machine_->law(); }
  /// Until when a server's hint holds it.
  time_point held_until(std::int64_t cost = 1) const noexcept { return inner_.held_until(cost); }
  /// Until when a new one in its place could be faster.
  time_point busy_until() const noexcept { return inner_.busy_until(); }

  /// False: it is alone.
  bool shared() const noexcept { return machine_->shared(); }
  /// The most other processes that shared it when we looked.
  int company() const noexcept { return machine_->company(); }

 private:
  machine_governor(std::shared_ptr<machine_pace> machine, governor_settings const& settings)
      : machine_(std::move(machine)), inner_({}, {.with = machine_}, settings) {}

  void look(time_point now) noexcept { look_at(*machine_, inner_, now); }

  std::shared_ptr<machine_pace> machine_;
  governor<full_jitter, shared_law> inner_;
};

}  // namespace headway
