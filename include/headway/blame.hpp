#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "headway/time.hpp"

namespace headway {

/// Tells a request that the server refuses for a reason of its own from a limit that refuses all.
///
/// A refusal is the request's own if it was refused twice before, and since then more of the others
/// were accepted than refused. Where only such requests are left, nothing is accepted between their
/// refusals, and a server that is shut looks the same: then it counts refusals in vain.
///
/// Lines that are refused in their turn, one after another, may be alike: a tenant's block of a
/// file. So others are asked *aside*, before their turn: eight, and eight times as many as passed
/// at each next refusal. Once eight have passed, a refusal of one in its turn is its own. A server
/// that is shut refuses those aside, too.
///
/// Threads: a value. Source: design/003, "A request refused alone".
class blame {
 public:
  /// The refusals of one request.
  struct record {
    int refusals = 0;                   ///< so far
    std::uint32_t lead_before = 0;      ///< of the scope, when it was refused last
    std::uint64_t accepted_before = 0;  ///< by all, when it was refused last
    int row = 0;                        ///< refusals since anything was accepted …
    time_point row_since{};             ///< … the first of them
    time_point alone_since = never;     ///< others were first accepted while it was refused
    std::uint64_t accepted_failed = 0;  ///< by all, when it failed last
    bool fails_alone = false;           ///< others were accepted between failures of it
    bool aside = false;                 ///< it is asked before its turn
    bool suspect = false;               ///< it was refused as those in their turn beside it
    /// Returns whether the server refuses this request, and accepts others.
    bool alone() const noexcept { return alone_since != never; }
    friend bool operator==(record const&, record const&) = default;
  };

  static constexpr int unlucky = 2;        ///< refusals that may be a limit's
  static constexpr std::size_t steps = 8;  ///< as many aside pass, and it is none

  /// Returns the record of a request that was refused so often before, under another ticket.
  record begin(int refusals) const noexcept { return {.refusals = refusals, .lead_before = lead_}; }

  /// Takes a success.
  void accept(bool aside = false) noexcept {
    ++lead_;
    ++accepted_;
    in_vain_ = 0;
    passed_ = aside ? passed_ + 1 : 0;
    if (!aside) wanted_ = 0;
  }
  /// Takes a refusal of what went at `sent`. Returns whether others that pass aside show that it is
  /// the request's own.
  bool refuse(time_point now, record& r, time_point sent = time_point::max()) noexcept {
    bool const own = !r.aside && passed_ >= steps;
    if (sent >= heard_) compare(r);
    heard_ = std::max(heard_, now);
    if (std::exchange(r.accepted_before, accepted_) != accepted_) r.row = 0;
    if (++r.row == 1) r.row_since = now;
    if (r.row == 2) ++in_vain_;
    if (++r.refusals > unlucky && static_cast<std::int32_t>(lead_ - r.lead_before) > 0)
      r.alone_since = std::min(r.alone_since, now);
    else
      --lead_;
    r.lead_before = lead_;
    return own;
  }
  /// Takes a failure, which `again` says is not the first. Returns whether it is the request's own:
  /// others were accepted since one before it.
  bool fail(record& r, bool again) const noexcept {
    r.fails_alone = r.fails_alone || (again && r.accepted_failed != accepted_);
    r.accepted_failed = accepted_;
    return r.fails_alone;
  }
  /// Returns whether one is to be asked before its turn.
  bool wants_aside() const noexcept { return wanted_ > 0; }
  /// Returns how often that one was refused, if there is such a one: once or never.
  int wanted_refusals() const noexcept { return again_ ? 1 : 0; }
  /// Takes one that is.
  void ask(record& r) noexcept {
    r.aside = true;
    --wanted_;
  }
  /// Forgets a request.
  void end(record const& r) noexcept {
    if (r.row > 1 && r.accepted_before == accepted_) --in_vain_;
  }

  /// Returns whether anything was accepted.
  bool accepted_any() const noexcept { return accepted_ > 0; }
  /// Returns whether so many requests were refused twice since anything was accepted.
  bool in_vain(std::size_t requests) const noexcept { return in_vain_ >= requests; }

  friend bool operator==(blame const&, blame const&) = default;

 private:
  /// Takes a refusal of what went after the one before was heard.
  void compare(record& r) noexcept {
    bool const vain = accepted_ == std::exchange(accepted_heard_, accepted_);
    if (r.aside) {
      again_ = !again_;
      if (!vain) return;
      if (r.refusals == 0) wanted_ = passed_ = 0;  // another than the one before
      r.aside = false;
    } else if (vain || passed_ > 0) {
      wanted_ = steps * std::max<std::size_t>(passed_, 1);
    } else {
      return;
    }
    r.suspect = true;
  }

  std::uint32_t lead_ = 0;  // successes, less refusals that were not a request's own; modulo 2^32
  std::uint64_t accepted_ = 0;
  std::size_t wanted_ = 0, passed_ = 0;   // aside: are to be asked, have passed
  bool again_ = false;                    // … of those that were refused once
  std::uint64_t accepted_heard_ = 0;      // when the last refusal was heard, …
  time_point heard_ = time_point::min();  // … and when that was
  std::size_t in_vain_ = 0;  // requests that were refused twice since anything was accepted
};

}  // namespace headway
