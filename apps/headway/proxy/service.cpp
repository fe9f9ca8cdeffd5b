#include "proxy/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"
#include "headway/driver/entropy.hpp"
#include "os/descriptors.hpp"
#include "os/notify.hpp"
#include "proxy/metrics_text.hpp"
#include "proxy/state_json.hpp"
#include "watch/scopes.hpp"

namespace headway::app::proxy {
namespace {

constexpr std::size_t last_max = 50;
constexpr std::uint64_t keep_each = 60;   // ticks
constexpr std::size_t wires_kept = 4096;  // that clients leave room for, or one each
constexpr duration sweep_max = 200us;     // at a time: requests go on meanwhile

/// Tells once all of them know where their names lead: what is wrong with one, or "".
void find(std::vector<std::shared_ptr<server>> const& all,
          std::function<void(std::string const& problem)> then) {
  struct answers {
    std::size_t open;
    std::function<void(std::string const&)> then;
    std::string problem{};
  };
  if (all.empty()) return then("");
  auto const heard = std::make_shared<answers>(answers{all.size(), std::move(then)});
  for (auto const& s : all)
    s->connections().find([heard, name = s->settings().name](std::string const& problem) {
      if (heard->problem.empty() && !problem.empty())
        heard->problem = fmt::format("upstream {}: {}", name, problem);
      if (--heard->open == 0) heard->then(heard->problem);
    });
}

}  // namespace

service::service(config c, std::function<config()> reread)
    : room_(static_cast<std::size_t>(room_for_connections(0))),
      config_(std::move(c)),
      reread_(std::move(reread)),
      began_(clock_now()),
      mark_(fmt::format("headway-{:016x}", entropy())) {
  fleet_ = join_fleet(config_.limit, settings_of(config_.upstreams[0]).governor.hint_max);
  for (auto& u : config_.upstreams) u.fleet = fleet_;
  for (auto const& u : config_.upstreams) servers_.push_back(std::make_shared<server>(io_, u));
  std::optional<std::string> problem;
  find(servers_, [&](std::string const& p) { problem = p; });
  while (!problem) io_.run_one();
  if (!problem->empty()) throw fatal(exit_usage, *problem);
  for (auto const& s : servers_)
    if (auto* const values = s->renews()) values->obtain();
  listener_ = std::make_unique<listener>(io_, config_.listen, "--listen", [this](tcp::socket s) {
    std::make_shared<session>(*this, std::move(s))->start();
    if (sessions_.size() >= places()) listener_->pause();
  });
  for (auto const& s : servers_)
    if (auto const why = loop_of(*s); !why.empty()) throw fatal(exit_usage, why);
  if (config_.admin)
    admin_ = std::make_unique<admin>(io_, *config_.admin, config_.admin_hosts, config_.admin_token,
                                     [this](std::string_view path) { return page(path); });
  if (!config_.access_log.empty()) log_ = std::make_unique<access_log>(config_.access_log);
}

/// Why requests to it would come back to us; "": they would not.
std::string service::loop_of(server& s) const {
  auto const at = listener_->bound();
  if (!s.connections().lead_to({asio::ip::make_address(at.host), at.port})) return {};
  return fmt::format("upstream {}: {} leads to this proxy itself; want the API", s.settings().name,
                     s.settings().url);
}

service::~service() {
  listener_->close();
  if (news_of_fleet_.is_open()) news_of_fleet_.release();  // the link closes it
  if (admin_) admin_->close();
  if (control_) control_->close();
  want_room_.clear();
  for (auto* const s : std::vector(sessions_)) s->close();
  servers_.clear();
  leaving_.clear();
  io_.restart();
  io_.poll();  // what was cancelled ends, and with it the last sessions
}

int service::run() {
  take_signals();
  listener_->accept();
  if (admin_) admin_->accept();
  config_.listen = listener_->bound();
  std::string line = fmt::format("http://{} → ", config_.listen.text());
  if (servers_.size() == 1)
    line +=
        fmt::format("{} (profile {})", servers_[0]->settings().url, servers_[0]->speaks().name());
  else
    line += describe(config_.upstreams);
  if (fleet_) line += fmt::format("; limit shared at {}", fleet_->name());
  if (admin_) line += fmt::format("; dashboard http://{}/", admin_->bound().text());
  try {
    control_ = std::make_unique<control>(io_, [this](command const& c) { return obey(c); });
  } catch (std::exception const&) {  // no folder: what shares a pace says so
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
  if (places() < config_.connections_max)
    say(fmt::format("the limit of open files (ulimit -Hn) leaves room for {} clients at once",
                    places()));
  notify_manager("READY=1");
  if (fleet_) {
    news_of_fleet_.assign(fleet_->event_fd());
    hear_fleet();
  }
  tick();
  io_.restart();  // a look-up that ended had it run out of work, perhaps only now
  io_.run();
  for (auto const& s : servers_) s->keep();
  if (signal_ == 0 || !cut_off_) return exit_ok;
  return 128 + signal_;
}

void service::hear_fleet() {
  news_of_fleet_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code e) {
    if (e) return;
    fleet_->heard();
    for (auto const* const all : {&servers_, &leaving_})
      for (auto const& s : *all) {
        s->paces().wake(clock_now());
        s->wake(clock_now());
      }
    hear_fleet();
  });
}

