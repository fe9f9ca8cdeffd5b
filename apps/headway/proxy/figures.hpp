/// Figures of the last seconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "headway/time.hpp"

namespace headway::app::proxy {

/// Returns the second that a time lies in.
inline std::int64_t second_of(time_point at) noexcept {
  return at.time_since_epoch() / 1s;
}

/// Counts in each of the last N seconds.
template <std::size_t N>
class last_seconds {
 public:
  void add(std::int64_t second, std::uint32_t n = 1) noexcept {
    move_to(second);
    counts_[index(second)] += n;
  }
  /// Returns the count of one second.
  std::uint32_t at(std::int64_t second) const noexcept {
    if (second > newest_ || second <= newest_ - static_cast<std::int64_t>(N)) return 0;
    return counts_[index(second)];
  }
  /// Returns the sum of the `n` seconds before this one, and of it.
  std::uint64_t sum(std::int64_t second, std::int64_t n) const noexcept {
    std::uint64_t all = 0;
    for (auto s = second - n; s <= second; ++s) all += at(s);
    return all;
  }

 private:
  static std::size_t index(std::int64_t second) noexcept {
    return static_cast<std::size_t>(second) % N;
  }
  void move_to(std::int64_t second) noexcept {
    if (second <= newest_) return;
    auto const from = std::max(newest_ + 1, second - static_cast<std::int64_t>(N) + 1);
    for (auto s = from; s <= second; ++s) counts_[index(s)] = 0;
    newest_ = second;
  }

  std::array<std::uint32_t, N> counts_{};
  std::int64_t newest_ = 0;
};

/// The latest times of something, to tell quantiles of the last minute.
class latest_times {
 public:
  void add(time_point now, duration took) {
    if (all_.size() == most) all_.pop_front();
    all_.emplace_back(now, took);
  }
  /// Returns the quantile q of the last minute; nullopt where there was none.
  std::optional<duration> quantile(time_point now, double q) const {
    std::vector<duration> recent;
    for (auto const& [at, took] : all_)
      if (at + 60s > now) recent.push_back(took);
    if (recent.empty()) return std::nullopt;
    auto const which = static_cast<std::ptrdiff_t>(q * static_cast<double>(recent.size() - 1));
    std::nth_element(recent.begin(), recent.begin() + which, recent.end());
    return recent[static_cast<std::size_t>(which)];
  }

 private:
  static constexpr std::size_t most = 4096;
  std::deque<std::pair<time_point, duration>> all_;
};

}  // namespace headway::app::proxy
