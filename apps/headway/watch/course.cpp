#include "watch/course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/words.hpp"

namespace headway::app {

course::course(terms t)
    : terms_(std::move(t)), began_(clock_now()), progress_(terms_.style, began_) {
  events_.watch(signals_.fd(), EPOLLIN);
}

void course::open(lanes& paces, outset o) {
  lanes_ = &paces;
  fleet_ = o.fleet;
  if (fleet_ != nullptr) events_.watch(fleet_->event_fd(), EPOLLIN);
  auto act = [this, more = std::move(o.act)](time_point now, command const& c) {
    using enum command::verb;
    if (c.what == stop) halt_.leave_off();
    if (c.what == finish) finishing_ = true;
    more(now, c);
  };
  visible_.emplace(events_,
                   watched_run::subject{.surface = std::move(o.surface),
                                        .jobs = std::move(o.jobs),
                                        .paces = paces,
                                        .stands = standing_,
                                        .hints_ignored = hints_ignored_,
                                        .explain = std::move(o.explain),
                                        .act = std::move(act)},
                   began_);
  visible_->open(o.metrics);
}

void course::tick(time_point now, std::size_t live) {
  visible_->tick(now);
  if (finishing_ && live == 0) halt_.leave_off();
  if (terms_.time_max && now - began_ >= *terms_.time_max && !halt_.draining()) halt_.time_out();
  if (auto why = terms_.may.stops(standing_)) halt_.stop(std::move(*why));
}

time_point course::wakeup() noexcept {
  auto const at = std::min(progress_.wakeup(), visible_->wakeup());
  return terms_.time_max && !halt_.draining() ? std::min(at, began_ + *terms_.time_max) : at;
}

bool course::ready(time_point now, poller::event const& e) {
  if (visible_->ready(now, e)) return true;
  if (fleet_ == nullptr || e.fd != fleet_->event_fd()) return false;
  fleet_->heard();
  lanes_->wake(now);
  return true;
}

bool course::take_signal() {
  auto const signal = signals_.take();
  if (signal != 0) halt_.interrupt(signal);
  return signal != 0;
}

void course::look_why(time_point now) {
  standing_.waiting = lanes_->hindrances(now);
  if (auto const hosts = lanes_->hosts()) standing_.fleet = words_of(*hosts, now);
}

void course::tell(std::string_view line) {
  progress_.clear();
  say(line);
}

void course::begin() noexcept {
  ++standing_.attempts;
  ++standing_.in_flight;
  standing_.in_flight_peak = std::max(standing_.in_flight_peak, standing_.in_flight);
}

void course::attempted(lane const& l, outcome what, duration took) {
  counts().attempted(l.title(), what, took);
  if (what == outcome::throttle) ++standing_.throttled;
}

void course::broke(lane const& l, std::string_view error) {
  ++standing_.broken;
  if (!error.empty()) standing_.last_error = l.title() + ": " + printable(error);
}

void course::ended(std::string_view title, final_outcome how) {
  ++standing_.of(how);
  counts().ended(title, how);
}

void course::sum_up(std::string const& more, bool journal, std::string_view hints, bool unread) {
  lanes_->conclude();
  progress_.clear();
  auto const text = summary(standing_, clock_now() - began_) + lost_.words() + visible_->changes() +
                    lanes_->where_time_went() + lanes_->findings() + more +
                    next_step(standing_, journal);
  lanes_->keep();
  if (talks() && !unread) std::fputs(text.c_str(), stderr);
  if (hints_ignored_ > 0)
    say(fmt::format("{} in {} made no sense, and {} ignored{}{}",
                    hints_ignored_ == 1 ? "1 value" : fmt::format("{} values", hints_ignored_),
                    hints, hints_ignored_ == 1 ? "was" : "were",
                    hint_ignored_.empty() ? "" : ", such as ", printable(hint_ignored_)));
}

void course::close() {
  if (!halt_.hurried()) visible_->conclude(signals_.fd());
}

int course::conclude(remains left, bool waiting) {
  auto const now = clock_now();
  left.missed = terms_.may.fails(standing_);
  if (waiting) left.parked = {lanes_->parked_as_broken(now), lanes_->parked_until()};
  auto const [code, said] = conclusion_of(left, terms_.wait_max, now);
  if (!said.empty()) say(said);
  return code;
}

}  // namespace headway::app
