/// A member of a fleet, as the pace of a governor.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "headway/export.hpp"
#include "headway/fleet/combine.hpp"
#include "headway/fleet/report.hpp"
#include "headway/shared/pace.hpp"

namespace headway::fleet {

/// Takes the turns that it is dealt, and tells what became of them. While nothing is heard of the
/// others, or each turn too late, it *coasts*: at its last share of the pace, half of that after
/// each minute and after each refusal of its own.
///
/// Its times are the engine's: the caller's driver translates. It does no I/O: a driver sends
/// what speak() returns when speaks_at() has come, and calls hear() with the answer. Threads: one
/// at a time.
class HEADWAY_EXPORT member : public pace {
 public:
  /// Joins as `id`; shows the law `begins` until it hears that of all. A hold is believed for at
  /// most `hold_max`: beyond its own patience a governor parks.
  member(member_id id, any_law const& begins, ceilings with = {});
  ~member() override;

  void refresh(time_point now, int out, int waiting) noexcept override;
  bool claim(time_point now, std::int64_t cost, fraction u) noexcept override;
  void hold(time_point until) noexcept override;
  time_point held_until() const noexcept override { return held_; }
  time_point look_again(time_point now) const noexcept override;
  int company() const noexcept override { return company_; }
  /// Returns the law of all, as it was when it was heard last.
  any_law const& law() const noexcept override { return law_; }
  time_point ready_at(std::int64_t cost) const noexcept override;
  double allowed() const noexcept override;
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept override;
  void on_success(time_point now, sample const& s, fraction u) noexcept override;
  void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept override;
  void on_failure(time_point now, sample const& s, fraction u) noexcept override;
  void on_hint(time_point now, hint const& h) noexcept override;

  /// Sets what its caller allows, in place of what was set before.
  void limit(ceilings with) noexcept { with_ = with; }

  /// Returns its number.
  member_id id() const noexcept { return id_; }
  /// Returns when to send a report; a report that is not answered is to be given up by then.
  time_point speaks_at() const noexcept;
  /// Returns the report to send: the last one, as long as it is not known to be heard.
  report const& speak(time_point now);
  /// Returns the report that was made last.
  report const& spoken() const noexcept { return report_; }
  /// Returns whether the combiner is to hear that at once: a permit came back that others can use.
  bool urgent() const noexcept { return urgent_; }
  /// Takes what a report was answered. `told`: the number of the last report that has arrived;
  /// `combines`: it is to make the next state, ten times a second.
  void hear(time_point now, grant const& g, std::uint64_t told, bool combines);
  /// Takes that another member was refused in an epoch, or is held, while the state of `version`
  /// was valid: no turn of that epoch is used until a later state deals some.
  void cut(time_point now, std::uint64_t version, std::uint64_t epoch, time_point held) noexcept;
  /// Takes that there is something to hear: speaks_at() is now.
  void wake(time_point now) noexcept { speaks_ = std::min(speaks_, now); }
  /// Leaves: the next report that is new says so.
  void leave(time_point now) noexcept;
  /// Returns whether it has left, and the board knows.
  bool left() const noexcept { return report_.leaves && !unheard_; }
  /// Returns whether a refusal of another member matters to it at once.
  bool hears_cuts() const noexcept { return quick_ && !leaving_; }
  /// Returns whether it paces by itself, since nothing is heard.
  bool coasts(time_point now) const noexcept;
  /// Returns how many requests went on no turn.
  std::int64_t coasted() const noexcept { return coasted_; }

 private:
  void note(event e);
  void note_answer(event::kind what, time_point now, sample const& s, resource r) noexcept;
  void drop_late(time_point now) noexcept;
  double share(time_point now) const noexcept;
  time_point coasts_from() const noexcept;
  duration age() const noexcept;
  void adopt(time_point now, grant const& g);

  member_id id_;
  any_law law_;
  ceilings with_;
  time_point held_ = time_point::min();
  std::deque<turn> turns_;  // in order of time
  std::uint64_t used_ = 0;  // the highest number that was used or passed over
  std::optional<turn> claimed_;
  std::int64_t owed_ = 0;  // cost of requests above that of their turns
  double cost_ = 1;        // of a request, smoothed
  int out_ = 0, waiting_ = 0;
  int heads_ = 0;                      // of these out, the head of the answer has come
  std::optional<int> out_at_success_;  // of the last one: were all still out, it was a head
  std::int64_t began_waiting_ = 0;     // requests, since the last report
  double arrivals_ = 0;                // of these a second, smoothed
  std::int32_t permits_ = 1;
  bool slots_ = false;
  std::uint64_t version_ = 0;                      // adopted last
  std::uint64_t cut_version_ = 0, cut_epoch_ = 0;  // no turn so old is adopted
  std::array<duration, 4> ages_{};                 // of the news, as it was heard: one in turn
  std::size_t news_ = 0;
  bool missed_ = false;  // all turns of the last news that had some came too late
  double pace_ = 0;
  std::int32_t sharing_ = 1;
  int company_ = 0;
  time_point looked_{};
  time_point heard_ = time_point::min();  // a new version was heard, …
  time_point fresh_ = time_point::min();  // … in time
  time_point wants_since_{};
  time_point coast_next_ = time_point::min();
  double coast_share_ = 1;
  std::int64_t coasted_ = 0;
  hint told_{};  // by the answer that is told next
  time_point told_at_{};
  // What it says.
  report report_{};            // the last one
  std::vector<event> events_;  // since then
  bool unheard_ = false;       // report_ is to be repeated, …
  int repeated_ = 0;           // … and was so often
  bool lost_ = false;          // events were dropped
  bool frees_ = false;         // a permit came back that it has no use for, since then, …
  bool urgent_ = false;        // … and before
  bool quick_ = true, leaving_ = false;
  std::optional<std::uint64_t> refused_{};  // the epoch
  time_point speaks_{}, spoke_{};
};

}  // namespace headway::fleet
