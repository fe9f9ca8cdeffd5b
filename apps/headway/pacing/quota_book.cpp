#include "pacing/quota_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/words.hpp"

namespace headway::app {
namespace {

constexpr double units_max = 1e12;
constexpr std::size_t name_max = 40;
constexpr duration window_max = std::chrono::hours(24 * 366);
constexpr int in_vain_max = 2;
constexpr duration rounding = 1500ms;  // of a wait in whole seconds, and of a reset

/// 90000, 90k, 1.5M.
double parse_units(std::string_view text, double least = 1) {
  double value = 0;
  auto const* const last = text.data() + text.size();
  auto const [end, error] = std::from_chars(text.data(), last, value, std::chars_format::fixed);
  auto const unit = std::string_view(end, static_cast<std::size_t>(last - end));
  auto const factor = unit.empty() ? 1.0 : unit == "k" ? 1e3 : unit == "M" ? 1e6 : 0.0;
  if (error != std::errc{} || !(value * factor >= least && value * factor <= units_max))
    throw std::invalid_argument(
        fmt::format("'{}' is not a number of units from {} to {:.0e}, such as 500, 90k or 1.5M",
                    text, least, units_max));
  return value * factor;
}

bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= name_max && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool counts_requests(std::string_view name) noexcept {
  return name.find("request") != name.npos;
}

std::optional<double> units_of(std::span<quota_units const> all, std::string_view name) noexcept {
  for (auto const& one : all)
    if (one.quota == name) return one.units;
  return std::nullopt;
}

/// As fair_share counts them.
std::uint64_t whole(double units) noexcept {
  return static_cast<std::uint64_t>(std::llround(std::clamp(units, 0.0, 1e15)));
}

/// When `units` are there that come at `per_second`, surely later than `now`.
time_point when(time_point now, double units, double per_second) noexcept {
  return later(now, from_seconds(std::max(units, 0.0) / per_second) + 1us);
}

}  // namespace

quota_ceiling parse_quota(std::string_view text) {
  auto const equals = text.find('=');
  auto const slash = text.find('/');
  if (equals == text.npos || slash == text.npos || slash < equals ||
      !is_name(text.substr(0, equals)))
    throw std::invalid_argument(
        "not NAME=UNITS/PER or NAME=UNITS/PER:BURST, such as tokens=90k/min or "
        "tokens=90k/min:20k");
  quota_ceiling q{.name = std::string(text.substr(0, equals)),
                  .units = parse_units(text.substr(equals + 1, slash - equals - 1))};
  auto const colon = std::min(text.find(':', slash), text.size());
  q.period = parse_rate(fmt::format("1/{}", text.substr(slash + 1, colon - slash - 1))).period;
  if (colon < text.size()) {
    q.burst = parse_units(text.substr(colon + 1));
    if (q.burst > q.units)
      throw std::invalid_argument(
          fmt::format("a burst of {:.0f} is more than {:.0f}, which a "
                      "period has",
                      q.burst, q.units));
  }
  return q;
}

quota_units parse_amount(std::string_view text) {
  auto const equals = text.find('=');
  if (equals == text.npos || !is_name(text.substr(0, equals)))
    throw std::invalid_argument("not NAME=UNITS, such as tokens=5M");
  return {.quota = std::string(text.substr(0, equals)),
          .units = parse_units(text.substr(equals + 1), 1e-6)};
}

quota_book::quota_book(std::span<quota_ceiling const> ceilings,
                       std::span<quota_units const> per_byte) {
  quotas_.reserve(quotas_max);
  for (auto const& p : per_byte)
    if (auto* const q = find_or_make(p.quota)) q->whole = q->sized = cost_model(p.units);
  for (auto const& c : ceilings)
    if (auto* const q = find_or_make(c.name)) {
      auto const burst = std::max(c.burst, 1.0);
      q->set = ceiling{.per_second = c.units / to_seconds(c.period),
                       .burst = burst,
                       .units = c.units,
                       .level = burst};
    }
}

void quota_book::take_part(time_point now, double part) noexcept {
  if (part == part_) return;
  auto const factor = part / std::exchange(part_, part);
  for (auto& q : quotas_)
    if (q.set) {
      q.set->refill(now);
      q.set->per_second *= factor;
      q.set->burst *= factor;
      q.set->level = std::min(q.set->level, q.set->burst);
    }
}

quota_book::held quota_book::ready_at(time_point now, request_size const& size,
                                      duration patience) const {
  held latest;
  auto const at_least = [&](quota const& q, time_point until, reason why = reason::quota) {
    if (until > latest.until) latest = {q.name, until, why};
  };
  for (auto const& q : quotas_) {
    if (q.hold > now) at_least(q, q.hold);
    if (q.ours && q.at_once && flying_ >= *q.at_once) at_least(q, never);
    auto const cost = cost_of(q, size);
    if (!cost) continue;
    if (q.set) {
      auto c = *q.set;
      c.refill(now);
      auto const wanted = std::min(*cost, c.burst);
      if (c.level < wanted * (1 - 1e-9)) at_least(q, when(now, wanted - c.level, c.per_second));
    }
    if (q.alone && !q.told)
      at_least(q, q.alone->sent.ready_at(now, std::min(*cost, q.alone->limit), q.alone->limit));
    auto const* const common = q.common && !shares_pace_ ? &*q.common : nullptr;
    if (common != nullptr)
      if (auto const until = common->share.held_until(whole(*cost)); until <= later(now, patience))
        at_least(q, until, reason::others);
    if (q.told) {
      auto const& t = *q.told;
      auto const wanted = std::min(*cost, t.limit) * (1 - 1e-9);
      auto const level = t.level_at(now);
      if (level >= wanted) continue;
      if (t.refills)
        at_least(q, when(now, wanted - level, t.per_second));
      else if (t.full != never && t.full > now)
        at_least(q, common != nullptr && common->known() && !common->asked && q.flies <= 0
                        ? std::min(t.full, common->ends)
                        : t.full);
      else if (flying_ > 0)
        at_least(q, never);
    }
  }
  return latest;
}

time_point quota_book::busy_until() const noexcept {
  auto at = time_point::min();
  for (auto const& q : quotas_) {
    at = std::max(at, q.hold);
    if (q.set && q.set->level < q.set->burst)
      at = std::max(at, when(q.set->as_of, q.set->burst - q.set->level, q.set->per_second));
    if (q.told && !q.told->refills && q.told->level < 1 && q.told->full != never)
      at = std::max(at, q.told->full);
    if (q.common && !shares_pace_) at = std::max(at, q.common->share.held_until(1));
  }
  return at;
}

bool quota_book::shared() const noexcept {
  return !shares_pace_ && std::ranges::any_of(quotas_, [](auto const& q) {
    return q.ours && q.common && q.common->share.shared();
  });
}

std::optional<std::string> quota_book::never_fits(request_size const& size) const {
  for (auto const& q : quotas_) {
    auto const given = units_of(size.given, q.name);
    auto const reserved = units_of(size.reserved, q.name);
    // An estimate alone condemns nothing: it goes when all of the quota is there.
    if (!given && !reserved) continue;
    auto const cost = given.value_or(reserved.value_or(0));
    auto limit = q.told ? q.told->limit : units_max;
    if (q.set) limit = std::min(limit, q.set->units);
    if (cost > limit)
      return fmt::format("it needs {:.0f} {}, but the limit is {:.0f}", cost, q.name, limit);
  }
  return std::nullopt;
}

quota_receipt quota_book::take(time_point now, request_size const& size) {
  quota_receipt receipt{.sent = now, .open = true};
  ++flying_;
  for (std::size_t i = 0; i < quotas_.size(); ++i) {
    auto& q = quotas_[i];
    auto const cost = cost_of(q, size);
    if (!cost) continue;
    q.taken += *cost;
    receipt.entries.push_back({static_cast<std::uint32_t>(i), *cost, q.taken, q.flies});
    q.flies += *cost;
    if (q.set) {
      q.set->refill(now);
      q.set->level -= *cost;
    }
    if (q.alone) q.alone->sent.add(now, *cost);
    if (q.common) {
      q.common->share.send(whole(*cost));
      q.common->asked |= q.common->ends <= now;
    }
    if (q.told) {
      auto& t = *q.told;
      auto const is_back = !t.refills && t.full <= now;
      t.level = t.level_at(now) - *cost;
      t.as_of = now;
      if (is_back) {
        t.full = never;  // until the next answer tells
        t.began = q.taken - *cost;
        t.remaining = t.limit;
      }
    }
  }
  return receipt;
}

double quota_book::expected(quota_receipt const& receipt, request_size const& size,
                            std::string_view name) const noexcept {
  if (auto const given = units_of(size.given, name)) return *given;
  for (auto const& e : receipt.entries)
    if (quotas_[e.quota].name == name) return e.cost;
  return 0;
}

void quota_book::forget(quota_receipt& receipt) noexcept {
  if (!receipt.open) return;
  close(receipt, false);
  for (auto const& e : receipt.entries) {
    auto& q = quotas_[e.quota];
    if (q.set) q.set->level = std::min(q.set->burst, q.set->level + e.cost);
  }
}

/// It flies no more. `counted`: also by a server whose answer did not say what remains.
void quota_book::close(quota_receipt& receipt, bool counted) noexcept {
  receipt.open = false;
  --flying_;
  for (auto const& e : receipt.entries) {
    auto& q = quotas_[e.quota];
    if (!e.told) q.flies -= e.cost;
    if (!q.told || q.told->refills || e.mark <= q.told->began) continue;
    if (counted && !e.told) q.told->remaining -= e.cost;
    q.told->level = q.told->remaining - q.flies;
  }
}

std::pair<quota_book::quota*, quota_receipt::entry> quota_book::take_told(time_point now,
                                                                          quota_receipt& receipt,
                                                                          http::quota const& told,
                                                                          bool accepted) {
  auto* const q = keeps(told) ? find_or_make(told.name, told.partition) : nullptr;
  if (q == nullptr) return {};
  if (accepted && q->in_vain < in_vain_max) q->in_vain = 0;
  if (!told.partition.empty())
    for (auto& other : quotas_)
      if (other.name == told.name && !other.partition.empty()) other.ours = &other == q;
  if (told.counts != http::counted::unsaid) q->counts = told.counts;
  quota_receipt::entry taken{.mark = q->taken};
  for (auto& e : receipt.entries)
    if (&quotas_[e.quota] == q) {
      if (told.remaining && told.reset && !std::exchange(e.told, true)) q->flies -= e.cost;
      taken = e;
    }
  if (told.counts == http::counted::concurrent)
    q->at_once = *told.limit;
  else if (told.remaining && told.reset)
    listen(now, *q, told, taken, receipt.sent);
  else
    listen_to_policy(now, *q, told);
  return {q, taken};
}

/// What flies has been sent, but not counted yet.
void quota_book::listen_to_policy(time_point now, quota& q, http::quota const& told) const {
  if (!q.alone || q.alone->sent.window() != *told.window) {
    q.alone = policy{.sent = rolling_count(*told.window)};
    q.alone->sent.add(now, flying_);
  }
  q.alone->limit = *told.limit;
}

void quota_book::hear(time_point now, quota_receipt& receipt, std::span<http::quota const> quotas) {
  if (!receipt.open) return;
  for (auto const& told : quotas) take_told(now, receipt, told, true);
}

bool quota_book::settle(time_point now, quota_receipt& receipt, request_size const& size,
                        answered const& answer) {
  if (!receipt.open) return false;
  for (auto const& cost : answer.costs) {
    auto* const q = find_or_make(cost.quota);
    if (q == nullptr || answer.refused) continue;
    if (!units_of(size.given, q->name)) {
      q->whole.learn(size.bytes, cost.units);
      if (cost.of_size) q->sized.learn(size.bytes, *cost.of_size);
    }
    for (auto const& e : receipt.entries)
      if (&quotas_[e.quota] == q && q->set)
        q->set->level = std::min(q->set->burst, q->set->level + e.cost - cost.units);
  }
  bool blamed = false;
  for (auto const& told : answer.quotas) {
    auto const [q, taken] = take_told(now, receipt, told, !answer.refused);
    if (q == nullptr) continue;
    if (!answer.refused || !told.remaining || !q->told) continue;
    // What is there again at once has not been short.
    auto const wanted = std::min(taken.cost, *told.limit);
    if (*told.remaining >= wanted || q->told->level_at(now) >= wanted) continue;
    blamed = true;
    if (!answer.hold) continue;
    auto const wait = std::max(*answer.hold, 0ns);
    q->hold = std::max(q->hold, later(now, wait));
    if (told.reset) hear_wait(now, *q, told, wanted, receipt.sent, wait);
  }
  if (answer.refused)
    forget(receipt);
  else
    close(receipt, true);
  return blamed;
}

std::vector<known_quota> quota_book::knows() const {
  std::vector<known_quota> all;
  for (auto const& q : quotas_) {
    known_quota k{.name = q.name};
    if (q.told && q.told->refills && !q.told->remembered) {
      k.limit = q.told->limit;
      k.per_second = q.told->per_second;
    }
    if (q.whole.learned()) k.whole = q.whole.line();
    if (q.sized.learned()) k.sized = q.sized.line();
    if (k.limit > 0 || q.whole.learned()) all.push_back(std::move(k));
  }
  return all;
}

void quota_book::remember(time_point now, std::span<known_quota const> known, duration age) {
  for (auto const& k : known) {
    auto* const q = find_or_make(k.name);
    if (q == nullptr) return;
    if (k.whole != cost_line{}) q->whole = cost_model(k.whole);
    if (k.sized != cost_line{}) q->sized = cost_model(k.sized);
    if (k.limit >= 1 && k.per_second > 0)
      q->told = told_quota{.limit = k.limit,
                           .level = std::min(k.limit, k.per_second * to_seconds(age)),
                           .as_of = now,
                           .per_second = k.per_second,
                           .refills = true,
                           .remembered = true};
  }
}

std::string quota_book::findings() const {
  std::string text;
  for (auto const& q : quotas_) {
    if (!q.told) continue;
    text += fmt::format("{}{} {:.0f}", text.empty() ? "quotas told: " : ", ", printable(q.name),
                        q.told->limit);
    if (q.told->refills) text += fmt::format(" ({})", rate_in_words(q.told->per_second));
  }
  return text;
}

bool quota_book::keeps(http::quota const& q) const noexcept {
  if (q.name.empty() || !q.limit || *q.limit < 1 || *q.limit > units_max) return false;
  if (q.counts == http::counted::concurrent) return true;
  auto const state = q.remaining && q.reset && *q.remaining <= units_max;
  auto const ceiling_alone =
      !q.remaining && q.window && *q.window >= 1ms && *q.window <= window_max;
  auto const costs = q.counts == http::counted::requests || q.counts == http::counted::bytes ||
                     counts_requests(q.name) || costed_as(q.name) != nullptr;
  return (state || ceiling_alone) && costs;
}

void quota_book::listen(time_point now, quota& q, http::quota const& told,
                        quota_receipt::entry const& went, time_point sent) {
  auto const fresh = !q.told || q.told->remembered;
  if (fresh) q.told = told_quota{};
  auto& t = *q.told;
  if (!fresh && went.mark < (t.refills ? t.mark : t.began))
    return;  // a later request has told more
  auto const remaining = std::clamp(*told.remaining, 0.0, *told.limit);
  auto const reset = std::max(*told.reset, 0ns);

  if (told.period) {
    t.refills = true;
    t.per_second = *told.limit / std::max(to_seconds(*told.period), 1e-3);
  }

  // A bucket's time to the reset is what was used of it by its rate. A window's does not grow with
  // use: half as much again has another speed there.
  auto const used = *told.limit - remaining;
  auto const enough = reset % 1s == 0ns ? duration(10s) : duration(100ms);
  if (used > 0 && reset >= enough && !told.period) {
    auto const speed = std::clamp(used / to_seconds(reset), 1e-6, 1e9);
    if (t.per_second == 0 || t.refills) t.per_second = speed;
    if (t.used_before == 0 || now >= t.full_before) {
      t.used_before = 0;
    } else if (used >= 1.5 * t.used_before && std::abs(speed / t.speed_before - 1) < 0.1) {
      t.refills = true;
      t.per_second = speed;
    }
    if (t.used_before == 0 || used >= 1.5 * t.used_before) {
      t.used_before = used;
      t.speed_before = speed;
      t.full_before = later(now, reset);
    }
  }

  // Some charge more than what the answer says in the end, such as all that it might have been.
  auto const estimated = went.mark - t.mark;
  if (!fresh && t.refills && estimated > 0 && std::max(remaining, t.remaining) < 0.95 * t.limit) {
    constexpr double kept = 1 - 1.0 / 64;
    auto const charged = t.per_second * to_seconds(sent - t.sent) - (remaining - t.remaining);
    t.charged = kept * t.charged + charged;
    t.estimated = kept * t.estimated + estimated / q.dearer;
    if (++t.compared >= 8) q.dearer = std::clamp(t.charged / t.estimated, 1.0, 10.0);
  }
  t.limit = *told.limit;
  // Answers of one window come in any order, and what flies may be counted in them: the least that
  // remained, less all that flies, is there. More than what flew beside a request is new.
  auto const risen = went.mark > t.mark && remaining > t.remaining + went.beside;
  auto const one_window = !fresh && !t.refills && now < t.full && !risen;
  auto const begins = !fresh && (!one_window || t.full == never);
  t.remaining = one_window ? std::min(t.remaining, remaining) : remaining;
  t.mark = std::max(t.mark, went.mark);
  t.sent = sent;
  t.full = later(now, reset);
  t.level = t.refills ? remaining - (q.taken - went.mark) : t.remaining - q.flies;
  t.as_of = now;
  if (t.refills)
    q.common.reset();
  else
    share(now, q, told, begins, went, sent);
}

/// Takes the wait that a refusal told beside a reset. A bucket tells by the one when `wanted` is
/// there again, and by the other when it is full; a window would tell the same by both. One that
/// refuses after such waits, twice in a row, is none.
void quota_book::hear_wait(time_point now, quota& q, http::quota const& told, double wanted,
                           time_point sent, duration wait) {
  auto& t = *q.told;
  if (q.in_vain == in_vain_max || (t.refills && sent < q.by_wait)) return;
  if (q.by_wait != never) {
    q.by_wait = later(now, wait);
    if (++q.in_vain < in_vain_max) return;
    t.refills = false;
    t.remaining = *told.remaining;
    t.level = t.remaining - q.flies;
    return;
  }
  auto const reset = *told.reset;
  auto const used = *told.limit - *told.remaining;
  auto const due = from_seconds((wanted - *told.remaining) / used * to_seconds(reset));
  if (wait > reset / 2 || wait > due + rounding) return;
  t.refills = true;
  t.per_second = used / to_seconds(reset);
  q.by_wait = later(now, wait);
  q.common.reset();
}

/// Takes what an answer tells of a window, for the part of it that is ours. What went before the
/// first one was told of is not known: it has no part.
void quota_book::share(time_point now, quota& q, http::quota const& told, bool begins,
                       quota_receipt::entry const& went, time_point sent) {
  auto const rtt = now - sent;
  auto const reset = std::max(*told.reset, 0ns);
  auto const length = told.window.value_or(reset);
  if (reset - rtt <= rtt || went.cost <= 0) return;  // of another window, perhaps, or partition
  auto const end = later(now, reset);
  auto const end_min = reset % 1s == 0ns ? later(end, -1s) : end;  // seconds are rounded up
  if (begins && !q.common && end_min > now) q.common = common_window{};
  if (!q.common) return;
  auto& c = *q.common;
  if (begins) {
    c.about = later(c.about, length);
    if (c.about < now) c.about = end;  // none went for a while
  }
  c.about = std::clamp(c.about, end_min, end);
  if (begins) c.share.begin(later(c.about, -length), length, whole(q.flies + went.cost));
  c.share.tell(sent, whole(q.told->limit), q.told->level < 1);
  c.ends = std::clamp(begins || c.asked ? end : c.ends, end_min, end);
  c.asked = false;
}

std::vector<quota_book::standing> quota_book::look(time_point now) const {
  std::vector<standing> all;
  for (auto const& q : quotas_) {
    if (q.told) {
      auto const& t = *q.told;
      auto const level = std::max(t.level_at(now), 0.0);
      std::optional<duration> reset;
      if (t.refills && t.per_second > 0)
        reset = from_seconds((t.limit - level) / t.per_second);
      else if (t.full != never)
        reset = std::max(t.full - now, duration(0));
      all.push_back({q.name, t.limit, level, reset});
    } else if (q.set) {
      auto c = *q.set;
      c.refill(now);
      all.push_back({q.name, c.burst, std::max(c.level, 0.0),
                     from_seconds((c.burst - c.level) / c.per_second)});
    }
  }
  return all;
}

double quota_book::told_quota::level_at(time_point now) const noexcept {
  if (refills) return std::min(limit, level + per_second * to_seconds(now - as_of));
  return full <= now ? limit : level;
}

void quota_book::ceiling::refill(time_point now) noexcept {
  if (as_of == time_point{}) as_of = now;
  level = std::min(burst, level + per_second * to_seconds(now - as_of));
  as_of = now;
}

quota_book::quota* quota_book::named(std::string_view name, std::string_view partition) {
  auto const found = std::ranges::find_if(
      quotas_, [&](auto const& q) { return q.name == name && q.partition == partition; });
  return found == quotas_.end() ? nullptr : &*found;
}

quota_book::quota* quota_book::find_or_make(std::string_view name, std::string_view partition) {
  if (auto* const known = named(name, partition)) return known;
  if (quotas_.size() >= quotas_max) return nullptr;
  quotas_.push_back({.name = std::string(name), .partition = std::string(partition)});
  return &quotas_.back();
}

/// Whose costs it has: its own, or for project-tokens those of tokens.
quota_book::quota const* quota_book::costed_as(std::string_view name) const noexcept {
  for (auto const& q : quotas_)
    if (q.name == name && q.whole.known()) return &q;
  if (!name.ends_with("-tokens") || name.find("put-") != name.npos) return nullptr;
  for (auto const& q : quotas_)
    if (q.name == "tokens" && q.whole.known()) return &q;
  return nullptr;
}

std::optional<double> quota_book::cost_of(quota const& q, request_size const& size) const noexcept {
  if (!q.ours || (!q.told && !q.alone && !q.set && !q.whole.known())) return std::nullopt;
  if (auto const given = units_of(size.given, q.name)) return given;
  if (q.counts == http::counted::bytes) return std::max(size.bytes, 1.0);
  if (q.counts == http::counted::requests || counts_requests(q.name)) return 1;
  auto const* const as = costed_as(q.name);
  if (as == nullptr) return std::nullopt;
  if (auto const reserved = units_of(size.reserved, as->name))
    return std::max(q.dearer * (as->sized.estimate(size.bytes) + *reserved), 1.0);
  return std::max(q.dearer * as->whole.estimate(size.bytes), 1.0);
}

}  // namespace headway::app
