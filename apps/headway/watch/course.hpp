/// The course of a run, whatever it sends: requests or commands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "os/poller.hpp"
#include "os/signals.hpp"
#include "pacing/fleet_link.hpp"
#include "pacing/lanes.hpp"
#include "status/bounds.hpp"
#include "status/canary.hpp"
#include "status/conclusion.hpp"
#include "status/halt.hpp"
#include "status/losses.hpp"
#include "status/progress.hpp"
#include "watch/watched_run.hpp"

namespace headway::app {

/// The loop's descriptors, where the run stands, what halts it, how people and other processes see
/// it, and how it ends. To be made before any thread is; the lanes of open() must live until the
/// last call of it. Threads: one.
class course {
 public:
  struct terms {
    bounds may{};
    std::optional<duration> time_max{};
    duration wait_max{};
    progress_style style = progress_style::automatic;
    bool quiet = false;  ///< no progress, but the summary
  };
  explicit course(terms);

  time_point began() const noexcept { return began_; }
  poller& events() noexcept { return events_; }
  halt& halts() noexcept { return halt_; }
  standing& stands() noexcept { return standing_; }
  metrics& counts() noexcept { return visible_->counts(); }

  /// What the runs of a surface have of their own.
  struct outset {
    std::string surface{};  ///< "run"
    std::string jobs{};     ///< what it works on
    std::string metrics{};  ///< as metrics_outlet takes it, "": none
    fleet_link* fleet{};    ///< null: no other host shares the limit
    decltype(watched_run::subject::explain) explain{};
    /// As watched_run's, for what comes beside stopping and beginning nothing more.
    decltype(watched_run::subject::act) act{};
  };
  /// From now on it can be seen and told.
  void open(lanes&, outset);

  /// Finds reasons to halt; `live`: how many are in hand.
  void tick(time_point now, std::size_t live);
  /// No other request or command begins.
  bool finishing() const noexcept { return finishing_; }
  time_point wakeup() noexcept;
  /// Takes an event of the poller; false: it is not ours.
  bool ready(time_point now, poller::event const&);
  bool is_signal(poller::event const& e) const noexcept { return e.fd == signals_.fd(); }
  /// Takes note of a signal. False where none has come.
  bool take_signal();

  /// Shows where it stands, if it is time to; `amend` adds what the lanes do not know.
  template <class F>
  void show(time_point now, F amend) {
    visible_->look(now);
    if (now < progress_.wakeup()) return;
    look_why(now);
    amend(standing_);
    progress_.update(now, standing_);
  }
  /// Says a line while it goes on.
  void tell(std::string_view line);

  /// An attempt begins, …
  void begin() noexcept;
  /// … is over, …
  void back() noexcept { --standing_.in_flight; }
  /// … and came to this, …
  void attempted(lane const&, outcome, duration took);
  /// … broke, by this where it was no chance.
  void broke(lane const&, std::string_view error);
  /// A request or command has come to its end; `title`: of its lane.
  void ended(std::string_view title, final_outcome);
  /// … without success.
  void lost(loss const& l) { lost_.add(l); }
  /// An answer had so many hints that made no sense; `first`: one of them.
  void ignored(int hints, std::string_view first) {
    hints_ignored_ += hints;
    if (hint_ignored_.empty()) hint_ignored_ = first;
  }
  /// Whether, by the ending of one that was refused by this, all of them have failed alike: true
  /// once.
  bool canary_dies(int refused_by) { return canary_.dies(refused_by) && terms_.may.canary; }

  /// Nothing is sent any more: prints how it went, and `more` of it. `journal`: there is one;
  /// `hints`: those of "12 … made no sense"; `unread`: standard output is closed.
  void sum_up(std::string const& more, bool journal, std::string_view hints, bool unread);
  /// Waits until what fetches figures has the last ones. It takes no more commands.
  void close();
  /// Says what is left and returns the exit code, where nothing halted it. `waiting`: some are in
  /// hand.
  int conclude(remains, bool waiting);

  /// People see something of it.
  bool talks() const noexcept { return terms_.style != progress_style::none || terms_.quiet; }

 private:
  void look_why(time_point now);

  terms const terms_;
  time_point const began_;
  signals signals_{};
  poller events_{};
  halt halt_{};
  progress progress_;
  standing standing_{};
  losses lost_{};
  canary canary_{};
  std::int64_t hints_ignored_ = 0;
  std::string hint_ignored_{};  // the first
  bool finishing_ = false;
  lanes* lanes_ = nullptr;
  fleet_link* fleet_ = nullptr;
  std::optional<watched_run> visible_{};
};

}  // namespace headway::app
