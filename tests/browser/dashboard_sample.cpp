// Prints the dashboard of a proxy whose every figure is known, or with --state its /api/state.
// Names attack.
#include <cstdio>
#include <string_view>

#include "proxy/state_json.hpp"

using namespace headway;

namespace {

app::scope_state busy_scope() {
  app::scope_state s;
  s.name = "https://api.example gpt-5 (key …a1f3)";
  s.law = "seek";
  s.found = "a limit of about 48.5/s";
  s.rate = 48.5;
  s.in_flight = 37;
  s.waiting = 542;
  s.held.why = "pace";
  s.held.for_time = 21ms;
  s.quotas = {{"tokens", 90000, 1200, 41200ms}, {"requests", 500, 450, {}}};
  s.expected_wait = 11200ms;
  s.expected_wait_interactive = 100ms;
  for (int ago = 120; ago > 0; --ago)
    s.recent.push_back({ago, 48U, ago % 10 == 0 ? 5U : 0U, 600U - static_cast<unsigned>(ago)});
  return s;
}

app::upstream_state busy_upstream() {
  app::upstream_state u;
  u.name = "openai";
  u.url = "https://api.example";
  u.profile = "openai";
  u.waiting = {0, 12, 530};
  u.queue_max = 1000;
  u.in_flight = 37;
  u.last_minute = {2904, 31, 7, 3, 2, 410ms, 9700ms};
  app::scope_state free;
  free.name = "gpt-5-mini </script><img src=x onerror=alert(1)>";
  free.law = "seek";
  u.scopes = {busy_scope(), free};
  u.clients = {{"batch-job", 530, 1201}, {"<b>web</b>", 12, 88}};
  u.connections = {12, 37};
  return u;
}

app::ended_request request(char const* id, int status, char const* reason, char const* path) {
  app::ended_request r;
  r.at = std::chrono::system_clock::time_point(std::chrono::seconds(1'795'309'200));
  r.id = id;
  r.upstream = "openai";
  r.method = "POST";
  r.path = path;
  r.status = status;
  r.reason = reason;
  r.ended = status == 0 ? "left" : *reason ? "refused" : "done";
  r.waited = 1203ms;
  r.took = 4400ms;
  r.attempts = 3;
  r.throttled = 2;
  r.client = "web";
  return r;
}

app::proxy_state all_of_it() {
  app::proxy_state s;
  s.now = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'795'309'200'123));
  s.uptime = 812400ms;
  s.listen = "127.0.0.1:8080";
  s.admin = "127.0.0.1:8081";
  s.connections = {41, 30, 4096};
  s.held_bytes = 81234;
  s.held_bytes_max = 256 << 20;
  app::upstream_state unused;
  unused.name = "github";
  unused.url = "https://github.example";
  unused.queue_max = 1000;
  s.upstreams = {busy_upstream(), unused};
  s.last_hour = {{"pace", .61}, {"quota", .22}, {"not waiting", .13}, {"server hint", .04}};
  s.last = {
      request("r-3", 200, "", "/v1/chat/completions"),
      request("r-2", 503, "queue", "/v1/<i>embeddings</i>"),
      request("r-1", 0, "",
              "/v1/a/very/long/path/of/a/request/that/has/no/blank/in/it/and/goes/on/and/on")};
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  bool const state = argc > 1 && std::string_view(argv[1]) == "--state";
  std::puts((state ? app::state_json(all_of_it()) : app::dashboard(all_of_it())).c_str());
}
