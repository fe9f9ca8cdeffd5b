#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "headway/fair_share.hpp"
#include "headway/time.hpp"

namespace headway {

/// Knows what is left of a limit, as far as the server tells: what remained at an answer, less all
/// that was sent since the request that it answers.
///
/// Answers come in any order: the last request may be served first. So in the first window, and in
/// one that begins at a reset, all that flies counts, and so does what breaks. After a reset, and
/// until an answer tells anew, the next window is taken to have no more than was ever left of the
/// one before. That ends, and nothing is known, once an answer does not tell, or once two of the
/// longest round trips that told before have passed.
///
/// Some servers count when they answer, so that what went meanwhile is taken off twice. Once
/// nothing flies, and all have told, the least that was told is left.
///
/// A bucket refills all the time, and tells when it is full, often in whole seconds. One in which
/// more is left than a window explains is empty only for its share of the time to the reset.
///
/// Threads: a value. Source: draft-ietf-httpapi-ratelimit-headers-11; design/012.
class allowance {
 public:
  /// A place in the order of sends.
  struct place {
    std::uint64_t sent = 0;    ///< units, by all, its own included; modulo 2^64
    std::uint64_t beside = 0;  ///< units of others that were not heard of when it went
    std::uint32_t window = 0;  ///< that its answer is to tell of; 0: of none
    friend bool operator==(place const&, place const&) = default;
  };
  /// An answer that tells what is left.
  struct answer {
    place of{};                  ///< the request
    std::int64_t cost = 1;       ///< units that it took: none if it was refused
    std::int64_t remaining = 0;  ///< units; less than 0 is 0
    duration reset{};            ///< from now on; less than 0 is 0
    duration rtt{};              ///< since it went, at least 0
  };

  /// Takes a send.
  place send(time_point now, std::int64_t cost) noexcept {
    auto asks = asking_ > 0;
    if (now >= until_) {
      asks = !asks && left_ != unknown;
      asking_ = 0;
      left_ = asks ? most_ - std::min(most_, flying_) : unknown;
      taken_ = asks ? std::optional<std::uint64_t>(0) : std::nullopt;
      if (asks) {
        until_ = later(later(now, slowest_), slowest_);
        ++window_;
      }
    }
    if (asks) ++asking_;
    auto const units = static_cast<std::uint64_t>(cost);
    if (left_ != unknown) left_ -= std::min(left_, units);
    share_.send(units);
    return {sent_ += units, std::exchange(flying_, flying_ + units), asks ? window_ : 0};
  }

  /// Takes a request of `cost` that is heard of, or will not be, before what its answer tells. An
  /// answer that is to tell what is left, and does not, ends what is known; so does the last one
  /// that breaks or is cancelled. `answered`: it did not break; `tells`: what is left.
  void come_back(place of, std::int64_t cost, bool answered, bool tells) noexcept {
    flying_ -= static_cast<std::uint64_t>(cost);
    if (answered && !tells) fresh_ = false;
    untold_ = untold_ || !tells;
    if (!tells && taken_) *taken_ += static_cast<std::uint64_t>(cost);
    if (asking_ == 0 || of.window != window_ || (--asking_ > 0 && !answered)) return;
    asking_ = 0;
    left_ = unknown;
    if (!tells) taken_.reset();
  }

