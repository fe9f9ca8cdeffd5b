#include "pacing/slots_seen.hpp"

#include <algorithm>
#include <utility>

namespace headway::app {
namespace {

constexpr std::uint64_t against_least = 500;  // one of so many that are accepted speaks against
constexpr double share_least = 10.0 / 9;      // 9 of 10 refusals agree
constexpr double stands = 4;                  // times an answer: longer, no slots are full
constexpr double spread = 0.15;               // of the mean: standard deviation

}  // namespace

std::size_t slots_seen::surely(time_point from, time_point to, duration way) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      flying_, [&](flight const& o) { return o.sent + way <= from && o.answered >= to + way; }));
}

void slots_seen::take(tried const& a) {
  if (!a.refused) {
    for (auto i = refusals_.rbegin(); i != refusals_.rend() && a.sent <= i->sent + i->took; ++i)
      ++i->most;  // it may have come first
    auto const way = way_ > 0ns ? way_ : (a.answered - a.sent) / 2;
    ++beside_[std::min(surely(a.sent, a.sent + way, way), most)];
    if (accepted_ > 0) stood_ = std::max(stood_, a.sent - last_);
    last_ = a.sent;
    ++accepted_;
    auto const took = to_seconds(a.answered - a.sent);
    took_ += took;
    took_squares_ += took * took;
    row_ = false;
    std::erase_if(flying_, [&](flight const& o) { return o.answered <= a.sent; });
    flying_.push_back({a.sent, a.answered});
    return;
  }
  way_ = std::max(way_, a.answered - a.sent);
  if (std::exchange(row_, true)) return;
  auto const perhaps =
      std::ranges::count_if(flying_, [&](flight const& o) { return o.answered >= a.sent; });
  if (refusals_.size() == refusals_max) refusals_.pop_front();
  refusals_.push_back(
      {a.sent, way_, surely(a.sent, a.answered, way_), static_cast<std::size_t>(perhaps)});
}

bool slots_seen::tells_from_rate() const noexcept {
  if (accepted_ == 0) return false;
  auto const n = static_cast<double>(accepted_), mean = took_ / n;
  return took_squares_ / n - mean * mean > spread * spread * mean * mean;
}

std::optional<slots_seen::range> slots_seen::agreed() const {
  auto const agree = [&](std::size_t n) {
    return static_cast<std::size_t>(std::ranges::count_if(
        refusals_, [&](refusal const& r) { return r.least <= n && n <= r.most; }));
  };
  std::uint64_t against = 0;  // what was accepted although as many were out
  std::size_t best = 0;
  std::optional<range> found;
  for (auto n = most; n > 0; --n) {
    against += beside_[n];
    if (against_least * against > accepted_) break;
    auto const count = agree(n);
    if (count == 0 ||
        share_least * static_cast<double>(count) < static_cast<double>(refusals_.size()))
      continue;
    if (count > best)
      found = range{n, n}, best = count;
    else if (count == best && found && found->least == n + 1)
      found->least = n;
  }
  return found;
}

std::optional<slots_seen::range> slots_seen::told() const {
  if (refusals_.size() < refusals_min || accepted_ == 0) return std::nullopt;
  // Slots are free again within an answer's time.
  auto const mean = took_ / static_cast<double>(accepted_);
  if (to_seconds(stood_) > std::max(stands * mean, 1.0)) return std::nullopt;
  return out();
}

std::optional<slots_seen::range> slots_seen::out() const {
  auto const found = agreed();
  auto const vague = found && found->most - found->least > 1 + found->most / 20;
  return vague ? std::nullopt : found;
}

}  // namespace headway::app
