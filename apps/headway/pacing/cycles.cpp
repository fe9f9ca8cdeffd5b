#include "pacing/cycles.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/law/period.hpp"

namespace headway::app {
namespace {

constexpr double alike = 0.15;        // of a rate: another that differs less tells the same
constexpr double same_units = 0.01;   // of a window's: as many …
constexpr double same_period = 0.05;  // … in as long, …
constexpr double sure_period = 0.1;   // … known to so much of it
constexpr double shut_share = 0.2;    // of a window, at least, in which it gives nothing
constexpr double few_units = 3;       // which come alike by chance
constexpr double off_units = 1.5;     // of a cycle's, that a bucket or a late answer explains …
constexpr double off_share = 0.03;    // … and of what is due
constexpr double steady_least = 4.0 / 3;  // three of four cycles
constexpr double many_units = 10;         // which do not, thrice
constexpr double stand_share = 0.5;       // of the time of a rate, at most, in which nothing came
constexpr double rate_units = 12;         // that a rate needs
constexpr duration hint_unit = 1s;        // what Retry-After is rounded up to
constexpr duration period_least = 900ms;

bool near(double a, double b, double off) {
  return std::abs(a - b) <= off * std::max(a, b);
}

}  // namespace

void cycles::take(tried const& a) {
  if (a.refused) {
    if (all_.empty()) return;  // nothing was accepted yet
    auto& c = all_.back();
    if (c.shut == never) c.shut = a.sent, c.heard = a.answered;
    c.asked = a.sent;
    c.hinted = a.hinted;
    return;
  }
  if (all_.empty() || (all_.back().shut != never && a.sent >= all_.back().heard)) {
    if (all_.size() == most) all_.pop_front();
    all_.push_back({.opened = a.sent, .last = a.sent});
  }
  auto& c = all_.back();
  c.units += a.units;
  c.last = a.sent;
  c.idle |= std::exchange(idle_, false);
}

std::optional<cycles::rate> cycles::kept_up() const {
  // From the first refusal of one cycle to that of the next, as a bucket is empty at each …
  double begins_units = 0, begins_time = 0, told = 0;
  // … and from one opening to the next, as a window is whole at each.
  double ends_units = 0, ends_time = 0;
  rate r;
  for (std::size_t i = 1; i < all_.size(); ++i) {
    auto const &before = all_[i - 1], &c = all_[i];
    if (!c.idle && c.shut != never) {
      ++r.rows;
      begins_units += c.units;
      begins_time += to_seconds(c.shut - before.shut);
      if (before.hinted) told += to_seconds(std::min(c.opened - before.shut, hint_unit));
    }
    bool const first = i == 1 && all_.size() > 2;  // what was saved before the run is no rate
    if (!before.idle && !c.idle && !first) {
      ends_units += before.units;
      ends_time += to_seconds(c.opened - before.opened);
    }
  }
  if (begins_time <= 0 || ends_time <= 0) return std::nullopt;
  auto const begins = begins_units / begins_time, ends = ends_units / ends_time;
  r.per_second = std::min(begins, ends);
  r.most = begins_units / std::max(begins_time - told, 1e-3);
  r.over = from_seconds(begins_time);
  auto const longest = stood();  // as long, it may come again
  bool const goes_on = !longest || to_seconds(longest->lasted) <= stand_share * begins_time;
  r.certain = goes_on && near(begins, ends, alike) && begins_units >= rate_units;
  int same = 0;
  for (std::size_t i = 1; i < all_.size(); ++i)
    if (auto const& c = all_[i]; !c.idle && c.shut != never) {
      auto const due = r.per_second * to_seconds(c.shut - all_[i - 1].shut);
      same += std::abs(c.units - due) <= off_units + off_share * due;
    }
  r.steady = steady_least * same >= r.rows;
  return r;
}

std::optional<cycles::window> cycles::shown() const {
  // Alike cycles in a row, the latest first; the last of all is not over.
  struct {
    double units = 0;
    duration least{}, most = duration::max(), longest{};  // bounds of the period
    int cycles = 0, shut = 0;
  } row;
  auto const shows = [&] {
    bool const sure = near(to_seconds(row.least), to_seconds(row.most), sure_period);
    bool const enough = row.shut >= 2 || (row.cycles >= 3 && row.units >= many_units);
    return sure && enough && row.most >= period_least;
  };
  for (auto i = all_.size() < 2 ? 0 : all_.size() - 1; i-- > 0;) {
    auto const &c = all_[i], &next = all_[i + 1];
    auto const lasted = next.opened - c.opened;
    bool const usable = !c.idle && !next.idle && c.units >= few_units;
    bool const same = row.cycles > 0 && std::abs(c.units - row.units) <= same_units * row.units &&
                      near(to_seconds(lasted), to_seconds(row.most), same_period) &&
                      near(to_seconds(lasted), to_seconds(row.longest), same_period);
    if (!usable || !same) {
      if (shows()) break;
      row = {};
    }
    if (!usable) continue;
    auto const last_shut = c.hinted ? std::min(c.asked, next.opened - hint_unit) : c.asked;
    row.units = std::max(row.units, c.units);
    row.least = std::max(row.least, last_shut - c.opened);
    row.most = std::min(row.most, lasted);
    row.longest = std::max(row.longest, lasted);
    ++row.cycles;
    row.shut += to_seconds(next.opened - c.last) >= shut_share * to_seconds(lasted);
  }
  if (!shows()) return std::nullopt;
  auto lasts = row.most;
  for (auto const seconds : period::written)
    if (auto const w = from_seconds(seconds); row.least < w && w <= row.most) lasts = w;
  return window{row.units, lasts, row.shut >= 2};
}

std::optional<cycles::stand> cycles::stood() const {
  std::optional<stand> longest;
  for (std::size_t i = 0; i + 1 < all_.size(); ++i) {
    auto const lasted = all_[i + 1].opened - all_[i].last;
    if (!longest || lasted > longest->lasted) longest = {all_[i].units, lasted};
  }
  return longest;
}

}  // namespace headway::app
