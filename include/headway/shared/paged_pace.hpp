#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "headway/export.hpp"
#include "headway/shared/common_pace.hpp"
#include "headway/shared/pace.hpp"
#include "headway/shared/page.hpp"

namespace headway {

/// A member of a pace that stands on a page, on which it acts as if it were alone: there is one
/// law, one epoch and one memory of what was refused.
///
/// Each act reads the value, changes a copy and publishes that, again if another was faster. The
/// first to join begins with its own law; what only dead processes left is not believed.
///
/// What cannot be is not believed either: a page that is damaged, and one on which another acted
/// in our future, by another clock, or a pace that asks for more than our patience. Then it goes on
/// alone, with the law as it was before. The child of a fork(2) joins by itself at its first act,
/// and goes on alone, with the law as it was, where it cannot.
///
/// Pure but for its page, which tells the time where it must know whether it was stopped since.
class HEADWAY_EXPORT paged_pace : public pace {
 public:
  /// Joins those on `where`; paces alone where that is null. What others were told to wait beyond
  /// `patience` is not believed.
  paged_pace(std::unique_ptr<page> where, any_law const& begins, duration patience) noexcept;
  ~paged_pace() override;

  /// Looks as pace does. Frees what dead and stopped members had out. O(members), and every 100 ms
  /// a question for each seat.
  void refresh(time_point now, int out, int waiting) noexcept override;
  bool claim(time_point now, std::int64_t cost, fraction u) noexcept override;
  void hold(time_point until) noexcept override;
  /// Returns the end of a hold that a server asked for. Within our patience of the last look.
  time_point held_until() const noexcept override { return held_; }
  time_point look_again(time_point now) const noexcept override;
  int company() const noexcept override { return company_; }
  /// Returns false where it is alone, and stays so.
  bool shared() const noexcept { return page_ != nullptr; }

  any_law const& law() const noexcept override { return seen_.law; }
  time_point ready_at(std::int64_t cost) const noexcept override;
  double allowed() const noexcept override { return seen_.law.allowed() - others_; }
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept override;
  void on_success(time_point now, sample const& s, fraction u) noexcept override;
  void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept override;
  void on_failure(time_point now, sample const& s, fraction u) noexcept override;
  void on_cancel(time_point now, stamp const& sent) noexcept override;
  void on_hint(time_point now, hint const& h) noexcept override;

 private:
  void join(any_law const& begins) noexcept;
  void leave() noexcept;
  void read(time_point now) noexcept;
  bool believable(common_pace const& value, time_point now) const noexcept;
  bool publish(common_pace const& value) noexcept;
  template <class F>
  void act(time_point now, F f) noexcept;
  template <class F>
  void learn(time_point now, sample s, F f) noexcept;
  void free_dead(common_pace& value) const noexcept;
  void look(time_point now) noexcept;

  std::unique_ptr<page> page_;  // null: alone
  int me_ = 0;                  // our seat
  duration patience_;
  any_law begins_;         // the law to go on alone with, until what is seen is
  bool believed_ = false;  // seen_ was looked at by our clock
  time_point held_ = time_point::min();
  common_pace seen_{};
  page::version seen_version_ = page::unseen;
  std::optional<stamp> claimed_;
  int others_ = 0;  // permits that they have out
  int company_ = 0;
  time_point back_ = time_point::min();  // from having been stopped
  duration deference_{};                 // to members that go first
};

}  // namespace headway