// ── for its parts ────────────────────────────────────────────────────────────────────────────────

std::string service::new_id() {
  return fmt::format("r-{:x}", ++ids_);
}

/// Clients at once: descriptors are left for what they ask.
std::size_t service::places() const noexcept {
  return std::min(config_.connections_max, room_ - std::min(room_ / 2, wires_kept));
}

void service::add(session& s) {
  s.place = sessions_.size();
  sessions_.push_back(&s);
}

void service::remove(session& s) {
  auto* const last = sessions_.back();
  sessions_[last->place = s.place] = last;
  sessions_.pop_back();
  if (listener_ && listener_->paused() && !draining_ && sessions_.size() < places())
    listener_->accept();
}

bool service::hold_bytes(std::size_t n) noexcept {
  if (held_ + n > config_.hold_max) return false;
  held_ += n;
  return true;
}

void service::release_bytes(std::size_t n) noexcept {
  held_ -= n;
  if (n > 0) offer_room();
}

void service::offer_room() {
  if (want_room_.empty()) return;
  asio::post(io_, [this] {
    for (auto const& each : std::exchange(want_room_, {})) each->room();
  });
}

void service::wait_for_room(std::shared_ptr<session> s) {
  want_room_.push_back(std::move(s));
}

bool service::lacks_room() const {
  return std::ranges::any_of(want_room_, [](auto const& s) { return s->wants_room(); });
}

void service::ended(log_entry const& e) {
  if (log_ && !config_.access_log.empty()) log_->write(e);
  last_.push_front(e.what);
  if (last_.size() > last_max) last_.pop_back();
}

// ── life ─────────────────────────────────────────────────────────────────────────────────────────

void service::tick() {
  tick_.expires_after(std::chrono::seconds(1));
  tick_.async_wait([this](error_code e) {
    if (e) return;
    auto const now = clock_now();
    auto& minute = hour_[static_cast<std::size_t>(++ticks_ / 60 % hour_.size())];
    if (ticks_ % 60 == 0) minute.clear();
    for (auto const& s : servers_) s->tick(now, minute);
    for (auto const& s : leaving_) s->tick(now, minute);
    std::erase_if(leaving_, [](auto const& s) { return s->idle(); });
    if (std::exchange(unswept_, sessions_.size()) == 0) sweep();
    if (ticks_ % keep_each == 0)
      for (auto const& s : servers_) s->keep();
    if (control_) control_->tick(now);
    drained_ ? finish_drain() : check_drained();
    tick();
  });
}

/// Looks at each session, the newest first: one that is removed leaves its place to one that has
/// been seen.
void service::sweep() {
  auto const now = clock_now();
  for (auto at = now; at < now + sweep_max; at = clock_now()) {
    unswept_ = std::min(unswept_, sessions_.size());
    if (unswept_ == 0) return;
    sessions_[--unswept_]->tick(now);
  }
  asio::post(io_, [this] { sweep(); });
}

void service::take_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  for (auto const s : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) signals_.add(s);
  signals_.async_wait([this](error_code e, int signal) {
    if (e) return;
    if (signal == SIGHUP)
      reload();
    else if (draining_)
      hurry();
    else
      drain(signal);
    take_signals();
  });
}

