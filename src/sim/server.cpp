#include "headway/sim/server.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace headway::sim {
namespace {

duration until(time_point then, time_point now) noexcept {
  return then > now ? then - now : duration::zero();
}

duration wait(limit const& l, time_point now, std::int64_t cost) {
  return std::visit([&](auto const& x) { return x.wait(now, cost); }, l);
}

}  // namespace

duration token_bucket::wait(time_point now, std::int64_t cost) const noexcept {
  if (cost > burst) return duration::max();
  return until(later(tat, (cost - burst) * interval), now);
}

void token_bucket::admit(time_point now, std::int64_t cost, duration) {
  tat = later(std::max(tat, now), cost * interval);
}

void token_bucket::inherit(token_bucket const& before, time_point now) {
  double const missing = to_seconds(until(before.tat, now)) / to_seconds(before.interval);
  double const saved =
      std::min(static_cast<double>(before.burst) - missing, static_cast<double>(burst));
  tat = later(now, from_seconds((static_cast<double>(burst) - saved) * to_seconds(interval)));
}

std::int64_t concurrency::busy(time_point now) const noexcept {
  return ends.end() - std::upper_bound(ends.begin(), ends.end(), now);
}

duration concurrency::wait(time_point now, std::int64_t) const noexcept {
  if (max_busy == 0) return duration::max();
  if (busy(now) < max_busy) return {};
  return *(ends.end() - max_busy) - now;
}

void concurrency::admit(time_point now, std::int64_t, duration hold) {
  ends.erase(ends.begin(), std::upper_bound(ends.begin(), ends.end(), now));
  time_point const end = later(now, hold);
  if (end > now) ends.insert(std::upper_bound(ends.begin(), ends.end(), end), end);
}

void concurrency::refuse(time_point now, std::int64_t cost) {
  admit(now, cost, error_holds);
}

void concurrency::inherit(concurrency const& before, time_point) {
  ends = before.ends;
}

duration fixed_window::wait(time_point now, std::int64_t cost) const noexcept {
  if (cost > count) return duration::max();
  return used + cost <= count ? duration::zero() : until(later(start, period), now);
}

void fixed_window::admit(time_point now, std::int64_t cost, duration) {
  if (now >= later(start, period)) {
    start = aligned ? now - now.time_since_epoch() % period : now;
    used = 0;
  }
  used += cost;
}

void fixed_window::inherit(fixed_window const& before, time_point) {
  if (before.period != period || before.aligned != aligned) return;
  start = before.start;
  used = before.used;
}

duration sliding_window::wait(time_point now, std::int64_t cost) const noexcept {
  if (cost > count) return duration::max();
  if (log.empty()) return {};
  std::size_t const last_to_go = (oldest + static_cast<std::size_t>(cost) - 1) % log.size();
  return until(later(log[last_to_go], period), now);
}

void sliding_window::add(time_point now, std::int64_t units) {
  log.resize(static_cast<std::size_t>(count), time_point::min());
  for (; units > 0; --units) {
    log[oldest] = now;
    oldest = (oldest + 1) % log.size();
  }
}

void sliding_window::admit(time_point now, std::int64_t cost, duration) {
  add(now, cost);
}

void sliding_window::refuse(time_point now, std::int64_t cost) {
  if (counts_rejects) add(now, std::min(cost, count));
}

void sliding_window::inherit(sliding_window const& before, time_point) {
  for (std::size_t i = 0; i < before.log.size(); ++i)
    add(before.log[(before.oldest + i) % before.log.size()], 1);
}

server::server(behaviour b) : behaviour_(std::move(b)), limits_(behaviour_.limits) {
  limits_.emplace_back(unlimited{});
}

answer server::arrive(time_point now, std::int64_t cost, fraction u) {
  for (; next_step_ < behaviour_.schedule.size(); ++next_step_) {
    auto const& [from, becomes] = behaviour_.schedule[next_step_];
    if (from > now) break;
    limit const before = std::exchange(limits_.back(), becomes);
    std::visit(
        [&before, at = from](auto& l) {
          auto const* same = std::get_if<std::remove_reference_t<decltype(l)>>(&before);
          if (same) l.inherit(*same, at);
        },
        limits_.back());
  }

  for (limit& refuses : limits_) {
    if (wait(refuses, now, cost) == duration::zero()) continue;
    std::visit([&](auto& l) { l.refuse(now, cost); }, refuses);
    duration all_admit{};
    for (limit const& l : limits_) all_admit = std::max(all_admit, wait(l, now, cost));
    answer told{.what = outcome::throttle, .after = behaviour_.error_latency};
    if (all_admit != duration::max())
      told.retry_after = std::max(all_admit - told.after, duration::zero());
    return told;
  }

  duration const hold = behaviour_.latency.draw(derive(u, 0));
  for (limit& l : limits_) std::visit([&](auto& x) { x.admit(now, cost, hold); }, l);
  bool const fails = unit(derive(u, 1)) < behaviour_.failures;
  return {.what = fails ? outcome::failure : outcome::success, .after = hold};
}

}  // namespace headway::sim
