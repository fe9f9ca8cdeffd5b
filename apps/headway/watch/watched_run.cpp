#include "watch/watched_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "base/words.hpp"
#include "watch/scopes.hpp"

namespace headway::app {

watched_run::watched_run(poller& events, subject of, time_point began)
    : events_(events), of_(std::move(of)), began_(began), shown_(began), sampled_(began) {}

void watched_run::open(std::string const& metrics) {
  if (!metrics.empty())
    outlet_.emplace(
        events_, metrics, [this] { return figures(); }, began_);
  try {
    control_.emplace(events_, of_.surface, [this](std::string_view line) {
      return answered(line, [this](command const& c) { return obey(c); });
    });
  } catch (std::exception const&) {  // no folder: what shares a pace says so
  }
}

void watched_run::tick(time_point now) {
  if (control_) control_->service().tick(now);
  if (outlet_) outlet_->tick(now);
}

bool watched_run::ready(time_point now, poller::event const& e) {
  return (control_ && control_->service().ready(now, e)) || (outlet_ && outlet_->ready(now, e));
}

time_point watched_run::wakeup() noexcept {
  auto const asked = control_ ? control_->service().wakeup() : never;
  return outlet_ ? std::min(asked, outlet_->wakeup()) : asked;
}

void watched_run::look(time_point now) {
  auto const since = now - std::exchange(shown_, now);
  of_.paces.look(now, since,
                 [&](lane const& l, reason why) { metrics_.held(l.title(), why, since); });
  if (now - sampled_ >= 125ms)
    speed_.add(now - std::exchange(sampled_, now),
               of_.stands.ended() - std::exchange(ended_then_, of_.stands.ended()),
               of_.stands.throttled - std::exchange(throttled_then_, of_.stands.throttled));
}

std::string watched_run::figures() {
  exposition page;
  page.family("headway_build_info", exposition::kind::gauge, "The version that runs.");
  page.sample({{"version", HEADWAY_VERSION}, {"surface", of_.surface}}, std::int64_t{1});
  metrics_.write(page, gauges_of(clock_now(), of_.paces));
  page.family("headway_hints_ignored_total", exposition::kind::counter,
              "Values in answers that made no sense.");
  page.sample({}, of_.hints_ignored);
  page.family("headway_run_requests", exposition::kind::gauge,
              "Requests that JOBS has, where that is known, and that are done.");
  auto const& s = of_.stands;
  if (s.total >= 0) page.sample({{"state", "all"}}, s.total);
  page.sample({{"state", "done"}}, s.before + s.ended());
  return page.text();
}

std::string watched_run::obey(command const& c) {
  if (c.what == command::verb::status) return state();
  if (c.what == command::verb::explain)
    return fmt::format(R"({{"ok":true,"line":{},"state":{}}})", c.line,
                       json_string(of_.explain(c.line)));
  auto const now = clock_now();
  auto const order = order_of(c);
  of_.act(now, c);
  auto const scopes = order ? of_.paces.order(now, c.scope, *order) : of_.paces.size();
  auto const words = c.words();
  of_.paces.note(now, words);
  if (++changes_ <= changes_shown)
    changes_words_ += fmt::format("after {}: {}\n", in_words(now - began_), words);
  return answer_done(c, scopes);
}

std::string watched_run::state() {
  auto const now = clock_now();
  of_.stands.waiting = of_.paces.hindrances(now);
  speed_.hold(of_.stands.held(now));
  auto text =
      fmt::format(R"({{"ok":true,"jobs":{},"run":{},"scopes":[)", json_string(in_utf8(of_.jobs)),
                  progress_json(of_.stands, speed_.foretell(of_.stands.left()), now, now - began_));
  append_states(text, now, of_.paces);
  return text + "]}";
}

std::string watched_run::changes() const {
  return changes_words_ + (changes_ > changes_shown
                               ? fmt::format("and {} more changes\n", changes_ - changes_shown)
                               : "");
}

void watched_run::conclude(int signals_fd) {
  control_.reset();
  if (!outlet_) return;
  outlet_->conclude(clock_now());
  while (clock_now() < outlet_->open_until()) {
    outlet_->tick(clock_now());
    for (auto const& e : events_.wait(std::min(outlet_->wakeup(), outlet_->open_until()))) {
      if (outlet_->ready(clock_now(), e)) continue;
      if (e.fd == signals_fd) return;
      events_.unwatch(e.fd);  // nothing else is read any more
    }
  }
}

}  // namespace headway::app
