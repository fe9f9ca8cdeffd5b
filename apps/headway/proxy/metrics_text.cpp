#include "proxy/metrics_text.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "status/metrics.hpp"

namespace headway::app {
namespace {

constexpr auto counter = exposition::kind::counter, gauge = exposition::kind::gauge;

std::int64_t whole(std::uint64_t n) {
  return static_cast<std::int64_t>(n);
}

void write_scopes(exposition& page, proxy_state const& s) {
  metrics all;
  std::vector<scope_gauges> gauges;
  for (auto const& upstream : s.upstreams) {
    all.add(upstream.by_scope);
    for (auto const& scope : upstream.scopes) {
      auto& g = gauges.emplace_back();
      g.scope = scope.name;
      g.rate = scope.rate.value_or(scope_gauges::unknown);
      g.slots = scope.window.value_or(scope_gauges::unknown);
      g.in_flight = whole(scope.in_flight);
      g.waiting = whole(scope.waiting);
      g.fleet = scope.fleet;
      for (auto const& q : scope.quotas) g.quotas.emplace_back(q.name, q.remaining);
    }
  }
  all.write(page, gauges);
}

}  // namespace

std::string metrics_text(proxy_state const& s) {
  exposition page;
  page.family("headway_build_info", gauge, "1, with the version as a label.");
  page.sample({{"version", HEADWAY_VERSION}, {"surface", "proxy"}}, std::int64_t{1});
  page.family("headway_proxy_uptime_seconds", gauge, "Time since the start.");
  page.sample({}, to_seconds(s.uptime));
  page.family("headway_proxy_draining", gauge, "1 while no new connection is taken.");
  page.sample({}, std::int64_t{s.draining});
  page.family("headway_proxy_connections", gauge, "Connections, by side and state.");
  page.sample({{"side", "client"}, {"state", "busy"}}, whole(s.connections.active));
  page.sample({{"side", "client"}, {"state", "idle"}},
              whole(s.connections.clients - s.connections.active));
  for (auto const& u : s.upstreams) {
    page.sample({{"side", u.name}, {"state", "busy"}}, whole(u.connections.busy));
    page.sample({{"side", u.name}, {"state", "idle"}}, whole(u.connections.idle));
  }
  page.family("headway_proxy_held_bytes", gauge, "Bytes of request bodies that wait.");
  page.sample({}, whole(s.held_bytes));
  page.family("headway_proxy_received_bytes_total", counter, "Bytes that came from clients.");
  page.sample({}, whole(s.received_bytes));
  page.family("headway_proxy_sent_bytes_total", counter, "Bytes that went to clients.");
  page.sample({}, whole(s.sent_bytes));
  page.family("headway_hints_ignored_total", counter, "Hints of servers that could not be read.");
  page.sample({}, whole(s.hints_ignored));

  auto const each = [&](std::string_view name, exposition::kind what, std::string_view help,
                        auto sample) {
    page.family(name, what, help);
    for (auto const& u : s.upstreams) sample(u);
  };
  auto const by = [&](std::string_view label, counters upstream_state::*of) {
    return [&page, label, of](upstream_state const& u) {
      for (auto const& [value, n] : u.*of)
        page.sample({{"upstream", u.name}, {label, value}}, whole(n));
    };
  };
  each("headway_proxy_requests_total", counter, "Requests, by the status that clients got.",
       [&](upstream_state const& u) {
         for (auto const& [status, n] : u.requests)
           page.sample({{"upstream", u.name}, {"code", fmt::to_string(status)}}, whole(n));
       });
  each("headway_proxy_attempts_total", counter, "Attempts, by what they taught the law.",
       by("outcome", &upstream_state::attempts));
  each("headway_proxy_refused_total", counter, "Requests that the proxy answered itself.",
       by("reason", &upstream_state::refused));
  each("headway_proxy_left_total", counter, "Requests that their clients gave up.",
       by("while", &upstream_state::left));
  each("headway_proxy_waiting", gauge, "Requests that wait for their turn.",
       [&](upstream_state const& u) {
         for (std::size_t i = 0; i < priorities; ++i)
           page.sample({{"upstream", u.name}, {"priority", priority_names.at(i)}},
                       whole(u.waiting.at(i)));
       });
  each("headway_proxy_in_flight", gauge, "Requests sent and not answered.",
       [&](upstream_state const& u) {
         page.sample({{"upstream", u.name}}, whole(u.in_flight));
       });
  each("headway_proxy_upstream_connects_total", counter, "Attempts, by the connection they used.",
       [&](upstream_state const& u) {
         page.sample({{"upstream", u.name}, {"reused", "false"}}, whole(u.connects));
         page.sample({{"upstream", u.name}, {"reused", "true"}}, whole(u.reused));
       });
  auto const times = [&](histogram upstream_state::*of) {
    return [&page, of](upstream_state const& u) { page.sample({{"upstream", u.name}}, u.*of); };
  };
  each("headway_proxy_wait_seconds", exposition::kind::histogram,
       "Time from a request's arrival to its turn.", times(&upstream_state::wait));
  each("headway_proxy_upstream_seconds", exposition::kind::histogram,
       "Time from a send to the head of its answer.", times(&upstream_state::upstream_head));
  each("headway_proxy_request_seconds", exposition::kind::histogram,
       "Time from a request's arrival to its end.", times(&upstream_state::request));
  write_scopes(page, s);
  return page.text();
}

}  // namespace headway::app