/// Reads the configuration again, all or nothing: a wrong one leaves everything as it is. Requests
/// go on while names are asked for that are new.
void service::reload() {
  notify_manager("RELOADING=1");
  auto const number = ++reloads_;
  try {
    auto fresh = reread_();
    if (fresh.listen.port == 0) fresh.listen = config_.listen;
    if (fresh.listen != config_.listen || fresh.admin != config_.admin ||
        fresh.limit.url != config_.limit.url)
      throw fatal(exit_usage, "listen, admin and limit-at are taken at the start only");
    for (auto& u : fresh.upstreams) u.fleet = fleet_;
    std::vector<std::shared_ptr<server>> all, news;
    for (auto const& u : fresh.upstreams) {
      auto const same =
          std::ranges::find_if(servers_, [&](auto const& s) { return s->settings() == u; });
      if (same != servers_.end()) {
        all.push_back(*same);
        continue;
      }
      auto const before = before_of(u, fresh);
      if (before) before->keep();
      news.push_back(all.emplace_back(std::make_shared<server>(io_, u)));
      if (before) news.back()->know(*before);
    }
    find(news, [this, fresh, all, number](std::string const& problem) {
      if (number != reloads_ || draining_) return;
      auto wrong = problem;
      for (auto const& s : all)
        if (wrong.empty()) wrong = loop_of(*s);
      wrong.empty() ? take_over(fresh, all) : stay(wrong);
    });
  } catch (std::exception const& e) {  // also of what the system refuses
    stay(e.what());
  }
}

void service::stay(std::string_view why) {
  say(fmt::format("the configuration stays as it was: {}", why));
  notify_manager("READY=1");
}

/// Returns the server whose limit that upstream goes on with; nullptr: there is none.
std::shared_ptr<server> service::before_of(upstream_config const& u, config const& fresh) const {
  auto const before = std::ranges::find_if(servers_, [&](auto const& s) {
    auto const stays = std::ranges::find(fresh.upstreams, s->settings()) != fresh.upstreams.end();
    return s->settings().has_limit_of(u) && !stays;
  });
  return before == servers_.end() ? nullptr : *before;
}

void service::take_over(config fresh, std::vector<std::shared_ptr<server>> servers) {
  try {
    if (!fresh.access_log.empty()) {
      if (log_)
        log_->reopen(fresh.access_log);
      else
        log_ = std::make_unique<access_log>(fresh.access_log);
    }
  } catch (std::exception const& e) {
    return stay(e.what());
  }
  for (auto const& s : servers) {
    if (std::ranges::find(servers_, s) != servers_.end()) {
      s->connections().refresh();
      continue;
    }
    for (auto const& c : orders_) order(*s, c);
    if (auto const before = before_of(s->settings(), fresh)) s->follow(clock_now(), before);
  }
  for (auto const& s : servers_)
    if (std::ranges::find(servers, s) == servers.end()) {
      s->keep();
      s->connections().close_idle();
      leaving_.push_back(s);
    }
  servers_ = std::move(servers);
  config_ = std::move(fresh);
  if (admin_) admin_->guard(config_.admin_hosts, config_.admin_token);
  if (listener_->paused() && !draining_ && sessions_.size() < places()) listener_->accept();
  offer_room();
  say("the configuration was read again");
  notify_manager("READY=1");
}

void service::drain(int signal) {
  draining_ = true;
  signal_ = signal;
  notify_manager("STOPPING=1");
  listener_->close();
  std::size_t waiting = 0, active = 0;
  for (auto const& s : servers_) waiting += s->waiting();
  for (auto* const s : std::vector(sessions_)) {
    active += s->active();
    s->drain();
  }
  if (active > 0)
    say(fmt::format(
        "stopping: {} requests are finished first, of which {} wait for at most {}; "
        "once more stops at once{}",
        active, waiting, in_words(config_.drain),
        config_.hard_stop ? fmt::format("; all ends in {}", in_words(*config_.hard_stop)) : ""));
  if (config_.hard_stop) {
    hard_stop_.expires_after(std::chrono::nanoseconds(*config_.hard_stop));
    hard_stop_.async_wait([this](error_code e) {
      if (!e) hurry();
    });
  }
  drain_.expires_after(std::chrono::nanoseconds(config_.drain));
  drain_.async_wait([this](error_code e) {
    if (!e) finish_drain();
  });
  check_drained();
}

/// Those that still wait go elsewhere, and those that are still being sent, or refused later.
void service::finish_drain() {
  drained_ = true;
  for (auto const& all : {servers_, leaving_})
    for (auto const& s : all) {
      cut_off_ = cut_off_ || s->waiting() > 0;
      s->refuse_waiting(clock_now(), being_stopped());
    }
  for (auto* const s : std::vector(sessions_)) cut_off_ = s->finish_drain() || cut_off_;
  check_drained();
}

void service::check_drained() {
  if (!draining_) return;
  if (std::ranges::none_of(sessions_, [](auto const* s) { return s->active(); })) {
    asio::post(io_, [this] { io_.stop(); });
  }
}

