#include "headway/sim/limit.hpp"

#include <algorithm>

namespace headway::sim {
namespace {

duration until(time_point then, time_point now) noexcept {
  return then > now ? then - now : duration::zero();
}

/// `n` × `factor` to the nearest, saturating.
std::int64_t times(std::int64_t n, double factor) {
  return from_nanoseconds(static_cast<double>(n) * factor + 0.5).count();
}

/// `each` with `factor` times as many of them in the same time.
duration faster(duration each, double factor) {
  return std::max(from_nanoseconds(static_cast<double>(each.count()) / factor + 0.5), 1ns);
}

/// Drops [begin, gone) when that is most of it, so that it costs O(1) an element.
template <class Vector>
void prune(Vector& sorted, typename Vector::iterator gone) {
  if (gone - sorted.begin() > sorted.end() - gone) sorted.erase(sorted.begin(), gone);
}

std::int64_t after(std::vector<time_point> const& sorted, time_point now) {
  return sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), now);
}

/// Until fewer than `n` of them lie ahead. Requires: n > 0.
duration until_fewer(std::vector<time_point> const& sorted, std::int64_t n, time_point now) {
  return after(sorted, now) < n ? duration::zero() : *(sorted.end() - n) - now;
}

void insert(std::vector<time_point>& sorted, time_point t, time_point now) {
  prune(sorted, std::upper_bound(sorted.begin(), sorted.end(), now));
  if (t > now) sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), t), t);
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

allowance token_bucket::left(time_point now) const noexcept {
  duration const full = until(tat, now);
  return {std::max((burst * interval - full) / interval, std::int64_t{0}), full};
}

void token_bucket::scale(double factor) {
  interval = faster(interval, factor);
}

std::int64_t concurrency::busy(time_point now) const noexcept {
  return after(ends, now);
}

duration concurrency::wait(time_point now, std::int64_t) const noexcept {
  return max_busy == 0 ? duration::max() : until_fewer(ends, max_busy, now);
}

void concurrency::admit(time_point now, std::int64_t, duration hold) {
  insert(ends, later(now, hold), now);
}

void concurrency::refuse(time_point now, std::int64_t cost) {
  admit(now, cost, error_holds);
}

void concurrency::inherit(concurrency const& before, time_point) {
  ends = before.ends;
}

void concurrency::scale(double factor) {
  max_busy = times(max_busy, factor);
}

duration queue::delay(time_point now) const noexcept {
  if (servers == 0) return duration::max();
  return free_at.empty() ? duration::zero() : until(*(free_at.end() - servers), now);
}

duration queue::wait(time_point now, std::int64_t) const noexcept {
  if (servers == 0 || waiting_max == 0) return delay(now);
  return until_fewer(begins, waiting_max, now);
}

void queue::admit(time_point now, std::int64_t, duration hold) {
  insert(begins, later(now, delay(now)), now);
  if (free_at.empty()) free_at.resize(static_cast<std::size_t>(servers), time_point::min());
  auto const takes = free_at.end() - servers;
  time_point const end = std::max(later(now, hold), *takes);
  auto const place = std::upper_bound(takes, free_at.end(), end);
  *std::move(takes + 1, place, takes) = end;
}

void queue::inherit(queue const& before, time_point now) {
  free_at = before.free_at;
  begins = before.begins;
  auto const n = static_cast<std::size_t>(servers);
  if (free_at.empty() || free_at.size() >= n) return;
  free_at.insert(std::upper_bound(free_at.begin(), free_at.end(), now), n - free_at.size(), now);
}

void queue::scale(double factor) {
  servers = times(servers, factor);
}

/// Nanoseconds from `since` until the first at work ends, at the speed of now.
double shared::until_first() const noexcept {
  auto const n = static_cast<double>(at_work.size()), c = static_cast<double>(processors);
  double const work = at_work.begin()->finish - worked;
  return rest + (n > c ? work * n / c : work);
}

time_point shared::finish_of_first() const noexcept {
  if (at_work.empty()) return never;
  return later(since, from_nanoseconds(until_first() + 0.5));
}

time_point shared::next_end() const noexcept {
  auto const late = unanswered.empty() ? never : unanswered.begin()->first;
  return std::min(finish_of_first(), late);
}

time_point shared::next_leaves() const noexcept {
  return drops ? next_end() : finish_of_first();
}

void shared::work_until(time_point then) noexcept {
  if (!at_work.empty()) {
    auto const n = static_cast<double>(at_work.size()), c = static_cast<double>(processors);
    auto const passed = static_cast<double>((then - since).count()) - rest;
    worked += n > c ? passed * c / n : passed;
  }
  since = then;
  rest = 0;
}

