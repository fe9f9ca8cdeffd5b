/// A speed: how many a second, of late, or of all the time where it goes by fits and starts.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "headway/time.hpp"

namespace headway::app {

/// What people are told of a speed.
struct outlook {
  double per_second = 0;    ///< 0: there is none yet
  double seconds_left = 0;  ///< 0: that is not known
};

/// What came in the last seconds counts most, or, where little comes, what came with the last few.
/// It begins when the first has come: what one waits for the first answer is no speed; and
/// anew at the first refusal: what came before a limit was met is none that it allows. Once nothing
/// could come for long, as at the end of a window, the mean of all counts. While a server refuses
/// and lets nothing come, without a word for how long, there is none, unless it did so before and
/// that took as long. Threads: a value.
class speed {
 public:
  static constexpr double seconds = 5, few = 10, long_hold = 5;
  static constexpr double stands_seconds = 0.25;  ///< nothing comes, at least …
  static constexpr double stands_gaps = 4;        ///< … and in the time of so many
  static constexpr double as_long = 1.5;          ///< times the longest hold

  /// Takes how many came in a span of time, and how many were refused.
  void add(duration span, std::int64_t came, std::int64_t refused = 0) noexcept {
    if (came > 0 && refused_ > 0 && silence() > long_hold && all_came_ > 0) {
      held_since(last_came_, all_span_, all_came_);
      lately_ = before_;  // the speed between holds is kept
    }
    refused_ = came > 0 ? refused : refused_ + refused;
    all_came_ += static_cast<double>(came);
    all_span_ += to_seconds(span);
    if (came > 0) last_came_ = all_span_;
    if (refused > 0 && !std::exchange(met_, true)) {
      begun_ = false;
      lately_ = before_ = {};
      return;
    }
    if (!begun_) {
      begun_ = came > 0;
      return;
    }
    if (all_span_ <= last_hold_.end && came == 0) return;  // the speed between holds is kept
    auto const memory =
        std::fmax(seconds, lately_.came > 0 ? few * lately_.span / lately_.came : seconds);
    auto const kept = std::exp(-to_seconds(span) / memory);
    lately_.came = kept * lately_.came + static_cast<double>(came);
    lately_.span = kept * lately_.span + to_seconds(span);
    if (came > 0) before_ = lately_;
  }

  /// Takes for how long from now on nothing can come.
  void hold(duration rest) noexcept {
    held_ = std::fmax(to_seconds(rest), 0);
    if (held_ <= long_hold) return;
    held_since(last_came_, all_span_ + held_, all_came_);
  }

  /// Returns 0 where there is none yet, or more was taken back than came.
  double per_second() const noexcept {
    if (stands()) return 0;
    if (by_fits()) return std::fmax(all_came_ / (all_span_ + held_), 0);
    return lately_.span > 0 ? std::fmax(lately_.came / lately_.span, 0) : 0;
  }

  /// Returns the speed, and how long so many more will take: no less than nothing can come for.
  outlook foretell(std::int64_t left) const noexcept {
    auto const mean = per_second();
    if (mean <= 0 || left <= 0) return {mean, 0};
    auto const many = static_cast<double>(left);
    return {mean, std::fmax(by_fits() ? by_holds(many, mean) : many / mean, held_)};
  }

 private:
  double silence() const noexcept { return all_span_ - last_came_; }
  /// Returns whether nothing comes, and nothing is known of how long that lasts.
  bool stands() const noexcept {
    bool const silent = refused_ > 0 && silence() > stands_seconds &&
                        silence() * before_.came >= stands_gaps * before_.span;
    return silent && held_ <= 0 && silence() > as_long * longest_;
  }
  void held_since(double begin, double end, double came) noexcept {
    last_hold_ = {begin, end, came};
    longest_ = std::fmax(longest_, end - begin);
    if (first_hold_.end == 0 || came == first_hold_.came) first_hold_ = last_hold_;
  }
  bool by_fits() const noexcept { return last_hold_.end > 0; }

  /// As many as came by the end of the last hold will come in as long again, counted from its
  /// begin, until more have come since than that foretells; at no more than the speed between
  /// holds.
  double by_holds(double left, double mean) const noexcept {
    auto const rate = hold_rate();
    auto const since = all_span_ - last_hold_.begin, came = all_came_ - last_hold_.came;
    if (came > rate * since) return left * since / came;
    auto const late = left / mean - (last_hold_.end - last_hold_.begin);
    auto const& now = refused_ > 0 ? before_ : lately_;
    auto const between = now.came > 0 ? held_ + left * now.span / now.came : 0;
    return std::fmax((left + came) / rate - since, std::fmax(late, between));
  }
  /// Since the end of the first hold, before which a window may have begun, as soon as that tells.
  double hold_rate() const noexcept {
    auto const came = last_hold_.came - first_hold_.came, span = last_hold_.end - first_hold_.end;
    return span > 0 && 2 * came >= first_hold_.came ? came / span
                                                    : last_hold_.came / last_hold_.end;
  }

  bool begun_ = false, met_ = false;  // the first has come; one was refused
  double all_came_ = 0, all_span_ = 0, held_ = 0;
  double last_came_ = 0;      // when, as all_span_
  std::int64_t refused_ = 0;  // since then
  double longest_ = 0;        // of the holds
  struct pace {
    double came = 0, span = 0;
  };
  pace lately_{}, before_{};  // before: when the last came
  struct {
    double begin = 0, end = 0, came = 0;  // when, and how many by then; no end: there was none
  } first_hold_, last_hold_;
};

}  // namespace headway::app
