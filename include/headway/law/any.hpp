#pragma once

#include <variant>

#include "headway/law/auto_sleeper.hpp"
#include "headway/law/paced.hpp"
#include "headway/law/seek.hpp"
#include "headway/pacer/adaptive_rate.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/pacer/hesitant.hpp"
#include "headway/window/fixed.hpp"
#include "headway/window/reno.hpp"
#include "headway/window/tahoe.hpp"

namespace headway {

/// Any shipped law, chosen at run time. A value.
struct any_law {
  std::variant<seek, paced<hesitant, reno>, paced<hesitant, tahoe>,
               paced<adaptive_rate, fixed_window>, paced<gcra, fixed_window>,
               paced<unpaced, fixed_window>, auto_sleeper>
      choice{};  ///< in use

  time_point ready_at(std::int64_t cost) const noexcept {
    return std::visit([&](auto const& l) { return l.ready_at(cost); }, choice);
  }
  double allowed() const noexcept {
    return std::visit([](auto const& l) { return l.allowed(); }, choice);
  }
  /// Returns where slow start ends, in permits; 0 of a law without a congestion window.
  double ssthresh() const noexcept {
    if (auto const* r = std::get_if<paced<hesitant, reno>>(&choice)) return r->win.ssthresh;
    if (auto const* t = std::get_if<paced<hesitant, tahoe>>(&choice)) return t->win.ssthresh;
    return 0;
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
  /// Takes an attempt that was given up before it was answered, where the law asks for it.
  void on_cancel(time_point now, stamp const& sent) noexcept {
    if (auto* l = std::get_if<seek>(&choice)) l->on_cancel(now, sent);
  }
  /// Returns since when nothing answers, as far as the law tells; `never`: something does.
  time_point broken_since() const noexcept {
    auto const* s = std::get_if<seek>(&choice);
    return s != nullptr ? s->broken_since() : never;
  }
  friend bool operator==(any_law const&, any_law const&) = default;
};
static_assert(law<any_law>);

}  // namespace headway