void shared::advance(time_point now) {
  for (auto at = next_end(); at <= now; at = next_end()) {
    bool const late = at < finish_of_first();
    job const first = late ? unanswered.begin()->second : *at_work.begin();
    if (late) {
      work_until(at);
    } else {
      rest = until_first() - static_cast<double>((at - since).count());
      since = at;
      worked = first.finish;
    }
    if (!late || drops) at_work.erase(first);
    if (unanswered.erase({first.deadline, first}) > 0) over.push_back({first.number, at, late});
    if (at_work.empty()) worked = rest = 0;
  }
  work_until(now);
}

std::optional<ended> shared::take() {
  if (over.empty()) return std::nullopt;
  auto const first = over.front();
  over.pop_front();
  return first;
}

duration shared::wait(time_point now, std::int64_t) const {
  auto const too_many = [this](shared const& s) {
    return static_cast<std::int64_t>(s.at_work.size()) - at_work_max;
  };
  if (too_many(*this) < 0) return duration::zero();
  auto then = next_leaves();
  if (too_many(*this) > 0)
    for (shared ahead = *this; then != never; then = ahead.next_leaves()) {
      ahead.advance(then);
      if (too_many(ahead) < 0) break;
    }
  return then == never ? duration::max() : until(then, now);
}

void shared::admit(time_point now, std::int64_t, duration hold) {
  advance(now);
  job const next{worked + static_cast<double>(hold.count()), admitted++, later(now, patience)};
  at_work.insert(next);
  unanswered.emplace(next.deadline, next);
}

void shared::inherit(shared const& before, time_point now) {
  shared then = before;
  then.advance(now);
  worked = then.worked;
  since = then.since;
  rest = then.rest;
  admitted = then.admitted;
  at_work = std::move(then.at_work);
  unanswered = std::move(then.unanswered);
  over = std::move(then.over);
}

