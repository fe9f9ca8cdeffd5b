#include "headway/sim/server.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "headway/require.hpp"

namespace headway::sim {
namespace {

duration wait(limit const& l, time_point now, std::int64_t cost) {
  return std::visit([&](auto const& x) { return x.wait(now, cost); }, l);
}

duration delay(limit const& l, time_point now) {
  return std::visit(
      [&](auto const& x) {
        if constexpr (requires { x.delay(now); }) return x.delay(now);
        return duration::zero();
      },
      l);
}

std::optional<allowance> left(limit const& l, time_point now) {
  return std::visit(
      [&](auto const& x) -> std::optional<allowance> {
        if constexpr (requires { x.left(now); }) return x.left(now);
        return std::nullopt;
      },
      l);
}

/// Whether `l` has a capacity to scale.
bool scale(limit& l, double factor) {
  return std::visit(
      [&](auto& x) {
        if constexpr (requires { x.scale(factor); }) {
          x.scale(factor);
          return true;
        }
        return false;
      },
      l);
}

symptom shown(limit const& l, symptom otherwise) {
  return std::visit(
      [&](auto const& x) {
        if constexpr (requires { x.shows; }) return x.shows;
        return otherwise;
      },
      l);
}

/// The one of `limits` that shares processors; null without.
template <class Limits>
auto* sharing(Limits& limits) noexcept {
  decltype(std::get_if<shared>(&limits.front())) found = nullptr;
  for (auto& l : limits)
    if (auto* const s = std::get_if<shared>(&l)) found = s;
  return found;
}

template <class Limit>
bool is(limit const& l) noexcept {
  return std::holds_alternative<Limit>(l);
}

}  // namespace

char const* contradiction(behaviour const& b) noexcept {
  auto const of = [](step const& s) -> limit const& { return s.becomes; };
  auto const several = std::ranges::count_if(b.limits, is<shared>);
  bool const changes = std::ranges::any_of(b.schedule, is<shared>, of);
  if (several == 0 && !changes) return nullptr;
  auto const holds = [](limit const& l) { return is<concurrency>(l) || is<queue>(l); };
  if (several + changes > 1 || std::ranges::any_of(b.limits, holds) ||
      std::ranges::any_of(b.schedule, holds, of))
    return "shared does not go with concurrent, queue or another shared";
  if (changes && !std::ranges::all_of(b.schedule, is<shared>, of))
    return "shared does not go with other limits in one schedule";
  if (b.head) return "shared does not go with head";
  return nullptr;
}

server::server(behaviour b) : behaviour_(std::move(b)), limits_{unlimited{}} {
  HEADWAY_REQUIRE(contradiction(behaviour_) == nullptr);
  limits_.insert(limits_.end(), behaviour_.limits.begin(), behaviour_.limits.end());
  drift const& d = behaviour_.drifts;
  HEADWAY_REQUIRE(d.min > 0);
  if (d.every > duration::zero()) next_drift_ = time_point(d.every);
}

void server::replace(limit by, time_point now) {
  std::visit(
      [&](auto& l) {
        auto const* same = std::get_if<std::remove_reference_t<decltype(l)>>(&limits_.front());
        if (same) l.inherit(*same, now);
      },
      by);
  limits_.front() = std::move(by);
}

time_point server::next_step() const noexcept {
  auto const& schedule = behaviour_.schedule;
  return next_step_ < schedule.size() ? schedule[next_step_].from : never;
}

time_point server::next_end() const noexcept {
  auto const* const s = sharing(limits_);
  if (s == nullptr || s->unanswered.empty()) return never;
  return std::min({s->next_end(), next_step(), next_drift_});
}

std::optional<ended> server::take(time_point now) {
  catch_up(now);
  auto* const s = sharing(limits_);
  return s != nullptr ? s->take() : std::nullopt;
}

void server::catch_up(time_point now) {
  auto const& schedule = behaviour_.schedule;
  auto const& d = behaviour_.drifts;
  for (;;) {
    time_point const step = next_step();
    time_point const at = std::min(step, next_drift_);
    if (at > now) break;
    bool const drifts = next_drift_ < step;
    if (drifts) {
      bool const up = derive(d.seed, drifts_++) >> 63;
      drifted_ = std::clamp(drifted_ + (up ? d.step : -d.step), d.min, d.max);
      next_drift_ = later(next_drift_, d.every);
    } else {
      nominal_ = schedule[next_step_++].becomes;
    }
    limit becomes = nominal_;
    bool const scaled = scale(becomes, drifted_);
    if (scaled || !drifts) replace(std::move(becomes), at);
  }
  auto const& slow = behaviour_.slowdowns;
  while (slowdowns_ < slow.size() && slow[slowdowns_].from <= now) ++slowdowns_;
  if (auto* const s = sharing(limits_)) s->advance(now);
}

answer server::arrive(time_point now, std::int64_t cost, fraction u,
                      std::optional<symptom> poisoned) {
  catch_up(now);
  for (limit& l : limits_)
    if (wait(l, now, cost) > duration::zero()) return refuse(l, now, cost);
  if (!poisoned) return accept(now, cost, u);
  limit closed = outage{.shows = *poisoned};
  return refuse(closed, now, cost);
}

bool server::never_admits(std::int64_t cost) const {
  return std::ranges::any_of(behaviour_.limits, [&](limit const& l) {
    return wait(l, time_point{}, cost) == duration::max();
  });
}

answer server::refuse(limit& by, time_point now, std::int64_t cost) {
  bool const heard = !std::holds_alternative<outage>(by);
  for (limit& l : limits_)
    if (&l == &by || (heard && std::holds_alternative<ban>(l)))
      std::visit([&](auto& x) { x.refuse(now, cost); }, l);

  symptom const looks = shown(by, behaviour_.refusal);
  if (looks == symptom::silence) return {.what = outcome::failure, .after = duration::max()};
  answer told{.what = looks == symptom::throttle ? outcome::throttle : outcome::failure,
              .after = behaviour_.error_latency};
  if (told.what == outcome::throttle) {
    duration all_admit = wait(by, now, cost);
    for (limit const& l : limits_) all_admit = std::max(all_admit, wait(l, now, cost));
    if (all_admit != duration::max()) told.retry_after = told_for(all_admit - told.after);
  }
  tell_what_is_left(told, now);
  return told;
}

answer server::accept(time_point now, std::int64_t cost, fraction u) {
  duration hold = behaviour_.latency.draw(derive(u, 0));
  if (slowdowns_ > 0)
    hold = from_nanoseconds(static_cast<double>(hold.count()) *
                            behaviour_.slowdowns[slowdowns_ - 1].factor);
  duration waits{};
  for (limit const& l : limits_) waits = std::max(waits, delay(l, now));
  hold += waits;
  for (limit& l : limits_) std::visit([&](auto& x) { x.admit(now, cost, hold); }, l);
  bool const fails = unit(derive(u, 1)) < behaviour_.failures;
  answer told{.what = fails ? outcome::failure : outcome::success, .after = hold};
  if (behaviour_.head && !fails) told.head = std::min(hold, behaviour_.head->draw(derive(u, 2)));
  if (auto const* const s = sharing(limits_)) {
    told.number = s->admitted - 1;
    told.after = told.head = duration::max();
    return told;  // what is left is told by the time of the answer
  }
  tell_what_is_left(told, now);
  return told;
}

void server::tell_what_is_left(answer& told, time_point now) const {
  std::optional<allowance> least;
  for (limit const& l : limits_) {
    auto const a = left(l, now);
    if (a && (!least || a->remaining < least->remaining ||
              (a->remaining == least->remaining && a->reset > least->reset)))
      least = a;
  }
  if (!least) return;
  told.remaining = least->remaining;
  told.reset = told_for(least->reset - told.head);
}

duration server::told_for(duration honest) const {
  auto const& [factor, offset] = behaviour_.hints;
  duration const scaled = from_nanoseconds(static_cast<double>(honest.count()) * factor);
  return std::max(later(time_point(scaled), offset).time_since_epoch(), duration::zero());
}

}  // namespace headway::sim
