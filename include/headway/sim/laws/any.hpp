#pragma once

#include <variant>

#include "headway/sim/laws/aws_adaptive.hpp"
#include "headway/sim/laws/cubic_window.hpp"
#include "headway/sim/laws/netflix_aimd.hpp"
#include "headway/sim/laws/netflix_gradient2.hpp"
#include "headway/sim/laws/told.hpp"

namespace headway::sim {

/// The published laws that ours are compared with, and the sender that knows the limit; chosen at
/// run time. Still a value.
struct rival_law {
  std::variant<cubic_window_law, aws_adaptive, aws_adaptive_one_cut, netflix_aimd_law,
               netflix_gradient2_law, told>
      choice{};

  time_point ready_at(std::int64_t cost) const noexcept {
    return std::visit([&](auto const& l) { return l.ready_at(cost); }, choice);
  }
  double allowed() const noexcept {
    return std::visit([](auto const& l) { return l.allowed(); }, choice);
  }
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept {
    return std::visit([&](auto& l) { return l.take(now, cost, u); }, choice);
  }
  void on_success(time_point now, sample const& s, fraction u) noexcept {
    std::visit([&](auto& l) { l.on_success(now, s, u); }, choice);
  }
  void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept {
    std::visit([&](auto& l) { l.on_throttle(now, s, r, u); }, choice);
  }
  void on_failure(time_point now, sample const& s, fraction u) noexcept {
    std::visit([&](auto& l) { l.on_failure(now, s, u); }, choice);
  }
  void on_hint(time_point now, hint const& h) noexcept {
    std::visit([&](auto& l) { l.on_hint(now, h); }, choice);
  }
  friend bool operator==(rival_law const&, rival_law const&) = default;
};
static_assert(law<rival_law>);

}  // namespace headway::sim