void shared::scale(double factor) {
  processors = times(processors, factor);
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

allowance fixed_window::left(time_point now) const noexcept {
  duration const reset = until(later(start, period), now);
  if (reset == duration::zero()) return {count, reset};
  return {std::max(count - used, std::int64_t{0}), reset};
}

void fixed_window::scale(double factor) {
  count = times(count, factor);
}

duration sliding_window::wait(time_point now, std::int64_t cost) const noexcept {
  if (cost > count) return duration::max();
  std::int64_t const to_go = total() + cost - count;
  auto const last = std::lower_bound(log.begin(), log.end(), to_go,
                                     [](mark const& m, auto units) { return m.total < units; });
  return to_go <= 0 || last == log.end() ? duration::zero() : until(later(last->at, period), now);
}

void sliding_window::add(time_point now, std::int64_t units) {
  // The last one that is gone stays: it knows the total up to it. What lies behind the last `count`
  // units is of no account, however young.
  std::int64_t const of_account = total() - count;
  auto const young = std::partition_point(log.begin(), log.end(), [&](mark const& m) {
    return later(m.at, period) <= now || m.total <= of_account;
  });
  if (young != log.begin()) prune(log, young - 1);
  if (log.empty() || log.back().at != now) log.push_back({now, total()});
  log.back().total += units;
}

void sliding_window::admit(time_point now, std::int64_t cost, duration) {
  add(now, cost);
}

void sliding_window::refuse(time_point now, std::int64_t cost) {
  if (counts_rejects) add(now, std::min(cost, count));
}

void sliding_window::inherit(sliding_window const& before, time_point) {
  log = before.log;
}

allowance sliding_window::left(time_point now) const noexcept {
  auto const young = std::partition_point(
      log.begin(), log.end(), [&](mark const& m) { return later(m.at, period) <= now; });
  if (young == log.end()) return {count, {}};
  std::int64_t const gone = young == log.begin() ? 0 : (young - 1)->total;
  return {std::max(count - (total() - gone), std::int64_t{0}),
          until(later(log.back().at, period), now)};
}

void sliding_window::scale(double factor) {
  count = times(count, factor);
}

void window_counter::advance(time_point now) noexcept {
  if (now < later(start, period)) return;
  bool const follows = now < later(start, 2 * period);
  before = follows ? used : 0;
  start = follows ? later(start, period) : aligned ? now - now.time_since_epoch() % period : now;
  used = 0;
}

duration window_counter::wait(time_point now, std::int64_t cost) const noexcept {
  if (cost > count) return duration::max();
  window_counter then = *this;
  then.advance(now);
  if (then.used + cost > count) then.advance(later(then.start, period));
  std::int64_t const must_leave = then.before - (count - then.used - cost);
  return must_leave <= 0
             ? until(then.start, now)
             : until(later(then.start, (must_leave - 1) * then.each_leaves() + 1ns), now);
}

void window_counter::admit(time_point now, std::int64_t cost, duration) {
  advance(now);
  used += cost;
}

void window_counter::refuse(time_point now, std::int64_t cost) {
  if (counts_rejects) admit(now, cost, {});
}

void window_counter::inherit(window_counter const& earlier, time_point) {
  if (earlier.period != period) return;
  start = earlier.start;
  used = earlier.used;
  before = earlier.before;
}

allowance window_counter::left(time_point now) const noexcept {
  window_counter then = *this;
  then.advance(now);
  std::int64_t of_before = then.before;
  if (of_before > 0) {
    auto const each = then.each_leaves();
    of_before -= std::min(of_before, (now - then.start + each - 1ns) / each);
  }
  duration const reset = until(later(then.start, then.used > 0 ? 2 * period : period), now);
  return {std::max(count - then.used - of_before, std::int64_t{0}),
          then.used + of_before > 0 ? reset : duration::zero()};
}

void window_counter::scale(double factor) {
  count = times(count, factor);
}

duration ban::wait(time_point now, std::int64_t) const noexcept {
  return sim::until(until, now);
}

void ban::refuse(time_point now, std::int64_t) {
  if (now < until) {
    if (prolonged) until = later(now, lasts);
    return;
  }
  seen.count = rejects;
  seen.period = period;
  if (seen.wait(now, 1) == duration::zero()) return seen.admit(now, 1, {});
  until = later(now, lasts);
  seen.log.clear();
}

void ban::inherit(ban const& before, time_point) {
  seen = before.seen;
  until = before.until;
}

void table_capacity::provision(duration each, time_point now) {
  token_bucket const before = bucket;
  bucket = {each, saved_max / each};
  bucket.inherit(before, now);
}

void table_capacity::advance(time_point now) {
  if (bucket.burst == 0) {
    bucket = {interval, saved_max / interval};
    bucket.tat = later(now, from_seconds((1 - level) * to_seconds(saved_max)));
    minute = now;
    return;
  }
  auto const minutes = (now - minute) / 1min;
  if (minutes == 0) return;
  bool const was_hot =
      static_cast<double>(used) * to_seconds(bucket.interval) >= hot * to_seconds(1min);
  hot_so_far = was_hot ? hot_so_far + 1 : 0;
  if (hot_so_far == hot_minutes) {
    hot_so_far = 0;
    if (bucket.interval > fastest) provision(std::max(bucket.interval / 2, fastest), minute + 1min);
  }
  if (minutes > 1) hot_so_far = 0;  // nothing arrived in the others
  minute += minutes * 1min;
  used = 0;
}

duration table_capacity::wait(time_point now, std::int64_t cost) const noexcept {
  table_capacity then = *this;
  then.advance(now);
  return then.bucket.wait(now, cost);
}

void table_capacity::admit(time_point now, std::int64_t cost, duration hold) {
  advance(now);
  bucket.admit(now, cost, hold);
  used += cost;
}

void table_capacity::refuse(time_point now, std::int64_t) {
  advance(now);
}

void table_capacity::inherit(table_capacity const& before, time_point now) {
  table_capacity then = before;
  then.advance(now);
  bucket = then.bucket;
  provision(interval, now);
  minute = now;
}

allowance table_capacity::left(time_point now) const noexcept {
  table_capacity then = *this;
  then.advance(now);
  return then.bucket.left(now);
}

void slope::advance(time_point now) {
  if (bucket.burst == 0) {
    bucket = {interval, burst};
    began = now;
    return;
  }
  auto const periods = (now - began) / period;
  if (periods == 0) return;
  if (periods > 1) used = 0;  // nothing arrived in the last one
  began += periods * period;
  token_bucket const before = bucket;
  bucket.interval = interval;
  if (used > 0)
    bucket.interval = std::min(interval, faster(period, static_cast<double>(used) * (1 + growth)));
  bucket.inherit(before, began);
  used = 0;
}

duration slope::wait(time_point now, std::int64_t cost) const noexcept {
  slope then = *this;
  then.advance(now);
  return then.bucket.wait(now, cost);
}

void slope::admit(time_point now, std::int64_t cost, duration hold) {
  advance(now);
  bucket.admit(now, cost, hold);
  used += cost;
}

void slope::refuse(time_point now, std::int64_t) {
  advance(now);
}

void slope::inherit(slope const& before, time_point now) {
  slope then = before;
  then.advance(now);
  bucket = then.bucket;
  bucket.interval = std::min(interval, bucket.interval);
  bucket.burst = burst;
  bucket.inherit(then.bucket, now);
  began = then.began;
  used = then.used;
}

allowance slope::left(time_point now) const noexcept {
  slope then = *this;
  then.advance(now);
  return then.bucket.left(now);
}

}  // namespace headway::sim
