#include "proxy/state_json.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <iterator>
#include <utility>

#include "base/json_text.hpp"
#include "base/web_page.hpp"

namespace headway::app {

extern web_page const dashboard_page;

namespace {

/// A JSON text that grows by members and elements, with the commas between them.
class json {
 public:
  template <class Value>
  json& member(std::string_view key, Value const& value) {
    separate();
    fmt::format_to(std::back_inserter(text_), "\"{}\":", key);
    append(value);
    return *this;
  }
  template <class Fill>
  json& object(std::string_view key, Fill fill) {
    return nested(key, '{', '}', fill);
  }
  /// `each(item)` appends the members of an item's object.
  template <class Items, class Each>
  json& objects(std::string_view key, Items const& items, Each each) {
    return nested(key, '[', ']', [&] {
      for (auto const& item : items) {
        separate();
        text_ += '{';
        each(item);
        text_ += '}';
      }
    });
  }
  template <class Fill>
  std::string whole(Fill fill) {
    text_ += '{';
    fill();
    text_ += '}';
    return std::exchange(text_, {});
  }

 private:
  template <class Fill>
  json& nested(std::string_view key, char open, char close, Fill fill) {
    separate();
    fmt::format_to(std::back_inserter(text_), "\"{}\":{}", key, open);
    fill();
    text_ += close;
    return *this;
  }
  void separate() {
    if (text_.back() != '{' && text_.back() != '[') text_ += ',';
  }
  void append(bool value) { text_ += value ? "true" : "false"; }
  void append(std::integral auto value) { fmt::format_to(std::back_inserter(text_), "{}", value); }
  void append(double value) {
    if (std::isfinite(value))
      fmt::format_to(std::back_inserter(text_), "{:.6g}", value);
    else
      text_ += "null";
  }
  void append(duration value) { append(std::round(to_seconds(value) * 1e6) / 1e6); }
  void append(std::chrono::system_clock::time_point at) {
    auto const second = std::chrono::floor<std::chrono::seconds>(at);
    auto const ms = std::chrono::floor<std::chrono::milliseconds>(at) - second;
    fmt::format_to(std::back_inserter(text_), "\"{:%FT%T}.{:03}Z\"", fmt::gmtime(second),
                   ms.count());
  }
  void append(std::string_view value) { append_quoted(text_, in_utf8(value)); }
  void append(std::string const& value) { append(std::string_view(value)); }
  template <class Value>
  void append(std::optional<Value> const& value) {
    if (value)
      append(*value);
    else
      text_ += "null";
  }

  std::string text_;
};

void add_scope(json& out, scope_state const& s) {
  out.member("name", s.name)
      .member("law", s.law)
      .member("found", s.found)
      .member("rate_per_s", s.rate)
      .member("window", s.window)
      .member("in_flight", s.in_flight)
      .member("waiting", s.waiting)
      .member("stopped", s.stopped)
      .object("held", [&] { out.member("why", s.held.why).member("for_s", s.held.for_time); })
      .objects("quotas", s.quotas,
               [&](quota_state const& q) {
                 out.member("name", q.name)
                     .member("limit", q.limit)
                     .member("remaining", q.remaining)
                     .member("reset_s", q.reset);
               })
      .member("expected_wait_s", s.expected_wait)
      .member("expected_wait_interactive_s", s.expected_wait_interactive);
  if (auto const& f = s.fleet)
    out.object("fleet", [&] {
      out.member("hosts", f->members)
          .member("unheard", f->unheard)
          .member("excess", f->excess)
          .member("away_s", f->away)
          .member("coasts", f->coasts);
    });
  out.objects("recent", s.recent, [&](scope_second const& second) {
    out.member("t", -second.ago)
        .member("sent", second.sent)
        .member("throttled", second.throttled)
        .member("waiting", second.waiting);
  });
}

void add_upstream(json& out, upstream_state const& u) {
  out.member("name", u.name)
      .member("url", u.url)
      .member("profile", u.profile)
      .object("waiting",
              [&] {
                for (std::size_t i = 0; i < priorities; ++i)
                  out.member(priority_names[i], u.waiting[i]);
              })
      .member("queue_max", u.queue_max)
      .member("in_flight", u.in_flight)
      .object("last_minute",
              [&] {
                out.member("requests", u.last_minute.requests)
                    .member("throttled", u.last_minute.throttled)
                    .member("failed", u.last_minute.failed)
                    .member("refused", u.last_minute.refused)
                    .member("left", u.last_minute.left)
                    .member("wait_p50_s", u.last_minute.wait_p50)
                    .member("wait_p99_s", u.last_minute.wait_p99);
              })
      .objects("scopes", u.scopes, [&](scope_state const& s) { add_scope(out, s); })
      .objects("clients", u.clients,
               [&](client_state const& c) {
                 out.member("name", c.name)
                     .member("waiting", c.waiting)
                     .member("served_minute", c.served_minute);
               })
      .object("connections",
              [&] { out.member("idle", u.connections.idle).member("busy", u.connections.busy); });
}

void add_request(json& out, ended_request const& r) {
  out.member("at", r.at)
      .member("id", r.id)
      .member("upstream", r.upstream)
      .member("method", r.method)
      .member("path", r.path)
      .member("status", r.status)
      .member("ended", r.ended)
      .member("reason", r.reason)
      .member("waited_s", r.waited)
      .member("attempts", r.attempts)
      .member("throttled", r.throttled)
      .member("took_s", r.took)
      .member("streamed", r.streamed)
      .member("client", r.client);
}

}  // namespace

std::string state_json(proxy_state const& s) {
  json out;
  return out.whole([&] {
    out.member("version", std::string_view(HEADWAY_VERSION))
        .member("now", s.now)
        .member("uptime_s", s.uptime)
        .member("draining", s.draining)
        .member("listen", s.listen)
        .member("admin", s.admin)
        .object("connections",
                [&] {
                  out.member("clients", s.connections.clients)
                      .member("active", s.connections.active)
                      .member("max", s.connections.max);
                })
        .member("held_bytes", s.held_bytes)
        .member("held_bytes_max", s.held_bytes_max)
        .member("hints_ignored", s.hints_ignored)
        .objects("upstreams", s.upstreams, [&](upstream_state const& u) { add_upstream(out, u); })
        .objects("last_hour", s.last_hour,
                 [&](time_share const& t) { out.member("why", t.why).member("share", t.share); })
        .objects("last", s.last, [&](ended_request const& r) { add_request(out, r); });
  });
}

std::string dashboard(proxy_state const& s) {
  auto state = state_json(s);
  return dashboard_page.built() ? dashboard_page.around(state) : state;
}

}  // namespace headway::app
