#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "headway/time.hpp"

namespace headway {

/// Keeps to a part of a window that others use, too.
///
/// A told window of which nothing is left at three quarters of it, though less than all of it went
/// from here, is shared. From the next one on only a part goes: three quarters of what went, and
/// with each window a 64th of it more. A client gives up in proportion to what it has, and gains as
/// much as any other, so that parts become equal. At three quarters one request asks whether
/// anything is left, before any client takes of it; what is left then is for all in the last
/// eighth, for a small part sooner than for a large one. A window of less than a second or more
/// than ten minutes has no parts.
///
/// Units: those of requests. Threads: a value. Source: Chiu and Jain, Analysis of the Increase and
/// Decrease Algorithms, 1989; design/012.
class fair_share {
 public:
  /// Takes a send.
  void send(std::uint64_t units) noexcept { taken_ += units; }

  /// Takes the first answer that tells of a window, which ends after `reset`, or of the same one
  /// anew. So much of what was sent is of it, as far as is known.
  void begin(time_point now, duration reset, std::uint64_t taken) noexcept {
    if (now < free_) return;
    auto const took = taken_ - std::min(taken_, taken);
    if (shared_) part_ = took - took / given_up;
    if (part_ != all) part_ += window_ / gained + 1;
    if (part_ >= window_ || reset < shortest || reset > longest) part_ = all;
    asks_ = later(now, reset - reset / asks);
    free_ = later(now, reset - reset / early);
    if (part_ != all) free_ -= reset / early / window_ * (window_ - part_);
    taken_ = taken;
    window_ -= window_ / fades;  // a limit may have fallen
    shared_ = asked_ = false;
  }

  /// Takes an answer to what went at `sent`: as much as `most` of the window was once left, as far
  /// as is known, and now nothing is, if it is `spent`.
  void tell(time_point sent, std::uint64_t most, bool spent) noexcept {
    window_ = std::max(window_, most);
    bool const late = sent >= asks_;
    if (spent && !(late && asked_)) shared_ = taken_ + window_ / gained + slack < window_;
    asked_ = asked_ || late;
  }

  /// Returns until when `units` more are above its part; `time_point::min()` if they are not.
  time_point held_until(std::uint64_t units) const noexcept {
    if (part_ == all || part_ - std::min(part_, taken_) >= units) return time_point::min();
    return asked_ || taken_ > part_ ? free_ : asks_;
  }
  /// Returns whether others have taken of the present window, which is spent.
  bool shared() const noexcept { return shared_; }

  friend bool operator==(fair_share const&, fair_share const&) = default;

 private:
  static constexpr auto all = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t given_up = 4, gained = 64, fades = 4;  // one of so many
  static constexpr std::uint64_t slack = 2;   // so few that others take are none
  static constexpr int asks = 4, early = 16;  // … before its end: one asks; the next may begin
  static constexpr duration shortest = 1s, longest = 10min;

  std::uint64_t part_ = all;             // that may go before the last eighth
  std::uint64_t taken_ = 0;              // sent in this window
  std::uint64_t window_ = 0;             // all of it, as far as is known
  time_point asks_ = time_point::min();  // … whether anything is left
  time_point free_ = time_point::min();  // what is left is for all; the next one may begin
  bool shared_ = false, asked_ = false;  // … was asked since
};

}  // namespace headway
