/// A run as other processes see it, and what they tell it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "os/poller.hpp"
#include "pacing/lanes.hpp"
#include "status/metrics.hpp"
#include "status/progress.hpp"
#include "status/speed.hpp"
#include "watch/command.hpp"
#include "watch/command_socket.hpp"
#include "watch/metrics_outlet.hpp"

namespace headway::app {

/// Its socket for `headway ctl`, and its figures for --metrics. Threads: one, the run's.
class watched_run {
 public:
  struct subject {
    std::string surface{};  ///< "run"
    std::string jobs{};     ///< what it works on
    lanes& paces;
    standing& stands;
    std::int64_t const& hints_ignored;
    /// Returns the state of a line, a sentence.
    std::function<std::string(std::int64_t line)> explain;
    /// Does what is not for lanes, or what comes before. Throws std::invalid_argument or fatal
    /// where that cannot be; then nothing has changed.
    std::function<void(time_point now, command const&)> act;
  };
  watched_run(poller&, subject, time_point began);

  /// Opens both; `metrics`: as metrics_outlet takes it, "": none.
  void open(std::string const& metrics);

  void tick(time_point now);
  /// Takes an event of the poller; false: it is not ours.
  bool ready(time_point now, poller::event const&);
  time_point wakeup() noexcept;

  /// Counts since the last look.
  void look(time_point now);
  metrics& counts() noexcept { return metrics_; }
  double per_second() const noexcept { return speed_.per_second(); }

  /// What was changed, for the summary: lines, or "".
  std::string changes() const;

  /// The run is over: takes no more commands, and lets what fetches figures now and then have the
  /// last ones, unless a signal comes.
  void conclude(int signals_fd);

 private:
  std::string figures();
  std::string obey(command const&);
  std::string state();

  static constexpr int changes_shown = 20;

  poller& events_;
  subject of_;
  time_point const began_;
  metrics metrics_{};
  speed speed_{};
  time_point shown_, sampled_;
  std::int64_t ended_then_ = 0, throttled_then_ = 0;
  int changes_ = 0;
  std::string changes_words_{};
  std::optional<metrics_outlet> outlet_{};
  std::optional<command_socket> control_{};
};

}  // namespace headway::app
