/// The scopes of a run, with what earlier runs learned of them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/headway.hpp"
#include "run/job.hpp"
#include "run/memory.hpp"
#include "run/options.hpp"
#include "run/scope.hpp"

namespace headway::app {

/// At most scopes_max: a new one takes the place of one that is idle. Threads: one.
class scopes {
 public:
  static constexpr std::size_t scopes_max = 1000;

  /// `options` must live as long; `connections`: at most so many at once.
  scopes(run_options const& options, int connections);
  scopes(scopes const&) = delete;
  scopes& operator=(scopes const&) = delete;

  /// Begins with what earlier runs learned. Errors: fatal where the file that was asked for cannot
  /// be read; of the default one that is only said.
  void recall();
  /// The calls of all governors go to a file from now on. Errors: fatal(exit_io).
  void trace_to(std::string const& path, time_point began);

  /// Where `j` of this account belongs; null while there is no room for one more.
  scope* at(time_point now, std::string_view account, job const& j);
  /// When there is room for one more, if nothing happens before.
  time_point room_at() const { return all_.room_at(); }

  /// Of pairs (key, scope).
  auto begin() noexcept { return all_.begin(); }
  auto end() noexcept { return all_.end(); }

  /// When to look at one of them.
  time_point wakeup() noexcept;
  /// All are to be looked at by then.
  void wake(time_point at) noexcept;
  /// When the last of them that are parked go on; time_point::min(): none is.
  time_point parked_until() noexcept;
  /// Nothing more goes to this account.
  void stop(std::string_view account) noexcept;

  /// What holds back a scope.
  struct wait {
    held_back held{};
    scope const* where = nullptr;  ///< null: nothing waits
  };
  /// Of the first of them that has a request waiting; counts why they waited since the last look,
  /// which was `since` ago.
  wait look(time_point now, duration since);
  /// The reasons for which requests were held back, as shares of the run: a line, or "".
  std::string where_time_went() const;
  /// What was learned, and who shared it, for people: lines, or "".
  std::string findings();

  /// There are no more calls: the trace is whole.
  void conclude();
  /// Keeps what was learned. A run that has done its work does not fail for this: it is said.
  void keep();

 private:
  scope make(std::string_view key);
  std::shared_ptr<machine_pace> join_machine(std::string_view key,
                                             std::optional<remembered> const& known);
  profile const& profile_of(std::string_view origin) const;

  run_options const& options_;
  governor_settings const settings_;
  memory memory_;
  std::unique_ptr<trace> trace_;  // outlives the scopes, which write their end to it
  std::vector<std::weak_ptr<machine_pace>> machines_;
  bool said_alone_ = false;
  int made_ = 0;
  std::string key_;
  std::string speaker_;  // the origin that was looked up last
  profile const* speaks_ = nullptr;
  keyed<scope> all_;
  std::array<duration, static_cast<std::size_t>(reason::attempts) + 1> held_for_{};
};

}  // namespace headway::app
