#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "headway/time.hpp"

namespace headway {

/// Keeps to a part of a window that others use, too.
///
/// A told window of which nothing is left before its last eighth, though less than all of it went
/// from here, is shared. From the next one on only a part goes before that eighth: three quarters
/// of what went, and with each window a 64th of it more. A client gives up in proportion to what it
/// has, and gains as much as any other, so that parts become equal. In the last eighth what is left
/// is for all: a small part has it sooner than a large one, since else the first of each window is
/// the first then, too, takes it and never learns that others want it; and one request asks how
/// much that is. A window of less than a second or more than ten minutes has no parts.
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
    if (now < ends_) return;
    ends_ = later(now, reset - reset / early);
    auto const took = taken_ - std::min(taken_, taken);
    if (shared_) part_ = took - took / given_up;
    if (part_ != all) part_ += window_ / gained + 1;
    if (part_ >= window_ || reset < shortest || reset > longest) part_ = all;
    free_ = later(now, reset - reset / last);
    if (part_ != all) free_ += reset / early / window_ * part_;
    taken_ = taken;
    window_ -= window_ / fades;  // a limit may have fallen
    shared_ = asked_ = false;
  }

  /// Takes an answer to what went at `sent`: as much as `most` of the window was once left, as far
  /// as is known, and now nothing is, if it is `spent`.
  void tell(time_point sent, std::uint64_t most, bool spent) noexcept {
    window_ = std::max(window_, most);
    bool const late = sent >= free_;
    if (spent && !(late && asked_)) shared_ = taken_ + window_ / gained + slack < window_;
    asked_ = asked_ || late;
  }

  /// Returns until when `units` more are above its part; `time_point::min()` if they are not.
  time_point held_until(std::uint64_t units) const noexcept {
    if (part_ == all || part_ - std::min(part_, taken_) >= units) return time_point::min();
    return asked_ || taken_ <= part_ ? free_ : ends_;
  }
  /// Returns whether others have taken of the present window, which is spent.
  bool shared() const noexcept { return shared_; }

  friend bool operator==(fair_share const&, fair_share const&) = default;

 private:
  static constexpr auto all = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t given_up = 4, gained = 64, fades = 4;  // one of so many
  static constexpr std::uint64_t slack = 2;   // so few that others take are none
  static constexpr int last = 8, early = 16;  // … of a window: for all; the next may have begun
  static constexpr duration shortest = 1s, longest = 10min;

  std::uint64_t part_ = all;             // that may go before the last eighth
  std::uint64_t taken_ = 0;              // sent in this window
  std::uint64_t window_ = 0;             // all of it, as far as is known
  time_point ends_ = time_point::min();  // it does, about
  time_point free_ = time_point::min();  // its last eighth begins, for us
  bool shared_ = false, asked_ = false;  // … was asked since
};

}  // namespace headway