  /// Takes what an answer tells. A reset sooner than two round trips is left to the law: such a
  /// count is older than what it counts, and tells nothing of a window that has begun since. Nor
  /// does it undo what is known of one that is long beside its answers, and that it agrees with.
  void tell(time_point now, answer const& a) noexcept {
    auto const reset = std::max(a.reset, duration::zero());
    auto const soon = reset - a.rtt <= a.rtt;
    auto const told = static_cast<std::uint64_t>(std::max<std::int64_t>(a.remaining, 0));
    auto const left = told - std::min(told, sent_ - a.of.sent);
    bool const agrees = slowest_ <= span_ / 4 && left - std::min(left, left_) <= a.of.beside;
    if (soon && (asking_ > 0 || (left_ != unknown && agrees))) return;
    auto const first = left_ == unknown || asking_ > 0;
    most_ = std::max(first ? 0 : most_, told + static_cast<std::uint64_t>(a.cost));
    slowest_ = first ? a.rtt : std::max(slowest_, a.rtt);
    if (first || now >= until_) lowest_ = unknown, untold_ = false;
    lowest_ = std::min(lowest_, told);
    asking_ = 0;
    left_ = soon ? unknown : left;
    if (std::exchange(fresh_, false))
      taken_ = 0;
    else if (now >= (first ? until_ : ends_))
      taken_.reset();
    if (taken_) *taken_ += static_cast<std::uint64_t>(a.cost);
    until_ = later(now, reset);
    if (first) {
      span_ = reset;
      ends_ = until_;
      share_.begin(now, reset, flying_ + static_cast<std::uint64_t>(a.cost));
    }
    if (!soon && taken_) {
      auto const most = most_ - std::min(most_, *taken_ + flying_);
      refills_ = left - std::min(left, most) > a.of.beside;
      left_ = std::min(left, refills_ ? left : most);
      if (refills_) taken_.reset();
    }
    if (flying_ == 0 && !untold_ && lowest_ > left_) {
      left_ = lowest_;
      most_ = std::max(most_, lowest_ + taken_.value_or(0));
    }
    back_ = refills_ ? later(now, reset / (most_ + 1)) : until_;
    if (!soon && !refills_) share_.tell(now - a.rtt, most_, left == 0);
  }

  /// Returns until when nothing of `cost` is left, as far as one knows; `time_point::min()` if
  /// enough is.
  time_point held_until(std::int64_t cost) const noexcept {
    return lacks(cost) && asking_ == 0 ? back_ : time_point::min();
  }
  /// Returns until when at most a request of `cost` waits for an answer that tells what is left;
  /// `time_point::min()` if for none.
  time_point asks_until(std::int64_t cost) const noexcept {
    return lacks(cost) && asking_ > 0 ? until_ : time_point::min();
  }

  /// Returns until when what is left is left to others, as far as a request of `cost` would take
  /// it; `time_point::min()` if it is not.
  time_point left_to_others_until(std::int64_t cost) const noexcept {
    return share_.held_until(static_cast<std::uint64_t>(cost));
  }
  /// Returns whether others take of it, too.
  bool shared() const noexcept { return share_.shared(); }

  friend bool operator==(allowance const&, allowance const&) = default;

 private:
  static constexpr auto unknown = std::numeric_limits<std::uint64_t>::max();

  bool lacks(std::int64_t cost) const noexcept { return left_ < static_cast<std::uint64_t>(cost); }

  std::uint64_t sent_ = 0;                // units, modulo 2^64
  std::uint64_t flying_ = 0;              // of them, not heard of yet; modulo 2^64
  std::uint64_t left_ = unknown;          // that was told, less what was sent since
  std::uint64_t most_ = 0;                // of that window was left, as far as is known
  time_point until_ = time_point::min();  // until then `left_` is all there is
  duration slowest_{};                    // round trip of those that told of that window
  std::optional<std::uint64_t> taken_{};  // units of it that were accepted, or broke
  duration span_{};                       // until the reset, as that window was first told of
  time_point ends_ = time_point::min();   // that reset: one that recedes ends no window
  bool refills_ = false;                  // more was left than one window explains
  time_point back_ = time_point::min();   // when there is more: at the reset, or sooner
  std::uint64_t lowest_ = unknown;        // that an answer of that window told
  bool untold_ = false;                   // one of it did not tell, or broke
  fair_share share_;                      // of a window that others use, too
  bool fresh_ = true;                     // no answer has come
  std::uint32_t window_ = 0;              // count of these
  int asking_ = 0;  // requests that fly and went since, while nothing is told of it
};

}  // namespace headway