void service::hurry() {
  cut_off_ = std::ranges::any_of(sessions_, [](auto const* s) { return s->active(); });
  io_.stop();
}

// ── what it shows ────────────────────────────────────────────────────────────────────────────────

std::optional<admin_page> service::page(std::string_view path) {
  if (path == "/healthz")
    return draining_ ? admin_page{503, "text/plain", "draining\n"}
                     : admin_page{200, "text/plain", "ok\n"};
  if (path == "/") return admin_page{200, "text/html; charset=utf-8", dashboard(state())};
  if (path == "/api/state") return admin_page{200, "application/json", state_json(state())};
  if (path == "/metrics")
    return admin_page{200, std::string(exposition::type), metrics_text(state())};
  return std::nullopt;
}

/// How many scopes it holds for, or why for none.
std::variant<std::size_t, fatal> service::order(server& s, command const& c) {
  auto const now = clock_now();
  try {
    auto const scopes = s.paces().order(now, c.scope, *order_of(c));
    s.wake(now);
    return scopes;
  } catch (fatal const& e) {
    return e;
  }
}

/// Answers a command of another process of this user.
std::string service::obey(command const& c) {
  using enum command::verb;
  if (c.what == status) return state_for_ctl();
  if (c.what == explain || c.what == spend_max)
    throw std::invalid_argument("explain and spend-max are for runs: a proxy has no JOBS");
  std::size_t scopes = 0;
  if (order_of(c)) {
    std::optional<fatal> nowhere;
    bool done = false;
    for (auto const* const all : {&servers_, &leaving_})
      for (auto const& s : *all) {
        auto const ordered = order(*s, c);
        if (auto const* const n = std::get_if<std::size_t>(&ordered)) {
          scopes += *n;
          done = true;
        } else {
          nowhere = std::get<fatal>(ordered);
        }
      }
    if (!done && nowhere) throw fatal(*nowhere);
    std::erase_if(orders_,
                  [&](command const& old) { return old.what == c.what && old.scope == c.scope; });
    orders_.push_back(c);
  } else {
    if (!draining_) drain(SIGTERM);
    if (c.what == stop) finish_drain();
  }
  say("headway ctl: " + c.words());
  return answer_done(c, scopes);
}

std::string service::state_for_ctl() {
  auto const now = clock_now();
  std::uint64_t ended = 0, last_minute = 0;
  std::string_view why;
  std::string scopes;
  for (auto const& s : servers_) {
    append_states(scopes, now, s->paces());
    for (auto const& [status, n] : s->count.since.requests) ended += n;
    last_minute += s->ended_lately(now);
    if (auto const held = s->held_by(now); held != reason::none) why = to_string(held);
  }
  return fmt::format(
      R"({{"ok":true,"jobs":{},"run":{{"done":{},"per_second":{:.3g},"waiting_for":{}}},"scopes":[{}]}})",
      json_string(config_.listen.text() + " → " +
                  (servers_.size() == 1 ? servers_[0]->settings().url
                                        : fmt::format("{} upstreams", servers_.size()))),
      ended, static_cast<double>(last_minute) / 60, json_string(why), scopes);
}

proxy_state service::state() {
  auto const now = clock_now();
  proxy_state shown;
  shown.now = std::chrono::system_clock::now();
  shown.uptime = now - began_;
  shown.draining = draining_;
  shown.listen = config_.listen.text();
  if (admin_) shown.admin = admin_->bound().text();
  shown.connections.clients = sessions_.size();
  shown.connections.active = static_cast<std::size_t>(
      std::ranges::count_if(sessions_, [](auto const* s) { return s->active(); }));
  shown.connections.max = places();
  shown.held_bytes = held_;
  shown.held_bytes_max = config_.hold_max;
  shown.received_bytes = received_;
  shown.sent_bytes = sent_;
  for (auto const& s : servers_) {
    shown.hints_ignored += s->count.hints_ignored;
    shown.upstreams.push_back(s->state(now));
  }
  shown.last.assign(last_.begin(), last_.end());
  std::map<std::string_view, duration> hour;
  duration all{0};
  for (auto const& minute : hour_)
    for (auto const& [why, took] : minute) {
      hour[why] += took;
      all += took;
    }
  for (auto const& [why, took] : hour)
    shown.last_hour.push_back({why, to_seconds(took) / to_seconds(all)});
  std::ranges::sort(shown.last_hour, std::greater{}, &time_share::share);
  return shown;
}

}  // namespace headway::app::proxy
