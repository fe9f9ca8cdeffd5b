/// The traffic of a run: its requests, each at one place until it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "client/transport.hpp"
#include "headway/governor.hpp"
#include "jobs/job.hpp"
#include "journal/recorder.hpp"
#include "pacing/lanes.hpp"
#include "run/named_lines.hpp"
#include "run/options.hpp"
#include "run/request.hpp"
#include "run/source.hpp"

namespace headway::app {

/// A request waits in a lane; once its turn has come it is announced, which the journal must know
/// before it goes, aside, since what keeps track of it does not answer, or out. One that is left
/// open or abandoned has no result: a later run takes it up. Threads: one.
class traffic {
 public:
  /// `of`: where requests come from. Both must live as long.
  traffic(lanes& paces, source& of) : lanes_(paces), source_(of) {}
  /// From now on intents go there.
  void open(recorder& log) noexcept { log_ = &log; }

  // ── in ──────────────────────────────────────────────────────────────────────────────────────

  /// What became of a job that was to wait in its lane.
  struct entry {
    bool taken = true;           ///< else there is no room: it comes first again
    std::optional<job> never{};  ///< it can never be admitted …
    reason why = reason::none;   ///< … for this reason
  };
  entry enter(time_point now, job&&);
  /// The last that came found no lane.
  bool lacks_lane() const noexcept { return lacks_lane_; }
  void look_for_lane() noexcept { lacks_lane_ = false; }

  // ── on its way ──────────────────────────────────────────────────────────────────────────────

  /// It waits in the queue of its lane, or is left open where that takes it no more.
  void queue(std::uint32_t, time_point now);
  /// The same, though it was not carried out, or may be repeated: its intent is taken back.
  void queue_again(std::uint32_t, time_point now);
  /// Its turn has come, but it waits for another: at home, or, if this was at home, where it goes.
  void move_on(std::uint32_t, time_point now);
  /// It goes where a redirect says, without what the next origin must not see. False where it ends
  /// here: `said` of the request is why.
  bool follow(std::uint32_t, time_point now, reply const&, run_options const&);

  /// Its turn has come, and the journal is to know of it.
  void announce(std::uint32_t);
  /// What is out and was not announced is so from now on.
  void announce_flying();
  /// The first that was announced; nullopt: none waits.
  std::optional<std::uint32_t> announced() const noexcept;
  void pop_announced() noexcept { announced_.pop_front(); }
  /// It waits until what keeps track of it answers.
  void set_aside(std::uint32_t, time_point now);
  /// Those that may go by now wait for a turn again.
  void recall_aside(time_point now);

  /// Takes its intent back.
  void disown(request&);
  /// The same, unless a part of it has been done.
  void withdraw(request& r) {
    if (r.so_far.empty()) disown(r);
  }

  // ── out ─────────────────────────────────────────────────────────────────────────────────────

  /// Refused for a reason that is not its own: it is out of its lane already.
  void leave_open(std::uint32_t);
  void abandon(std::uint32_t);
  /// It was refused for longer than --wait-max.
  void abandon_refused(std::uint32_t);
  named_lines& refused_alone() noexcept { return refused_alone_; }
  /// How many requests of the lanes with that title were refused, of those that wait. O(requests).
  std::pair<std::size_t, std::size_t> refused_at(std::string_view title) const;
  /// Those whose lanes are stopped, and …
  void abandon_stopped();
  /// … those that never went.
  void abandon_unsent();
  /// Another run has these lines: what comes of them here is not recorded.
  void lose(std::int64_t first, std::int64_t last);
  /// It has a result.
  void forget(std::uint32_t index) { all_.forget(index); }

  // ── where they are ──────────────────────────────────────────────────────────────────────────

  request& operator[](std::uint32_t index) noexcept { return all_[index]; }
  request const& operator[](std::uint32_t index) const noexcept { return all_[index]; }
  requests& all() noexcept { return all_; }
  requests const& all() const noexcept { return all_; }
  std::size_t live() const noexcept { return all_.live(); }
  bool full() const noexcept { return all_.full(); }
  std::size_t announced_count() const noexcept { return announced_.size(); }
  bool any_aside() const noexcept { return !aside_.empty(); }
  bool all_parked() const;
  /// Those that wait for what is not theirs to have soon: other lanes could do more.
  std::size_t held_for_long(time_point now);
  /// Where a line of JOBS is, a sentence; "": nowhere.
  std::string words_of(std::int64_t line, time_point now) const;
  /// For as long as their lanes were paused their deadlines did not come nearer; `scope`: of these
  /// lanes, "": of all.
  void resume(time_point now, std::string const& scope);

 private:
  bool submit(std::uint32_t, time_point now, refused* why = nullptr);

  lanes& lanes_;
  source& source_;
  recorder* log_ = nullptr;
  requests all_{};
  std::deque<std::uint32_t> announced_{};
  std::vector<std::uint32_t> aside_{};
  named_lines refused_alone_{};
  bool lacks_lane_ = false;
};

}  // namespace headway::app
