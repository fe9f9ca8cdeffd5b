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
    /// Returns whether the server refuses this request, and accepts others.
    bool alone() const noexcept { return alone_since != never; }
    friend bool operator==(record const&, record const&) = default;
  };

  static constexpr int unlucky = 2;  ///< refusals that may be a limit's

  /// Returns the record of a request that was refused so often before, under another ticket.
  record begin(int refusals) const noexcept { return {.refusals = refusals, .lead_before = lead_}; }

  /// Takes a success, of any request.
  void accept() noexcept {
    ++lead_;
    ++accepted_;
    in_vain_ = 0;
  }
  /// Takes a refusal.
  void refuse(time_point now, record& r) noexcept {
    if (std::exchange(r.accepted_before, accepted_) != accepted_) r.row = 0;
    if (++r.row == 1) r.row_since = now;
    if (r.row == 2) ++in_vain_;
    if (++r.refusals > unlucky && static_cast<std::int32_t>(lead_ - r.lead_before) > 0)
      r.alone_since = std::min(r.alone_since, now);
    else
      --lead_;
    r.lead_before = lead_;
  }
  /// Takes a failure, which `again` says is not the first. Returns whether it is the request's own:
  /// others were accepted since one before it.
  bool fail(record& r, bool again) const noexcept {
    r.fails_alone = r.fails_alone || (again && r.accepted_failed != accepted_);
    r.accepted_failed = accepted_;
    return r.fails_alone;
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
  std::uint32_t lead_ = 0;  // successes, less refusals that were not a request's own; modulo 2^32
  std::uint64_t accepted_ = 0;
  std::size_t in_vain_ = 0;  // requests that were refused twice since anything was accepted
};

}  // namespace headway
