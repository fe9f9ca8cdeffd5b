/// The lanes of a run, with what earlier runs learned of them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "headway/headway.hpp"
#include "pacing/lane.hpp"
#include "pacing/memory.hpp"
#include "pacing/settings.hpp"

namespace headway::app {

/// Whose limit a request falls under, as far as it tells.
struct lane_key {
  std::string_view origin;      ///< where it goes
  std::string_view credential;  ///< the digest of what it carries
  std::string_view given;       ///< the scope that the caller names
  std::string_view url, body;   ///< of which a profile may tell parts of a limit apart
  bool renewable = false;       ///< see lane::renewable()

  /// Origin, credential and given scope: what is stopped together.
  std::string account() const;
};

/// At most lanes_max: a new one takes the place of one that is idle. Threads: one.
class lanes {
 public:
  static constexpr std::size_t lanes_max = 1000;
  static constexpr std::size_t stopped_max = 10'000;

  explicit lanes(pacing_settings);
  lanes(lanes const&) = delete;
  lanes& operator=(lanes const&) = delete;

  /// Begins with what earlier runs learned. Errors: fatal where the file that was asked for cannot
  /// be read; of the default one that is only said.
  void recall();
  /// Begins with what others know.
  void recall(lanes& others);
  /// The calls of all governors go to a file from now on. Errors: fatal(exit_io).
  void trace_to(std::string const& path, time_point began);

  /// The lane of a request; null while there is no room for one more.
  lane* at(time_point now, lane_key const&);
  /// When there is room for one more, if nothing happens before.
  time_point room_at() const { return all_.room_at(); }

  /// Whether nothing more goes to this account.
  bool stopped(lane_key const& key) const {
    return !stopped_.empty() && stopped_.contains(key.account());
  }
  /// Nothing more goes to the account of this lane, whatever lanes it has or gets.
  void stop(lane const&);
  /// Stopped accounts can be told apart no longer.
  bool too_many_stopped() const noexcept { return stopped_.size() >= stopped_max; }

  std::size_t size() const noexcept { return all_.size(); }
  /// Of pairs (key, lane).
  auto begin() noexcept { return all_.begin(); }
  auto end() noexcept { return all_.end(); }

  /// When to look at one of them.
  time_point wakeup() noexcept;
  /// All are to be looked at by then.
  void wake(time_point at) noexcept;
  /// When the last of them that are parked go on; time_point::min(): none is.
  time_point parked_until() noexcept;
  /// One of them is parked since its server answers nothing but failures.
  bool parked_as_broken(time_point now);

  /// Orders all lanes whose scope matches, and those to come; "": all. Returns how many there are.
  /// Errors: fatal(exit_usage) where it cannot be; then nothing has changed.
  std::size_t order(time_point now, std::string const& pattern, lane_order const&);
  /// Puts what a user changed into the trace.
  void note(time_point now, std::string_view words);

  /// Counts why they waited since the last look, which was `since` ago.
  void look(time_point now, duration since) {
    look(now, since, [](lane const&, reason) {});
  }
  /// The same, and tells it of each lane and reason.
  template <class F>
  void look(time_point now, duration since, F tell) {
    for (auto& [key, l] : all_)
      if (auto const why = look_at(now, since, l); why != reason::none) tell(l, why);
  }
  /// What holds them back: of those in trouble all up to `most`, the worst first; where there are
  /// none, of the first that waits.
  std::vector<hindrance> hindrances(time_point now, std::size_t most = 3);
  /// The reasons for which requests were held back, as shares of the run: a line, or "".
  std::string where_time_went() const;
  /// What was learned, and how many shared it, for people: lines, or "".
  std::string findings();

  /// What is known of the hosts that share a pace; nothing where none do. Of several scopes, that
  /// which most share.
  std::optional<fleet::standing> hosts();

  /// There are no more calls: the trace is whole.
  void conclude();
  /// Keeps what was learned. A run that has done its work does not fail for this: it is said.
  void keep();

 private:
  struct wanted {
    lane_key const* key = nullptr;
    profile const* speaks = nullptr;
    std::string account{}, partition{};
  };
  lane make(std::string_view key, wanted const&);
  reason look_at(time_point now, duration since, lane&);
  shared_pace share(std::string_view key, std::string const& title, any_law const& begins,
                    governor_settings const&);
  shared_pace join_machine(std::string_view key, any_law const& begins);
  void obey(time_point now, std::string_view key, lane&, lane_order const&);
  profile const& profile_of(std::string_view origin) const;

  pacing_settings const settings_;
  memory memory_;
  std::unique_ptr<trace> trace_;  // outlives the lanes, which write their end to it
  std::vector<std::weak_ptr<pace>> shared_;
  bool said_alone_ = false;
  int made_ = 0;
  wanted wanted_{};      // of at(), which may make it
  std::string speaker_;  // the origin that a profile was looked up for last
  std::string key_;
  keyed<lane> all_;
  std::unordered_set<std::string> stopped_{};                 // accounts
  std::vector<std::pair<std::string, lane_order>> orders_{};  // in the order in which they came
  std::array<duration, static_cast<std::size_t>(reason::cancelled) + 1> held_for_{};
  duration troubled_for_{0};    // held back by what went wrong
  duration at_ceiling_for_{0};  // by --rate or --concurrency
};

}  // namespace headway::app
