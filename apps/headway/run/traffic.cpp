#include "run/traffic.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/clock.hpp"
#include "client/header_commands.hpp"
#include "client/headers.hpp"
#include "jobs/request_headers.hpp"
#include "pacing/memory.hpp"
#include "run/hop.hpp"

namespace headway::app {
namespace {

constexpr duration long_hold = 5s;  // of a lane

/// Refers to its arguments.
lane_key key_of(job const& j, std::string const& credential, bool renewable) {
  return {.origin = j.origin,
          .credential = credential,
          .given = j.scope,
          .url = j.url,
          .body = j.body ? std::string_view(*j.body) : std::string_view(),
          .renewable = renewable};
}

}  // namespace

// ── in ────────────────────────────────────────────────────────────────────────────────────────

traffic::entry traffic::enter(time_point now, job&& j) {
  auto headers = request_headers(j, source_.headers().of(j.origin));
  auto const credential = credential_digest(headers);
  auto const key = key_of(j, credential, header_commands::needed_by(headers));
  if (lanes_.stopped(key)) {
    source_.leave_open(j);
    return {};
  }
  auto* const l = lanes_.at(now, key);
  lacks_lane_ = l == nullptr;
  if (lacks_lane_) {
    source_.put_back(std::move(j));
    return {.taken = false};
  }
  auto const index =
      all_.add({.what = std::move(j), .where = l, .headers = std::move(headers), .read = now});
  refused no{};
  if (submit(index, now, &no)) return {};
  auto back = std::move(all_[index].what);
  all_.forget(index);
  if (no.why != reason::queue) return {.never = std::move(back), .why = no.why};
  source_.put_back(std::move(back));
  return {.taken = false};
}

bool traffic::submit(std::uint32_t index, time_point now, refused* why) {
  auto& r = all_[index];
  auto const answer = r.where->submit(now, load_of(r), index);
  auto const* const id = std::get_if<ticket>(&answer);
  if (id == nullptr) {
    if (why != nullptr) *why = std::get<refused>(answer);
    return false;
  }
  r.id = *id;
  if (r.needs_turn_at_home()) r.where->call_back(r.id);
  return true;
}

// ── on its way ────────────────────────────────────────────────────────────────────────────────

void traffic::queue(std::uint32_t index, time_point now) {
  if (all_[index].lost || !submit(index, now)) leave_open(index);
}

void traffic::queue_again(std::uint32_t index, time_point now) {
  withdraw(all_[index]);
  queue(index, now);
}

void traffic::move_on(std::uint32_t index, time_point now) {
  auto& r = all_[index];
  if (r.bound_for) {
    r.where = std::exchange(r.bound_for, {}).get();
    r.had_turn_at_home = true;
  } else {
    r.wait_at_home();
  }
  queue(index, now);
}

bool traffic::follow(std::uint32_t index, time_point now, reply const& answer,
                     run_options const& options) {
  auto& r = all_[index];
  if (!take_hop(r, answer, options)) return false;
  all_.weigh(index);
  r.headers = request_headers(r.what, source_.headers().of(r.what.origin));
  auto const credential = credential_digest(r.headers);
  auto const key = key_of(r.what, credential, header_commands::needed_by(r.headers));
  if (lanes_.stopped(key)) {
    leave_open(index);
    return true;
  }
  auto* const l = lanes_.at(now, key);
  if (l == nullptr) {
    r.said = "the redirect leads to one scope more than there is room for";
    return false;
  }
  if (!r.home && l != r.where) r.home = lane_pin(*r.where);
  r.where = l;
  if (r.needs_turn_at_home()) r.wait_at_home();
  queue_again(index, now);
  return true;
}

void traffic::announce(std::uint32_t index) {
  auto& r = all_[index];
  r.intended = true;
  r.intent = log_->intend(r.what.line);
  announced_.push_back(index);
}

void traffic::announce_flying() {
  all_.each([](request const& r) { return r.out && !r.intended && !r.lost; },
            [this](std::uint32_t index) {
              all_[index].intended = true;
              log_->intend(all_[index].what.line);
            });
}

std::optional<std::uint32_t> traffic::announced() const noexcept {
  return announced_.empty() ? std::nullopt : std::optional(announced_.front());
}

void traffic::set_aside(std::uint32_t index, time_point now) {
  auto& r = all_[index];
  r.out = false;
  r.aside = true;
  r.aside_since = now;
  r.where->cancel(now, r.id);
  aside_.push_back(index);
}

void traffic::recall_aside(time_point now) {
  std::erase_if(aside_, [&](auto const index) {
    auto& r = all_[index];
    if (!source_.may_go(now, r.what)) return false;
    r.aside = false;
    if (r.first_sent) *r.first_sent += now - r.aside_since;  // that time is not its own
    queue(index, now);
    return true;
  });
}

void traffic::disown(request& r) {
  if (std::exchange(r.intended, false)) log_->clear(r.what.line);
}

// ── out ───────────────────────────────────────────────────────────────────────────────────────

void traffic::leave_open(std::uint32_t index) {
  auto& r = all_[index];
  withdraw(r);
  if (!r.lost) source_.leave_open(r.what);
  all_.forget(index);
}

void traffic::abandon(std::uint32_t index) {
  auto& r = all_[index];
  if (!r.lost) source_.leave_open(r.what);
  if (r.aside)
    std::erase(aside_, index);
  else
    r.where->cancel(clock_now(), r.id);
  all_.forget(index);
}

void traffic::abandon_refused(std::uint32_t index) {
  refused_alone_.add(all_[index].what.line);
  abandon(index);
}

void traffic::abandon_stopped() {
  all_.each([](request const& r) { return r.where->stopped() && !r.out; },
            [this](std::uint32_t index) { abandon(index); });
}

void traffic::abandon_unsent() {
  all_.each([](request const& r) { return r.attempts == 0 && !r.out; },
            [this](std::uint32_t index) { abandon(index); });
}

void traffic::lose(std::int64_t first, std::int64_t last) {
  all_.each([=](request const& r) { return first <= r.what.line && r.what.line <= last; },
            [this](std::uint32_t index) {
              auto& r = all_[index];
              r.lost = true;
              r.intended = false;
              if (!r.out) abandon(index);
            });
}

// ── where they are ────────────────────────────────────────────────────────────────────────────

bool traffic::all_parked() const {
  return all_.all([](request const& r) { return r.where->parked(); });
}

std::size_t traffic::held_for_long(time_point now) {
  auto held = aside_.size();
  for (auto const& [key, l] : lanes_)
    if (l.flying() == 0 && (l.parked() || l.paused() || l.wake() > now + long_hold))
      held += l.waiting();
  return held;
}

std::pair<std::size_t, std::size_t> traffic::refused_at(std::string_view title) const {
  std::pair<std::size_t, std::size_t> found;
  all_.each([&](request const& r) { return !r.out && !r.aside && r.where->title() == title; },
            [&](std::uint32_t index) {
              ++found.second;
              if (all_[index].throttled > 0) ++found.first;
            });
  return found;
}

std::string traffic::words_of(std::int64_t line, time_point now) const {
  std::string found;
  all_.each([&](request const& r) { return r.what.line == line; },
            [&](std::uint32_t index) { found = app::words_of(all_[index], now); });
  return found;
}

void traffic::resume(time_point now, std::string const& scope) {
  all_.each([](request const& r) { return r.first_sent && !r.out && r.where->paused(); },
            [&](std::uint32_t index) {
              auto& r = all_[index];
              if (scope.empty() || matches(scope, r.where->name()))
                *r.first_sent += now - std::max(*r.first_sent, r.where->paused_since());
            });
}

}  // namespace headway::app
